// SPDX-License-Identifier: Apache-2.0
//! [`Lender`]: looks after what is set aside for real-time mutators, before they have to wait for
//! the collector.
//!
//! A real-time mutator that uses up its reserve of blocks or of log space must not wait, and the
//! collector, at FIFO 1, may not get to run. So a thread of the most urgent mutator's priority
//! fills the reserve from what lies free. That is short: the collector at that priority would hold
//! the mutator itself up for the rest of an epoch, where both share a processor. Only where too
//! little is free it waits, in the mutator's stead, at the lock that the collector holds while it
//! works; from there the priority travels on, to an ordinary mutator that owes the collector an
//! answer.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use rt::policy::{Policy, Tid};

use crate::collector::pacing::Pace;
use crate::counters::Counters;
use crate::log::LogSpace;
use crate::memory::Memory;
use crate::space::block::BlockTable;
use crate::space::free::FreeBlocks;
use crate::sys::wait::Bell;
use rt::sync::PiMutex;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lender {
    bell: Bell,
    thread: PiMutex<Option<Tid>>,
    has_entered: AtomicBool,
    /// FIFO priority of the most urgent real-time mutator so far; 0 if none.
    priority: AtomicU8,
}

impl Lender {
    /// The lender's thread has started.
    pub(crate) fn enter(&self, thread: Tid) {
        *self.thread.lock() = Some(thread);
        self.has_entered.store(true, Ordering::Relaxed);
    }

    /// There is a real-time mutator of this policy: the lender gets its priority, before it has to
    /// run.
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

    /// A real-time mutator runs low. At most one system call. `false` if there is no lender.
    pub(crate) fn ask(&self) -> bool {
        let has_lender = self.has_entered.load(Ordering::Relaxed);
        if has_lender {
            self.bell.ring();
        }
        has_lender
    }

    /// The lender thread's body.
    pub(crate) fn run(&self, stock: &Stock<'_>) {
        while !stock.pace.is_stopping() {
            let seen = self.bell.rings();
            stock.refill();
            if self.priority.load(Ordering::SeqCst) != 0 && stock.is_low() {
                stock.counters.loans.add(1);
                stock.pace.lend();
                // A heap that stays low is full: lending all the time would only raise the
                // collector over others.
                self.bell.wait(self.bell.rings(), 500_000);
            } else {
                self.bell.wait(seen, 50_000_000);
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.bell.ring();
    }
}

/// What is set aside for real-time mutators, and what it is filled from.
pub(crate) struct Stock<'h> {
    pub(crate) memory: &'h Memory,
    pub(crate) blocks: &'h BlockTable,
    pub(crate) free: &'h FreeBlocks,
    /// Of a collector that counts.
    pub(crate) log: Option<&'h LogSpace>,
    pub(crate) pace: &'h Pace,
    pub(crate) counters: &'h Counters,
}

impl Stock<'_> {
    /// Whether real-time mutators use it up: half of their reserve, or the log's last quarter.
    pub(crate) fn is_low(&self) -> bool {
        self.free.is_reserve_low() || self.log.is_some_and(|log| log.is_low(false))
    }

    /// Fills a low reserve if that leaves others enough. A lock for each block, held for a scan of
    /// the free blocks' map.
    fn refill(&self) {
        if !self.is_low() {
            return;
        }
        if self.free.is_ample() {
            self.counters.refills.add(1);
            self.free.fill_reserve(self.memory, self.blocks);
        }
        // The collector sleeps on a guess of how fast blocks are taken.
        self.pace.ring();
    }
}

#[cfg(test)]
mod tests {
    use crate::heap::CollectorKind;

    const RESERVE: u32 = 8;

    /// Blocks in the reserve and beside it after the lender's look, how often it filled, and rang.
    fn after_look(reserved: u32, free: u32) -> (u32, u32, u64, u32) {
        let heap = crate::testing::uncollected(CollectorKind::Rc, 128, RESERVE);
        let blocks: Vec<_> = std::iter::from_fn(|| heap.free.take_last(&heap.memory)).collect();
        for _ in reserved..RESERVE {
            heap.free.reserve.try_pop(&heap.blocks).unwrap();
        }
        for &block in &blocks[..free as usize] {
            heap.free.put(block, 1);
        }
        heap.stock().refill();
        let refills = heap.counters.refills.get();
        let rings = heap.pace.rings();
        (
            heap.free.reserve.count(),
            heap.free.whole_count(),
            refills,
            rings,
        )
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory at chosen addresses")]
    fn a_low_reserve_is_filled_from_what_lies_free_where_that_is_enough() {
        assert_eq!(after_look(3, 20), (8, 15, 1, 1));
        assert_eq!(after_look(3, 8), (8, 3, 1, 1));
        assert_eq!(after_look(3, 7), (3, 7, 0, 1), "others need it");
        assert_eq!(after_look(4, 20), (4, 20, 0, 0), "not low");
    }
}
