// SPDX-License-Identifier: Apache-2.0
//! What applications can be confined by. None of it makes a thread late: remarks at most.

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

/// With it signals and sockets by name stay inside.
const LEVEL_WHOLE: u32 = 6;

/// CAP_SETGID and CAP_SETUID.
const CHANGE_USER: u64 = 1 << 6 | 1 << 7;

pub(super) fn all(machine: &Machine) -> Vec<Finding> {
    vec![
        landlock(machine.is_here().then(::sandbox::landlock_level)),
        groups(machine),
        users(machine),
        user_namespaces(machine),
        disk(machine.is_here().then(crate::system::has_quotas)),
    ]
}

fn disk(quotas: Option<Result<(), String>>) -> Finding {
    const NAME: &str = "applications' disk";
    match quotas {
        None => Finding::remark(
            NAME,
            "unknown",
            "it can be asked on the machine itself alone",
        ),
        Some(Ok(())) => Finding::fit(
            NAME,
            "quotas of users",
            "what an application keeps can be bounded (takt system --disk)",
        ),
        Some(Err(why)) => Finding::remark(NAME, why, "an application can fill it")
            .mend("mount it with -o usrquota"),
    }
}

fn landlock(level: Option<u32>) -> Finding {
    const NAME: &str = "Landlock";
    match level {
        None => Finding::remark(
            NAME,
            "unknown",
            "it can be asked on the machine itself alone",
        ),
        Some(0) => Finding::remark(
            NAME,
            "not there",
            "an application reaches all files of its user",
        )
        .mend("boot with lsm=landlock, and what lsm= has now behind it"),
        Some(level) if level < LEVEL_WHOLE => {
            let lacks = [
                (3, "files may be cut off"),
                (4, "TCP ports are not told apart"),
                (5, "devices' own calls are free"),
                (LEVEL_WHOLE, "processes of the same user get its signals"),
            ];
            let lacks = lacks.iter().filter(|(least, _)| level < *least);
            let lacks: Vec<&str> = lacks.map(|(_, what)| *what).collect();
            let why = format!("files are kept from applications, but {}", lacks.join(", "));
            Finding::remark(NAME, format!("level {level}"), &why)
        }
        Some(level) => Finding::fit(
            NAME,
            format!("level {level}"),
            "files, signals and sockets are kept from applications",
        ),
    }
}

fn groups(machine: &Machine) -> Finding {
    const NAME: &str = "control groups";
    let unified = machine.read("sys/fs/cgroup/cgroup.controllers");
    let has = |name: &str| {
        let all = unified.as_deref().unwrap_or_default();
        all.split_whitespace().any(|it| it == name)
    };
    let sharing = match has_group_scheduling(machine) {
        // In a group below the root SCHED_FIFO is then refused until the group has a budget.
        true => "; RT_GROUP_SCHED: real-time threads stay in the root group of cpu",
        false => "",
    };
    match unified {
        Some(_) if has("memory") && has("pids") => Finding::fit(
            NAME,
            "v2",
            &format!("an application's memory and tasks can be bounded{sharing}"),
        ),
        Some(_) => Finding::remark(
            NAME,
            "v2 without memory or pids",
            &format!("an application's memory or tasks have no bound{sharing}"),
        )
        .mend("echo '+memory +pids' > /sys/fs/cgroup/cgroup.subtree_control"),
        None if machine.exists("proc/cgroups") => Finding::remark(
            NAME,
            "v1",
            &format!("an application's memory has no bound{sharing}"),
        )
        .mend("boot with systemd.unified_cgroup_hierarchy=1"),
        None => Finding::remark(
            NAME,
            "not in this kernel",
            "an application's memory has no bound",
        ),
    }
}

/// Told by its file in v1's root group, or by the kernel's configuration.
fn has_group_scheduling(machine: &Machine) -> bool {
    let config = || machine.kernel_config().unwrap_or_default();
    machine.exists("sys/fs/cgroup/cpu/cpu.rt_runtime_us")
        || config().lines().any(|it| it == "CONFIG_RT_GROUP_SCHED=y")
}

fn users(machine: &Machine) -> Finding {
    const NAME: &str = "users for applications";
    let status = machine.read("proc/self/status").unwrap_or_default();
    let of = |line: &str| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok();
    let held = status.lines().find_map(of).unwrap_or(0);
    match held & CHANGE_USER == CHANGE_USER {
        true => Finding::fit(
            NAME,
            "can be given",
            "each application can be a user of its own",
        ),
        false => Finding::remark(
            NAME,
            "one for all",
            "CAP_SETUID and CAP_SETGID are missing: applications share this user",
        )
        .mend("run as root"),
    }
}

fn user_namespaces(machine: &Machine) -> Finding {
    const NAME: &str = "user namespaces";
    let number = |path| machine.read_number(path);
    let is_off = number("proc/sys/user/max_user_namespaces").is_none_or(|it| it == 0)
        || number("proc/sys/kernel/unprivileged_userns_clone") == Some(0);
    match is_off {
        true => Finding::fit(NAME, "off", "applications need none"),
        false => Finding::fit(
            NAME,
            "on",
            "applications get none: system calls that make them are refused",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    fn found(files: &[(&str, &str)], look: fn(&Machine) -> Finding) -> (State, String) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let finding = look(&Machine::at(root.path()));
        (finding.state, finding.found)
    }

    #[test]
    fn each_level_of_landlock_says_what_it_lacks() {
        assert_eq!(landlock(Some(7)).state, State::Fit);
        assert_eq!(landlock(Some(0)).state, State::Remark);
        let debian = landlock(Some(2));
        assert_eq!((debian.state, &*debian.found), (State::Remark, "level 2"));
        for what in ["cut off", "ports", "devices", "signals"] {
            assert!(debian.why.contains(what), "{}", debian.why);
        }
        assert!(!landlock(Some(5)).why.contains("devices"));
    }

    #[test]
    fn groups_are_of_one_version() {
        let v2 = ("sys/fs/cgroup/cgroup.controllers", "cpu memory pids");
        assert_eq!(found(&[v2], groups), (State::Fit, "v2".into()));
        let bare = ("sys/fs/cgroup/cgroup.controllers", "cpu");
        assert_eq!(found(&[bare], groups).0, State::Remark);
        let v1 = ("proc/cgroups", "");
        assert_eq!(found(&[v1], groups), (State::Remark, "v1".into()));
        let shared = ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000");
        let root = [v1, shared];
        assert_eq!(found(&root, groups).0, State::Remark);
    }

    #[test]
    fn users_and_their_namespaces_are_told() {
        let root = [("proc/self/status", "CapEff:\t000001ffffffffff")];
        assert_eq!(found(&root, users).0, State::Fit);
        let nobody = [("proc/self/status", "CapEff:\t0000000000000000")];
        assert_eq!(found(&nobody, users), (State::Remark, "one for all".into()));
        let on = [("proc/sys/user/max_user_namespaces", "96365")];
        assert_eq!(found(&on, user_namespaces), (State::Fit, "on".into()));
        assert_eq!(found(&[], user_namespaces), (State::Fit, "off".into()));
        assert_eq!(disk(Some(Ok(()))).state, State::Fit);
        let without = disk(Some(Err("no quotas".into())));
        assert_eq!(
            (without.state, without.found.as_str()),
            (State::Remark, "no quotas")
        );
    }
}
