// SPDX-License-Identifier: Apache-2.0
//! What a mutator does when the collector asks, and its way to native code and back.
//!
//! Each answer is bounded: H1 sets four bytes, H2 clears the bump ranges of all size classes and
//! swaps four words, H3 scans the mutator's own stack. None allocates, frees, counts or waits.

use std::sync::atomic::Ordering;

use rt::clock::{Clock, Monotonic};

use crate::heap::Heap;
use crate::log::{LogCursor, LogSpace};
use crate::mutator::Mutator;
use crate::mutator::handshake::Round;
use crate::mutator::record::{MutatorRecord, Own};

impl Mutator {
    /// The runtime's side of a poll whose byte is set.
    #[cold]
    #[inline(never)]
    pub fn poll_slow(&mut self) {
        match self.record.handshake.question(&self.record.context.poll) {
            Some(Round::Stop) => {
                self.record.handshake.state.hand_over();
                self.record.settle_debt();
                self.return_to_managed();
            }
            Some(round) => {
                let heap = self.heap.clone();
                let record = self.record.clone();
                answer(&heap, &record, self.own(), round);
                record.settle_debt();
            }
            None => {}
        }
        if self.record.handshake.is_visit_wanted()
            && self.record.handshake.try_hand_over_to_visitor()
        {
            self.record.visit_debt.pay();
            self.return_to_managed();
        }
        if self.heap.is_counting() && self.heap.log.is_low(self.is_real_time()) {
            let heap = self.heap.clone();
            self.native(|| heap.wait_for_epoch());
        }
    }

    /// From here on the collector acts for this mutator. Its roots must not change until
    /// [`Self::leave_native`].
    pub fn enter_native(&mut self) {
        loop {
            if self.record.handshake.is_asked() {
                self.poll_slow();
            }
            if self.record.handshake.try_enter_native() {
                return;
            }
        }
    }

    /// Back to managed code. Waits at most for one scan that the collector does at this thread's
    /// priority (or, under `stw`, for the end of the pause). Gives the nanoseconds that the
    /// collector held this thread, or a visitor; 0 if nobody did.
    pub fn leave_native(&mut self) -> u64 {
        let is_back = self.record.handshake.state.try_leave_native();
        if is_back && !self.is_wanted() {
            return 0;
        }
        let start_ns = Monotonic.now_ns();
        if !is_back {
            self.return_to_managed();
        }
        if self.is_wanted() {
            self.poll_slow();
        }
        Monotonic.now_ns() - start_ns
    }

    fn is_wanted(&self) -> bool {
        self.record.handshake.is_asked() || self.record.handshake.is_visit_wanted()
    }

    fn return_to_managed(&mut self) {
        while !self.record.handshake.state.try_leave_native() {
            self.record.claim.lock();
            self.record.claim.unlock();
        }
    }
}

impl MutatorRecord {
    /// The answer is given. The debt goes last: until then this thread runs at the collector's
    /// priority, afterwards it may not run at all.
    fn settle_debt(&self) {
        self.handshake.answered(&self.context.poll);
        self.debt.pay();
    }
}

/// Answers one round of `rc`, by the mutator or by a collector that claimed it.
pub(crate) fn answer(heap: &Heap, record: &MutatorRecord, own: &mut Own, round: Round) {
    let start_ns = Monotonic.now_ns();
    match round {
        Round::Snoop => {
            let context = &record.context;
            context.is_weak_guarded.store(1, Ordering::Relaxed);
            context.snoop_tag.store(heap.snoop_tag(), Ordering::Relaxed);
            record.set_snooping(true, own.epoch, true);
        }
        Round::Switch => {
            own.epoch = abi::barrier::epoch_after(own.epoch);
            record.set_epoch(Some(own.epoch));
            hand_over_buffers(heap, record, own);
        }
        Round::Scan => {
            heap.each_stack_root(record, &mut |object| heap.snoop(object));
            record.set_snooping(false, own.epoch, true);
        }
        Round::Stop => unreachable!("a stop is not answered but endured"),
    }
    record.answers[round as usize - 1].add(Monotonic.now_ns() - start_ns);
}

/// Gives the collector everything allocated and recorded so far.
pub(crate) fn hand_over_buffers(heap: &Heap, record: &MutatorRecord, own: &mut Own) {
    let cursor = record.cursor(own);
    let is_segment_used =
        cursor.segment != 0 && cursor.next != LogSpace::cursor(cursor.segment).next;
    if is_segment_used {
        heap.log.seal(cursor, own.filled.segments);
        own.filled.segments = cursor.segment;
        let next = match std::mem::take(&mut own.spare) {
            0 => LogCursor::default(),
            spare => LogSpace::cursor(spare),
        };
        record.set_cursor(own, next);
    }
    for range in &record.context.bump {
        range.next.store(0, Ordering::Relaxed);
        range.limit.store(0, Ordering::Relaxed);
    }
    own.runs.fill(0);
    debug_assert_eq!(
        own.handed.blocks | own.handed.larges | own.handed.segments,
        0,
        "taken before the next round"
    );
    own.handed = std::mem::take(&mut own.filled);
}
