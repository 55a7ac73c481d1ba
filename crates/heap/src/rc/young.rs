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
pub(super) const FREE_BYTES_WORTH_TAKING: u32 = BLOCK_BYTES / 8;

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

    /// Looks at the tables first: most of the young are dead, and their memory need not be touched for this.
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

    /// Blocks that lost objects and that nobody owns. A block in a stack is swept when somebody took it and handed
    /// it over; a thorough epoch does not wait for that.
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

    /// Frees the dead young of a block that the collector holds, links its free cells to runs, and puts the block
    /// where it belongs.
    fn sweep_block(&mut self, block: BlockIndex) {
        let heap = self.heap;
        let meta = heap.blocks.meta(block);
        let class = meta.class.load(Ordering::Relaxed) as usize;
        let bytes = SIZE_CLASSES[class];
        let mut runs = Runs::default();
        let mut zeroing = Zeroing::default();
        let mut dead = 0;
        for cell in heap.blocks.cells(block) {
            let object = ObjectRef(cell);
            if self.count_of(object).is_mature() {
                zeroing.finish(heap);
                runs.close(heap);
                continue;
            }
            if heap.memory.class_word(object).load(Ordering::Relaxed) != 0 {
                self.free_young(object);
                zeroing.add(heap, cell, bytes);
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
        zeroing.finish(heap);
        runs.close(heap);
        heap.counters
            .allocated_bytes
            .add_alone(dead * u64::from(bytes));
        heap.counters.freed_bytes.add_alone(dead * u64::from(bytes));
        heap.counters.freed_objects.add_alone(dead);
        heap.counters.freed_young_objects.add_alone(dead);
        file_block(heap, block, &runs);
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

/// Puts a swept block where it belongs.
pub(crate) fn file_block(heap: &crate::heap::Heap, block: BlockIndex, runs: &Runs) {
    let meta = heap.blocks.meta(block);
    let class = meta.class.load(Ordering::Relaxed) as usize;
    let bytes = SIZE_CLASSES[class];
    meta.freed_cells.store(0, Ordering::Relaxed);
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

/// Dead cells in a row, zeroed together.
#[derive(Debug, Default)]
struct Zeroing {
    start: u32,
    end: u32,
}

impl Zeroing {
    fn add(&mut self, heap: &crate::heap::Heap, cell: u32, bytes: u32) {
        if self.end != cell {
            self.finish(heap);
            self.start = cell;
        }
        self.end = cell + bytes;
    }

    fn finish(&mut self, heap: &crate::heap::Heap) {
        if self.end != self.start {
            heap.memory.zero(self.start, self.end - self.start);
        }
        self.start = self.end;
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
