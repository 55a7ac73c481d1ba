// SPDX-License-Identifier: Apache-2.0
//! Twelve random sets that are admitted, of FIFO tasks, of DEADLINE tasks and of both, run by
//! threads of this kernel: none misses a deadline.
//! It wants a guest of one processor whose time is its own (`takt lab --deterministic`).

#[allow(dead_code, reason = "the simulation uses the rest")]
mod sets;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use admission::{Machine, Policy, Task, admit};
use rt::clock::{Clock, Monotonic};
use rt::policy::{self, Priority, Reservation};
use rt::thread::Builder;

use crate::sets::{HYPERPERIOD, Kind, Set};

const SETS: [(Kind, usize); 3] = [(Kind::Fifo, 4), (Kind::Deadline, 4), (Kind::Both, 4)];
/// What the machine may take from a release: its own work at each switch and tick.
const WAKE_NS: u64 = 200_000;
/// A reservation is larger than the work by that: the kernel counts its ticks to whom they hit.
const SPARE_NS: u64 = 100_000;
const ROUNDS: u64 = 5;
const AHEAD_NS: u64 = 20_000_000;

/// Computes for so long, others' time not counted: steps of a clock that are larger than a look
/// takes are others'.
fn compute(runtime_ns: u64) {
    const LOOK_NS: u64 = 1_500;
    let (mut done, mut last) = (0, Monotonic.now_ns());
    while done < runtime_ns {
        let now = Monotonic.now_ns();
        done += (now - last).min(LOOK_NS);
        last = now;
    }
}

/// Releases that were done behind their deadlines.
fn run(task: &Task, begin_ns: u64) -> u64 {
    let releases = ROUNDS * HYPERPERIOD * 1_000 / task.period_ns;
    let mut missed = 0;
    for number in 0..releases {
        let due_ns = begin_ns + number * task.period_ns;
        Monotonic.sleep_until(due_ns);
        compute(task.runtime_ns);
        missed += u64::from(Monotonic.now_ns() > due_ns + task.deadline_ns);
    }
    missed
}

fn policy_of(task: &Task) -> policy::Policy {
    match task.policy {
        Policy::Fifo { priority, .. } => {
            policy::Policy::Fifo(Priority::new(priority).expect("1 to 99"))
        }
        Policy::Deadline => policy::Policy::Deadline(Reservation {
            runtime_ns: task.runtime_ns + SPARE_NS,
            deadline_ns: task.deadline_ns,
            period_ns: task.period_ns,
        }),
    }
}

fn missed(tasks: &[Task]) -> u64 {
    let missed = Arc::new(AtomicU64::new(0));
    let begin_ns = Monotonic.now_ns() + AHEAD_NS;
    let mut threads = Vec::new();
    for task in tasks {
        let (task, missed) = (task.clone(), Arc::clone(&missed));
        let builder = Builder::new(task.name.clone()).policy(policy_of(&task));
        let body = move || _ = missed.fetch_add(run(&task, begin_ns), Relaxed);
        threads.push(builder.spawn(body).expect("the right to real time"));
    }
    threads.into_iter().for_each(|it| it.join());
    missed.load(Relaxed)
}

/// A set of both kinds may have tasks of one alone.
fn is_of(kind: Kind, tasks: &[Task]) -> bool {
    let deadlines = tasks
        .iter()
        .filter(|it| it.policy == Policy::Deadline)
        .count();
    kind != Kind::Both || (1..tasks.len()).contains(&deadlines)
}

#[test]
#[ignore = "for a guest: xtask's stage `admission in the lab`"]
fn sets_that_are_admitted_miss_no_deadline_and_one_that_is_refused_does() {
    std::fs::write("/proc/sys/kernel/sched_rt_runtime_us", "-1").expect("a guest's root");
    let machine = Machine {
        processors: 1,
        wake_ns: WAKE_NS,
        throttle: None,
    };
    for (kind, count) in SETS {
        let sets = (0..).map(|seed| (seed, Set::of(kind, seed)));
        let is_fit = |(_, it): &(u64, Set)| {
            it.machine.processors == 1
                && it.tasks.len() > 1
                && admit(&machine, &it.tasks).is_ok()
                && is_of(kind, &it.tasks)
        };
        for (seed, set) in sets.filter(is_fit).take(count) {
            assert_eq!(missed(&set.tasks), 0, "{kind:?}, seed {seed}: {set:#?}");
        }
    }
    let of = |name: &str, policy| Task {
        name: name.to_owned(),
        policy,
        runtime_ns: 3_000_000,
        deadline_ns: 5_000_000,
        period_ns: 10_000_000,
        blocking_ns: 0,
    };
    let fifo = |priority| Policy::Fifo {
        priority,
        processor: None,
    };
    for late in [[fifo(60), fifo(50)], [Policy::Deadline, Policy::Deadline]] {
        let late = late.map(|policy| of("late", policy));
        assert!(admit(&machine, &late).is_err());
        assert!(missed(&late) > 0, "a miss would not be seen");
    }
}
