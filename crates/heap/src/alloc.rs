// SPDX-License-Identifier: Apache-2.0
//! Allocation: a bump in the mutator's own run; O(1) and lock-free for the next run and the next
//! block; large objects from a span of blocks.

use std::sync::atomic::Ordering;

use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT, SIZE_CLASSES, size_class, size_class_chunked};
use abi::barrier::LogWord;
use abi::layout::Shape;
use abi::object::{ARRAY_LENGTH_OFFSET, CLASS_OFFSET, LOCK_OFFSET, LOG_OFFSET, array_bytes};

use crate::limits::{
    COLLECTIONS_BEFORE_OUT_OF_MEMORY, COLLECTIONS_WAITED_FOR_MAX, SWEPT_BEFORE_WHOLE,
};
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

impl AllocSite {
    /// Objects with fields of `class`, which say where they name a layout of their own: this one
    /// has `own`. The caller writes that before the next safepoint.
    pub fn with_own(class: LayoutRef, own: LayoutRef) -> Self {
        assert_ne!(
            class.get().own_offset,
            0,
            "objects of it have layouts of their own"
        );
        Self {
            layout: class,
            ..Self::fields(own)
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

    /// Writes the header, the class word last (`abi::object`). The log word of a chunked object's
    /// header stays clean: who stores through it, not knowing better, takes the slow path, which
    /// does.
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

    /// The next run of the current block, or a new block: O(1) under `rc`. Waits only when memory
    /// is exhausted, or where `stw` prefers a collection to the last whole blocks.
    #[cold]
    #[inline(never)]
    fn alloc_slow(&mut self, class: usize) -> Result<u32, OutOfMemory> {
        self.poll();
        let bytes = SIZE_CLASSES[class];
        let (mut collections, mut has_waited) = (0, false);
        loop {
            let run = self.own().runs[class];
            if run != 0 {
                return Ok(self.open_run(class, run));
            }
            let block = if self.is_real_time() {
                self.take_real_time(class)
            } else if self.heap.is_counting() {
                self.take_counted(class, &mut has_waited)
            } else {
                self.take_swept(class, &mut collections)
            };
            match block {
                Some(block) => self.enter_block(block, class),
                None => self.wait_for_memory(u64::from(bytes), &mut collections)?,
            }
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

    /// Real-time mutators take whole blocks as long as there are enough for all: what lies in a
    /// row, the processor fetches ahead, now and when the objects have grown old. Otherwise, and
    /// others always, fill the gaps in blocks first: a block is whole again only when all in it is
    /// dead, and while the reserve lacks some nobody else gets one.
    fn take_real_time(&self, class: usize) -> Option<BlockIndex> {
        let heap = &self.heap;
        let reserved = || {
            let block = heap.free.reserve.try_pop(&heap.blocks);
            heap.ask_lender_if_low();
            block.map(|block| heap.format_block(block, class))
        };
        let found = if heap.free.is_ample() {
            reserved().or_else(|| heap.take_partial(class))
        } else {
            heap.take_partial(class).or_else(reserved)
        };
        found.or_else(|| {
            heap.counters.reserve_exhausted.add(1);
            let block = heap.free.take_last(&heap.memory)?;
            Some(heap.format_block(block, class))
        })
    }

    /// A block for an ordinary mutator under `stw`, which frees nothing between two collections:
    /// who took whole blocks while blocks of its own size wait to be swept would spread over the
    /// heap, and an object in each block would keep it from other sizes. So the mutator sweeps its
    /// own size's blocks before it takes a whole one, a few where there are plenty; where there are
    /// few it also has a collection first, if enough was allocated since the last.
    fn take_swept(&mut self, class: usize, collections: &mut u32) -> Option<BlockIndex> {
        let heap = self.heap.clone();
        let mut swept_count = 0;
        loop {
            if let Some(block) = heap.take_partial(class) {
                return Some(block);
            }
            if swept_count >= SWEPT_BEFORE_WHOLE && heap.has_plenty() {
                break;
            }
            let Some(usage) = heap.sweep_one(class) else {
                break;
            };
            heap.counters.swept_by_mutators.add(1);
            swept_count += 1;
            if usage == BlockUse::Free
                && let Some(block) = heap.take_whole(class)
            {
                return Some(block);
            }
            self.poll();
        }
        if *collections == 0 && !heap.has_plenty() && heap.is_collection_worthwhile() {
            *collections = 1;
            heap.counters.allocation_waits.add(1);
            let has_room = || heap.partial[class].count() != 0 || heap.unswept.has_some(class);
            self.native(|| heap.pace.wait_for_epoch_or(has_room));
            return self.take_swept(class, collections);
        }
        heap.take_whole(class)
    }

    /// A block for an ordinary mutator under `rc`. Once for a block it waits for an epoch rather
    /// than have the heap grow.
    fn take_counted(&mut self, class: usize, has_waited: &mut bool) -> Option<BlockIndex> {
        let heap = self.heap.clone();
        if let Some(block) = heap.take_partial(class) {
            return Some(block);
        }
        if !*has_waited && heap.is_behind() {
            *has_waited = true;
            heap.counters.growth_waits.add(1);
            let has_room = || heap.partial[class].count() != 0 || !heap.is_behind();
            self.native(|| heap.pace.doze_for_epoch_or(has_room));
            return self.take_counted(class, has_waited);
        }
        heap.take_whole(class)
    }

    /// Makes a block this mutator's current one of its class.
    fn enter_block(&mut self, block: BlockIndex, class: usize) {
        let heap = self.heap.clone();
        let meta = heap.blocks.meta(block);
        meta.set_usage(BlockUse::Owned);
        let own = self.own();
        meta.epoch.store(own.epoch, Ordering::Relaxed);
        own.runs[class] = meta.runs.swap(0, Ordering::Relaxed);
        meta.next.store(own.filled.blocks, Ordering::Relaxed);
        own.filled.blocks = block + 1;
        heap.counters.blocks_taken.add(1);
        if self.is_real_time() {
            heap.pace.note_block_quietly();
        } else {
            heap.pace.note_blocks(1);
        }
    }

    /// An object with blocks of its own. Not for real-time threads: takes the lock of the free
    /// blocks.
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
        meta.epoch.store(own.epoch, Ordering::Relaxed);
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
                heap.wait_for_epoch();
            } else {
                heap.pace.wait_for_full_collection();
            }
        });
        Ok(())
    }
}

const _: () = assert!(BLOCK_BYTES >> BLOCK_SHIFT == 1);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::heap::{CollectorKind, Heap};

    const RESERVE: u32 = 8;
    const CLASS: usize = 3;

    /// A heap of 128 blocks that nobody collects, with a mutator.
    struct Stage {
        heap: Arc<Heap>,
        mutator: Mutator,
    }

    impl Stage {
        /// `free` whole blocks beside the reserve, which holds `reserved`; `partial` blocks of the
        /// class.
        fn new(is_real_time: bool, free: u32, reserved: u32, partial: u32) -> Self {
            let heap = crate::testing::uncollected(CollectorKind::Rc, 128, RESERVE);
            assert_eq!(heap.free.reserve.count(), RESERVE);
            let blocks: Vec<_> = std::iter::from_fn(|| heap.free.take_last(&heap.memory)).collect();
            for _ in reserved..RESERVE {
                heap.free.reserve.try_pop(&heap.blocks).unwrap();
            }
            let (partials, others) = blocks.split_at(partial as usize);
            for &block in partials {
                heap.format_block(block, CLASS);
                heap.blocks.meta(block).set_usage(BlockUse::Partial);
                heap.partial[CLASS].push(&heap.blocks, block);
            }
            others[..free as usize]
                .iter()
                .for_each(|&it| heap.free.put(it, 1));
            let mutator = heap.attach(is_real_time, &[]);
            Self { heap, mutator }
        }

        /// Whole blocks, blocks in the reserve, partial blocks.
        fn counts(&self) -> [u32; 3] {
            let it = &self.heap;
            [
                it.free.whole_count(),
                it.free.reserve.count(),
                it.partial[CLASS].count(),
            ]
        }

        /// What a mutator that needs a block leaves of them; whether it got one, how often it rang.
        fn take(mut self) -> ([u32; 3], bool, u32) {
            let rings = self.heap.pace.rings();
            let block = if self.mutator.is_real_time() {
                self.mutator.take_real_time(CLASS)
            } else {
                self.heap.take_whole(CLASS)
            };
            block
                .into_iter()
                .for_each(|it| self.mutator.enter_block(it, CLASS));
            (
                self.counts(),
                block.is_some(),
                self.heap.pace.rings() - rings,
            )
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory at chosen addresses")]
    fn a_real_time_mutator_takes_from_the_reserve_where_it_can_be_filled_again() {
        assert_eq!(Stage::new(true, 8, 8, 1).take(), ([8, 7, 1], true, 0));
        assert_eq!(Stage::new(true, 7, 8, 1).take(), ([7, 8, 0], true, 0));
        assert_eq!(Stage::new(true, 7, 8, 0).take(), ([7, 7, 0], true, 0));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory at chosen addresses")]
    fn a_low_reserve_is_told_once() {
        assert_eq!(Stage::new(true, 8, 4, 0).take(), ([8, 3, 0], true, 1));
        assert_eq!(Stage::new(true, 8, 0, 1).take(), ([8, 0, 0], true, 1));
        assert_eq!(Stage::new(true, 0, 0, 1).take(), ([0, 0, 0], true, 0));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory at chosen addresses")]
    fn a_real_time_mutator_gets_the_last_block() {
        for free in [1, 8] {
            let stage = Stage::new(true, free, 0, 0);
            let heap = Arc::clone(&stage.heap);
            assert_eq!(stage.take(), ([free - 1, 0, 0], true, 1));
            assert_eq!(heap.counters.reserve_exhausted.get(), 1);
        }
        assert_eq!(Stage::new(true, 0, 0, 0).take(), ([0, 0, 0], false, 1));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory at chosen addresses")]
    fn an_ordinary_mutator_gets_what_the_reserve_does_not_lack() {
        assert_eq!(Stage::new(false, 1, 8, 0).take(), ([0, 8, 0], true, 0));
        assert_eq!(Stage::new(false, 3, 5, 0).take(), ([3, 5, 0], false, 0));
        assert_eq!(Stage::new(false, 4, 5, 0).take(), ([3, 5, 0], true, 0));
        assert_eq!(Stage::new(false, 0, 8, 0).take(), ([0, 8, 0], false, 0));
    }
}
