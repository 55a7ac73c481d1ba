// SPDX-License-Identifier: Apache-2.0
//! [`Processor`]: the speed of a processor that is none, its time at each level, and work that
//! takes as long as it would there.
//!
//! Levels and their power are those of the paper's board (its table 4). No clock gets slower
//! here: work is stretched.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

use rt::clock::{Clock as _, Monotonic, thread_time_ns};
use rt::sync::PiMutex;

/// MHz of the levels of the paper's board.
pub(crate) const SPEEDS: [u32; 5] = [903, 1_421, 1_805, 2_112, 2_362];
/// Power at each of them, without a unit.
pub(crate) const POWER: [u64; 5] = [404, 861, 1_398, 2_200, 2_848];
pub(crate) const LARGEST: usize = SPEEDS.len() - 1;

/// The one that the program runs on.
#[derive(Debug)]
pub(crate) struct Processor {
    level: AtomicUsize,
    /// When the level last changed, and the time at each before.
    spent: PiMutex<(u64, [u64; SPEEDS.len()])>,
}

impl Processor {
    /// At its largest speed.
    pub(crate) fn new() -> Self {
        Self {
            level: AtomicUsize::new(LARGEST),
            spent: PiMutex::new((Monotonic.now_ns(), [0; SPEEDS.len()])),
        }
    }

    pub(crate) fn level(&self) -> usize {
        // Pairs with Release in `set`.
        self.level.load(Acquire)
    }

    pub(crate) fn set(&self, level: usize) {
        let mut spent = self.spent.lock();
        let now_ns = Monotonic.now_ns();
        let before = self.level();
        spent.1[before] += now_ns - spent.0;
        spent.0 = now_ns;
        self.level.store(level, Release);
    }

    /// The time at each level since `new` or the last `clear`.
    pub(crate) fn residency_ns(&self) -> [u64; SPEEDS.len()] {
        self.set(self.level());
        self.spent.lock().1
    }

    /// Counts from now on.
    pub(crate) fn clear(&self) {
        *self.spent.lock() = (Monotonic.now_ns(), [0; SPEEDS.len()]);
    }

    /// Computes for as long as work takes that takes `work_ns` at the largest speed.
    pub(crate) fn work(&self, work_ns: u64) {
        let (mut left, mut last_ns) = (work_ns * u64::from(SPEEDS[LARGEST]), thread_time_ns());
        while left > 0 {
            let now_ns = thread_time_ns();
            left = left.saturating_sub((now_ns - last_ns) * u64::from(SPEEDS[self.level()]));
            last_ns = now_ns;
        }
    }
}

/// The slowest level with this much of the largest speed, in thousandths; else the largest.
pub(crate) fn level_for(permille: u64) -> usize {
    let largest = u64::from(SPEEDS[LARGEST]);
    let has_room = |speed: &u32| permille * largest <= u64::from(*speed) * 1_000;
    SPEEDS.iter().position(has_room).unwrap_or(LARGEST)
}
