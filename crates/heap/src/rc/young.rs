// SPDX-License-Identifier: Apache-2.0
//! The young: objects born in the epoch that is being settled. Those that are roots or were counted live on; the
//! others are dead without anybody ever having counted for them, and their blocks are swept.

use std::sync::atomic::Ordering;

use abi::alloc::{BLOCK_BYTES, SIZE_CLASSES};
use abi::side_table::CountByte;

use crate::barrier;
use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::rc::free::cancel_record;
use crate::space::block::{BlockIndex, BlockUse, RUN_END_OFFSET, RUN_NEXT_OFFSET};

/// A block with fewer free bytes than this part of it is not worth taking.
const FREE_BYTES_WORTH_TAKING: u32 = BLOCK_BYTES / 8;

impl Rc {
    /// Lets live on what is a root, counted, or a referent that reference objects ask about.
    pub(super) fn promote_young(&mut self) {
        let heap = self.heap.clone();
        let blocks = std::mem::take(&mut self.handed.blocks);
        for &block in &blocks {
            for cell in heap.blocks.cells(block) {
                self.promote_if_alive(ObjectRef(cell));
            }
            self.ticker.tick_many(&heap, 64);
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

    fn promote_if_alive(&mut self, object: ObjectRef) {
        let memory = &self.heap.memory;
        let count = self.count_of(object);
        if count.is_mature() || memory.class_word(object).load(Ordering::Acquire) == 0 {
            return;
        }
        if count.count() != 0 || self.is_root(object) || self.is_referent(object) {
            self.mature(object);
            self.drain_maturing();
        }
    }

    /// Frees what died young and gives the blocks back.
    pub(super) fn sweep_young(&mut self) {
        let heap = self.heap.clone();
        for block in std::mem::take(&mut self.handed.blocks) {
            self.sweep_block(block);
            self.ticker.tick_many(&heap, 64);
        }
        for block in std::mem::take(&mut self.handed.larges) {
            let object = ObjectRef(heap.blocks.start(block));
            let bytes = u64::from(self.cell_bytes(object));
            heap.counters.allocated_bytes.add(bytes);
            heap.counters.freed_young_objects.add(1);
            self.free(object, |rc, child| rc.decrement(child));
        }
    }

    /// Blocks that lost objects and that nobody owns.
    pub(super) fn sweep_dirty(&mut self) {
        let heap = self.heap.clone();
        let mut classes = [false; abi::alloc::SIZE_CLASS_COUNT];
        for block in std::mem::take(&mut self.dirty) {
            let meta = heap.blocks.meta(block);
            if meta.is_dirty.load(Ordering::Relaxed) == 0 {
                continue;
            }
            match meta.usage() {
                BlockUse::Full => self.sweep_block(block),
                BlockUse::Partial => classes[meta.class.load(Ordering::Relaxed) as usize] = true,
                // An owned block is swept when it is handed over.
                BlockUse::Owned => meta.is_dirty.store(0, Ordering::Relaxed),
                BlockUse::Free | BlockUse::Large | BlockUse::LargeTail => {}
            }
        }
        for class in (0..classes.len()).filter(|&class| classes[class]) {
            self.sweep_partial(class);
        }
    }

    /// Blocks in a stack may be taken at any time: take them all ourselves first.
    fn sweep_partial(&mut self, class: usize) {
        let heap = self.heap.clone();
        let taken: Vec<_> =
            std::iter::from_fn(|| heap.partial[class].try_pop(&heap.blocks)).collect();
        for block in taken {
            if heap.blocks.meta(block).is_dirty.load(Ordering::Relaxed) == 0 {
                heap.partial[class].push(&heap.blocks, block);
            } else {
                self.sweep_block(block);
            }
        }
    }

    /// Frees the dead young of a block that the collector holds, links its free cells to runs, and puts the block
    /// where it belongs.
    fn sweep_block(&mut self, block: BlockIndex) {
        let heap = self.heap.clone();
        let meta = heap.blocks.meta(block);
        let class = meta.class.load(Ordering::Relaxed) as usize;
        let bytes = SIZE_CLASSES[class];
        let mut runs = Runs::default();
        let mut dead = 0;
        for cell in heap.blocks.cells(block) {
            let object = ObjectRef(cell);
            if self.count_of(object).is_mature() {
                runs.close(&heap);
                continue;
            }
            if heap.memory.class_word(object).load(Ordering::Relaxed) != 0 {
                self.free_young(object, bytes);
                dead += 1;
            } else {
                // The head of an older run.
                heap.memory
                    .word(cell + RUN_NEXT_OFFSET)
                    .store(0, Ordering::Relaxed);
                heap.memory
                    .word(cell + RUN_END_OFFSET)
                    .store(0, Ordering::Relaxed);
            }
            runs.open(cell, bytes);
        }
        runs.close(&heap);
        heap.counters.allocated_bytes.add(dead * u64::from(bytes));
        heap.counters.freed_bytes.add(dead * u64::from(bytes));
        heap.counters.freed_objects.add(dead);
        heap.counters.freed_young_objects.add(dead);
        file_block(&heap, block, &runs);
    }

    /// A young object that nothing refers to. Only a chunked one was ever counted for.
    fn free_young(&mut self, object: ObjectRef, bytes: u32) {
        let heap = self.heap.clone();
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
        cancel_record(&heap, heap.memory.header_log(object), self.epoch);
        // An increment that came early was given back, or the object would be mature.
        debug_assert_eq!(self.count_of(object), CountByte(0));
        heap.memory.zero(object.0, bytes);
    }
}

/// Puts a swept block where it belongs.
pub(crate) fn file_block(heap: &crate::heap::Heap, block: BlockIndex, runs: &Runs) {
    let meta = heap.blocks.meta(block);
    let class = meta.class.load(Ordering::Relaxed) as usize;
    let bytes = SIZE_CLASSES[class];
    meta.is_dirty.store(0, Ordering::Relaxed);
    meta.runs.store(runs.first, Ordering::Relaxed);
    if runs.free_bytes == BLOCK_BYTES / bytes * bytes {
        // One run: only its head holds words.
        heap.memory
            .word(runs.first + RUN_NEXT_OFFSET)
            .store(0, Ordering::Relaxed);
        heap.memory
            .word(runs.first + RUN_END_OFFSET)
            .store(0, Ordering::Relaxed);
        meta.has_referents.store(0, Ordering::Relaxed);
        meta.set_usage(BlockUse::Free);
        heap.free.put(block, 1);
    } else if runs.free_bytes >= FREE_BYTES_WORTH_TAKING.max(bytes) {
        meta.set_usage(BlockUse::Partial);
        heap.partial[class].push(&heap.blocks, block);
    } else {
        meta.set_usage(BlockUse::Full);
    }
}

/// The free cells of a block, linked while it is walked.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    first: u32,
    last: u32,
    open: u32,
    end: u32,
    free_bytes: u32,
}

impl Runs {
    /// A free cell.
    pub(crate) fn open(&mut self, cell: u32, bytes: u32) {
        if self.open == 0 {
            self.open = cell;
        }
        self.end = cell + bytes;
        self.free_bytes += bytes;
    }

    /// The run ends.
    pub(crate) fn close(&mut self, heap: &crate::heap::Heap) {
        if self.open == 0 {
            return;
        }
        heap.memory
            .word(self.open + RUN_NEXT_OFFSET)
            .store(0, Ordering::Relaxed);
        heap.memory
            .word(self.open + RUN_END_OFFSET)
            .store(self.end, Ordering::Relaxed);
        if self.last == 0 {
            self.first = self.open;
        } else {
            heap.memory
                .word(self.last + RUN_NEXT_OFFSET)
                .store(self.open, Ordering::Relaxed);
        }
        self.last = self.open;
        self.open = 0;
    }
}
