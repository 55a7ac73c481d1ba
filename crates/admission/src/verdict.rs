// SPDX-License-Identifier: Apache-2.0
//! What admission says.

use core::fmt;

use thiserror::Error;

use crate::TASKS_MAX;
use crate::machine::Throttle;
use crate::response::Response;
use crate::task::{Task, TaskFault};

/// All tasks meet their deadlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// One for each task, in the order of the question.
    pub tasks: Vec<Admitted>,
}

/// What a task is promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// A processor, and how long it takes there at the most.
    Fifo(Response),
    /// Its deadline, wherever it runs.
    Deadline {
        /// Whose.
        task: String,
        /// Which.
        deadline_ns: u64,
    },
}

impl Admitted {
    pub(crate) fn deadline(task: &Task) -> Self {
        Self::Deadline {
            task: task.name.clone(),
            deadline_ns: task.deadline_ns,
        }
    }
}

impl Verdict {
    /// The processor of the task at this place, if it has one.
    pub fn processor(&self, at: usize) -> Option<u32> {
        match self.tasks.get(at)? {
            Admitted::Fifo(response) => response.processor,
            Admitted::Deadline { .. } => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for task in &self.tasks {
            match task {
                Admitted::Fifo(response) => writeln!(f, "{response}")?,
                Admitted::Deadline { task, deadline_ns } => {
                    writeln!(
                        f,
                        "{task} on any processor: within {} µs",
                        deadline_ns / 1000
                    )?;
                }
            }
        }
        Ok(())
    }
}

/// Why a set is not admitted. Densities and utilisations are in billionths of a processor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// More tasks than an analysis takes.
    #[error("{0} tasks; at most {TASKS_MAX} are supported")]
    TooMany(usize),
    /// Something is no task.
    #[error("{0}: {1}")]
    Task(String, TaskFault),
    /// The DEADLINE tasks exceed the density bound.
    #[error(
        "the DEADLINE tasks need a density of {}, and {} is the bound beside {densest}, which has {}",
        share(*sum), share(*limit), share(*most)
    )]
    Density {
        /// The task of the largest density.
        densest: String,
        /// Its density.
        most: u64,
        /// All together.
        sum: u64,
        /// What may be.
        limit: u64,
    },
    /// The kernel would refuse the DEADLINE tasks.
    #[error("the DEADLINE tasks use {}, and the kernel lets in {}", share(*sum), share(*limit))]
    Kernel {
        /// All together.
        sum: u64,
        /// What may be.
        limit: u64,
    },
    /// No way to place the FIFO tasks; the one that came nearest.
    #[error("a deadline is missed{}", nearest(.0.as_ref()))]
    Late(Option<Response>),
    /// The kernel would stop real-time threads in mid-computation.
    #[error(
        "processor {processor} may have {} ms of real-time work within {} ms, and the kernel stops it at {} ms \
         (kernel.sched_rt_runtime_us)",
        work_ns / 1_000_000, throttle.period_ns / 1_000_000, throttle.runtime_ns / 1_000_000
    )]
    Throttled {
        /// Which.
        processor: u32,
        /// The most that its tasks and all DEADLINE tasks compute in a period of the throttle.
        work_ns: u64,
        /// What the kernel leaves.
        throttle: Throttle,
    },
    /// The search was ended before it was decided.
    #[error("no assignment to processors was found in bounded time: pin the tasks")]
    TooHard,
}

fn share(billionths: u64) -> String {
    let thousandths = billionths.div_ceil(1_000_000);
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

fn nearest(response: Option<&Response>) -> String {
    response.map_or_else(String::new, |it| format!(": {it}"))
}
