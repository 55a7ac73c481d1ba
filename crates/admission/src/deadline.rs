// SPDX-License-Identifier: Apache-2.0
//! DEADLINE tasks on all processors: the density bound, and the kernel's own sum.

use crate::machine::Machine;
use crate::task::Task;
use crate::verdict::Refusal;

/// One processor's worth of density or utilisation.
const WHOLE: u64 = 1_000_000_000;

/// The set is within the bound if the sum of densities is at most m - (m - 1) times the largest, on
/// m processors. A density is runtime and blocking for the deadline, less what the machine is late,
/// in billionths, rounded up.
pub(crate) fn check(machine: &Machine, tasks: &[Task]) -> Result<(), Refusal> {
    let tasks: Vec<&Task> = tasks.iter().filter(|it| it.is_deadline()).collect();
    let mut sum = 0;
    let mut most: Option<(u64, &Task)> = None;
    for &task in &tasks {
        let density = density(machine, task);
        sum += density;
        if most.is_none_or(|(it, _)| density > it) {
            most = Some((density, task));
        }
    }
    let Some((densest, name)) = most.map(|(density, task)| (density, &task.name)) else {
        return Ok(());
    };
    let processors = u64::from(machine.processors);
    let limit = (processors * WHOLE).saturating_sub((processors - 1) * densest);
    if densest > WHOLE || sum > limit {
        return Err(Refusal::Density {
            densest: name.clone(),
            most: densest,
            sum,
            limit,
        });
    }
    kernel_takes(machine, &tasks)
}

fn density(machine: &Machine, task: &Task) -> u64 {
    let time_ns = task.deadline_ns.saturating_sub(machine.wake_ns);
    if time_ns == 0 {
        return 2 * WHOLE;
    }
    billionths(task.runtime_ns.saturating_add(task.blocking_ns), time_ns)
}

/// `of` for `whole`, rounded up, at most two wholes: what is above one is refused anyway.
fn billionths(of: u64, whole: u64) -> u64 {
    let parts = (u128::from(of) * u128::from(WHOLE)).div_ceil(u128::from(whole));
    u64::try_from(parts).unwrap_or(u64::MAX).min(2 * WHOLE)
}

/// The kernel lets in no more than each processor's share for real-time threads.
fn kernel_takes(machine: &Machine, tasks: &[&Task]) -> Result<(), Refusal> {
    let Some(throttle) = machine.throttle else {
        return Ok(());
    };
    let sum = tasks
        .iter()
        .map(|it| billionths(it.runtime_ns, it.period_ns))
        .sum();
    let share =
        u128::from(throttle.runtime_ns) * u128::from(WHOLE) / u128::from(throttle.period_ns);
    let limit = u64::try_from(share).unwrap_or(u64::MAX).min(WHOLE) * u64::from(machine.processors);
    if sum > limit {
        return Err(Refusal::Kernel { sum, limit });
    }
    Ok(())
}
