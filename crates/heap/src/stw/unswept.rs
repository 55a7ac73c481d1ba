// SPDX-License-Identifier: Apache-2.0
//! [`Unswept`]: the blocks that the last pause left to be swept, by the collector and by mutators
//! that need room.
//!
//! Lazy sweeping, as Boehm, Demers and Weiser's collector has it: who allocates a size sweeps
//! blocks of that size before it takes a whole one. A block is taken from its stack by one thread,
//! which sweeps it and files it without a safepoint in between. So the next pause finds every block
//! filed, and marks and the meaning of a mark stand still meanwhile.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use abi::alloc::SIZE_CLASS_COUNT;

use crate::space::block::{BlockIndex, BlockStack, BlockTable};

/// See the module.
#[derive(Debug)]
pub(crate) struct Unswept {
    blocks: [BlockStack; SIZE_CLASS_COUNT],
    /// Count byte of what the pause found alive.
    marked: AtomicU8,
    /// Found so far in blocks that were swept.
    live_bytes: AtomicU64,
}

impl Default for Unswept {
    fn default() -> Self {
        Self {
            blocks: std::array::from_fn(|_| BlockStack::default()),
            marked: AtomicU8::new(0),
            live_bytes: AtomicU64::new(0),
        }
    }
}

impl Unswept {
    // --- the collector, while the world is stopped ---

    /// Nothing is swept yet of what has this mark.
    pub(crate) fn begin(&self, marked: u8) {
        self.marked.store(marked, Ordering::Relaxed);
        self.live_bytes.store(0, Ordering::Relaxed);
    }

    /// A block with objects, in no mutator's hands.
    pub(crate) fn add(&self, blocks: &BlockTable, block: BlockIndex) {
        let class = blocks.meta(block).class.load(Ordering::Relaxed);
        self.blocks[class as usize].push(blocks, block);
    }

    // --- anyone, while the world runs ---

    /// A block of the class for the caller to sweep, and the count byte of what the pause found
    /// alive in it. The caller polls for nothing before it is filed.
    pub(super) fn take(&self, blocks: &BlockTable, class: usize) -> Option<(BlockIndex, u8)> {
        // The pop sees what was written before the block was added: the marks, and which mark
        // counts.
        let block = self.blocks[class].try_pop(blocks)?;
        Some((block, self.marked.load(Ordering::Relaxed)))
    }

    /// So much is alive in a block that was taken.
    pub(super) fn note_live(&self, bytes: u64) {
        self.live_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether blocks of the class wait to be swept.
    pub(crate) fn has_some(&self, class: usize) -> bool {
        self.blocks[class].count() != 0
    }

    /// Bytes found alive so far; all of them, but for the blocks that mutators are at, when no
    /// block is left.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT, size_class};
    use abi::layout::Layout;

    use crate::alloc::AllocSite;
    use crate::collector::ticker::Ticker;
    use crate::heap::CollectorKind;
    use crate::mutator::Mutator;
    use crate::stw::Stw;
    use crate::testing::uncollected;

    const BYTES: u32 = 64;
    const CELLS: u32 = BLOCK_BYTES / BYTES;
    /// Blocks filled before the pause, and those allocated between it and the collector's sweep.
    const FILLED: u32 = 100;
    const WANTED: u32 = 32;
    const RESERVE: u32 = 40;

    /// Blocks that objects lie in.
    fn fill(mutator: &mut Mutator, site: AllocSite, blocks: u32) -> Vec<u32> {
        let objects = (0..blocks * CELLS).map(|_| mutator.alloc(site).unwrap().0 >> BLOCK_SHIFT);
        let mut blocks: Vec<u32> = objects.collect();
        blocks.dedup();
        blocks
    }

    /// The collector has paused, and does not get to sweep.
    fn blocks_after_pause(is_real_time: bool) -> (u64, bool) {
        let heap = uncollected(CollectorKind::Stw, FILLED + RESERVE + 80, RESERVE);
        let layout = heap
            .metadata()
            .add(Layout::fields(BYTES, &[]), &[])
            .unwrap();
        let site = AllocSite::fields(layout);
        let mut mutator = heap.attach(is_real_time, &[]);
        let kept = mutator.alloc(site).unwrap();
        mutator.local(kept);
        let before = fill(&mut mutator, site, FILLED - 1);
        let mut stw = Stw::new(&heap, Ticker::new(None), None);
        let larges = mutator.native(|| stw.pause());
        let after = fill(&mut mutator, site, WANTED);
        let swept = heap.counters.swept_by_mutators.get();
        assert_eq!(heap.counters.allocation_waits.get(), 0);
        mutator.native(|| stw.sweep(larges));
        let class = size_class(BYTES).unwrap();
        assert!(heap.sweep_one(class).is_none());
        assert_eq!(heap.counters.live_bytes.get(), u64::from(BYTES));
        assert_eq!(
            heap.counters.freed_objects.get(),
            u64::from((FILLED - 1) * CELLS)
        );
        (swept, after.iter().any(|block| before.contains(block)))
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory at chosen addresses")]
    fn an_ordinary_mutator_sweeps_what_it_needs() {
        let (swept, is_reused) = blocks_after_pause(false);
        assert!(swept >= u64::from(WANTED) && is_reused, "{swept}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory at chosen addresses")]
    fn a_real_time_mutator_takes_whole_blocks() {
        assert_eq!(blocks_after_pause(true), (0, false));
    }
}
