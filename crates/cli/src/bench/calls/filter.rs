// SPDX-License-Identifier: Apache-2.0
//! A sandbox's system-call filter, as wide as calls between processes need. Who calls anything
//! else is killed: so a run that ends has kept to it.

use anyhow::{Context, Result};
use seccompiler::{BpfProgram, TargetArch};

/// What both ends call once they are joined: to wait, to wake, to ask for priorities, to send and
/// receive; room; files of `/proc`; their end.
const ALLOWED: [&str; 48] = [
    "brk",
    "clock_gettime",
    "clock_nanosleep",
    "clone",
    "clone3",
    "close",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_wait",
    "eventfd2",
    "exit",
    "exit_group",
    "fcntl",
    "fstat",
    "ftruncate",
    "futex",
    "getpid",
    "getrandom",
    "gettid",
    "lseek",
    "madvise",
    "memfd_create",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "newfstatat",
    "openat",
    "poll",
    "prctl",
    "read",
    "recvmsg",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_getattr",
    "sched_getparam",
    "sched_getscheduler",
    "sched_yield",
    "sendmsg",
    "set_robust_list",
    "shutdown",
    "sigaltstack",
    "tgkill",
    "write",
];

fn program() -> Result<BpfProgram> {
    let allowed = ALLOWED
        .map(|it| serde_json::json!({ "syscall": it }))
        .to_vec();
    let filter = serde_json::json!({ "calls": {
        "mismatch_action": "kill_process",
        "match_action": "allow",
        "filter": allowed,
    }});
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut made = seccompiler::compile_from_json(filter.to_string().as_bytes(), arch)?;
    made.remove("calls").context("a filter was made")
}

/// The calling thread keeps to it from now on.
pub(crate) fn enter() -> Result<()> {
    seccompiler::apply_filter(&program()?).context("cannot filter system calls")
}

/// All threads of the process do.
pub(super) fn enter_all() -> Result<()> {
    seccompiler::apply_filter_all_threads(&program()?).context("cannot filter system calls")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    /// The other program: this one again; see below.
    #[test]
    fn child() {
        if std::env::var_os("FILTERED").is_some() {
            super::enter().unwrap();
            // What no call between processes needs.
            let _ = std::fs::create_dir("/");
        }
    }

    #[test]
    fn who_calls_what_is_not_allowed_is_killed() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "bench::calls::filter::tests::child"]);
        assert!(command.output().unwrap().status.success());
        let status = command.env("FILTERED", "1").output().unwrap().status;
        assert!(status.signal().is_some(), "{status:?}");
    }
}
