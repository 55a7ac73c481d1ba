// SPDX-License-Identifier: Apache-2.0
//! What the machine has that jobs wait for: a network, power, room on the disk.
//!
//! All of it is read from files of the kernel's. A look takes some dozens of them, so it is for an
//! ordinary thread, every [`LOOK_NS`] while a job waits.

use std::io;
use std::path::{Path, PathBuf};

use server::jobs::Conditions;

/// Between two looks.
pub const LOOK_NS: u64 = 30_000_000_000;
/// A battery is low from here on, as on Android.
pub const LOW_PERCENT: u64 = 15;
/// Room is low below so much of the disk, in percent, as on Android.
const LOW_ROOM_PERCENT: u64 = 5;
/// It is never low above this, as on Android.
const LOW_ROOM_BYTES_MAX: u64 = 500 << 20;
/// Names of interfaces to mobile networks, where the kernel does not say what they are.
const MOBILE: [&str; 3] = ["wwan", "wwp", "ppp"];
/// `IFA_F` does not matter here: addresses of these scopes reach nobody else (/proc/net/if_inet6).
const NARROW_SCOPES: [&str; 2] = ["10", "20"];
const LOOPBACK: &str = "lo";

/// Where the kernel tells.
#[derive(Clone, Debug)]
pub struct Machine {
    routes: PathBuf,
    addresses: PathBuf,
    interfaces: PathBuf,
    power: PathBuf,
    /// A folder on the disk whose room counts.
    disk: PathBuf,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What there is.
    pub holds: Conditions,
    /// What could not be read, in a sandbox for example.
    pub is_hidden: Conditions,
}

impl Machine {
    /// This one, with the disk of a folder.
    pub fn of(disk: &Path) -> Self {
        Self {
            routes: "/proc/self/net/route".into(),
            addresses: "/proc/self/net/if_inet6".into(),
            interfaces: "/sys/class/net".into(),
            power: "/sys/class/power_supply".into(),
            disk: disk.to_owned(),
        }
    }

    /// Looks.
    pub fn look(&self) -> Seen {
        let mut seen = Seen::default();
        let network = [
            Conditions::NETWORK,
            Conditions::UNMETERED,
            Conditions::NOT_ROAMING,
        ];
        let mut note = |all: &[Conditions], found: io::Result<Conditions>| match found {
            Ok(holds) => seen.holds = seen.holds.and(holds),
            Err(_) => seen.is_hidden = all.iter().fold(seen.is_hidden, |it, one| it.and(*one)),
        };
        note(&network, self.network());
        note(
            &[Conditions::CHARGING, Conditions::BATTERY_NOT_LOW],
            self.power(),
        );
        note(&[Conditions::STORAGE_NOT_LOW], self.room());
        seen
    }

    /// An interface other than the loopback's that is up and has an address counts. One to a mobile
    /// network costs, and may be abroad.
    fn network(&self) -> io::Result<Conditions> {
        let routes = std::fs::read_to_string(&self.routes)?;
        let names = routes.lines().skip(1);
        let mut names: Vec<&str> = names
            .filter_map(|it| it.split_whitespace().next())
            .collect();
        // A kernel without IPv6 has no such file.
        let addresses = std::fs::read_to_string(&self.addresses).unwrap_or_default();
        for line in addresses.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [_, _, _, scope, _, name] = words[..]
                && !NARROW_SCOPES.contains(&scope)
            {
                names.push(name);
            }
        }
        let mut found = Conditions::NONE;
        for name in names {
            if name == LOOPBACK || !self.is_up(name) {
                continue;
            }
            found = found.and(Conditions::NETWORK);
            if !self.is_mobile(name) {
                found = found
                    .and(Conditions::UNMETERED)
                    .and(Conditions::NOT_ROAMING);
            }
        }
        Ok(found)
    }

    fn of_interface(&self, name: &str, file: &str) -> Option<String> {
        std::fs::read_to_string(self.interfaces.join(name).join(file)).ok()
    }

    /// One that the kernel says nothing of is taken for up: it has an address.
    fn is_up(&self, name: &str) -> bool {
        let state = self.of_interface(name, "operstate");
        state.is_none_or(|it| matches!(it.trim(), "up" | "unknown"))
    }

    fn is_mobile(&self, name: &str) -> bool {
        let kind = self.of_interface(name, "uevent").unwrap_or_default();
        kind.lines().any(|it| it == "DEVTYPE=wwan") || MOBILE.iter().any(|it| name.starts_with(it))
    }

    /// A machine without a battery is charging.
    fn power(&self) -> io::Result<Conditions> {
        let all = Conditions::CHARGING.and(Conditions::BATTERY_NOT_LOW);
        let supplies = match std::fs::read_dir(&self.power) {
            Ok(supplies) => supplies,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(error),
        };
        let (mut has_battery, mut is_charging, mut is_low) = (false, false, false);
        for supply in supplies {
            let folder = supply?.path();
            let read = |file: &str| std::fs::read_to_string(folder.join(file));
            let text = |file: &str| read(file).unwrap_or_default().trim().to_owned();
            let kind = read("type")?;
            // Batteries of mice and pens say that they are a device's.
            if kind.trim() != "Battery" {
                is_charging |= text("online") == "1";
            } else if text("scope") != "Device" {
                has_battery = true;
                is_charging |= matches!(&*text("status"), "Charging" | "Full" | "Not charging");
                is_low |= text("capacity")
                    .parse()
                    .is_ok_and(|it: u64| it <= LOW_PERCENT);
            }
        }
        let mut found = Conditions::NONE;
        if is_charging || !has_battery {
            found = found.and(Conditions::CHARGING);
        }
        if !has_battery || !is_low {
            found = found.and(Conditions::BATTERY_NOT_LOW);
        }
        Ok(found)
    }

    fn room(&self) -> io::Result<Conditions> {
        let disk = rustix::fs::statvfs(&self.disk)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        let low = (bytes(disk.f_blocks) / 100 * LOW_ROOM_PERCENT).min(LOW_ROOM_BYTES_MAX);
        Ok(match bytes(disk.f_bavail) >= low {
            true => Conditions::STORAGE_NOT_LOW,
            false => Conditions::NONE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Iface Destination Gateway Flags\n";

    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Self {
            let files = Self(tempfile::tempdir().expect("a folder"));
            files.write("routes", ROUTES);
            files
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is ours");
            std::fs::write(path, text).expect("it is ours");
        }

        fn look(&self) -> Seen {
            let place = |name: &str| self.0.path().join(name);
            let machine = Machine {
                routes: place("routes"),
                addresses: place("addresses"),
                interfaces: place("net"),
                power: place("power"),
                disk: self.0.path().to_owned(),
            };
            machine.look()
        }

        fn has(&self, condition: Conditions) -> bool {
            self.look().holds.has(condition)
        }
    }

    #[test]
    fn a_network_is_an_interface_that_is_up_and_has_an_address() {
        let files = Files::new();
        let v6 = |name: &str, scope: &str| format!("fd00 02 40 {scope} 80 {name}\n");
        files.write("routes", &format!("{ROUTES}lo 0000007F 0 1\n"));
        files.write("addresses", &(v6("lo", "10") + &v6("eth0", "20")));
        assert!(!files.has(Conditions::NETWORK), "loopback and link-local");
        files.write("addresses", &v6("eth0", "00"));
        assert!(files.has(Conditions::UNMETERED));
        files.write("net/eth0/operstate", "down\n");
        assert!(!files.has(Conditions::NETWORK), "no carrier");
        files.write("routes", &format!("{ROUTES}eth1 0000000A 0 1\n"));
        files.write("net/eth1/uevent", "DEVTYPE=wwan\nINTERFACE=eth1\n");
        assert!(files.has(Conditions::NETWORK));
        assert!(!files.has(Conditions::UNMETERED) && !files.has(Conditions::NOT_ROAMING));
    }

    #[test]
    fn a_machine_without_a_battery_charges_and_one_with_says_so() {
        let files = Files::new();
        let both = Conditions::CHARGING.and(Conditions::BATTERY_NOT_LOW);
        assert!(files.has(both), "nothing is there");
        files.write("power/mouse/type", "Battery\n");
        files.write("power/mouse/scope", "Device\n");
        files.write("power/mouse/capacity", "3\n");
        assert!(files.has(both), "a mouse's");
        files.write("power/BAT0/type", "Battery\n");
        files.write("power/BAT0/status", "Discharging\n");
        files.write("power/BAT0/capacity", "16\n");
        let (holds, rest) = (Conditions::BATTERY_NOT_LOW, Conditions::CHARGING);
        assert!(files.has(holds) && !files.has(rest));
        files.write("power/BAT0/capacity", "15\n");
        assert!(!files.has(holds), "low");
        files.write("power/AC/type", "Mains\n");
        files.write("power/AC/online", "1\n");
        assert!(files.has(rest) && !files.has(holds), "low, and it charges");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let files = Files::new();
        std::fs::remove_file(files.0.path().join("routes")).expect("it is there");
        let seen = files.look();
        assert!(seen.is_hidden.has(Conditions::NETWORK));
        assert!(!seen.holds.has(Conditions::NETWORK));
        assert!(!seen.is_hidden.has(Conditions::CHARGING));
    }
}
