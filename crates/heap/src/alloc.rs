// SPDX-License-Identifier: Apache-2.0
//! Allocation: a bump in the mutator's own run; O(1) and lock-free for the next run and the next block; large
//! objects from a span of blocks.

use std::sync::atomic::Ordering;

use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT, SIZE_CLASSES, size_class, size_class_chunked};
use abi::barrier::LogWord;
use abi::layout::Shape;
use abi::object::{ARRAY_LENGTH_OFFSET, CLASS_OFFSET, LOCK_OFFSET, LOG_OFFSET, array_bytes};

use crate::limits::{COLLECTIONS_BEFORE_OUT_OF_MEMORY, COLLECTIONS_WAITED_FOR_MAX};
use crate::metadata::LayoutRef;
use crate::mutator::Mutator;
use crate::object::ObjectRef;
use crate::space::block::{BlockIndex, BlockUse, RUN_END_OFFSET, RUN_NEXT_OFFSET};

/// Memory is exhausted, and stayed so after full collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: {bytes} bytes do not fit into the heap, and collecting did not help")]
pub struct OutOfMemory {
    /// What was asked for.
    pub bytes: u64,
}

/// What compiled code knows of an allocation site ahead of time.
#[derive(Clone, Copy, Debug)]
pub struct AllocSite {
    layout: LayoutRef,
    cell_bytes: u32,
    class: Option<usize>,
    is_chunked: bool,
}

impl AllocSite {
    /// Objects with fields.
    pub fn fields(layout: LayoutRef) -> Self {
        let it = layout.get();
        assert_eq!(
            it.shape,
            Shape::Fields,
            "an array's size depends on its length"
        );
        let is_chunked = it.is_chunked(0);
        let class = if is_chunked {
            size_class_chunked(it.bytes)
        } else {
            size_class(it.bytes)
        };
        Self {
            layout,
            cell_bytes: class.map_or(it.bytes, |class| SIZE_CLASSES[class]),
            class,
            is_chunked,
        }
    }
}

impl Mutator {
    /// A new object, zeroed. A safepoint.
    #[inline]
    pub fn alloc(&mut self, site: AllocSite) -> Result<ObjectRef, OutOfMemory> {
        let start = match site.class {
            Some(class) => self.alloc_cell(class, site.cell_bytes)?,
            None => self.alloc_large(site.cell_bytes)?,
        };
        Ok(self.publish(start, site.layout, None, site.is_chunked))
    }

    /// A new array, zeroed. A safepoint.
    pub fn alloc_array(
        &mut self,
        layout: LayoutRef,
        length: u32,
    ) -> Result<ObjectRef, OutOfMemory> {
        let it = layout.get();
        assert_ne!(it.shape, Shape::Fields, "an array");
        let shift = u32::from(it.element_shift);
        let Some(bytes) = array_bytes(length, shift) else {
            return Err(OutOfMemory {
                bytes: u64::from(length) << shift,
            });
        };
        let is_chunked = it.is_chunked(length);
        let class = if is_chunked {
            size_class_chunked(bytes)
        } else {
            size_class(bytes)
        };
        let start = match class {
            Some(class) => self.alloc_cell(class, SIZE_CLASSES[class])?,
            None => self.alloc_large(bytes)?,
        };
        Ok(self.publish(start, layout, Some(length), is_chunked))
    }

    /// Writes the header, the class word last (`abi::object`). The log word of a chunked object's header stays clean:
    /// who stores through it, not knowing better, takes the slow path, which does.
    #[inline]
    fn publish(
        &mut self,
        start: u32,
        layout: LayoutRef,
        length: Option<u32>,
        is_chunked: bool,
    ) -> ObjectRef {
        let memory = &self.heap.memory;
        let born = if is_chunked {
            LogWord::CLEAN.0
        } else {
            self.record.context.born.load(Ordering::Relaxed)
        };
        memory.word(start + LOCK_OFFSET).store(0, Ordering::Relaxed);
        memory
            .word(start + LOG_OFFSET)
            .store(born, Ordering::Relaxed);
        if let Some(length) = length {
            memory
                .word(start + ARRAY_LENGTH_OFFSET)
                .store(length, Ordering::Relaxed);
        }
        memory
            .word(start + CLASS_OFFSET)
            .store(layout.address(), Ordering::Release);
        ObjectRef(start)
    }

    #[inline]
    fn alloc_cell(&mut self, class: usize, cell_bytes: u32) -> Result<u32, OutOfMemory> {
        let range = &self.record.context.bump[class];
        let start = range.next.load(Ordering::Relaxed);
        let end = start + cell_bytes;
        if end > range.limit.load(Ordering::Relaxed) {
            return self.alloc_slow(class);
        }
        range.next.store(end, Ordering::Relaxed);
        Ok(start)
    }

    /// The next run of the current block, or a new block: O(1). Waits only when memory is exhausted.
    #[cold]
    #[inline(never)]
    fn alloc_slow(&mut self, class: usize) -> Result<u32, OutOfMemory> {
        self.poll();
        let bytes = SIZE_CLASSES[class];
        let mut collections = 0;
        loop {
            let run = self.own().runs[class];
            if run != 0 {
                return Ok(self.open_run(class, run));
            }
            if let Some(block) = self.take_block(class) {
                self.enter_block(block, class);
                continue;
            }
            self.wait_for_memory(u64::from(bytes), &mut collections)?;
        }
    }

    /// Bumps from `run` on; returns its first cell.
    fn open_run(&mut self, class: usize, run: u32) -> u32 {
        let memory = &self.heap.memory;
        let next = memory.word(run + RUN_NEXT_OFFSET).load(Ordering::Relaxed);
        let end = memory.word(run + RUN_END_OFFSET).load(Ordering::Relaxed);
        self.record.count_taken(end - run);
        let range = &self.record.context.bump[class];
        range
            .next
            .store(run + SIZE_CLASSES[class], Ordering::Relaxed);
        range.limit.store(end, Ordering::Relaxed);
        self.own().runs[class] = next;
        run
    }

    /// Real-time mutators take whole blocks as long as there are enough for all: what lies in a row, the processor fetches
    /// ahead, now and when the objects have grown old. Otherwise, and others always, fill the gaps in blocks first: a
    /// block is whole again only when all in it is dead, and while the reserve lacks some nobody else gets one.
    fn take_block(&mut self, class: usize) -> Option<BlockIndex> {
        let heap = &self.heap;
        let reserved = || {
            let block = heap.free.reserve.try_pop(&heap.blocks);
            heap.ask_lender_if_low();
            block
        };
        let is_ample = self.is_real_time() && heap.free.is_ample();
        let mut whole = is_ample.then(reserved).flatten();
        if whole.is_none() {
            if let Some(block) = heap.partial[class].try_pop(&heap.blocks) {
                return Some(block);
            }
            whole = if self.is_real_time() {
                reserved().or_else(|| {
                    heap.counters.reserve_exhausted.add(1);
                    heap.free.take_last(&heap.memory)
                })
            } else {
                heap.free.take(&heap.memory)
            };
        }
        let whole = whole?;
        heap.format_block(whole, class);
        Some(whole)
    }

    /// Makes a block this mutator's current one of its class.
    fn enter_block(&mut self, block: BlockIndex, class: usize) {
        let heap = self.heap.clone();
        let meta = heap.blocks.meta(block);
        meta.set_usage(BlockUse::Owned);
        let own = self.own();
        own.runs[class] = meta.runs.swap(0, Ordering::Relaxed);
        meta.next.store(own.filled.blocks, Ordering::Relaxed);
        own.filled.blocks = block + 1;
        heap.counters.blocks_taken.add(1);
        heap.pace.note_blocks(1);
    }

    /// An object with blocks of its own. Not for real-time threads: takes the lock of the free blocks.
    #[cold]
    fn alloc_large(&mut self, bytes: u32) -> Result<u32, OutOfMemory> {
        self.poll();
        let heap = self.heap.clone();
        let count = bytes.div_ceil(BLOCK_BYTES);
        let mut collections = 0;
        let first = loop {
            if let Some(first) = heap.free.take_span(&heap.memory, count) {
                break first;
            }
            if count > heap.blocks.count() {
                return Err(OutOfMemory {
                    bytes: u64::from(bytes),
                });
            }
            self.wait_for_memory(u64::from(bytes), &mut collections)?;
        };
        for tail in 1..count {
            let meta = heap.blocks.meta(first + tail);
            meta.large_blocks.store(tail, Ordering::Relaxed);
            meta.set_usage(BlockUse::LargeTail);
        }
        let meta = heap.blocks.meta(first);
        meta.large_blocks.store(count, Ordering::Relaxed);
        meta.set_usage(BlockUse::Large);
        let own = self.own();
        meta.next.store(own.filled.larges, Ordering::Relaxed);
        own.filled.larges = first + 1;
        heap.counters.blocks_taken.add(u64::from(count));
        heap.pace.note_blocks(count);
        self.record.count_taken(count * BLOCK_BYTES);
        Ok(heap.blocks.start(first))
    }

    /// Lets the collector have its chance; `Err` when it had it and nothing came of it.
    fn wait_for_memory(&mut self, bytes: u64, collections: &mut u32) -> Result<(), OutOfMemory> {
        let is_over = *collections > COLLECTIONS_BEFORE_OUT_OF_MEMORY && self.heap.is_mostly_live();
        if is_over || *collections > COLLECTIONS_WAITED_FOR_MAX {
            self.heap.counters.out_of_memory.add(1);
            return Err(OutOfMemory { bytes });
        }
        let is_first = *collections == 0;
        *collections += 1;
        self.heap.counters.allocation_waits.add(1);
        let heap = self.heap.clone();
        self.native(|| {
            if is_first {
                heap.pace.wait_for_epoch(&heap);
            } else {
                heap.pace.wait_for_full_collection();
            }
        });
        Ok(())
    }
}

const _: () = assert!(BLOCK_BYTES >> BLOCK_SHIFT == 1);
