// SPDX-License-Identifier: Apache-2.0
//! [`Stw`]: stop-the-world mark-sweep, the baseline of the papers.
//!
//! An honest one: the pause is the mark alone, with an explicit stack; sweeping and zeroing follow
//! while mutators run again, and they sweep what they need themselves ([`unswept`]). Nothing is
//! logged or counted: a mutator's stores have no slow path. The side tables serve as mark table.

pub(crate) mod unswept;

use std::sync::atomic::Ordering;

use abi::alloc::SIZE_CLASS_COUNT;
use abi::layout::ReferenceKind;
use abi::side_table::CountByte;
use rt::clock::{Clock, Monotonic};

use crate::barrier;
use crate::collector::ticker::Ticker;
use crate::events::EventKind;
use crate::heap::Heap;
use crate::mutator::answer::hand_over_buffers;
use crate::object::ObjectRef;
use crate::rc::free::{cell_bytes, release_large};
use crate::space::block::{BlockIndex, BlockUse};
use crate::space::sweep::sweep_block;

/// See the module.
#[derive(Debug)]
pub(crate) struct Stw<'h> {
    heap: &'h Heap,
    ticker: Ticker,
    /// Count byte of an object reached in this collection.
    marked: u8,
    grey: Vec<ObjectRef>,
    /// Reference objects met, with their referents unmarked at that time.
    met: Vec<ObjectRef>,
    clears_soft: bool,
    /// What is about to be finalized still finds the referents of its reference objects.
    keeps_referents: bool,
}

impl<'h> Stw<'h> {
    /// `marked` is what the last one has left ([`Stw::rest`]), or what no object has.
    pub(crate) fn new(heap: &'h Heap, ticker: Ticker, marked: Option<u8>) -> Self {
        let marked = marked.unwrap_or(CountByte::MATURE);
        Self {
            heap,
            ticker,
            marked,
            grey: Vec::new(),
            met: Vec::new(),
            clears_soft: false,
            keeps_referents: false,
        }
    }

    /// Which objects the next one finds marked.
    pub(crate) fn rest(self) -> u8 {
        self.marked
    }

    /// One collection: pause, mark, resume, sweep.
    pub(crate) fn collect(&mut self, clears_soft: bool) {
        self.clears_soft = clears_soft;
        let larges = self.pause();
        // Who waits for room may sweep it now.
        self.heap.pace.announce();
        self.sweep(larges);
    }

    /// Marks and leaves blocks to be swept; returns those of large objects.
    fn pause(&mut self) -> Vec<BlockIndex> {
        let heap = self.heap;
        self.marked ^= CountByte::MARK;
        let start_ns = Monotonic.now_ns();
        let records = heap.stop_world();
        heap.references.take_released();
        heap.each_global_root(&mut |object| self.mark(object));
        for record in &records {
            // SAFETY: 1. `stop_world` claimed the mutator. 2. One borrow, here.
            let own = unsafe { record.own() };
            hand_over_buffers(heap, record, own);
            Heap::take_handed(record);
            heap.each_stack_root(record, &mut |object| self.mark(object));
        }
        let mut held = Vec::new();
        heap.references.each_held(|it| held.push(it));
        held.into_iter().for_each(|it| self.mark(it));
        self.drain();
        self.settle_references();
        let larges = self.take_blocks();
        bury(heap);
        heap.resume_world(&records);
        let pause_ns = Monotonic.now_ns() - start_ns;
        heap.events
            .add(EventKind::Pause, start_ns, records.len() as u64);
        heap.counters.pauses.add(1);
        heap.counters.pause_ns_max.raise(pause_ns);
        heap.counters.pause_ns_sum.add(pause_ns);
        larges
    }

    #[inline]
    fn mark(&mut self, object: ObjectRef) {
        let entry = self.heap.memory.count(object);
        if entry.load(Ordering::Relaxed) != self.marked {
            entry.store(self.marked, Ordering::Relaxed);
            self.grey.push(object);
        }
    }

    fn is_marked(&self, object: ObjectRef) -> bool {
        self.heap.memory.count(object).load(Ordering::Relaxed) == self.marked
    }

    fn drain(&mut self) {
        let heap = self.heap;
        let memory = &heap.memory;
        while let Some(object) = self.grey.pop() {
            let layout = memory.layout(object);
            barrier::each_slot(memory, object, layout, |slot| {
                let reference = memory.word(slot).load(Ordering::Relaxed);
                if reference != 0 {
                    self.mark(ObjectRef(reference));
                }
            });
            if layout.reference_kind != ReferenceKind::Strong {
                self.meet(object);
            }
        }
    }

    fn meet(&mut self, reference: ObjectRef) {
        let referent = self.referent(reference);
        let is_soft = self.heap.memory.layout(reference).reference_kind == ReferenceKind::Soft;
        if referent.is_null() || self.is_marked(referent) {
        } else if self.keeps_referents || is_soft && !self.clears_soft {
            self.mark(referent);
        } else {
            self.met.push(reference);
        }
    }

    fn referent(&self, reference: ObjectRef) -> ObjectRef {
        let offset = self.heap.memory.layout(reference).referent_offset;
        ObjectRef(
            self.heap
                .memory
                .slot(reference.slot(offset))
                .load(Ordering::Relaxed),
        )
    }

    /// Soft and weak ones are cleared before final ones revive, phantom ones after.
    fn settle_references(&mut self) {
        self.clear(|kind| matches!(kind, ReferenceKind::Soft | ReferenceKind::Weak));
        let (finals, phantoms): (Vec<_>, Vec<_>) = std::mem::take(&mut self.met)
            .into_iter()
            .partition(|&it| self.heap.memory.layout(it).reference_kind == ReferenceKind::Final);
        let referents: Vec<_> = finals.iter().map(|&it| self.referent(it)).collect();
        // All of them, before the first is marked: two may have the same referent.
        let is_dead = |it: &(&ObjectRef, &ObjectRef)| !self.is_marked(*it.1);
        let dead: Vec<_> = finals.iter().zip(&referents).filter(is_dead).collect();
        for (&reference, &referent) in dead {
            self.heap.references.enqueue(reference);
            self.mark(referent);
        }
        self.met = phantoms;
        self.keeps_referents = true;
        self.drain();
        self.keeps_referents = false;
        self.clear(|kind| kind != ReferenceKind::Final);
        self.met.clear();
    }

    fn clear(&mut self, is_chosen: impl Fn(ReferenceKind) -> bool) {
        let met = std::mem::take(&mut self.met);
        for reference in met {
            let layout = self.heap.memory.layout(reference);
            let referent = self.referent(reference);
            if referent.is_null() || self.is_marked(referent) {
                continue;
            }
            if is_chosen(layout.reference_kind) {
                let slot = reference.slot(layout.referent_offset);
                self.heap.memory.slot(slot).store(0, Ordering::Relaxed);
                self.heap.references.enqueue(reference);
            } else {
                self.met.push(reference);
            }
        }
    }

    /// Every block with objects, out of the mutators' reach until it is swept; returns those of
    /// large objects.
    fn take_blocks(&self) -> Vec<BlockIndex> {
        let heap = self.heap;
        for stack in &heap.partial {
            while stack.try_pop(&heap.blocks).is_some() {}
        }
        heap.unswept.begin(self.marked);
        let mut larges = Vec::new();
        // The last one goes in first: what lies in a row is swept in a row.
        for block in (0..heap.free.committed_count()).rev() {
            let meta = heap.blocks.meta(block);
            match meta.usage() {
                BlockUse::Free | BlockUse::LargeTail => {}
                BlockUse::Large => larges.push(block),
                BlockUse::Owned | BlockUse::Partial | BlockUse::Full => {
                    meta.set_usage(BlockUse::Full);
                    heap.unswept.add(&heap.blocks, block);
                }
            }
        }
        larges
    }

    /// Returns when nothing is left to sweep; blocks that mutators are at then are theirs until
    /// they have swept them, which they do before they can be stopped again.
    fn sweep(&mut self, larges: Vec<BlockIndex>) {
        let heap = self.heap;
        let large_bytes: u64 = larges.into_iter().map(|it| self.sweep_large(it)).sum();
        let mut count = 0;
        for class in 0..SIZE_CLASS_COUNT {
            while heap.sweep_one(class).is_some() {
                self.ticker.tick_many(heap, 64);
                count += 1;
                if count % 256 == 0 {
                    heap.free.fill_reserve(&heap.memory, &heap.blocks);
                    heap.pace.announce();
                }
            }
        }
        heap.free.fill_reserve(&heap.memory, &heap.blocks);
        let live = large_bytes + heap.unswept.live_bytes();
        heap.counters.live_bytes.set(live);
        heap.counters
            .allocated_bytes
            .set(heap.counters.freed_bytes.get() + live);
        heap.note_used();
        heap.counters.epochs.add(1);
    }

    /// Returns the bytes that live.
    fn sweep_large(&self, block: BlockIndex) -> u64 {
        let heap = self.heap;
        let object = ObjectRef(heap.blocks.start(block));
        let bytes = u64::from(cell_bytes(heap, object));
        if self.is_marked(object) {
            return bytes;
        }
        heap.memory.count(object).store(0, Ordering::Relaxed);
        heap.counters.freed_bytes.add(bytes);
        heap.counters.freed_objects.add(1);
        release_large(heap, object);
        0
    }
}

/// Forgets mutators that have ended: the pause took all they left.
fn bury(heap: &Heap) {
    let mut registry = heap.registry.lock();
    registry
        .records
        .retain(|record| !record.has_ended.load(Ordering::SeqCst));
    heap.log.set_mutator_count(registry.records.len());
}

impl Heap {
    /// Sweeps a block of the class that the last pause left; returns what it is used for now,
    /// `None` if none is left. The caller polls for nothing in between. Its cells are at most 2048,
    /// and a lock is taken if it is whole again.
    pub(crate) fn sweep_one(&self, class: usize) -> Option<BlockUse> {
        let (block, marked) = self.unswept.take(&self.blocks, class)?;
        let count = |object: ObjectRef| self.memory.count(object);
        let is_live = |object| count(object).load(Ordering::Relaxed) == marked;
        let bury = |object| count(object).store(0, Ordering::Relaxed);
        let swept = sweep_block(self, block, is_live, bury);
        self.unswept.note_live(swept.live_bytes);
        Some(swept.usage)
    }
}
