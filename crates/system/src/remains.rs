// SPDX-License-Identifier: Apache-2.0
//! [`end_all_of`]: what is left of a package behind its last process: programs that it has started.
//!
//! They are found by the user that the package alone has, and by the marks of a sandbox, which
//! nobody can take off: another user's program of the same number has not both. Who has lost its
//! parent is this process's child ([`adopt_orphans`]), or nobody's that is a server.

use std::path::Path;

use rt::clock::{Clock, Monotonic};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};

/// Looks until nothing is found: one that forks meanwhile is found by the next, and children of one
/// that ends have lost their parent then.
const LOOKS_MAX: usize = 1_000;
/// Between two looks: who is killed needs a processor to end.
const PAUSE_NS: u64 = 2_000_000;
/// The name of a server's process.
const SERVER: &str = "takt";

/// Programs whose parents end are this process's children from now on.
pub(crate) fn adopt_orphans() -> Result<(), Errno> {
    set_child_subreaper(Some(getpid()))
}

/// Ends all that a package has left, in some seconds at most, and says how many there were.
pub(crate) fn end_all_of(uid: u32) -> usize {
    let mut count = 0;
    for _ in 0..LOOKS_MAX {
        let look = look(Path::new("/proc"), uid);
        count += look.killed;
        if !look.has_found {
            break;
        }
        Monotonic.sleep_until(Monotonic.now_ns() + PAUSE_NS);
    }
    count
}

/// What one look has found.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Look {
    killed: usize,
    /// A dead child counts: what it started last may not be in this look's list.
    has_found: bool,
}

fn look(proc: &Path, uid: u32) -> Look {
    let mut look = Look::default();
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|it| Pid::from_raw(it.parse().ok()?)) else {
            continue;
        };
        // Opened before it is looked at: it never means another process then.
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        let status = read(proc, pid, "status");
        let Some(found) = Found::of(&status).filter(|it| it.uid == uid) else {
            continue;
        };
        let is_child = found.parent == getpid();
        if !is_child && !is_alone(proc, &found) {
            continue;
        }
        look.has_found |= is_child || !found.is_dead;
        if !found.is_dead {
            look.killed += usize::from(pidfd_send_signal(&pidfd, Signal::KILL).is_ok());
        } else if is_child {
            // Nobody else waits for it.
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
    look
}

/// Its parent is neither of its package nor a server.
fn is_alone(proc: &Path, found: &Found) -> bool {
    let status = read(proc, found.parent, "status");
    let is_server = read(proc, found.parent, "comm").trim_end() == SERVER;
    !is_server && Found::of(&status).is_none_or(|it| it.uid != found.uid)
}

fn read(proc: &Path, pid: Pid, name: &str) -> String {
    let path = proc.join(pid.as_raw_pid().to_string()).join(name);
    std::fs::read_to_string(path).unwrap_or_default()
}

/// A confined process.
struct Found {
    uid: u32,
    parent: Pid,
    is_dead: bool,
}

impl Found {
    /// By a process's `status`; none if it is not confined.
    fn of(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|it| it.strip_prefix(name))?;
            line.split_whitespace().next()
        };
        let number = |name| field(name).and_then(|it| it.parse::<u32>().ok());
        let is_confined = number("NoNewPrivs:") == Some(1) && number("Seccomp:") == Some(2);
        is_confined.then_some(())?;
        Some(Self {
            uid: number("Uid:")?,
            parent: Pid::from_raw(number("PPid:")?.cast_signed())?,
            is_dead: matches!(field("State:")?, "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tsleep\nState:\tS (sleeping)\nPPid:\t7\n\
                          Uid:\t10001\t10001\t10001\t10001\nNoNewPrivs:\t1\nSeccomp:\t2\n";

    #[test]
    fn a_confined_process_is_found_with_its_user_and_no_other() {
        let found = Found::of(STATUS).unwrap();
        assert_eq!((found.uid, found.is_dead), (10_001, false));
        assert_eq!(found.parent, Pid::from_raw(7).unwrap());
        let dead = STATUS.replace("State:\tS", "State:\tZ");
        assert!(Found::of(&dead).unwrap().is_dead);
        for (from, to) in [
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Uid:", "Gid:"),
        ] {
            assert!(Found::of(&STATUS.replace(from, to)).is_none(), "{to}");
        }
        assert!(Found::of("").is_none());
    }

    /// One that a server has started, one of the same package, one that has lost its parent.
    #[test]
    fn who_has_a_parent_of_its_package_or_a_server_is_not_alone() {
        let proc = tempfile::tempdir().unwrap();
        let put = |pid: u32, name: &str, text: &str| {
            let folder = proc.path().join(pid.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        };
        let found = Found::of(STATUS).unwrap();
        assert!(is_alone(proc.path(), &found));
        put(7, "status", STATUS);
        put(7, "comm", "sh\n");
        assert!(!is_alone(proc.path(), &found));
        put(7, "status", "");
        assert!(is_alone(proc.path(), &found));
        put(7, "comm", "takt\n");
        assert!(!is_alone(proc.path(), &found));
    }

    #[test]
    fn nobody_of_a_user_without_processes_is_ended() {
        assert_eq!(end_all_of(u32::MAX - 7), 0);
    }
}
