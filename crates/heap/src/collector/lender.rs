// SPDX-License-Identifier: Apache-2.0
//! [`Lender`]: lends the collector the priority of real-time mutators before they have to wait for it.
//!
//! A real-time mutator that uses up its reserve must not wait, and the collector, at FIFO 1, may not get to run. So a
//! thread of the most urgent mutator's priority waits in its stead at the lock that the collector holds while it
//! works. From there the priority travels on, to an ordinary mutator that owes the collector an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rt::policy::{Policy, Tid};

use crate::heap::Heap;
use crate::sys::wait::Bell;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lender {
    bell: Bell,
    /// FIFO priority of the most urgent real-time mutator so far; 0 if none.
    priority: AtomicU8,
}

impl Lender {
    /// Remembers the calling thread's priority.
    pub(crate) fn note_priority(&self) {
        if let Some(priority) = Policy::of(Tid::current()).ok().and_then(Policy::priority) {
            self.priority.fetch_max(priority.get(), Ordering::SeqCst);
            self.bell.ring();
        }
    }

    /// A real-time mutator runs low. At most one system call.
    pub(crate) fn ask(&self) {
        self.bell.ring();
    }

    /// The lender thread's body.
    pub(crate) fn run(heap: &Arc<Heap>) {
        let lender = &heap.lender;
        let mut own_priority = 0;
        while !heap.pace.is_stopping() {
            let seen = lender.bell.rings();
            let wanted = lender.priority.load(Ordering::SeqCst);
            if wanted > own_priority {
                // Without the privilege it lends what it has: the system then runs without real time anyway.
                let _ = Policy::fifo(wanted).apply(Tid::current());
                own_priority = wanted;
            }
            let target = heap.config.reserve_bytes / abi::alloc::BLOCK_BYTES;
            if wanted != 0 && heap.free.reserve.count() < target / 2 {
                heap.counters.loans.add(1);
                heap.pace.ring();
                heap.pace.lend();
                // Should the collector not have begun yet, this wakes to lend again.
                lender.bell.wait(seen, 500_000);
            } else {
                lender.bell.wait(seen, 50_000_000);
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.bell.ring();
    }
}
