// SPDX-License-Identifier: Apache-2.0
//! [`Lender`]: lends the collector the priority of real-time mutators before they have to wait for it.
//!
//! A real-time mutator that uses up its reserve of blocks or of log space must not wait, and the collector, at FIFO 1, may not get to run. So a
//! thread of the most urgent mutator's priority waits in its stead at the lock that the collector holds while it
//! works. From there the priority travels on, to an ordinary mutator that owes the collector an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rt::policy::{Policy, Tid};

use crate::heap::Heap;
use crate::sys::pi::PiCell;
use crate::sys::wait::Bell;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lender {
    bell: Bell,
    thread: PiCell<Option<Tid>>,
    /// FIFO priority of the most urgent real-time mutator so far; 0 if none.
    priority: AtomicU8,
}

impl Lender {
    /// The lender's thread has started.
    pub(crate) fn enter(&self, thread: Tid) {
        *self.thread.lock() = Some(thread);
    }

    /// There is a real-time mutator of this policy: the lender gets its priority, before it has to run.
    pub(crate) fn note_policy(&self, policy: Policy) {
        let Some(priority) = policy.priority() else {
            return;
        };
        if priority.get() <= self.priority.load(Ordering::SeqCst) {
            return;
        }
        let thread = self.thread.lock();
        if priority.get() > self.priority.load(Ordering::SeqCst) {
            self.priority.store(priority.get(), Ordering::SeqCst);
            if let Some(thread) = *thread {
                // Refused: it lends what it has. The system then runs without real time anyway.
                let _ = Policy::Fifo(priority).apply(thread);
            }
        }
    }

    /// A real-time mutator runs low. At most one system call.
    pub(crate) fn ask(&self) {
        self.bell.ring();
    }

    /// The lender thread's body.
    pub(crate) fn run(heap: &Arc<Heap>) {
        let lender = &heap.lender;
        while !heap.pace.is_stopping() {
            let seen = lender.bell.rings();
            if lender.priority.load(Ordering::SeqCst) != 0 && heap.is_reserve_low() {
                heap.counters.loans.add(1);
                heap.pace.lend();
                // A heap that stays low is full: lending all the time would only raise the collector over others.
                lender.bell.wait(lender.bell.rings(), 500_000);
            } else {
                lender.bell.wait(seen, 50_000_000);
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.bell.ring();
    }
}
