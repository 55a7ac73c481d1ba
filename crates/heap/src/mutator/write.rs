// SPDX-License-Identifier: Apache-2.0
//! The slow path of a store: the old references are recorded, and during a handshake round the new
//! one becomes a root.
//!
//! Bounded: at most 32 slots are copied, and the exchange fails at most twice per epoch. While a
//! round is under way all stores come here, most of them to record nothing. Compiled code's way
//! here (`vm`, `barrier`) leaves those out, and records objects of the usual kind itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use abi::barrier::{RECORD_BYTES_MAX, RECORD_COUNT_OFFSET, RECORD_OLD_OFFSET, record_bytes};
use abi::layout::Layout;
use abi::object::SLOTS_PER_LOG_WORD;

use crate::barrier::{self, Claim, Holder, LogCell};
use crate::heap::Heap;
use crate::log::{LogSpace, record_number};
use crate::mutator::Mutator;
use crate::object::{ObjectRef, Slot};

impl Mutator {
    /// What a store does before it stores, when the log word is not of the fast epoch: record the
    /// old references unless that is done, and make `value` a root while a handshake round is under
    /// way.
    #[cold]
    #[inline(never)]
    pub fn write_slow(&mut self, object: ObjectRef, slot: Slot, value: ObjectRef) {
        if !self.heap.is_counting() {
            return;
        }
        let memory = &self.heap.memory;
        let holder = Holder::of(memory, object, slot.0);
        self.record_old(object, self.layout_of(object).get(), holder);
        self.note_root(value);
    }

    /// Before the elements from `first` to `last`, at most 32, are stored to.
    pub(crate) fn record_elements(&mut self, array: ObjectRef, first: Slot, last: Slot) {
        let layout = self.layout_of(array);
        let first = Holder::of(&self.heap.memory, array, first.0);
        let last = Holder::of(&self.heap.memory, array, last.0);
        self.record_old(array, layout.get(), first);
        if last != first {
            self.record_old(array, layout.get(), last);
        }
    }

    fn record_old(&mut self, object: ObjectRef, layout: &Layout, holder: Holder) {
        let heap = std::sync::Arc::as_ptr(&self.heap);
        // SAFETY: `self.heap` keeps the heap alive for the whole call; the borrow is only detached
        // from `self`.
        let heap = unsafe { &*heap };
        let (memory, log) = (&heap.memory, &heap.log);
        let word = holder.log_word(memory);
        let epoch = self.own().epoch;
        if LogCell::load(word).is_recorded_for(epoch) {
            return;
        }
        let limit = self.record.context.log_limit.load(Ordering::Relaxed);
        if self.record.context.log_next.load(Ordering::Relaxed) + RECORD_BYTES_MAX > limit {
            self.post_log_segment(heap);
        }
        let next = &self.record.context.log_next;
        let record = next.load(Ordering::Relaxed);
        let mut count = 0;
        let claim = barrier::claim(word, epoch, || {
            count = 0;
            let mut add = |slot| {
                let old = memory.word(slot).load(Ordering::Acquire);
                if old != 0 {
                    let place = log.word(record + RECORD_OLD_OFFSET + 4 * count);
                    place.store(old, Ordering::Relaxed);
                    count += 1;
                }
            };
            if holder.is_chunk() {
                let low = holder.0 & !1;
                let within = (low, low + SLOTS_PER_LOG_WORD * 4);
                barrier::each_slot_within(memory, object, layout, within, &mut add);
            } else {
                barrier::each_slot(memory, object, layout, &mut add);
            }
            log.word(record).store(holder.0, Ordering::Relaxed);
            log.word(record + RECORD_COUNT_OFFSET)
                .store(count, Ordering::Relaxed);
            record_number(record)
        });
        if claim == Claim::Won {
            next.store(record + record_bytes(count), Ordering::Relaxed);
        }
    }

    /// Makes the spare segment the current one. Lock-free; never waits: a mutator that runs low
    /// waits at its next poll, where it may.
    #[cold]
    fn post_log_segment(&mut self, heap: &Heap) {
        let record = Arc::clone(&self.record);
        let own = self.own();
        let cursor = record.cursor(own);
        if cursor.segment != 0 {
            heap.log.seal(cursor, own.filled.segments);
            own.filled.segments = cursor.segment;
        }
        if own.spare == 0 {
            own.spare = heap.log.try_take().unwrap_or(0);
        }
        assert_ne!(
            own.spare, 0,
            "log space: a mutator filled two segments without a poll while it was low"
        );
        record.set_cursor(own, LogSpace::cursor(own.spare));
        own.spare = heap.log.try_take().unwrap_or(0);
        if self.is_real_time() {
            heap.ask_lender_if_low();
        } else if heap.log.is_low(false) {
            heap.pace.ring();
        }
        if heap.log.is_low(self.is_real_time()) {
            heap.counters.log_exhausted.add(1);
            let poll = &self.record.context.poll;
            poll.store(abi::poll::POLL_ASKED, Ordering::SeqCst);
        }
    }
}
