// SPDX-License-Identifier: Apache-2.0
//! [`end_all_of`]: what is left of a package behind its last process: programs that it has started.
//!
//! They are found by the user that the package alone has, and by the marks of a sandbox, which
//! nobody can take off: another user's program of the same number has not both.

use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Looks until nothing is found: one that forks meanwhile is found by the next.
const LOOKS_MAX: usize = 64;

/// Ends all confined processes of a user, and says how many there were.
pub(crate) fn end_all_of(uid: u32) -> usize {
    let mut count = 0;
    for _ in 0..LOOKS_MAX {
        let ended = look(Path::new("/proc"), uid);
        count += ended;
        if ended == 0 {
            break;
        }
    }
    count
}

fn look(proc: &Path, uid: u32) -> usize {
    let mut ended = 0;
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
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if is_ours(&status, uid) && pidfd_send_signal(&pidfd, Signal::KILL).is_ok() {
            ended += 1;
        }
    }
    ended
}

/// By a process's `status`; one that is dead and not waited for yet is none.
fn is_ours(status: &str, uid: u32) -> bool {
    let field = |name: &str| {
        let line = status.lines().find_map(|it| it.strip_prefix(name))?;
        line.split_whitespace().next()
    };
    let number = |name| field(name).and_then(|it| it.parse::<u32>().ok());
    let is_dead = matches!(field("State:"), None | Some("Z" | "X"));
    let is_confined = number("NoNewPrivs:") == Some(1) && number("Seccomp:") == Some(2);
    !is_dead && is_confined && number("Uid:") == Some(uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tsleep\nState:\tS (sleeping)\nUid:\t10001\t10001\t10001\t10001\n\
                          NoNewPrivs:\t1\nSeccomp:\t2\n";

    #[test]
    fn a_confined_process_of_that_user_is_ours_and_no_other() {
        assert!(is_ours(STATUS, 10_001));
        assert!(!is_ours(STATUS, 10_002));
        for (from, to) in [
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("State:\tS", "State:\tZ"),
            ("Uid:", "Gid:"),
        ] {
            assert!(!is_ours(&STATUS.replace(from, to), 10_001), "{to}");
        }
        assert!(!is_ours("", 10_001));
    }

    #[test]
    fn nobody_of_a_user_without_processes_is_ended() {
        assert_eq!(end_all_of(u32::MAX - 7), 0);
    }
}
