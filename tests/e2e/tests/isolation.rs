// SPDX-License-Identifier: Apache-2.0
//! A package of our own that tries what no package may do: `tests/apps/hostile`. Each attempt is
//! refused or bounded, by name.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use e2e::takt_path;
use e2e::world::{World, bound, holds, is_alive, is_root};
use serde_json::Value;

const METER: &str = "org.example.meter";
const HOSTILE: &str = "org.example.hostile";
/// Of these the ones that the machine has.
const DEVICES: [&str; 9] = [
    "kmsg", "kvm", "mem", "net/tun", "port", "ptmx", "sda", "tty1", "vda",
];
const NOBODY: u32 = 65_534;
/// What the sandbox of a package allows, and what a person has at least.
const TASKS_MAX: u64 = 1_024;
const TASKS_MIN: u64 = 200;

#[test]
fn a_hostile_package_is_held_off() {
    let world = World::begin();
    // Both are copies of it.
    world.await_template();
    world.install("meter");
    world.install("hostile");
    world.said(&["am", "startservice", "-n", "org.example.meter/.Meter"]);
    world.await_true("the victim runs", || {
        let row = world.process(METER);
        row.is_some_and(|it| it["state"] == "running")
    });
    let victim = world.pid(METER);
    let secret = world.data(METER).join("secret");
    std::fs::write(&secret, "nobody else's").expect("a file");
    let owner = std::fs::metadata(world.data(METER)).expect("it is there");
    chown(&secret, Some(owner.uid()), Some(owner.gid())).expect("it is given");

    let devices: Vec<&str> = DEVICES
        .into_iter()
        .filter(|it| PathBuf::from("/dev").join(it).exists())
        .collect();
    let stores = stores(&world);
    attack(&world, victim, &devices, &stores);
    world.await_true("all was tried", || {
        let log = world.log(HOSTILE, "Hostile");
        log.iter().any(|it| it.starts_with("is taken for"))
    });

    let log = world.log(HOSTILE, "Hostile");
    all_refused(&world, &log, &devices, stores.len());
    bounded(&world, &log);

    // Nobody was hurt.
    assert_eq!(world.pid(METER), victim);
    assert!(is_alive(victim));
    assert_eq!(
        std::fs::read(&secret).expect("it is there"),
        b"nobody else's"
    );
    assert!(world.log(METER, "Vault").is_empty());
}

fn all_refused(world: &World, log: &[String], devices: &[&str], stores: usize) {
    let why = world.log(HOSTILE, "HostileWhy");
    let is_refused = |name: &str| {
        let expected = format!("{name} is refused");
        assert!(log.contains(&expected), "{name}: {log:#?} {why:#?}");
    };
    let names = "read write make list remove signal environment memory devices door network";
    names.split(' ').for_each(is_refused);
    for name in [
        "real time",
        "nice",
        "hidden service",
        "hidden activity",
        "hidden start",
        "protected broadcast",
    ] {
        is_refused(name);
    }
    devices
        .iter()
        .for_each(|it| is_refused(&format!("device {it}")));
    (0..stores).for_each(|it| is_refused(&format!("poison {it}")));
    assert!(!log.iter().any(|it| it.ends_with("is done")), "{log:#?}");
    // They were refused, and did not fail for another reason.
    for (name, reason) in [
        ("signal", "not permitted"),
        ("real time", "not permitted"),
        ("door", "cannot reach takt system"),
        ("read", "denied"),
        ("hidden service", "SecurityException"),
        ("hidden activity", "SecurityException"),
        ("protected broadcast", "SecurityException"),
    ] {
        let is_said = |it: &&String| it.starts_with(&format!("{name}: ")) && it.contains(reason);
        assert!(
            why.iter().find(is_said).is_some(),
            "{name}, {reason}: {why:#?}"
        );
    }
}

/// Starts the hostile package's service, and tells it where its victims are.
fn attack(world: &World, victim: u64, devices: &[&str], stores: &[PathBuf]) {
    let text = |it: PathBuf| it.into_os_string().into_string().expect("a text");
    let stores: Vec<String> = stores.iter().cloned().map(text).collect();
    let extras = [
        ("data", text(world.data(METER))),
        ("pid", victim.to_string()),
        ("devices", devices.join(" ")),
        ("takt", text(takt_path())),
        ("socket", text(world.socket())),
        ("stores", stores.join(":")),
    ];
    let mut words = vec!["am", "startservice", "-n", "org.example.hostile/.Hostile"];
    for (name, value) in &extras {
        words.extend(["--es", name, value.as_str()]);
    }
    world.said(&words);
}

/// Stores of compiled code that are not its own: what was delivered, the server's user's, and
/// another package's.
fn stores(world: &World) -> Vec<PathBuf> {
    let delivered = takt_path().with_file_name("code");
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let others = world.data(METER).join("code_cache/takt/code");
    assert!(others.is_dir(), "each package writes a store of its own");
    let mut stores = vec![delivered, others];
    stores.extend(caches.map(|it| it.join("takt/code")));
    stores.retain(|it| it.is_dir());
    stores
}

/// What is not refused has a bound, and what it claims to be is not believed.
fn bounded(world: &World, log: &[String]) {
    let row = world.process(HOSTILE).expect("it runs");
    let holds = |name: &str| holds(&row, name);
    let number = |start: &str| {
        let found = log.iter().find_map(|it| it.strip_prefix(start));
        let found = found.unwrap_or_else(|| panic!("{start}: {log:#?}"));
        found.parse::<u64>().expect("a number")
    };
    for bound in [
        "files",
        "capabilities",
        "network",
        "local sockets",
        "real-time policies",
    ] {
        assert!(holds(bound), "{bound}: {row}");
    }
    // Where no file system keeps it in bounds, that is said.
    let disk = bound(&row, "disk").expect("it is named");
    let how = disk["how"].as_str().expect("a text");
    assert!(how.contains("quota"), "{row}");
    let filled = number("processes ");
    assert!(filled < TASKS_MAX, "{filled}");
    let user = row["user"].as_u64().expect("a number");
    assert_eq!(number("claims to be "), 1_000);
    let is_own_user = holds("own user");
    assert!(is_own_user || !is_root() || is_closed(&row), "{row}");
    if is_own_user {
        assert!(TASKS_MIN < filled, "{filled}");
        assert_eq!(number("is taken for "), user);
        assert!(processes_of(user) > TASKS_MIN as usize);
    }
    world.said(&["am", "force-stop", HOSTILE]);
    if is_own_user {
        assert_eq!(processes_of(user), 0, "nothing of it is left");
    }
}

/// A tree in root's home, which no other user can read.
fn is_closed(row: &Value) -> bool {
    row["sandbox"].to_string().contains("closed to others")
}

fn processes_of(user: u64) -> usize {
    let entries = std::fs::read_dir("/proc").expect("it is there").flatten();
    let is_its = |path: PathBuf| {
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        let is_dead = status.contains("\nState:\tZ");
        status.contains(&format!("\nUid:\t{user}\t")) && !is_dead
    };
    entries.filter(|it| is_its(it.path())).count()
}

/// A user cannot give users: who insists on all bounds is told so, and nothing starts.
#[test]
fn the_strict_start_nothing_without_all_bounds() {
    let folder = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(takt_path());
    command.args(["system", "--sandbox", "strict", "--state"]);
    command.arg(folder.path().join("state")).arg("--socket");
    command.arg(folder.path().join("socket")).current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{said}");
            assert!(
                said.contains("root alone gives users of their own"),
                "{said}"
            );
        }
        // The tree lies where that user cannot go.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
}
