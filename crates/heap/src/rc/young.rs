// SPDX-License-Identifier: Apache-2.0
//! The young: objects born in the epoch that is being settled. Those that are roots or were counted
//! live on; the others are dead without anybody ever having counted for them, and their blocks are
//! swept.

use std::sync::atomic::{AtomicU64, Ordering};

use abi::alloc::{CHUNKED_BYTES_MIN, SIZE_CLASSES};
use abi::side_table::{CountByte, ENTRY_SHIFT};

use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::rc::count::each_holder;
use crate::rc::free::{cancel_record, forget_holder, release_large};
use crate::space::block::{BlockIndex, BlockUse};
use crate::space::sweep::sweep_block;

/// The count entries of a block.
struct Counts<'h>(&'h [AtomicU64]);

impl Counts<'_> {
    fn are_zero(&self) -> bool {
        self.0.iter().all(|it| it.load(Ordering::Relaxed) == 0)
    }

    #[inline]
    fn get(&self, entry: u32) -> CountByte {
        let word = self.0[entry as usize / 8].load(Ordering::Relaxed);
        // The first entry is the lowest byte. (Of `to_le_bytes` each look would go through memory.)
        CountByte((word >> (entry % 8 * 8)) as u8)
    }
}

impl Rc<'_> {
    /// Lets live on what is a root, counted, or a referent that reference objects ask about.
    pub(super) fn promote_young(&mut self) {
        let heap = self.heap;
        let blocks = std::mem::take(&mut self.handed.blocks);
        for &block in &blocks {
            self.promote_block(block);
            self.ticker.tick_many(heap, 64);
        }
        self.handed.blocks = blocks;
        for index in 0..self.handed.larges.len() {
            self.promote_if_alive(ObjectRef(heap.blocks.start(self.handed.larges[index])));
        }
        self.drain_maturing();
        // The others' blocks may be somebody else's by the time the young are swept.
        let larges = std::mem::take(&mut self.handed.larges);
        let is_young = |&block: &BlockIndex| {
            !self
                .count_of(ObjectRef(heap.blocks.start(block)))
                .is_mature()
        };
        self.handed.larges = larges.into_iter().filter(is_young).collect();
    }

    /// Looks at the tables alone: most of the young are dead, and their memory need not be touched
    /// for this. Whom somebody that is found alive refers to matures by its count.
    fn promote_block(&mut self, block: BlockIndex) {
        let heap = self.heap;
        let (start, memory) = (heap.blocks.start(block), &heap.memory);
        let counts = Counts(memory.block_counts(start));
        let has_referents = heap
            .blocks
            .meta(block)
            .has_referents
            .load(Ordering::Relaxed)
            != 0;
        // Who made an object a root before H3 said so in the summary too, and from then on the
        // summary comes first.
        let has_roots = memory.summary(start).load(Ordering::SeqCst) == heap.snoop_tag();
        if !has_referents && !has_roots && counts.are_zero() {
            return;
        }
        let (snoops, tag) = (memory.block_snoops(start), heap.snoop_tag());
        for cell in heap.blocks.cells(block) {
            let entry = (cell - start) >> ENTRY_SHIFT;
            if counts.get(entry).count() != 0
                || snoops[entry as usize].load(Ordering::SeqCst) == tag
                || has_referents
            {
                self.promote_if_alive(ObjectRef(cell));
            }
        }
    }

    fn promote_if_alive(&mut self, object: ObjectRef) {
        let count = self.count_of(object);
        let is_alive = count.count() != 0 || self.is_root(object) || self.is_referent(object);
        if !is_alive || count.is_mature() {
            return;
        }
        // A stale tag may lie on a free cell.
        if self.heap.memory.class_word(object).load(Ordering::Acquire) != 0 {
            self.mature(object);
            self.drain_maturing();
        }
    }

    /// Frees what died young and gives the blocks back.
    pub(super) fn sweep_young(&mut self) {
        let heap = self.heap;
        for block in std::mem::take(&mut self.handed.blocks) {
            self.sweep_block(block);
            self.ticker.tick_many(heap, 64);
        }
        for block in std::mem::take(&mut self.handed.larges) {
            let object = ObjectRef(heap.blocks.start(block));
            let bytes = u64::from(self.cell_bytes(object));
            heap.counters.allocated_bytes.add_alone(bytes);
            heap.counters.freed_young_objects.add_alone(1);
            self.free_young(object);
            heap.counters.freed_bytes.add_alone(bytes);
            heap.counters.freed_objects.add_alone(1);
            release_large(heap, object);
        }
    }

    /// Blocks that lost objects and that nobody owns. A block in a stack is swept when somebody
    /// took it and handed it over; a thorough epoch does not wait for that.
    pub(super) fn sweep_dirty(&mut self, is_thorough: bool) {
        let heap = self.heap;
        let mut classes = [false; abi::alloc::SIZE_CLASS_COUNT];
        let mut dirty = std::mem::take(&mut self.dirty);
        if is_thorough {
            dirty = (0..heap.free.committed_count()).collect();
        }
        for block in dirty {
            let meta = heap.blocks.meta(block);
            if meta.freed_cells.load(Ordering::Relaxed) == 0 {
                continue;
            }
            match meta.usage() {
                BlockUse::Full => self.sweep_block(block),
                BlockUse::Partial => {
                    classes[meta.class.load(Ordering::Relaxed) as usize] = is_thorough;
                }
                // An owned block is swept when it is handed over.
                BlockUse::Owned | BlockUse::Free | BlockUse::Large | BlockUse::LargeTail => {}
            }
            self.ticker.tick_many(heap, 64);
        }
        for class in (0..classes.len()).filter(|&class| classes[class]) {
            self.sweep_partial(class);
        }
    }

    /// Blocks in a stack may be taken at any time: take them all ourselves first.
    fn sweep_partial(&mut self, class: usize) {
        let heap = self.heap;
        let taken: Vec<_> =
            std::iter::from_fn(|| heap.partial[class].try_pop(&heap.blocks)).collect();
        for block in taken {
            if heap.blocks.meta(block).freed_cells.load(Ordering::Relaxed) == 0 {
                heap.partial[class].push(&heap.blocks, block);
            } else {
                self.sweep_block(block);
            }
        }
    }

    /// Frees the dead young of a block that the collector holds, and sweeps it.
    fn sweep_block(&mut self, block: BlockIndex) {
        let heap = self.heap;
        let start = heap.blocks.start(block);
        let counts = Counts(heap.memory.block_counts(start));
        let is_live = |it: ObjectRef| counts.get((it.0 - start) >> ENTRY_SHIFT).is_mature();
        let class = heap.blocks.meta(block).class.load(Ordering::Relaxed);
        let may_be_chunked = SIZE_CLASSES[class as usize] >= CHUNKED_BYTES_MIN;
        let swept = sweep_block(heap, block, is_live, |object| {
            if may_be_chunked {
                self.free_young(object);
            } else {
                self.free_young_small(object);
            }
        });
        heap.counters.allocated_bytes.add_alone(swept.dead_bytes);
        heap.counters.freed_young_objects.add_alone(swept.dead);
    }

    /// A young object that nothing refers to, and whose own references nobody has counted.
    fn free_young(&self, object: ObjectRef) {
        each_holder(self.heap, object, |it| {
            forget_holder(self.heap, it, self.epoch);
        });
        debug_assert_eq!(self.count_of(object), CountByte(0));
    }

    /// One that is too small to be chunked, whose class need not be read.
    fn free_young_small(&self, object: ObjectRef) {
        let heap = self.heap;
        cancel_record(heap, heap.memory.header_log(object), self.epoch);
        // An increment that came early was given back, or the object would be mature.
        debug_assert_eq!(self.count_of(object), CountByte(0));
    }
}
