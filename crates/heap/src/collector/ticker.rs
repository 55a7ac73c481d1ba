// SPDX-License-Identifier: Apache-2.0
//! [`Ticker`]: the collector's slack scheduling.

use rt::clock::{Clock, Monotonic, thread_time_ns};

use crate::heap::{Budget, Heap};

/// Keeps the collector inside its share of the processor, unless somebody waits for it.
#[derive(Debug)]
pub(crate) struct Ticker {
    budget: Option<Budget>,
    units: u32,
    period_end_ns: u64,
    used_before_ns: u64,
}

/// Units of work (a record, an object) between two looks at the clock: some 50 µs.
const UNITS_PER_LOOK: u32 = 1024;

impl Ticker {
    pub(crate) fn new(budget: Option<Budget>) -> Self {
        Self {
            budget,
            units: 0,
            period_end_ns: 0,
            used_before_ns: 0,
        }
    }

    /// A unit of work was done.
    #[inline]
    pub(crate) fn tick(&mut self, heap: &Heap) {
        self.tick_many(heap, 1);
    }

    /// Some units of work were done.
    #[inline]
    pub(crate) fn tick_many(&mut self, heap: &Heap, units: u32) {
        self.units += units;
        if self.units >= UNITS_PER_LOOK {
            self.units = 0;
            self.look(heap);
        }
    }

    #[cold]
    fn look(&mut self, heap: &Heap) {
        let Some(budget) = self.budget else { return };
        let (now_ns, used_ns) = (Monotonic.now_ns(), thread_time_ns());
        if now_ns >= self.period_end_ns {
            self.period_end_ns = now_ns + budget.period_ns;
            self.used_before_ns = used_ns;
        } else if used_ns - self.used_before_ns > budget.runtime_ns {
            let seen = heap.pace.rings();
            if !heap.pace.is_waited_for() && !heap.pace.is_stopping() {
                heap.counters.budget_sleeps.add(1);
                heap.pace.sleep(seen, self.period_end_ns - now_ns);
            }
        }
    }
}
