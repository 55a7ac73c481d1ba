// SPDX-License-Identifier: Apache-2.0
//! Increments and decrements: the logs of one epoch become counts.
//!
//! For each record, once: the holder's references at the new view are counted up, the recorded ones
//! of the old view down; all increments before any decrement, so no count passes zero on the way.

use std::sync::atomic::Ordering;

use abi::barrier::LogWord;
use abi::object::CHUNK_BYTES;
use abi::side_table::CountByte;

use crate::barrier::{self, Holder, LogCell, SlotCopy};
use crate::heap::Heap;
use crate::log::{CHUNK_HOLDER, record_number, record_offset};
use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::space::block::BlockUse;

impl Rc<'_> {
    pub(super) fn settle_increments(&mut self) {
        let heap = self.heap;
        let settled = before(self.epoch);
        let segments = std::mem::take(&mut self.handed.segments);
        for &segment in &segments {
            for record in heap.log.records(segment) {
                let holder = Holder(heap.log.holder(record));
                if holder.0 == 0 {
                    continue;
                }
                heap.counters.log_records.add_alone(1);
                // Fails if the holder was recorded again in the new epoch: then the word is no
                // longer ours.
                let word = holder.log_word(&heap.memory);
                let _ = word.exchange(
                    LogWord::recorded(settled, record_number(record)),
                    LogWord::CLEAN,
                );
                if self.is_of_young(holder) {
                    heap.log.cancel(record);
                } else {
                    self.count_changes(record, holder);
                    self.drain_maturing();
                }
                self.ticker.tick(heap);
            }
        }
        self.handed.segments = segments;
    }

    /// Whether a recorded chunk's object was young when the epoch ended. Its references are counted
    /// when it matures, all of them, or never.
    fn is_of_young(&self, holder: Holder) -> bool {
        if !holder.is_chunk() {
            return false;
        }
        let object = object_of_chunk(self.heap, holder.0 & !CHUNK_HOLDER);
        !self.count_of(object).is_mature() || self.matured_chunked.contains(&object)
    }

    pub(super) fn settle_decrements(&mut self) {
        let heap = self.heap;
        let segments = std::mem::take(&mut self.handed.segments);
        for &segment in &segments {
            for record in heap.log.records(segment) {
                if heap.log.holder(record) == 0 {
                    continue;
                }
                for index in 0..heap.log.count(record) {
                    let old = ObjectRef(heap.log.old(record, index));
                    if !old.is_null() {
                        self.decrement(old);
                    }
                }
                self.ticker.tick(heap);
            }
        }
        self.handed.segments = segments;
    }

    /// Counts up what the recorded holder refers to at the view. What it referred to before as
    /// well, in front of the changed slots and behind them, keeps its count: it is struck from the
    /// record, so that nobody counts it down. In a chunk of 32 slots of which one was stored to,
    /// that is all but one.
    fn count_changes(&mut self, record: u32, holder: Holder) {
        let log = &self.heap.log;
        view_of(self.heap, holder, self.epoch, &mut self.view);
        let (new, old_count) = (self.view.refs(), log.count(record) as usize);
        let shorter = new.len().min(old_count);
        let is_kept = |new: u32, index: usize| new == log.old(record, index as u32);
        let front = (0..shorter).take_while(|&it| is_kept(new[it], it)).count();
        let from_end = |it: &usize| is_kept(new[new.len() - 1 - it], old_count - 1 - it);
        let back = (0..shorter - front).take_while(from_end).count();
        (0..front)
            .chain(old_count - back..old_count)
            .for_each(|it| log.strike(record, it as u32));
        self.count_up(front..new.len() - back);
    }

    /// Counts up what a holder referred to at the view.
    fn count_view(&mut self, holder: Holder) {
        view_of(self.heap, holder, self.epoch, &mut self.view);
        self.count_up(0..self.view.refs().len());
    }

    /// Counts up some of the references in `view`.
    fn count_up(&mut self, range: std::ops::Range<usize>) {
        for index in range {
            self.increment(ObjectRef(self.view.refs()[index]));
        }
    }

    /// One more reference. A young object becomes mature by it.
    pub(crate) fn increment(&mut self, object: ObjectRef) {
        let mut count = self.count_of(object);
        if !count.is_stuck() {
            count = CountByte(count.0 + 1);
        } else if self.is_tracing {
            self.count_stuck_edge(object);
        }
        if count.is_mature() || self.is_born_after_view(object) {
            self.set_count(object, count);
        } else {
            self.mature_with(object, count);
        }
    }

    /// One reference less.
    pub(crate) fn decrement(&mut self, object: ObjectRef) {
        let count = self.count_of(object);
        if count.is_stuck() {
            return;
        }
        assert_ne!(
            count.count(),
            0,
            "{object:?} is counted before it is uncounted"
        );
        let mut count = CountByte(count.0 - 1);
        // A young one of the next epoch dies, or not, when that epoch is settled.
        let is_new_zero =
            count.count() == 0 && count.is_mature() && count.0 & CountByte::IN_ZERO_TABLE == 0;
        if is_new_zero {
            count = CountByte(count.0 | CountByte::IN_ZERO_TABLE);
            self.push_zero(object);
        }
        self.set_count(object, count);
    }

    /// The object outlives its first epoch: its own references are to be counted
    /// (`drain_maturing`).
    pub(super) fn mature(&mut self, object: ObjectRef) {
        self.mature_with(object, self.count_of(object));
    }

    /// The same of one that has this count now.
    fn mature_with(&mut self, object: ObjectRef, count: CountByte) {
        debug_assert!(!count.is_mature());
        let mut mature = CountByte(count.0 | CountByte::MATURE | self.colour);
        if count.count() == 0 {
            mature = CountByte(mature.0 | CountByte::IN_ZERO_TABLE);
            self.push_zero(object);
        }
        self.set_count(object, mature);
        self.maturing.push(object);
    }

    /// Counts the references of everything that matured, and of what matures by that.
    pub(super) fn drain_maturing(&mut self) {
        let settled = before(self.epoch);
        while let Some(object) = self.maturing.pop() {
            let heap = self.heap;
            let _ = heap
                .memory
                .header_log(object)
                .exchange(LogWord::born(settled), LogWord::CLEAN);
            let layout = heap.memory.layout(object);
            let bytes = u64::from(self.cell_bytes(object));
            heap.counters.allocated_bytes.add_alone(bytes);
            let length = barrier::length(&heap.memory, object, layout);
            if layout.is_chunked(length) {
                self.matured_chunked.insert(object);
                each_holder(heap, object, |chunk| {
                    self.count_view(chunk);
                    self.ticker.tick(heap);
                });
            } else {
                self.count_view(Holder(object.0));
            }
            self.register_reference(object, layout);
        }
    }
}

/// The epoch that ended when `epoch` began.
pub(super) fn before(epoch: u8) -> u8 {
    if epoch == 1 {
        abi::barrier::EPOCH_COUNT
    } else {
        epoch - 1
    }
}

/// The references that a holder had at the view, that is when its mutators switched to `epoch`.
pub(crate) fn view_of(heap: &Heap, holder: Holder, epoch: u8, view: &mut SlotCopy) {
    heap.memory.steps.look_at(holder.0);
    let word = holder.log_word(&heap.memory);
    let recorded = |view: &mut SlotCopy, word: LogWord| {
        assert!(
            word.has_record(),
            "a holder born after the view has no view"
        );
        let record = record_offset(word.record());
        view.clear();
        (0..heap.log.count(record)).for_each(|index| view.add(heap.log.old(record, index)));
    };
    let slots = |view: &mut SlotCopy| {
        view.clear();
        read_slots(heap, holder, view);
    };
    barrier::read_view(word, epoch, view, recorded, slots);
}

fn read_slots(heap: &Heap, holder: Holder, view: &mut SlotCopy) {
    let memory = &heap.memory;
    let mut add = |slot| view.add(memory.word(slot).load(Ordering::Acquire));
    if holder.is_chunk() {
        let low = holder.0 & !CHUNK_HOLDER;
        let object = object_of_chunk(heap, low);
        barrier::each_slot_within(
            memory,
            object,
            memory.layout(object),
            (low, low + CHUNK_BYTES),
            &mut add,
        );
    } else {
        let object = ObjectRef(holder.0);
        barrier::each_slot(memory, object, memory.layout(object), &mut add);
    }
}

/// The object that an address inside it belongs to.
fn object_of_chunk(heap: &Heap, address: u32) -> ObjectRef {
    let block = heap.blocks.index_of(address);
    let meta = heap.blocks.meta(block);
    match meta.usage() {
        BlockUse::Large => ObjectRef(heap.blocks.start(block)),
        BlockUse::LargeTail => ObjectRef(
            heap.blocks
                .start(block - meta.large_blocks.load(Ordering::Relaxed)),
        ),
        _ => {
            let start = heap.blocks.start(block);
            let bytes = abi::alloc::SIZE_CLASSES[meta.class.load(Ordering::Relaxed) as usize];
            ObjectRef(start + (address - start) / bytes * bytes)
        }
    }
}

/// Calls `visit` with everything that has a log word in an object.
pub(crate) fn each_holder(heap: &Heap, object: ObjectRef, mut visit: impl FnMut(Holder)) {
    let layout = heap.memory.layout(object);
    let length = barrier::length(&heap.memory, object, layout);
    if !layout.is_chunked(length) {
        return visit(Holder(object.0));
    }
    let end = object.0 + barrier::object_bytes(&heap.memory, object, layout);
    for chunk in (object.0..end).step_by(CHUNK_BYTES as usize) {
        visit(Holder(chunk | CHUNK_HOLDER));
    }
}
