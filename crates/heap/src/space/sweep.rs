// SPDX-License-Identifier: Apache-2.0
//! Sweeping a block of cells: the dead are zeroed, free cells are linked to runs, the block goes
//! where it belongs.

use std::sync::atomic::Ordering;

use abi::alloc::{BLOCK_BYTES, SIZE_CLASSES};

use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::space::block::{BlockIndex, BlockUse, RUN_END_OFFSET, RUN_NEXT_OFFSET};

/// A block with fewer free bytes than this part of it is not worth taking.
pub(crate) const FREE_BYTES_WORTH_TAKING: u32 = BLOCK_BYTES / 8;

/// What a block held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swept {
    /// What it is used for now. A free or partial one may be somebody else's already.
    pub(crate) usage: BlockUse,
    pub(crate) live_bytes: u64,
    pub(crate) dead: u64,
    pub(crate) dead_bytes: u64,
}

/// Sweeps a block that the caller alone holds. `bury` sees each object that is not live before its
/// cell is zeroed.
pub(crate) fn sweep_block(
    heap: &Heap,
    block: BlockIndex,
    is_live: impl Fn(ObjectRef) -> bool,
    mut bury: impl FnMut(ObjectRef),
) -> Swept {
    let bytes = SIZE_CLASSES[heap.blocks.meta(block).class.load(Ordering::Relaxed) as usize];
    let mut runs = Runs::default();
    let mut zeroing = Zeroing::default();
    let (mut live, mut dead) = (0, 0);
    for cell in heap.blocks.cells(block) {
        let object = ObjectRef(cell);
        if is_live(object) {
            live += 1;
            zeroing.finish(heap);
            runs.close(heap);
            continue;
        }
        if heap.memory.class_word(object).load(Ordering::Relaxed) != 0 {
            bury(object);
            zeroing.add(heap, cell, bytes);
            dead += 1;
        } else {
            clear_run_head(heap, cell);
        }
        runs.open(cell, bytes);
    }
    zeroing.finish(heap);
    runs.close(heap);
    let dead_bytes = dead * u64::from(bytes);
    // Not alone: under `stw` mutators sweep as well.
    heap.counters.freed_bytes.add(dead_bytes);
    heap.counters.freed_objects.add(dead);
    Swept {
        usage: file_block(heap, block, &runs),
        live_bytes: live * u64::from(bytes),
        dead,
        dead_bytes,
    }
}

/// A free cell may be the head of an older run.
fn clear_run_head(heap: &Heap, cell: u32) {
    for offset in [RUN_NEXT_OFFSET, RUN_END_OFFSET] {
        heap.memory.word(cell + offset).store(0, Ordering::Relaxed);
    }
}

/// Puts a swept block where it belongs.
fn file_block(heap: &Heap, block: BlockIndex, runs: &Runs) -> BlockUse {
    let meta = heap.blocks.meta(block);
    let class = meta.class.load(Ordering::Relaxed) as usize;
    let bytes = SIZE_CLASSES[class];
    meta.freed_cells.store(0, Ordering::Relaxed);
    let free_cells = (runs.free_bytes / bytes) as u16;
    meta.free_cells.store(free_cells, Ordering::Relaxed);
    meta.runs.store(runs.first, Ordering::Relaxed);
    if runs.free_bytes == BLOCK_BYTES / bytes * bytes {
        // One run: only its head holds words.
        clear_run_head(heap, runs.first);
        meta.has_referents.store(0, Ordering::Relaxed);
        meta.set_usage(BlockUse::Free);
        heap.free.put(block, 1);
        BlockUse::Free
    } else if runs.free_bytes >= FREE_BYTES_WORTH_TAKING.max(bytes) {
        meta.set_usage(BlockUse::Partial);
        heap.partial[class].push(&heap.blocks, block);
        BlockUse::Partial
    } else {
        meta.set_usage(BlockUse::Full);
        BlockUse::Full
    }
}

/// Dead cells in a row, zeroed together.
#[derive(Debug, Default)]
struct Zeroing {
    start: u32,
    end: u32,
}

impl Zeroing {
    fn add(&mut self, heap: &Heap, cell: u32, bytes: u32) {
        if self.end != cell {
            self.finish(heap);
            self.start = cell;
        }
        self.end = cell + bytes;
    }

    fn finish(&mut self, heap: &Heap) {
        if self.end != self.start {
            heap.memory.zero(self.start, self.end - self.start);
        }
        self.start = self.end;
    }
}

/// The free cells of a block, linked while it is walked.
#[derive(Debug, Default)]
struct Runs {
    first: u32,
    last: u32,
    open: u32,
    end: u32,
    free_bytes: u32,
}

impl Runs {
    /// A free cell.
    fn open(&mut self, cell: u32, bytes: u32) {
        if self.open == 0 {
            self.open = cell;
        }
        self.end = cell + bytes;
        self.free_bytes += bytes;
    }

    /// The run ends.
    fn close(&mut self, heap: &Heap) {
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
