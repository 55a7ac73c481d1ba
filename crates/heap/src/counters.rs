// SPDX-License-Identifier: Apache-2.0
//! [`Counters`]: what the heap did so far, readable while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, or a gauge that the collector sets.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The value now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    /// As [`Self::add`], by the only thread that changes it: no exchange with other processors.
    pub(crate) fn add_alone(&self, by: u64) {
        self.set(self.get() + by);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn raise(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// See the module.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)*
        }

        impl Counters {
            /// Every counter by name, in the order of this file.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name.get()),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Epochs settled (`rc`).
    epochs,
    /// Cycle traces done (`rc`).
    traces,
    /// Objects marked by cycle traces.
    trace_steps,
    /// Objects that cycle traces freed.
    trace_freed_objects,
    /// Counts that a trace restored from stuck.
    stuck_restored,
    /// Pauses (`stw`).
    pauses,
    /// Longest pause, in nanoseconds.
    pause_ns_max,
    /// All pauses together.
    pause_ns_sum,
    /// Blocks taken by mutators.
    blocks_taken,
    /// Bytes of objects seen by the collector after their birth.
    allocated_bytes,
    /// Bytes of objects freed.
    freed_bytes,
    /// Objects freed.
    freed_objects,
    /// Objects that died young: nothing of them was ever counted.
    freed_young_objects,
    /// Records settled.
    log_records,
    /// Log segments settled.
    log_segments,
    /// Times a mutator ran low on log space and waited at its next poll.
    log_exhausted,
    /// Times a real-time mutator found its reserve of blocks empty.
    reserve_exhausted,
    /// Times an allocation waited for the collector.
    allocation_waits,
    /// Times one waited for an epoch in place of memory that was never touched (`rc`).
    growth_waits,
    /// Blocks that mutators swept for their own allocations (`stw`).
    swept_by_mutators,
    /// Times an allocation failed.
    out_of_memory,
    /// Times the collector waited, lending its priority, for a mutator that owed an answer.
    debts_waited_for,
    /// Answers that the collector gave on behalf of a mutator outside managed code.
    answers_on_behalf,
    /// Times the lender filled the reserve of blocks between two collections.
    refills,
    /// Times the lender lent the collector a real-time thread's priority.
    loans,
    /// Entries of the zero count table after the last epoch.
    zero_table,
    /// Finalizable objects without a count that await a trace, after the last epoch.
    finalizable,
    /// Bytes in blocks that hold objects, after the last collection.
    used_bytes,
    /// Bytes of objects alive after the last collection.
    live_bytes,
    /// Processor time of the collector thread, in nanoseconds.
    collector_ns,
    /// Times the collector slept because its budget was spent.
    budget_sleeps,
}

/// How long one mutator's answers to the three rounds took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// Whether it is a real-time mutator: it attached as one, or its policy is a real-time one.
    pub is_real_time: bool,
    /// Rounds answered: H1, H2, H3.
    pub count: [u64; 3],
    /// Mean time of an answer.
    pub ns_mean: [u64; 3],
    /// Longest answer.
    pub ns_max: [u64; 3],
}
