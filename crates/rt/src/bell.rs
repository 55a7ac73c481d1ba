// SPDX-License-Identifier: Apache-2.0
//! [`Bell`]: wakes a sleeper, and stays rung until it is heard; [`Bells`]: one sleeper at many.
//!
//! Each bell is an eventfd of its own, so that who has one can ring it and disturb no other. The
//! kernel wakes under locks that inherit under PREEMPT_RT: an ordinary thread that is preempted
//! while it rings does not keep an urgent one from waking the same sleeper (`sync::event` says what
//! a futex does there).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::clock::{Clock, Monotonic};
use crate::guard;
use crate::sys::Errno;

/// Most bells heard in one wait; the others are heard in the next.
pub const HEARD_MAX: usize = 16;

/// See the module.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A silent one.
    pub fn new() -> Result<Self, Errno> {
        // SAFETY: eventfd takes numbers alone.
        let raw = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        Errno::check(raw.into())?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }))
    }

    /// One that another process sent; `None` for a descriptor of anything else. Off any path: it
    /// asks `/proc`. Who shares a bell can make a ring of it wait.
    pub fn adopt(fd: OwnedFd) -> Option<Self> {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let kind = std::fs::read_link(path).ok()?;
        (kind.as_os_str() == "anon_inode:[eventfd]").then_some(Self(fd))
    }

    /// Rings. One system call; does not sleep at a bell whose sleeper never silences it, since a
    /// bell that cannot be rung louder is rung.
    pub fn ring(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of `one` are read.
        let _ = unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What one thread sleeps at: bells and other descriptors, by numbers that it chose.
#[derive(Debug)]
pub struct Bells(OwnedFd);

/// How a descriptor is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// Once for each time that it is rung.
    EachRing,
    /// As long as there is something to read, or it is closed.
    WhileReadable,
}

impl Bells {
    /// None yet.
    pub fn new() -> Result<Self, Errno> {
        // SAFETY: epoll_create1 takes a number.
        let raw = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        Errno::check(raw.into())?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }))
    }

    /// Hears `fd` as `number` from now on, until it is removed or closed everywhere.
    pub fn add(&self, fd: BorrowedFd<'_>, number: u64, hearing: Hearing) -> Result<(), Errno> {
        let edge = match hearing {
            Hearing::EachRing => libc::EPOLLET as u32,
            Hearing::WhileReadable => 0,
        };
        self.control(libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN as u32 | edge, number)
    }

    /// Hears it no more.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    fn control(&self, op: i32, fd: BorrowedFd<'_>, events: u32, u64: u64) -> Result<(), Errno> {
        let mut event = libc::epoll_event { events, u64 };
        // SAFETY: `event` is readable, and the kernel copies it.
        let returned =
            unsafe { libc::epoll_ctl(self.0.as_raw_fd(), op, fd.as_raw_fd(), &raw mut event) };
        Errno::check(returned.into()).map(drop)
    }

    /// Sleeps until something is heard, at most until `due_ns`; gives the numbers. May come back
    /// with none.
    pub fn wait_until(&self, due_ns: Option<u64>) -> Heard {
        guard::blocking("wait for bells");
        let wait_ms = match due_ns {
            None => -1,
            Some(due_ns) => {
                let ns = due_ns.saturating_sub(Monotonic.now_ns());
                i32::try_from(ns.div_ceil(1_000_000)).unwrap_or(i32::MAX)
            }
        };
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; HEARD_MAX];
        // SAFETY: the array is writable for the count given.
        let count = unsafe {
            libc::epoll_wait(
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                HEARD_MAX as i32,
                wait_ms,
            )
        };
        Heard {
            numbers: events.map(|it| it.u64),
            // A signal handler ran: nothing was heard.
            count: usize::try_from(count).unwrap_or(0),
        }
    }
}

/// Numbers of what was heard.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    numbers: [u64; HEARD_MAX],
    count: usize,
}

impl Heard {
    /// The numbers.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_bell_is_not_adopted() {
        let bell = Bell::new().unwrap();
        let copy = bell.as_fd().try_clone_to_owned().unwrap();
        assert!(Bell::adopt(copy).is_some());
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert!(Bell::adopt(file.into()).is_none());
    }

    #[test]
    fn a_ring_before_the_wait_is_heard_and_only_once() {
        let (bell, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        let bells = Bells::new().unwrap();
        bells.add(bell.as_fd(), 5, Hearing::EachRing).unwrap();
        bells.add(other.as_fd(), 6, Hearing::EachRing).unwrap();
        bell.ring();
        bell.ring();
        assert_eq!(bells.wait_until(None).numbers(), [5]);
        assert_eq!(bells.wait_until(Some(0)).numbers(), []);
        bell.ring();
        assert_eq!(bells.wait_until(None).numbers(), [5]);
    }
}
