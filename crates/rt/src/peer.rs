// SPDX-License-Identifier: Apache-2.0
//! Another process, as the kernel knows it: whether it lives ([`PidFd`]), whether a thread is its
//! own, and how urgent that thread is.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::policy::{Policy, Tid};
use crate::sys::Errno;

/// How urgent a thread is: 0 ordinary, 1 to 99 its real-time priority, [`Urgency::DEADLINE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Urgency(u8);

impl Urgency {
    /// An ordinary thread.
    pub const ORDINARY: Self = Self(0);
    /// A thread with a reservation: before all others, as the kernel has it.
    pub const DEADLINE: Self = Self(100);

    /// Of a number; what is beyond the scale is its end.
    pub fn new(level: u32) -> Self {
        Self(level.min(100) as u8)
    }

    /// 0 to 100.
    pub fn get(self) -> u8 {
        self.0
    }

    /// Whether ordinary threads are to wait for it.
    pub fn is_real_time(self) -> bool {
        self != Self::ORDINARY
    }

    /// By a policy.
    pub fn of_policy(policy: Policy) -> Self {
        match policy {
            Policy::Deadline(_) => Self::DEADLINE,
            _ => Self(policy.priority().map_or(0, |it| it.get())),
        }
    }

    /// The calling thread's own, without what is lent to it. One system call.
    pub fn of_current() -> Self {
        Policy::of_current().map_or(Self::ORDINARY, Self::of_policy)
    }
}

/// Threads that [`PidFd::let_end`] looks at: what a machine starts comes first.
pub const LOOKED_AT_MAX: usize = 256;
/// Room for the path of a thread's file, and for its beginning up to the field that is read.
const PATH_BYTES: usize = 64;
const STAT_BYTES: usize = 512;

/// A process, by a descriptor that never means another one.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: i32,
}

impl PidFd {
    /// The process that has this number now.
    pub fn open(pid: i32) -> Result<Self, Errno> {
        // SAFETY: pidfd_open takes numbers alone.
        let raw = Errno::check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        let fd = unsafe { OwnedFd::from_raw_fd(raw as i32) };
        Ok(Self { fd, pid })
    }

    /// The number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether the process has ended. One system call; does not sleep.
    pub fn has_ended(&self) -> bool {
        let mut poll = libc::pollfd {
            fd: self.fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `poll` is one entry, writable.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }

    /// Whether the process has a thread of this number. One system call; does not sleep.
    pub fn has_thread(&self, tid: Tid) -> bool {
        // SAFETY: signal 0 is sent to nobody: the kernel looks for the thread alone.
        let returned = unsafe { libc::syscall(libc::SYS_tgkill, self.pid, tid.raw(), 0) };
        // A thread that may not be signalled is there.
        returned == 0 || Errno::last().0 == libc::EPERM
    }

    /// Lets a process that was killed end while others have work. Each thread has to run for that,
    /// and the last one gives the memory back: one at SCHED_IDLE would wait as long as there is
    /// work. Such threads become ordinary, if this process may say so: of the first
    /// [`LOOKED_AT_MAX`]. Two system calls for each of these at most, and a folder of `/proc`.
    pub fn let_end(&self) {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else {
            return;
        };
        for thread in threads.flatten().take(LOOKED_AT_MAX) {
            let number = thread.file_name().to_str().and_then(|it| it.parse().ok());
            if let Some(tid) = number.and_then(Tid::new)
                && matches!(Policy::of(tid), Ok(Policy::Idle))
                && self.has_thread(tid)
            {
                // Without the privilege it ends when it may.
                let _ = Policy::Other { nice: 0 }.apply(tid);
            }
        }
    }

    /// How urgent a thread of the process is by the kernel's word: by its own policy, or by what
    /// is lent to it. A claim lowers that, and never raises it. `None` if the thread is not the
    /// process's. Two system calls; where the claim is beyond the thread's own policy, a file of
    /// `/proc` besides.
    pub fn urgency(&self, tid: Tid, claim: Urgency) -> Option<Urgency> {
        let own = Urgency::of_policy(Policy::of(tid).ok()?);
        let granted = if claim <= own {
            own
        } else {
            self.lent(tid)?.max(own)
        };
        self.has_thread(tid).then_some(granted.min(claim))
    }

    /// What the scheduler goes by now, lent priorities included: field 18 of /proc/…/stat.
    fn lent(&self, tid: Tid) -> Option<Urgency> {
        // No allocation: it may wait for less urgent threads of this process.
        let mut path = [0; PATH_BYTES];
        let mut rest = &mut path[..];
        write!(rest, "/proc/{}/task/{}/stat", self.pid, tid.raw()).ok()?;
        let size = PATH_BYTES - rest.len();
        let path = std::str::from_utf8(&path[..size]).ok()?;
        let mut bytes = [0; STAT_BYTES];
        let size = File::open(path).ok()?.read(&mut bytes).ok()?;
        // A name may hold any bytes, but none of the fields behind it.
        let end = bytes[..size].iter().rposition(|&it| it == b')')?;
        let rest = std::str::from_utf8(&bytes[end + 1..size]).ok()?;
        let shown: i32 = rest.split_whitespace().nth(15)?.parse().ok()?;
        // −1 − priority of a real-time thread, −101 of one with a reservation.
        Some(Urgency::new((-1 - shown).max(0).unsigned_abs()))
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_threads_and_its_end() {
        let own = PidFd::open(std::process::id().cast_signed()).unwrap();
        assert!(own.has_thread(Tid::current()));
        assert!(!own.has_thread(Tid::new(1).unwrap()), "init's thread");
        assert!(!own.has_ended());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let other = PidFd::open(child.id().cast_signed()).unwrap();
        child.wait().unwrap();
        assert!(other.has_ended());
    }

    #[test]
    fn what_was_killed_may_run_to_its_end() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let pid = child.id().cast_signed();
        let (other, thread) = (PidFd::open(pid).unwrap(), Tid::new(pid).unwrap());
        Policy::Idle.apply(thread).unwrap();
        other.let_end();
        // A process without the privilege may not say so.
        let may = Policy::Other { nice: 0 }.apply(thread).is_ok();
        assert_eq!(Policy::of(thread).unwrap() != Policy::Idle, may);
        child.kill().unwrap();
        child.wait().unwrap();
        other.let_end();
    }

    #[test]
    fn a_claim_lowers_and_never_raises() {
        let own = PidFd::open(std::process::id().cast_signed()).unwrap();
        let tid = Tid::current();
        let base = Urgency::of_current();
        assert_eq!(own.urgency(tid, Urgency::new(99)), Some(base));
        assert_eq!(own.urgency(tid, Urgency::ORDINARY), Some(Urgency::ORDINARY));
        let foreign = Tid::new(1).unwrap();
        assert_eq!(own.urgency(foreign, Urgency::new(99)), None);
    }
}
