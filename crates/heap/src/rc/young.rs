// SPDX-License-Identifier: Apache-2.0
//! The young: objects born in the epoch that is being settled. Those that are roots or were counted
//! live on; the others are dead without anybody ever having counted for them, and their blocks are
//! swept.

use std::sync::atomic::Ordering;

use abi::side_table::CountByte;

use crate::barrier;
use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::rc::free::cancel_record;
use crate::space::block::{BlockIndex, BlockUse};
use crate::space::sweep::sweep_block;

impl Rc<'_> {
    /// Lets live on what is a root, counted, or a referent that reference objects ask about.
    pub(super) fn promote_young(&mut self) {
        let heap = self.heap;
        let blocks = std::mem::take(&mut self.handed.blocks);
        for &block in &blocks {
            for cell in heap.blocks.cells(block) {
                self.promote_if_alive(ObjectRef(cell));
            }
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

    /// Looks at the tables first: most of the young are dead, and their memory need not be touched
    /// for this.
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
            self.free(object, |rc, child| rc.decrement(child));
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
        let is_live =
            |object| CountByte(heap.memory.count(object).load(Ordering::Relaxed)).is_mature();
        let swept = sweep_block(heap, block, is_live, |object| self.free_young(object));
        heap.counters.allocated_bytes.add_alone(swept.dead_bytes);
        heap.counters.freed_young_objects.add_alone(swept.dead);
    }

    /// A young object that nothing refers to. Only a chunked one was ever counted for.
    fn free_young(&mut self, object: ObjectRef) {
        let heap = self.heap;
        if barrier::is_chunked(&heap.memory, object) {
            let (freed, objects) = (
                heap.counters.freed_bytes.get(),
                heap.counters.freed_objects.get(),
            );
            self.free(object, |rc, child| rc.decrement(child));
            // Counted by the caller, with the others of the block.
            heap.counters.freed_bytes.set(freed);
            heap.counters.freed_objects.set(objects);
            return;
        }
        cancel_record(heap, heap.memory.header_log(object), self.epoch);
        // An increment that came early was given back, or the object would be mature.
        debug_assert_eq!(self.count_of(object), CountByte(0));
    }
}
