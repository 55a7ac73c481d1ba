// SPDX-License-Identifier: Apache-2.0
//! [`PolicyError`]: which capability, limit or admission test refused a policy, and how to mend it.

use std::fmt;

use crate::policy::{Policy, Tid};
use crate::rights::{Capability, Limit};
use crate::sys::Errno;

/// What stood in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The caller has neither CAP_SYS_NICE nor a large enough RLIMIT_RTPRIO (its value).
    PriorityLimit(u64),
    /// The caller has neither CAP_SYS_NICE nor a large enough RLIMIT_NICE (its value).
    NiceLimit(u64),
    /// SCHED_DEADLINE asks for CAP_SYS_NICE; no limit grants it.
    DeadlineNeedsCapability,
    /// SCHED_DEADLINE asks that the thread may run on every CPU of its root domain.
    DeadlineAffinity,
    /// The thread's control group has no real-time time (RT_GROUP_SCHED), or it belongs to another
    /// user.
    GroupOrOwner,
    /// The admission test: the reservations of this machine would exceed what `sched_rt_runtime_us`
    /// leaves them.
    Admission,
    /// The parameters contradict each other or the kernel's limits.
    Malformed,
    /// The thread has ended.
    NoSuchThread,
    /// Anything else the kernel says.
    Other(Errno),
}

/// A refused policy: whose, which, why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PolicyError {
    /// The policy that was asked for; `None` while reading one.
    pub policy: Option<Policy>,
    /// The thread it was for.
    pub tid: Tid,
    /// What stood in the way.
    pub refusal: Refusal,
}

impl PolicyError {
    pub(super) fn reading(tid: Tid, errno: Errno) -> Self {
        let refusal = match errno.0 {
            libc::ESRCH => Refusal::NoSuchThread,
            _ => Refusal::Other(errno),
        };
        Self {
            policy: None,
            tid,
            refusal,
        }
    }

    pub(super) fn setting(policy: Policy, tid: Tid, errno: Errno) -> Self {
        let refusal = match errno.0 {
            libc::ESRCH => Refusal::NoSuchThread,
            libc::EINVAL => Refusal::Malformed,
            libc::EBUSY => Refusal::Admission,
            libc::EPERM | libc::EACCES => why_not_permitted(policy),
            _ => Refusal::Other(errno),
        };
        Self {
            policy: Some(policy),
            tid,
            refusal,
        }
    }
}

fn why_not_permitted(policy: Policy) -> Refusal {
    let is_capable = Capability::SysNice.is_held();
    match policy {
        Policy::Deadline(_) if is_capable => Refusal::DeadlineAffinity,
        Policy::Deadline(_) => Refusal::DeadlineNeedsCapability,
        _ if is_capable => Refusal::GroupOrOwner,
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => {
            let limit = Limit::RtPriority.soft();
            if limit < u64::from(priority.get()) {
                Refusal::PriorityLimit(limit)
            } else {
                Refusal::GroupOrOwner
            }
        }
        Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle => {
            Refusal::NiceLimit(Limit::Nice.soft())
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.policy {
            Some(policy) => write!(f, "{policy} refused for thread {}: ", self.tid.raw())?,
            None => write!(f, "cannot read the policy of thread {}: ", self.tid.raw())?,
        }
        fmt::Display::fmt(&self.refusal, f)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PriorityLimit(limit) => write!(
                f,
                "no CAP_SYS_NICE, and the limit on real-time priority is {limit}; mend it with \
                 `rtprio 99` for this user in /etc/security/limits.d, or run as root"
            ),
            Self::NiceLimit(limit) => write!(
                f,
                "no CAP_SYS_NICE, and RLIMIT_NICE is {limit} (nice {} at best); mend it with `nice -20` \
                 for this user in /etc/security/limits.d, or run as root",
                20 - (*limit).min(40) as i64
            ),
            Self::DeadlineNeedsCapability => f.write_str(
                "SCHED_DEADLINE needs CAP_SYS_NICE; mend it with `setcap cap_sys_nice+ep` on the program, or \
                 run as root",
            ),
            Self::DeadlineAffinity => f.write_str(
                "SCHED_DEADLINE wants the thread on every CPU of its root domain; mend it by dropping the \
                 affinity, or by a cpuset partition of its own",
            ),
            Self::GroupOrOwner => f.write_str(
                "the thread's control group has no real-time budget, or it is another user's; see \
                 cpu.rt_runtime_us of its group, or move it to the root group",
            ),
            Self::Admission => f.write_str(
                "the admission test failed: reservations may take sched_rt_runtime_us of every \
                 sched_rt_period_us per CPU in sum; mend it by a smaller runtime, a longer period, or by ending \
                 other SCHED_DEADLINE threads",
            ),
            Self::Malformed => f.write_str(
                "the parameters do not fit: nice −20 to 19; for SCHED_DEADLINE runtime ≤ deadline ≤ period, \
                 runtime at least 1,024 ns, period within sched_deadline_period_min_us and _max_us",
            ),
            Self::NoSuchThread => f.write_str("the thread has ended"),
            Self::Other(errno) => fmt::Display::fmt(errno, f),
        }
    }
}
