// SPDX-License-Identifier: Apache-2.0
//! What a task says of itself, and what is no task.

use thiserror::Error;

use crate::machine::Machine;

/// Under which of Linux's policies a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_FIFO.
    Fifo {
        /// 1 to 99, 99 the most urgent.
        priority: u8,
        /// The processor that it is pinned to; without one, admission chooses.
        processor: Option<u32>,
    },
    /// SCHED_DEADLINE, with the task's own runtime, deadline and period.
    Deadline,
}

/// Something that is released again and again and has a time to be done by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// As reports name it.
    pub name: String,
    /// How it is scheduled.
    pub policy: Policy,
    /// The longest that one release computes.
    pub runtime_ns: u64,
    /// From a release to when it must be done: at most the period.
    pub deadline_ns: u64,
    /// The shortest time between two releases.
    pub period_ns: u64,
    /// The longest that less urgent ones keep one release waiting, by locks.
    pub blocking_ns: u64,
}

/// Why something is no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TaskFault {
    /// It computes for no time, or the period is none.
    #[error("runtime, deadline and period are more than 0")]
    Nothing,
    /// It could not even meet its deadline alone.
    #[error("the runtime is longer than the deadline")]
    LongerThanDeadline,
    /// Two releases would be alive at once.
    #[error("a deadline behind the next release is not supported")]
    DeadlineBehindPeriod,
    /// Longer than [`Task::PERIOD_MAX_NS`].
    #[error("a period above an hour is not supported")]
    PeriodTooLong,
    /// Linux has 1 to 99.
    #[error("a priority is 1 to 99")]
    Priority,
    /// The machine has fewer.
    #[error("the machine has no processor {0}")]
    Processor(u32),
}

impl Task {
    /// An hour: what is released more seldom is no periodic task.
    pub const PERIOD_MAX_NS: u64 = 3_600_000_000_000;

    pub(crate) fn check(&self, machine: &Machine) -> Result<(), TaskFault> {
        if self.runtime_ns == 0 || self.deadline_ns == 0 || self.period_ns == 0 {
            return Err(TaskFault::Nothing);
        }
        if self.runtime_ns > self.deadline_ns {
            return Err(TaskFault::LongerThanDeadline);
        }
        if self.deadline_ns > self.period_ns {
            return Err(TaskFault::DeadlineBehindPeriod);
        }
        if self.period_ns > Self::PERIOD_MAX_NS {
            return Err(TaskFault::PeriodTooLong);
        }
        match self.policy {
            Policy::Fifo { priority, .. } if !(1..=99).contains(&priority) => {
                Err(TaskFault::Priority)
            }
            Policy::Fifo {
                processor: Some(it),
                ..
            } if it >= machine.processors => Err(TaskFault::Processor(it)),
            _ => Ok(()),
        }
    }

    /// The most that it computes in any window of this length while it meets its deadlines,
    /// wherever its releases lie (Bertogna, Cirinei and Lipari, 2005, equation 4).
    pub(crate) fn work_within(&self, window_ns: u64) -> u64 {
        let reach = window_ns + self.deadline_ns - self.runtime_ns;
        let whole = reach / self.period_ns;
        let rest = reach - whole * self.period_ns;
        whole * self.runtime_ns + rest.min(self.runtime_ns)
    }

    pub(crate) fn is_deadline(&self) -> bool {
        self.policy == Policy::Deadline
    }

    /// Its priority and where it is pinned, if it is a FIFO task.
    pub(crate) fn fifo(&self) -> Option<(u8, Option<u32>)> {
        match self.policy {
            Policy::Fifo {
                priority,
                processor,
            } => Some((priority, processor)),
            Policy::Deadline => None,
        }
    }
}
