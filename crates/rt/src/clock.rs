// SPDX-License-Identifier: Apache-2.0
//! [`Clock`]: monotonic nanoseconds and absolute sleeps; the machine's ([`Monotonic`]) or a test's
//! ([`Virtual`]).
//!
//! Only this module asks the machine for the time (`inject-time`).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::guard;
use crate::policy::Tid;
use crate::sys::Errno;

/// Where time comes from. Nanoseconds since an arbitrary origin; never goes back.
pub trait Clock: Sync {
    /// Now, in nanoseconds. Bounded: no allocation; one vDSO call on the machine's clock.
    fn now_ns(&self) -> u64;

    /// Waits until `due_ns`; returns at once if that has passed. Absolute, so a loop of sleeps does
    /// not drift.
    #[track_caller]
    fn sleep_until(&self, due_ns: u64);
}

/// CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        now_ns(libc::CLOCK_MONOTONIC)
    }

    fn sleep_until(&self, due_ns: u64) {
        guard::blocking("sleep");
        let due = timespec(due_ns);
        // A signal handler may have run: the due time is absolute, so going back to sleep loses
        // nothing.
        // SAFETY: `due` is a valid timespec; with TIMER_ABSTIME no remaining time is written.
        while unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const due,
                std::ptr::null_mut(),
            )
        } == libc::EINTR
        {}
    }
}

/// What CLOCK_MONOTONIC's timers resolve to, nanoseconds: 1 with high-resolution timers, a tick
/// without.
pub fn resolution_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable, and the clock exists on every Linux.
    let returned = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(returned, 0, "CLOCK_MONOTONIC exists");
    nanoseconds(time)
}

/// Processor time that the calling thread has used, in nanoseconds: a system call of about 0.6 µs.
pub fn thread_time_ns() -> u64 {
    now_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time that another thread of this process has used; `None` if it has ended.
pub fn thread_time_ns_of(tid: Tid) -> Option<u64> {
    /// The kernel's: a thread's clock, of its time on a processor.
    const PER_THREAD_SCHED: i32 = 6;
    try_now_ns((!tid.raw() << 3) | PER_THREAD_SCHED)
}

/// Since the machine's start in nanoseconds, its sleep counted: CLOCK_BOOTTIME.
pub fn since_start_ns() -> u64 {
    now_ns(libc::CLOCK_BOOTTIME)
}

/// Since 1970 in nanoseconds; goes back when somebody sets the clock: CLOCK_REALTIME.
pub fn wall_ns() -> u64 {
    now_ns(libc::CLOCK_REALTIME)
}

/// Tells when somebody has set the wall clock, or the machine has slept.
#[derive(Debug)]
pub struct ClockChanges(OwnedFd);

impl ClockChanges {
    /// From now on.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub fn new() -> Result<Self, Errno> {
        // SAFETY: timerfd_create takes numbers alone.
        let raw = unsafe { libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_CLOEXEC) };
        Errno::check(raw.into())?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        let it = Self(unsafe { OwnedFd::from_raw_fd(raw) });
        it.arm()?;
        Ok(it)
    }

    /// A timer that never comes, and is cancelled when the clock is set.
    fn arm(&self) -> Result<(), Errno> {
        let mut never = libc::itimerspec {
            it_interval: timespec(0),
            it_value: timespec(0),
        };
        never.it_value.tv_sec = libc::time_t::MAX;
        let flags = libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET;
        // SAFETY: the descriptor is open, `never` is read, and no old value is written.
        let set = unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                flags,
                &raw const never,
                std::ptr::null_mut(),
            )
        };
        Errno::check(set.into()).map(drop)
    }

    /// Waits for the next change. Changes in quick succession may be one.
    ///
    /// # Errors
    ///
    /// The kernel's, of reading a timer.
    pub fn wait(&self) -> Result<(), Errno> {
        guard::blocking("wait for a change of the clock");
        let mut times = 0_u64;
        loop {
            // SAFETY: the descriptor is open, and eight bytes of `times` may be written.
            let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut times).cast(), 8) };
            match Errno::check(read as i64) {
                Err(Errno(libc::ECANCELED)) => return Ok(()),
                Err(Errno(libc::EINTR)) | Ok(_) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

fn now_ns(clock: libc::clockid_t) -> u64 {
    let now_ns = try_now_ns(clock);
    now_ns.unwrap_or_else(|| panic!("clock {clock} exists on every Linux"))
}

fn try_now_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable; a clock that is none is refused.
    let returned = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (returned == 0).then(|| nanoseconds(time))
}

fn nanoseconds(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds as the kernel takes them.
pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// A clock that a test moves: sleeping advances it, so one thread's periodic loop runs without
/// waiting.
#[derive(Debug, Default)]
pub struct Virtual {
    now_ns: AtomicU64,
}

impl Virtual {
    /// Starts at `now_ns`.
    pub fn at(now_ns: u64) -> Self {
        Self {
            now_ns: AtomicU64::new(now_ns),
        }
    }

    /// Lets time pass, as a computation would.
    pub fn advance(&self, by_ns: u64) {
        self.now_ns.fetch_add(by_ns, Ordering::SeqCst);
    }
}

impl Clock for Virtual {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, due_ns: u64) {
        self.now_ns.fetch_max(due_ns, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_time_is_seen_from_outside() {
        let (before_ns, own) = (thread_time_ns(), Tid::current());
        let seen_ns = std::thread::scope(|it| it.spawn(|| thread_time_ns_of(own)).join().unwrap());
        assert!(before_ns <= seen_ns.unwrap() && seen_ns.unwrap() <= thread_time_ns());
        assert_eq!(thread_time_ns_of(Tid::new(i32::MAX >> 3).unwrap()), None);
    }

    #[test]
    fn sleep_is_absolute_and_never_early() {
        let due_ns = Monotonic.now_ns() + 2_000_000;
        Monotonic.sleep_until(due_ns);
        assert!(Monotonic.now_ns() >= due_ns);
        Monotonic.sleep_until(due_ns - 1_000_000_000);
    }

    #[test]
    fn a_virtual_clock_never_goes_back() {
        let clock = Virtual::at(5);
        clock.sleep_until(3);
        assert_eq!(clock.now_ns(), 5);
        clock.sleep_until(9);
        clock.advance(1);
        assert_eq!(clock.now_ns(), 10);
    }
}
