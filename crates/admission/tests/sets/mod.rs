// SPDX-License-Identifier: Apache-2.0
//! Random sets of tasks whose releases repeat after 40 ms.

use admission::{Machine, Policy, Task};

/// After so many µs all releases lie as at the start.
pub(crate) const HYPERPERIOD: u64 = 40_000;
const PERIODS: [u64; 7] = [1_000, 2_000, 4_000, 5_000, 8_000, 10_000, 20_000];

/// Of which policy a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fifo,
    Deadline,
    Both,
}

/// A machine and what shall run on it. All times are whole microseconds.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) machine: Machine,
    pub(crate) tasks: Vec<Task>,
}

impl Set {
    pub(crate) fn random(seed: u64) -> Self {
        let kinds = [Kind::Fifo, Kind::Deadline, Kind::Both];
        Self::of(kinds[(seed % 3) as usize], seed)
    }

    pub(crate) fn of(kind: Kind, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let processors = random.u32(1..=3);
        let count = random.usize(1..=6);
        let mut left = f64::from(processors) * (0.4 + 0.5 * random.f64());
        let wake = random.u64(0..3) * 10;
        let mut tasks = Vec::new();
        for index in 0..count {
            // UUniFast (Bini and Buttazzo, 2005): shares that are spread evenly over all that have
            // this sum.
            let rest = (count - index - 1) as f64;
            let next = if rest == 0.0 {
                0.0
            } else {
                left * random.f64().powf(1.0 / rest)
            };
            let share = (left - next).min(0.95);
            left = next;
            let period = PERIODS[random.usize(..PERIODS.len())];
            let runtime = ((share * period as f64) as u64).max(1);
            let shortest = (runtime + wake).min(period);
            let deadline = if random.bool() {
                period
            } else {
                random.u64(shortest..=period)
            };
            let is_fifo = kind == Kind::Fifo || kind == Kind::Both && random.bool();
            let pin = random.bool().then(|| random.u32(0..processors));
            // By deadline as a rule, as an engineer would; else as it comes.
            let by_deadline = 99 - (deadline / 250) as u8;
            let priority = if random.u8(0..4) > 0 {
                by_deadline
            } else {
                random.u8(1..=99)
            };
            tasks.push(Task {
                name: format!("t{index}"),
                policy: if is_fifo {
                    Policy::Fifo {
                        priority,
                        processor: pin,
                    }
                } else {
                    Policy::Deadline
                },
                runtime_ns: runtime * 1000,
                deadline_ns: deadline * 1000,
                period_ns: period * 1000,
                blocking_ns: 0,
            });
        }
        Self {
            machine: Machine {
                processors,
                wake_ns: wake * 1000,
                throttle: None,
            },
            tasks,
        }
    }

    /// Of one processor, on average.
    pub(crate) fn utilisation(&self) -> f64 {
        let share = |it: &Task| it.runtime_ns as f64 / it.period_ns as f64;
        self.tasks.iter().map(share).sum::<f64>() / f64::from(self.machine.processors)
    }
}
