// SPDX-License-Identifier: Apache-2.0
//! [`Policy`]: who runs when, as Linux offers it, with refusals that say how to mend them.
//!
//! Setting a policy is one system call without a wait. The reasons of a refusal are looked up
//! afterwards, by [`PolicyError`], off the path.

mod refusal;

use std::fmt;
use std::num::NonZeroU8;

use crate::sys::{Errno, sched};

pub use refusal::{PolicyError, Refusal};

/// A thread of this or another process, by its kernel number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tid(i32);

impl Tid {
    /// The calling thread.
    pub fn current() -> Self {
        // SAFETY: gettid has no preconditions.
        Self(unsafe { libc::gettid() })
    }

    /// A thread by number, as found in `/proc`; `None` unless it is positive.
    pub fn new(raw: i32) -> Option<Self> {
        (raw > 0).then_some(Self(raw))
    }

    /// The kernel's number.
    pub fn raw(self) -> i32 {
        self.0
    }
}

impl fmt::Debug for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tid({})", self.0)
    }
}

/// A real-time priority, 1 (least urgent) to 99.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(NonZeroU8);

impl Priority {
    /// The least urgent real-time priority.
    pub const MIN: Self = Self(NonZeroU8::MIN);
    /// The most urgent one. The kernel's own watchdog threads run there.
    pub const MAX: Self = Self(NonZeroU8::new(99).unwrap());

    /// `None` unless 1 ≤ `level` ≤ 99.
    pub const fn new(level: u8) -> Option<Self> {
        match NonZeroU8::new(level) {
            Some(level) if level.get() <= 99 => Some(Self(level)),
            _ => None,
        }
    }

    /// 1 to 99.
    pub const fn get(self) -> u8 {
        self.0.get()
    }
}

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A reservation of processor time for SCHED_DEADLINE: `runtime_ns` in every `period_ns`, due at
/// `deadline_ns` after each release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Budget per period; at least 1,024 ns.
    pub runtime_ns: u64,
    /// Relative deadline; runtime ≤ deadline ≤ period.
    pub deadline_ns: u64,
    /// 100 µs to 4.19 s unless the machine was told otherwise.
    pub period_ns: u64,
}

/// A Linux scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER: fair shares, −20 (largest) to 19.
    Other {
        /// Weight of the share.
        nice: i8,
    },
    /// SCHED_BATCH: fair shares, woken without preempting others.
    Batch {
        /// Weight of the share.
        nice: i8,
    },
    /// SCHED_IDLE: what no other thread wants.
    Idle,
    /// SCHED_FIFO: runs until it blocks or a more urgent thread is ready.
    Fifo(Priority),
    /// SCHED_RR: as FIFO, with turns among equals.
    RoundRobin(Priority),
    /// SCHED_DEADLINE: earliest deadline first under a reservation.
    Deadline(Reservation),
}

impl Policy {
    /// SCHED_FIFO at `level`; panics outside 1 to 99: for constants in programs.
    pub const fn fifo(level: u8) -> Self {
        Self::Fifo(Priority::new(level).expect("a FIFO priority is 1 to 99"))
    }

    /// SCHED_OTHER with the calling thread's own nice value: what the kernel refuses nobody, unlike
    /// any smaller one. One system call.
    pub fn ordinary() -> Self {
        Self::Other {
            nice: sched::nice(),
        }
    }

    /// The policy a thread has now. Priorities lent to it by locks do not show here.
    pub fn of(tid: Tid) -> Result<Self, PolicyError> {
        let attr = sched::get(tid).map_err(|errno| PolicyError::reading(tid, errno))?;
        Self::from_attr(&attr).ok_or_else(|| PolicyError::reading(tid, Errno(libc::ENOTSUP)))
    }

    /// The calling thread's, in one system call.
    pub fn of_current() -> Result<Self, PolicyError> {
        Self::of(Tid(0)) // The kernel's word for the caller.
    }

    /// Gives a thread this policy. One system call; the thread may be anyone's that the caller may
    /// govern.
    pub fn apply(self, tid: Tid) -> Result<(), PolicyError> {
        if let Self::Other { nice } | Self::Batch { nice } = self
            && !(-20..=19).contains(&nice)
        {
            // The kernel would take the nearest value and say nothing.
            return Err(PolicyError::setting(self, tid, Errno(libc::EINVAL)));
        }
        sched::set(tid, &self.attr()).map_err(|errno| PolicyError::setting(self, tid, errno))
    }

    /// Gives the calling thread this policy until the guard is dropped, which restores the one it
    /// had.
    pub fn enter(self) -> Result<PolicyGuard, PolicyError> {
        let tid = Tid::current();
        let before = Self::of(tid)?;
        self.apply(tid)?;
        Ok(PolicyGuard {
            tid,
            before,
            not_send: std::marker::PhantomData,
        })
    }

    /// The real-time priority, where the policy has one.
    pub fn priority(self) -> Option<Priority> {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => Some(priority),
            Self::Other { .. } | Self::Batch { .. } | Self::Idle | Self::Deadline(_) => None,
        }
    }

    /// Whether ordinary threads never delay a thread of this policy.
    pub fn is_real_time(self) -> bool {
        !matches!(self, Self::Other { .. } | Self::Batch { .. } | Self::Idle)
    }

    fn attr(self) -> sched::SchedAttr {
        let attr = sched::SchedAttr {
            size: size_of::<sched::SchedAttr>() as u32,
            ..sched::SchedAttr::default()
        };
        let of_priority = |policy: i32, priority: Priority| sched::SchedAttr {
            policy: policy as u32,
            priority: u32::from(priority.get()),
            ..attr
        };
        let of_nice = |policy: i32, nice: i8| sched::SchedAttr {
            policy: policy as u32,
            nice: i32::from(nice),
            ..attr
        };
        match self {
            Self::Other { nice } => of_nice(libc::SCHED_OTHER, nice),
            Self::Batch { nice } => of_nice(libc::SCHED_BATCH, nice),
            Self::Idle => of_nice(libc::SCHED_IDLE, 0),
            Self::Fifo(priority) => of_priority(libc::SCHED_FIFO, priority),
            Self::RoundRobin(priority) => of_priority(libc::SCHED_RR, priority),
            Self::Deadline(reservation) => sched::SchedAttr {
                policy: libc::SCHED_DEADLINE as u32,
                flags: sched::RESET_ON_FORK,
                runtime_ns: reservation.runtime_ns,
                deadline_ns: reservation.deadline_ns,
                period_ns: reservation.period_ns,
                ..attr
            },
        }
    }

    fn from_attr(attr: &sched::SchedAttr) -> Option<Self> {
        let nice = i8::try_from(attr.nice).ok()?;
        let priority = || u8::try_from(attr.priority).ok().and_then(Priority::new);
        Some(match attr.policy as i32 {
            libc::SCHED_OTHER => Self::Other { nice },
            libc::SCHED_BATCH => Self::Batch { nice },
            libc::SCHED_IDLE => Self::Idle,
            libc::SCHED_FIFO => Self::Fifo(priority()?),
            libc::SCHED_RR => Self::RoundRobin(priority()?),
            libc::SCHED_DEADLINE => Self::Deadline(Reservation {
                runtime_ns: attr.runtime_ns,
                deadline_ns: attr.deadline_ns,
                period_ns: attr.period_ns,
            }),
            _ => return None,
        })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { nice } => write!(f, "other (nice {nice})"),
            Self::Batch { nice } => write!(f, "batch (nice {nice})"),
            Self::Idle => write!(f, "idle"),
            Self::Fifo(priority) => write!(f, "FIFO {priority}"),
            Self::RoundRobin(priority) => write!(f, "RR {priority}"),
            Self::Deadline(it) => write!(
                f,
                "DEADLINE {}/{}/{} ns",
                it.runtime_ns, it.deadline_ns, it.period_ns
            ),
        }
    }
}

/// Restores the calling thread's policy when dropped. Stays on its thread.
#[must_use = "the policy is restored when the guard is dropped"]
#[derive(Debug)]
pub struct PolicyGuard {
    tid: Tid,
    before: Policy,
    not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for PolicyGuard {
    fn drop(&mut self) {
        // Going back to an ordinary policy needs no privilege; a refused raise leaves the thread
        // less urgent than before, which the next `Policy::of` shows. A destructor has nobody to
        // tell.
        let _ = self.before.apply(self.tid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::Builder;

    const RESERVATION: Reservation = Reservation {
        runtime_ns: 200_000,
        deadline_ns: 5_000_000,
        period_ns: 10_000_000,
    };

    #[test]
    fn attributes_and_policies_map_both_ways() {
        for policy in [
            Policy::Other { nice: 5 },
            Policy::Batch { nice: 19 },
            Policy::fifo(1),
            Policy::RoundRobin(Priority::MAX),
            Policy::Deadline(RESERVATION),
        ] {
            assert_eq!(Policy::from_attr(&policy.attr()), Some(policy));
        }
    }

    #[test]
    fn an_ordinary_thread_stays_as_nice_as_it_is() {
        let spawn = |body: fn() -> Policy| Builder::new("nice").spawn(body).unwrap().join();
        let own = spawn(|| {
            Policy::Other { nice: 7 }.apply(Tid::current()).unwrap();
            let _urgent = Policy::fifo(1).enter();
            Policy::ordinary()
        });
        assert_eq!(own, Policy::Other { nice: 7 });
    }

    #[test]
    fn priorities_are_1_to_99() {
        assert_eq!(Priority::new(0), None);
        assert_eq!(Priority::new(100), None);
        assert_eq!(Priority::new(99), Some(Priority::MAX));
    }

    #[test]
    fn a_guard_restores_what_was_there() {
        let before = Policy::of(Tid::current()).unwrap();
        for policy in [
            Policy::Batch { nice: 0 },
            Policy::fifo(3),
            Policy::Deadline(RESERVATION),
        ] {
            match policy.enter() {
                Ok(_guard) => assert_eq!(Policy::of(Tid::current()).unwrap(), policy),
                Err(refusal) => {
                    assert!(policy.is_real_time(), "{refusal}");
                    eprintln!("not privileged here: {refusal}");
                }
            }
            assert_eq!(Policy::of(Tid::current()).unwrap(), before);
        }
    }

    #[test]
    fn a_thread_that_is_gone_is_named() {
        let gone = Tid::new(i32::MAX).unwrap();
        let error = Policy::fifo(1).apply(gone).unwrap_err();
        assert_eq!(error.refusal, Refusal::NoSuchThread);
    }

    #[test]
    fn a_nice_value_beyond_the_range_is_malformed() {
        for policy in [Policy::Other { nice: 20 }, Policy::Batch { nice: -21 }] {
            let error = policy.apply(Tid::current()).unwrap_err();
            assert_eq!(error.refusal, Refusal::Malformed);
        }
    }

    #[test]
    fn a_reservation_beyond_its_period_is_malformed() {
        let too_much = Reservation {
            runtime_ns: 20_000_000,
            ..RESERVATION
        };
        let error = Policy::Deadline(too_much)
            .apply(Tid::current())
            .unwrap_err();
        assert_eq!(error.refusal, Refusal::Malformed);
        assert!(
            error.to_string().contains("runtime ≤ deadline ≤ period"),
            "{error}"
        );
    }
}
