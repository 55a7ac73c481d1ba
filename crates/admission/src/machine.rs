// SPDX-License-Identifier: Apache-2.0
//! The machine that tasks shall run on.

use crate::task::Task;
use crate::verdict::{Refusal, Verdict};

/// What of a machine matters to a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// How many processors real-time tasks may use, numbered from 0.
    pub processors: u32,
    /// How late a release may start because of the machine itself (`takt latency`).
    pub wake_ns: u64,
    /// What the kernel leaves to real-time threads; none if it leaves them all.
    pub throttle: Option<Throttle>,
}

/// `kernel.sched_rt_runtime_us` of `kernel.sched_rt_period_us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// Of each period, so much.
    pub runtime_ns: u64,
    /// Above 0.
    pub period_ns: u64,
}

/// Refuses what the kernel would stop in mid-computation: on some processor, more work within one
/// of its periods than it leaves to real-time threads.
pub(crate) fn check_throttle(
    machine: &Machine,
    tasks: &[Task],
    verdict: &Verdict,
) -> Result<(), Refusal> {
    let Some(throttle) = machine.throttle else {
        return Ok(());
    };
    for processor in 0..machine.processors {
        let is_here =
            |at: usize| tasks[at].is_deadline() || verdict.processor(at) == Some(processor);
        let here = (0..tasks.len()).filter(|&at| is_here(at));
        let work_ns: u64 = here
            .map(|at| tasks[at].work_within(throttle.period_ns))
            .sum();
        if work_ns > throttle.runtime_ns {
            return Err(Refusal::Throttled {
                processor,
                work_ns,
                throttle,
            });
        }
    }
    Ok(())
}
