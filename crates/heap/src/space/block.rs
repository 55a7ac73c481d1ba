// SPDX-License-Identifier: Apache-2.0
//! [`BlockTable`]: what is known of each block, and [`BlockStack`]: blocks that anyone may take,
//! without a lock.
//!
//! ```text
//!            take (mutator)              handshake, sweep (collector)
//! Free ──────────────▶ Owned ──────────────▶ Partial ──take──▶ Owned
//!   ▲                    │  ├──────────────▶ Full ── cells freed ──▶ Partial
//!   └────── no object ───┴──┴─ Large ◀── span taken by a mutator
//! ```
//!
//! Free cells of a block that may be taken form runs. A run's first cell holds, where a header
//! would, the address of the next run (+4) and its own end (+8); its class word stays 0. Taking a
//! run reads two words.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use abi::address_map::Span;
use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT, SIZE_CLASSES};

/// Offset in a run's first cell of the next run's address.
pub(crate) const RUN_NEXT_OFFSET: u32 = 4;
/// Offset in a run's first cell of the run's end.
pub(crate) const RUN_END_OFFSET: u32 = 8;

/// What a block is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum BlockUse {
    /// Nothing; all its bytes are zero.
    Free = 0,
    /// A mutator allocates there, or did so in the epoch that is not swept yet.
    Owned = 1,
    /// It has free cells and lies in its class's stack.
    Partial = 2,
    /// It has no free cells worth taking.
    Full = 3,
    /// It begins a large object.
    Large = 4,
    /// It continues a large object.
    LargeTail = 5,
}

/// What is known of a block.
#[derive(Debug, Default)]
pub(crate) struct BlockMeta {
    usage: AtomicU8,
    /// Size class of its cells.
    pub(crate) class: AtomicU8,
    /// Free cells that the last sweep found.
    pub(crate) free_cells: AtomicU16,
    /// Cells that the collector freed since the last sweep.
    pub(crate) freed_cells: AtomicU16,
    /// An object in it is the referent of a reference object.
    pub(crate) has_referents: AtomicU8,
    /// The epoch for which the mutator recorded that took it last: what is young in it was born
    /// then, since mutators give their blocks up when they switch.
    pub(crate) epoch: AtomicU8,
    /// Blocks of the large object that begins here.
    pub(crate) large_blocks: AtomicU32,
    /// The next block of the list it is in, plus 1.
    pub(crate) next: AtomicU32,
    /// Its first run of free cells; 0 if none.
    pub(crate) runs: AtomicU32,
}

impl BlockMeta {
    pub(crate) fn usage(&self) -> BlockUse {
        match self.usage.load(Ordering::Acquire) {
            0 => BlockUse::Free,
            1 => BlockUse::Owned,
            2 => BlockUse::Partial,
            3 => BlockUse::Full,
            4 => BlockUse::Large,
            _ => BlockUse::LargeTail,
        }
    }

    pub(crate) fn set_usage(&self, usage: BlockUse) {
        self.usage.store(usage as u8, Ordering::Release);
    }
}

/// A block's number in the heap.
pub(crate) type BlockIndex = u32;

/// Every block's record.
#[derive(Debug)]
pub(crate) struct BlockTable {
    span: Span,
    metas: Box<[BlockMeta]>,
}

impl BlockTable {
    pub(crate) fn new(span: Span) -> Self {
        let count = span.bytes >> BLOCK_SHIFT;
        Self {
            span,
            metas: (0..count).map(|_| BlockMeta::default()).collect(),
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.metas.len() as u32
    }

    pub(crate) fn meta(&self, block: BlockIndex) -> &BlockMeta {
        &self.metas[block as usize]
    }

    pub(crate) fn start(&self, block: BlockIndex) -> u32 {
        self.span.start + (block << BLOCK_SHIFT)
    }

    pub(crate) fn index_of(&self, address: u32) -> BlockIndex {
        (address - self.span.start) >> BLOCK_SHIFT
    }

    pub(crate) fn meta_of(&self, address: u32) -> &BlockMeta {
        self.meta(self.index_of(address))
    }

    /// The addresses of a block's cells, whether or not objects lie there.
    pub(crate) fn cells(&self, block: BlockIndex) -> impl Iterator<Item = u32> + use<> {
        let start = self.start(block);
        let bytes = SIZE_CLASSES[self.meta(block).class.load(Ordering::Relaxed) as usize];
        (0..BLOCK_BYTES / bytes).map(move |cell| start + cell * bytes)
    }
}

/// A stack of blocks: Treiber's, with a tag against reuse. Block records are never freed, so
/// reading a popped block's link is harmless. Lock-free: a failed exchange means that another
/// thread got or gave a block.
#[derive(Debug, Default)]
pub(crate) struct BlockStack {
    /// Tag in the upper half, first block plus 1 in the lower.
    head: AtomicU64,
    count: AtomicU32,
}

impl BlockStack {
    pub(crate) fn push(&self, table: &BlockTable, block: BlockIndex) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            table.meta(block).next.store(head as u32, Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(block + 1);
            // Pairs with the Acquire in `pop`: publishes the link, the runs and the zeroed cells.
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(found) => head = found,
            }
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn try_pop(&self, table: &BlockTable) -> Option<BlockIndex> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let block = (head as u32).checked_sub(1)?;
            let next = table.meta(block).next.load(Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(next);
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::Acquire, Ordering::Acquire)
            {
                Ok(_) => {
                    self.count.fetch_sub(1, Ordering::Relaxed);
                    return Some(block);
                }
                Err(found) => head = found,
            }
        }
    }

    /// About how many blocks it holds: pushes and pops count after they took effect.
    pub(crate) fn count(&self) -> u32 {
        let count = self.count.load(Ordering::Relaxed);
        if count > u32::MAX / 2 { 0 } else { count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_block_is_in_one_pair_of_hands() {
        let span = Span {
            start: 0x4000_0000,
            bytes: 64 * BLOCK_BYTES,
        };
        let shared = Arc::new((BlockTable::new(span), BlockStack::default()));
        (0..64).for_each(|block| shared.1.push(&shared.0, block));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let shared = Arc::clone(&shared);
                let take = move || take_and_give(&shared.0, &shared.1);
                #[expect(clippy::disallowed_methods, reason = "Miri knows no `rt::thread`")]
                std::thread::spawn(take)
            })
            .collect();
        threads.into_iter().for_each(|it| it.join().unwrap());
        let mut left: Vec<_> = std::iter::from_fn(|| shared.1.try_pop(&shared.0)).collect();
        left.sort_unstable();
        assert_eq!(left, (0..64).collect::<Vec<_>>());
    }

    fn take_and_give(table: &BlockTable, stack: &BlockStack) {
        for _ in 0..if cfg!(miri) { 100 } else { 20_000 } {
            let Some(block) = stack.try_pop(table) else {
                continue;
            };
            let meta = table.meta(block);
            assert_eq!(meta.usage(), BlockUse::Free, "taken once");
            meta.set_usage(BlockUse::Owned);
            meta.set_usage(BlockUse::Free);
            stack.push(table, block);
        }
    }
}
