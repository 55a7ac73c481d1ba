// SPDX-License-Identifier: Apache-2.0
//! Random sets of tasks: what is admitted never misses a deadline in an exact simulation, and what
//! an analysis written anew here passes is admitted.

mod sets;
mod simulator;

use admission::{Admitted, Machine, Policy, Refusal, Task, admit};

use crate::sets::{Kind, Set};

const SETS: u64 = 10_000;

#[test]
fn of_ten_thousand_sets_none_that_is_admitted_misses_a_deadline() {
    let (mut admitted, mut busy, mut refused_that_miss) = (0, 0, 0);
    for seed in 0..SETS {
        let set = Set::random(seed);
        let verdict = admit(&set.machine, &set.tasks);
        let places: Vec<Option<u32>> = match &verdict {
            Ok(it) => (0..set.tasks.len()).map(|at| it.processor(at)).collect(),
            // Where the set itself says nothing, processor 0: only to see that misses are found.
            Err(_) => set.tasks.iter().map(pin_or_first).collect(),
        };
        let missed = simulator::first_miss(&set, &places, seed);
        if let Ok(verdict) = verdict {
            assert_eq!(missed, None, "seed {seed}: {set:#?}\n{verdict}");
            admitted += 1;
            busy += u32::from(set.utilisation() > 0.5);
        } else {
            refused_that_miss += u32::from(missed.is_some());
        }
    }
    println!(
        "{admitted} admitted, {busy} of them above 0.5; {refused_that_miss} refused ones miss"
    );
    assert!(admitted >= 2000, "{admitted}");
    assert!(2 * busy >= admitted, "{busy} of {admitted}");
    assert!(refused_that_miss > 1000, "{refused_that_miss}");
}

fn pin_or_first(task: &Task) -> Option<u32> {
    match task.policy {
        Policy::Fifo { processor, .. } => Some(processor.unwrap_or(0)),
        Policy::Deadline => None,
    }
}

/// The analysis once more, from the textbook and without the crate's code, of FIFO tasks that are
/// where `places` says.
fn passes(machine: &Machine, tasks: &[Task], places: &[u32]) -> bool {
    let priority = |at: usize| match tasks[at].policy {
        Policy::Fifo { priority, .. } => priority,
        Policy::Deadline => unreachable!("FIFO tasks only"),
    };
    (0..tasks.len()).all(|me| {
        let task = &tasks[me];
        let mut window = task.runtime_ns + task.blocking_ns;
        loop {
            if window + machine.wake_ns > task.deadline_ns {
                return false;
            }
            let mut next = task.runtime_ns + task.blocking_ns;
            for other in 0..tasks.len() {
                let is_above = priority(other) >= priority(me) && places[other] == places[me];
                if other != me && is_above {
                    let jitter = window + machine.wake_ns;
                    let releases = jitter.div_ceil(tasks[other].period_ns);
                    next += releases * tasks[other].runtime_ns;
                }
            }
            if next == window {
                return true;
            }
            window = next;
        }
    })
}

#[test]
fn every_fifo_set_that_an_independent_analysis_passes_is_admitted() {
    let (mut passed, mut failed) = (0, 0);
    for seed in 0..2_000 {
        let set = Set::of(Kind::Fifo, seed);
        let processors = set.machine.processors;
        let mut places = vec![0; set.tasks.len()];
        let is_possible = loop {
            let is_as_pinned = set.tasks.iter().zip(&places).all(|(task, place)| {
                let Policy::Fifo { processor, .. } = task.policy else {
                    unreachable!("FIFO tasks only")
                };
                processor.is_none_or(|it| it == *place)
            });
            if is_as_pinned && passes(&set.machine, &set.tasks, &places) {
                break true;
            }
            // The next assignment, as one counts.
            let Some(at) = places.iter().position(|it| it + 1 < processors) else {
                break false;
            };
            places[..at].fill(0);
            places[at] += 1;
        };
        let verdict = admit(&set.machine, &set.tasks);
        assert_eq!(
            verdict.is_ok(),
            is_possible,
            "seed {seed}: {set:#?} {verdict:#?}"
        );
        *(if is_possible {
            &mut passed
        } else {
            &mut failed
        }) += 1;
    }
    assert!(passed > 500 && failed > 500, "{passed} {failed}");
}

#[test]
fn every_deadline_set_within_the_stated_bound_is_admitted() {
    let (mut within, mut beyond) = (0, 0);
    for seed in 0..5_000 {
        let set = Set::of(Kind::Deadline, seed);
        // Billionths, rounded up, as the bound is stated.
        let densities = set.tasks.iter().map(|it| {
            let whole = it.deadline_ns - set.machine.wake_ns.min(it.deadline_ns - 1);
            (it.runtime_ns * 1_000_000_000).div_ceil(whole)
        });
        let densities: Vec<u64> = densities.collect();
        let (sum, most) = (
            densities.iter().sum::<u64>(),
            densities.iter().max().unwrap(),
        );
        let m = u64::from(set.machine.processors);
        let is_within = *most <= 1_000_000_000 && sum + (m - 1) * most <= m * 1_000_000_000;
        let verdict = admit(&set.machine, &set.tasks);
        assert_eq!(
            verdict.is_ok(),
            is_within,
            "seed {seed}: {set:#?} {verdict:#?}"
        );
        *(if is_within { &mut within } else { &mut beyond }) += 1;
    }
    assert!(within > 500 && beyond > 500, "{within} {beyond}");
}

fn task(name: &str, policy: Policy, [runtime, deadline, period]: [u64; 3]) -> Task {
    Task {
        name: name.to_owned(),
        policy,
        runtime_ns: runtime * 1000,
        deadline_ns: deadline * 1000,
        period_ns: period * 1000,
        blocking_ns: 0,
    }
}

fn fifo(priority: u8, processor: Option<u32>) -> Policy {
    Policy::Fifo {
        priority,
        processor,
    }
}

const TWO: Machine = Machine {
    processors: 2,
    wake_ns: 20_000,
    throttle: None,
};

#[test]
fn a_refusal_says_of_what_the_response_consists() {
    let tasks = [
        task("control", fifo(80, Some(0)), [300, 1000, 1000]),
        task("filter", fifo(60, Some(0)), [1200, 2000, 2000]),
        task("audio", Policy::Deadline, [100, 2000, 2000]),
    ];
    let Err(refusal) = admit(&TWO, &tasks) else {
        panic!("it fits");
    };
    let text = "a deadline is missed: filter on processor 0: 2020.000 of 2000.000 µs = \
                itself 1200.000 + machine 20.000 + control 600.000 + audio 200.000";
    assert_eq!(refusal.to_string(), text);
}

#[test]
fn tasks_without_a_pin_are_placed_where_they_fit() {
    let tasks = [
        task("a", fifo(70, None), [600, 1000, 1000]),
        task("b", fifo(60, None), [600, 1000, 1000]),
        task("c", fifo(50, Some(0)), [300, 1000, 1000]),
    ];
    let verdict = admit(&TWO, &tasks).expect("it fits");
    let places: Vec<_> = (0..3).map(|at| verdict.processor(at)).collect();
    assert_eq!(places, [Some(0), Some(1), Some(0)]);
    let Admitted::Fifo(response) = &verdict.tasks[2] else {
        panic!("{verdict}");
    };
    assert_eq!(response.response_ns, 920_000);
}

#[test]
fn a_search_goes_back_for_one_that_is_pinned() {
    let tasks = [
        task("free", fifo(70, None), [600, 1000, 1000]),
        task("pinned", fifo(60, Some(0)), [600, 1000, 1000]),
    ];
    let verdict = admit(&TWO, &tasks).expect("it fits");
    assert_eq!(verdict.processor(0), Some(1));
}

#[test]
fn what_the_kernel_would_stop_is_refused() {
    let throttle = admission::Throttle {
        runtime_ns: 950_000_000,
        period_ns: 1_000_000_000,
    };
    let machine = Machine {
        throttle: Some(throttle),
        ..TWO
    };
    let tasks = [task("spin", fifo(80, Some(1)), [970, 1000, 1000])];
    assert!(admit(&TWO, &tasks).is_ok());
    let refused = admit(&machine, &tasks);
    assert!(
        matches!(refused, Err(Refusal::Throttled { processor: 1, .. })),
        "{refused:?}"
    );
}

#[test]
fn faulty_tasks_are_refused_by_name_and_extremes_do_not_overflow() {
    let of =
        |times| admit(&TWO, &[task("t", Policy::Deadline, times)]).map_err(|it| it.to_string());
    let refused = |times, text: &str| assert_eq!(of(times).unwrap_err(), text);
    refused([0, 1, 1], "t: runtime, deadline and period are more than 0");
    refused([2, 1, 1], "t: the runtime is longer than the deadline");
    refused(
        [1, 2, 1],
        "t: a deadline behind the next release is not supported",
    );
    refused(
        [1, 3_600_000_001, 3_600_000_001],
        "t: a period above an hour is not supported",
    );
    let mut huge = task("t", fifo(1, Some(0)), [1, 2, 3]);
    huge.blocking_ns = u64::MAX;
    assert!(matches!(admit(&TWO, &[huge]), Err(Refusal::Late(_))));
    let elsewhere = [task("t", fifo(1, Some(2)), [1, 2, 3])];
    assert_eq!(
        admit(&TWO, &elsewhere).unwrap_err().to_string(),
        "t: the machine has no processor 2"
    );
    let many = vec![task("t", fifo(1, None), [1, 2_000_000, 3_000_000]); admission::TASKS_MAX + 1];
    assert!(matches!(admit(&TWO, &many), Err(Refusal::TooMany(1025))));
    // A thousand that a search could not decide end within its budget.
    let many = vec![task("t", fifo(1, None), [3, 1000, 1000]); 900];
    assert!(admit(&TWO, &many).is_err());
}
