// SPDX-License-Identifier: Apache-2.0
//! Linux's order, played exactly: DEADLINE tasks by earliest deadline on any processor, below them
//! the FIFO tasks of each processor. Time is whole microseconds, and jumps from event to event.

use admission::{Policy, Task};

use crate::sets::{HYPERPERIOD, Set};

/// A release that is not done yet.
#[derive(Clone, Copy)]
struct Job {
    task: usize,
    /// When it may run; behind its release by what the machine is late.
    ready: u64,
    /// When it must be done.
    deadline: u64,
    /// What is left to compute.
    left: u64,
}

/// The first task that misses, and when; none within three hyperperiods behind the last first
/// release.
pub(crate) fn first_miss(set: &Set, places: &[Option<u32>], seed: u64) -> Option<(usize, u64)> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5EED);
    // All at once, or anywhere; exact computations, or shorter ones at times.
    let is_at_once = random.bool();
    let is_exact = random.u8(0..3) > 0;
    let period = |it: &Task| it.period_ns / 1000;
    let first = |it: &Task| {
        if is_at_once {
            0
        } else {
            fastrand::Rng::with_seed(seed ^ it.runtime_ns).u64(0..period(it))
        }
    };
    let mut releases: Vec<u64> = set.tasks.iter().map(first).collect();
    let end = releases.iter().max().unwrap_or(&0) + 3 * HYPERPERIOD;
    let mut jobs: Vec<Job> = Vec::new();
    let mut now = 0;
    while now < end {
        for (task, release) in releases.iter_mut().enumerate() {
            if *release != now {
                continue;
            }
            let its = &set.tasks[task];
            let runtime = its.runtime_ns / 1000;
            let left = if is_exact {
                runtime
            } else {
                random.u64(1..=runtime)
            };
            let ready = now + random.u64(0..=set.machine.wake_ns / 1000);
            jobs.push(Job {
                task,
                ready,
                deadline: now + its.deadline_ns / 1000,
                left,
            });
            *release += period(its);
        }
        let running = running(set, places, &jobs, now, &mut random);
        let next_release = releases.iter().copied();
        let next_ready = jobs.iter().map(|it| it.ready).filter(|&it| it > now);
        let next_end = running.iter().map(|&at| now + jobs[at].left);
        let next_deadline = jobs.iter().map(|it| it.deadline);
        let next = next_release
            .chain(next_ready)
            .chain(next_end)
            .chain(next_deadline);
        let next = next.filter(|&it| it > now).min().unwrap_or(end);
        for at in running {
            jobs[at].left -= next - now;
        }
        now = next;
        jobs.retain(|it| it.left > 0);
        if let Some(late) = jobs.iter().find(|it| it.deadline <= now) {
            return Some((late.task, now));
        }
    }
    None
}

/// The jobs that compute now, at most one on each processor.
fn running(
    set: &Set,
    places: &[Option<u32>],
    jobs: &[Job],
    now: u64,
    random: &mut fastrand::Rng,
) -> Vec<usize> {
    let processors = set.machine.processors;
    let ready = || (0..jobs.len()).filter(|&at| jobs[at].ready <= now);
    let is_deadline = |at: &usize| set.tasks[jobs[*at].task].policy == Policy::Deadline;
    let mut running: Vec<usize> = ready().filter(is_deadline).collect();
    running.sort_by_key(|&at| jobs[at].deadline);
    running.truncate(processors as usize);
    // Nothing says where they run: from processor 0 on, or anywhere.
    let mut free: Vec<u32> = (0..processors).collect();
    if random.bool() {
        random.shuffle(&mut free);
    }
    free.drain(..running.len());
    for processor in free {
        let its = ready().filter(|&at| places[jobs[at].task] == Some(processor));
        let its = its.filter(|at| !is_deadline(at));
        let urgency = |&at: &usize| {
            let Policy::Fifo { priority, .. } = set.tasks[jobs[at].task].policy else {
                unreachable!("filtered above")
            };
            // The first that came, among equals.
            (priority, u64::MAX - jobs[at].ready)
        };
        running.extend(its.max_by_key(urgency));
    }
    running
}
