// SPDX-License-Identifier: Apache-2.0
//! [`Pace`]: when the collector runs, and how mutators wait for it.
//!
//! The collector sleeps for as long as the resource that runs out first allows ([`sleep_ns`], the
//! thesis's listing 5.1); a mutator that crosses the threshold rings it awake. Who waits for it
//! does so at a word that names the collector's thread, even while that sleeps or cannot run: a
//! waiting thread lends its priority. Only who could go on as well dozes and lends nothing.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rt::clock::{Clock, Monotonic};
use rt::sys::tid;

use crate::limits::{DEBT_WAIT_NS, NAP_NS, NAPS_MAX, REST_NS_MAX, REST_PART, SLEEP_NS_MAX};
use crate::sys::debt::Debt;
use crate::sys::wait::Bell;

/// A kind of work that can be waited for: started and completed so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    wanted: AtomicU64,
    started: AtomicU64,
    completed: AtomicU64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    bell: Bell,
    /// Owed by the collector thread to those who wait for it.
    debt: Debt,
    collector_tid: AtomicU32,
    /// Blocks taken since the last epoch began.
    blocks: AtomicU32,
    /// Blocks at which a mutator rings.
    threshold: AtomicU32,
    /// A real-time mutator crossed the threshold: the next ordinary one rings.
    owes_ring: AtomicBool,
    pub(crate) epochs: Progress,
    pub(crate) fulls: Progress,
    /// The next full collection clears soft references.
    clears_soft: AtomicBool,
    /// The collector's thread was started.
    has_begun: AtomicBool,
    is_stopping: AtomicBool,
    /// Threads that wait at `debt`.
    waiter_count: AtomicU32,
}

impl Progress {
    /// Asks for one that begins after now; returns the number it will complete as.
    fn want(&self) -> u64 {
        let target = self.started.load(Ordering::SeqCst) + 1;
        self.wanted.fetch_max(target, Ordering::SeqCst);
        target
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.started.load(Ordering::SeqCst) < self.wanted.load(Ordering::SeqCst)
    }

    pub(crate) fn start(&self) {
        self.started.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn complete(&self) {
        self.completed.fetch_add(1, Ordering::SeqCst);
    }

    fn has_completed(&self, target: u64) -> bool {
        self.completed.load(Ordering::SeqCst) >= target
    }
}

impl Pace {
    // --- mutators ---

    /// An ordinary mutator took blocks. One addition, and a ring at the threshold.
    pub(crate) fn note_blocks(&self, count: u32) {
        let is_owed = self.owes_ring.load(Ordering::Relaxed);
        if self.is_crossing(count) || is_owed && self.owes_ring.swap(false, Ordering::Relaxed) {
            self.ring();
        }
    }

    /// A real-time mutator took one. It does not ring, which is a system call and a message to
    /// another processor: the next ordinary one does, or the collector's sleep ends, or the lender
    /// does when half of the reserve is used (`Heap::ask_lender_if_low`).
    pub(crate) fn note_block_quietly(&self) {
        if self.is_crossing(1) {
            self.owes_ring.store(true, Ordering::Relaxed);
        }
    }

    fn is_crossing(&self, count: u32) -> bool {
        let before = self.blocks.fetch_add(count, Ordering::Relaxed);
        let threshold = self.threshold.load(Ordering::Relaxed);
        before < threshold && threshold <= before + count
    }

    /// Wakes the collector if it sleeps.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// Until an epoch that begins after now is settled, or an announcement finds `is_enough`. Not
    /// in managed state.
    pub(crate) fn wait_for_epoch_or(&self, is_enough: impl Fn() -> bool) {
        let target = self.epochs.want();
        self.wait(|| self.epochs.has_completed(target) || is_enough());
    }

    /// Until an epoch that begins after now is settled. Not in managed state.
    pub(crate) fn wait_for_settled_epoch(&self) {
        self.wait_for_epoch_or(|| false);
    }

    /// As [`Self::wait_for_kept_soft`], and soft references are cleared.
    pub(crate) fn wait_for_full_collection(&self) {
        // Before the wish, so that the collection which grants it has seen this.
        self.clears_soft.store(true, Ordering::SeqCst);
        self.wait_for_kept_soft();
    }

    /// Until a full collection that begins after now is done: an epoch, a cycle trace, an epoch; or
    /// a pause. Not in managed state.
    pub(crate) fn wait_for_kept_soft(&self) {
        let target = self.fulls.want();
        self.wait(|| self.fulls.has_completed(target));
    }

    /// Until an epoch that begins after now is settled or `is_enough`, at most [`NAPS_MAX`] naps.
    /// Lends no priority: the kernel spins for who does, as long as the collector runs. So it is
    /// for processes without real-time threads. Not in managed state.
    pub(crate) fn doze_for_epoch_or(&self, is_enough: impl Fn() -> bool) {
        let target = self.epochs.want();
        for _ in 0..NAPS_MAX {
            let is_over = self.is_stopping() || !self.has_begun.load(Ordering::SeqCst);
            if is_over || self.epochs.has_completed(target) || is_enough() {
                return;
            }
            Monotonic.sleep_until(Monotonic.now_ns() + NAP_NS);
        }
    }

    fn wait(&self, is_done: impl Fn() -> bool) {
        while !is_done() && !self.is_stopping() && self.has_begun.load(Ordering::SeqCst) {
            self.lend();
        }
    }

    /// Waits until the collector has done a piece of work, lending it the caller's priority. May
    /// return early.
    pub(crate) fn lend(&self) {
        self.waiter_count.fetch_add(1, Ordering::SeqCst);
        self.debt.try_owe(self.collector_tid.load(Ordering::SeqCst));
        self.ring();
        let _ = self.debt.wait_for_debtor(DEBT_WAIT_NS);
        self.waiter_count.fetch_sub(1, Ordering::SeqCst);
    }

    // --- collector and lender ---

    /// Whether somebody waits for the collector, or a loan is out: its budget does not count then.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiter_count.load(Ordering::Relaxed) != 0
    }

    /// A thread that waits from now on waits for the collector. Whether that was so already.
    pub(crate) fn begin(&self) -> bool {
        self.has_begun.swap(true, Ordering::SeqCst)
    }

    /// The collector's thread begins.
    pub(crate) fn enter(&self) {
        self.collector_tid.store(tid::current(), Ordering::SeqCst);
    }

    /// Who waits looks again: work is done, memory came back, or there is nothing to do.
    pub(crate) fn announce(&self) {
        self.debt.pay_if_owed();
    }

    /// Whether the full collection that begins now clears soft references.
    pub(crate) fn take_clears_soft(&self) -> bool {
        self.clears_soft.swap(false, Ordering::SeqCst)
    }

    /// A full collection is wanted, and by nobody who lacks memory.
    fn is_wanted_at_leisure(&self) -> bool {
        self.fulls.is_wanted() && !self.clears_soft.load(Ordering::SeqCst)
    }

    /// Blocks taken since the last call.
    pub(crate) fn take_blocks(&self) -> u32 {
        self.blocks.swap(0, Ordering::Relaxed)
    }

    pub(crate) fn blocks(&self) -> u32 {
        self.blocks.load(Ordering::Relaxed)
    }

    pub(crate) fn set_threshold(&self, blocks: u32) {
        self.threshold.store(blocks, Ordering::Relaxed);
    }

    pub(crate) fn threshold(&self) -> u32 {
        self.threshold.load(Ordering::Relaxed)
    }

    /// The collector's sleep: until a ring that came after `seen`, or for `ns`.
    pub(crate) fn sleep(&self, seen: u32, ns: u64) {
        self.bell.wait(seen, ns);
    }

    pub(crate) fn rings(&self) -> u32 {
        self.bell.rings()
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// The collector's thread has ended: nobody waits for one, until another begins.
    pub(crate) fn rest(&self) {
        self.has_begun.store(false, Ordering::SeqCst);
        self.is_stopping.store(false, Ordering::SeqCst);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }
}

/// What other threads have of a processor while some ask for one full collection after the other.
///
/// The collector is more urgent than any ordinary thread. Without a rest, three threads that do
/// nothing but ask keep all others of their processor from running.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    until_ns: u64,
}

impl Rest {
    /// A full collection that began at `from_ns` ends.
    pub(crate) fn begin(&mut self, from_ns: u64, now_ns: u64) {
        let rest_ns = now_ns.saturating_sub(from_ns) / REST_PART;
        self.until_ns = now_ns + rest_ns.min(REST_NS_MAX);
    }

    /// How long the wanted full collection has to wait. None waits that an allocation needs.
    pub(crate) fn left_ns(&self, pace: &Pace, now_ns: u64) -> u64 {
        match pace.is_wanted_at_leisure() {
            true => self.until_ns.saturating_sub(now_ns),
            false => 0,
        }
    }
}

/// One resource, as listing 5.1 sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resource {
    /// Used now.
    pub(crate) current: u64,
    /// Used before the last sleep.
    pub(crate) before: u64,
    /// Where collecting must begin.
    pub(crate) limit: u64,
}

/// How long the collector may sleep: half the time in which, at the rate of the last sleep, the
/// first resource reaches its limit; at most [`SLEEP_NS_MAX`] (the thesis: two seconds), at least a
/// millisecond.
pub(crate) fn sleep_ns(resources: &[Resource], slept_ns: u64) -> u64 {
    let of = |it: &Resource| {
        let used = it.current.saturating_sub(it.before);
        let remaining = it.limit.saturating_sub(it.current);
        match used {
            0 => SLEEP_NS_MAX,
            _ => (u128::from(remaining) * u128::from(slept_ns) / u128::from(used) / 2) as u64,
        }
    };
    resources
        .iter()
        .map(of)
        .min()
        .unwrap_or(SLEEP_NS_MAX)
        .clamp(1_000_000, SLEEP_NS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_ends_at_half_the_time_to_the_first_limit() {
        let memory = Resource {
            current: 40,
            before: 20,
            limit: 100,
        };
        let log = Resource {
            current: 5,
            before: 5,
            limit: 10,
        };
        // 20 used in 10 ms, 60 remain: 30 ms, halved.
        assert_eq!(sleep_ns(&[memory, log], 10_000_000), 15_000_000);
        assert_eq!(sleep_ns(&[log], 10_000_000), SLEEP_NS_MAX);
        let full = Resource {
            current: 100,
            before: 0,
            limit: 100,
        };
        assert_eq!(sleep_ns(&[full], 10_000_000), 1_000_000);
    }

    #[test]
    fn a_real_time_mutator_leaves_the_ring_to_the_next() {
        let pace = Pace::default();
        pace.set_threshold(10);
        let rings = |act: &dyn Fn()| {
            let before = pace.rings();
            act();
            pace.rings() - before
        };
        assert_eq!(rings(&|| pace.note_blocks(9)), 0);
        assert_eq!(rings(&|| pace.note_block_quietly()), 0);
        assert_eq!((pace.blocks(), rings(&|| pace.note_blocks(1))), (10, 1));
        assert_eq!(rings(&|| pace.note_blocks(1)), 0);
        pace.take_blocks();
        assert_eq!(rings(&|| pace.note_blocks(10)), 1);
    }

    #[test]
    fn a_collection_that_is_only_wished_for_leaves_others_a_part_of_the_time() {
        let (pace, mut rest) = (Pace::default(), Rest::default());
        rest.begin(1_000, 9_000);
        assert_eq!(rest.left_ns(&pace, 9_000), 0, "nobody wants one");
        pace.fulls.want();
        assert_eq!(rest.left_ns(&pace, 9_000), 8_000 / REST_PART);
        assert_eq!(rest.left_ns(&pace, 9_000 + 8_000 / REST_PART), 0);
        pace.clears_soft.store(true, Ordering::SeqCst);
        assert_eq!(rest.left_ns(&pace, 9_000), 0, "an allocation waits");
        pace.take_clears_soft();
        rest.begin(0, 1 << 40);
        assert_eq!(rest.left_ns(&pace, 1 << 40), REST_NS_MAX);
    }

    #[test]
    fn what_is_wanted_begins_after_the_wish() {
        let progress = Progress::default();
        progress.start();
        let target = progress.want();
        progress.complete();
        assert!(progress.is_wanted() && !progress.has_completed(target));
        progress.start();
        assert!(!progress.is_wanted());
        progress.complete();
        assert!(progress.has_completed(target));
    }
}
