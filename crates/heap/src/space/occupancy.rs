// SPDX-License-Identifier: Apache-2.0
//! [`Occupancy`]: what the heap's blocks are used for, and what is lost to holes; readable while it
//! runs.

use std::sync::atomic::Ordering;

use abi::alloc::{BLOCK_BYTES, SIZE_CLASSES};

use crate::heap::Heap;
use crate::space::block::BlockUse;

/// See the module. Blocks that change hands while it is taken are counted on one side or the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Bytes of blocks that are memory by now.
    pub committed_bytes: u64,
    /// Of them, in blocks that nobody uses, the reserve of real-time mutators included.
    pub free_bytes: u64,
    /// The longest row of unused blocks: the largest object that finds room without a collection
    /// and without growth.
    pub largest_free_bytes: u64,
    /// Bytes of blocks of large objects.
    pub large_bytes: u64,
    /// Blocks of cells that mutators allocate in.
    pub owned_blocks: u32,
    /// Blocks of cells with enough room to be taken again.
    pub partial_blocks: u32,
    /// The other blocks of cells.
    pub full_blocks: u32,
    /// Bytes of free cells in partial and full blocks, which serve one size class alone.
    pub cell_free_bytes: u64,
}

impl Occupancy {
    /// Bytes of blocks that are not free.
    pub fn used_bytes(&self) -> u64 {
        self.committed_bytes.saturating_sub(self.free_bytes)
    }

    /// Blocks of cells.
    pub fn small_blocks(&self) -> u32 {
        self.owned_blocks + self.partial_blocks + self.full_blocks
    }
}

impl Heap {
    /// What its blocks are used for now. O(blocks), and a lock for a copy of the map of free
    /// blocks: not for a real-time loop.
    pub fn occupancy(&self) -> Occupancy {
        let bytes = |blocks: u32| u64::from(blocks) * u64::from(BLOCK_BYTES);
        let committed = self.free.committed_count();
        let mut it = Occupancy {
            committed_bytes: bytes(committed),
            free_bytes: bytes(self.free.free_count()),
            largest_free_bytes: bytes(self.free.longest_span()),
            ..Occupancy::default()
        };
        for block in 0..committed {
            let meta = self.blocks.meta(block);
            match meta.usage() {
                BlockUse::Free => {}
                BlockUse::Large | BlockUse::LargeTail => it.large_bytes += bytes(1),
                BlockUse::Owned => it.owned_blocks += 1,
                usage @ (BlockUse::Partial | BlockUse::Full) => {
                    let cells = u32::from(meta.free_cells.load(Ordering::Relaxed))
                        + u32::from(meta.freed_cells.load(Ordering::Relaxed));
                    let cell_bytes = SIZE_CLASSES[meta.class.load(Ordering::Relaxed) as usize];
                    it.cell_free_bytes += u64::from(cells * cell_bytes);
                    if usage == BlockUse::Partial {
                        it.partial_blocks += 1;
                    } else {
                        it.full_blocks += 1;
                    }
                }
            }
        }
        it
    }
}
