// SPDX-License-Identifier: Apache-2.0
//! [`FreeBlocks`]: blocks that nobody uses, all zero; the heap's growth; the reserve of real-time mutators.
//!
//! A bit map under a priority-inheritance lock, held for a scan of at most `blocks / 64` words (512 for a heap of
//! 1 GiB). Ordinary mutators take single blocks here. Real-time mutators take theirs from [`FreeBlocks::reserve`], a
//! lock-free stack that the collector fills, and come here only when it is empty; that is counted.

use crate::limits::COMMIT_BYTES;
use crate::memory::Memory;
use crate::space::block::{BlockIndex, BlockStack, BlockTable};
use crate::sys::pi::PiCell;
use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT};
use std::sync::atomic::{AtomicU32, Ordering};

/// See the module.
#[derive(Debug)]
pub(crate) struct FreeBlocks {
    map: PiCell<FreeMap>,
    /// Blocks set aside for real-time mutators.
    pub(crate) reserve: BlockStack,
    reserve_target: u32,
    /// Of the whole heap.
    block_count: u32,
    word_count: usize,
    free_count: AtomicU32,
    committed_count: AtomicU32,
}

#[derive(Debug)]
struct FreeMap {
    /// Bit set: the block is free and committed.
    words: Vec<u64>,
    /// No free block lies before this word.
    first_word: usize,
    /// Bits set.
    free: u32,
    committed: u32,
    block_count: u32,
}

impl FreeBlocks {
    pub(crate) fn new(block_count: u32, reserve_target: u32) -> Self {
        let words = vec![0; block_count.div_ceil(64) as usize];
        Self {
            word_count: words.len(),
            map: PiCell::new(FreeMap {
                words,
                first_word: 0,
                free: 0,
                committed: 0,
                block_count,
            }),
            reserve: BlockStack::default(),
            reserve_target,
            block_count,
            free_count: AtomicU32::new(0),
            committed_count: AtomicU32::new(0),
        }
    }

    /// Blocks that are committed and unused, the reserve included.
    pub(crate) fn free_count(&self) -> u32 {
        self.free_count.load(Ordering::Relaxed) + self.reserve.count()
    }

    /// Blocks that are memory by now.
    pub(crate) fn committed_count(&self) -> u32 {
        self.committed_count.load(Ordering::Relaxed)
    }

    /// Blocks that are unused or not memory yet, the reserve left out.
    pub(crate) fn whole_count(&self) -> u32 {
        self.block_count - self.committed_count() + self.free_count.load(Ordering::Relaxed)
    }

    /// Whether the reserve can be filled again without leaving others none: memory is left to commit, or as many blocks
    /// as it holds are free beside it.
    pub(crate) fn is_ample(&self) -> bool {
        self.committed_count() < self.block_count
            || self.free_count.load(Ordering::Relaxed) >= self.reserve_target
    }

    /// A block for an ordinary mutator: one that the reserve does not lack.
    pub(crate) fn take(&self, memory: &Memory) -> Option<BlockIndex> {
        let lacking = self.reserve_target.saturating_sub(self.reserve.count());
        let mut map = self.map.lock();
        let block = map.take_single();
        let block = block.or_else(|| {
            map.grow(memory, 1)?;
            map.take_single()
        });
        self.publish(&map);
        let block = block?;
        if self.free_count.load(Ordering::Relaxed) < lacking && map.committed == map.block_count {
            map.put(block, 1);
            self.publish(&map);
            return None;
        }
        Some(block)
    }

    /// A block for a real-time mutator that found the reserve empty, if there is one at all.
    pub(crate) fn take_last(&self, memory: &Memory) -> Option<BlockIndex> {
        let mut map = self.map.lock();
        let block = map.take_single().or_else(|| {
            map.grow(memory, 1)?;
            map.take_single()
        });
        self.publish(&map);
        block
    }

    /// `count` blocks in a row: first fit, O(blocks of the heap).
    pub(crate) fn take_span(&self, memory: &Memory, count: u32) -> Option<BlockIndex> {
        let mut map = self.map.lock();
        let first = map.find_span(count).or_else(|| {
            map.grow(memory, count)?;
            map.find_span(count)
        });
        if let Some(first) = first {
            map.clear(first, count);
        }
        self.publish(&map);
        first
    }

    /// Blocks in the longest row of free ones, the reserve left out. Holds the lock for a copy of the map.
    pub(crate) fn longest_span(&self) -> u32 {
        let mut words = vec![0; self.word_count];
        words.copy_from_slice(&self.map.lock().words);
        longest_span(&words)
    }

    /// Takes back zeroed blocks.
    pub(crate) fn put(&self, first: BlockIndex, count: u32) {
        let mut map = self.map.lock();
        map.put(first, count);
        self.publish(&map);
    }

    /// Moves blocks to the reserve until it is full; the heap grows for it if it may.
    pub(crate) fn fill_reserve(&self, memory: &Memory, table: &BlockTable) {
        while self.reserve.count() < self.reserve_target {
            let mut map = self.map.lock();
            let block = map.take_single().or_else(|| {
                map.grow(memory, 1)?;
                map.take_single()
            });
            self.publish(&map);
            drop(map);
            let Some(block) = block else { break };
            self.reserve.push(table, block);
        }
    }

    /// Commits at least `bytes`.
    pub(crate) fn grow_to(&self, memory: &Memory, bytes: u32) {
        let mut map = self.map.lock();
        let blocks = (bytes >> BLOCK_SHIFT).min(map.block_count);
        while map.committed < blocks && map.grow(memory, 1).is_some() {}
        self.publish(&map);
    }

    fn publish(&self, map: &FreeMap) {
        self.committed_count.store(map.committed, Ordering::Relaxed);
        self.free_count.store(map.free, Ordering::Relaxed);
    }
}

impl FreeMap {
    fn take_single(&mut self) -> Option<BlockIndex> {
        let word = (self.first_word..self.words.len()).find(|&word| self.words[word] != 0)?;
        self.first_word = word;
        let bit = self.words[word].trailing_zeros();
        self.words[word] &= self.words[word] - 1;
        self.free -= 1;
        Some(word as u32 * 64 + bit)
    }

    fn put(&mut self, first: BlockIndex, count: u32) {
        for block in first..first + count {
            let bit = 1 << (block % 64);
            assert_eq!(
                self.words[block as usize / 64] & bit,
                0,
                "block {block} is given back once"
            );
            self.words[block as usize / 64] |= bit;
        }
        self.first_word = self.first_word.min(first as usize / 64);
        self.free += count;
    }

    fn clear(&mut self, first: BlockIndex, count: u32) {
        for block in first..first + count {
            self.words[block as usize / 64] &= !(1 << (block % 64));
        }
        self.free -= count;
    }

    fn find_span(&self, count: u32) -> Option<BlockIndex> {
        let (mut first, mut length) = (0, 0);
        for block in self.first_word as u32 * 64..self.committed {
            if self.words[block as usize / 64] & 1 << (block % 64) == 0 {
                length = 0;
                continue;
            }
            if length == 0 {
                first = block;
            }
            length += 1;
            if length == count {
                return Some(first);
            }
        }
        None
    }

    /// Commits room for `count` more blocks, in steps; `None` at the maximum or if the kernel refuses.
    fn grow(&mut self, memory: &Memory, count: u32) -> Option<()> {
        let step = count
            .max(COMMIT_BYTES >> BLOCK_SHIFT)
            .min(self.block_count - self.committed);
        if step < count {
            return None;
        }
        let start = memory.span().start + (self.committed << BLOCK_SHIFT);
        memory.commit(start, step * BLOCK_BYTES).ok()?;
        self.put(self.committed, step);
        self.committed += step;
        Some(())
    }
}

fn longest_span(words: &[u64]) -> u32 {
    let (mut longest, mut length) = (0, 0);
    for bit in 0..words.len() * 64 {
        let is_free = words[bit / 64] & 1 << (bit % 64) != 0;
        length = if is_free { length + 1 } else { 0 };
        longest = longest.max(length);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(free: &[u32]) -> FreeMap {
        let mut map = FreeMap {
            words: vec![0; 2],
            first_word: 0,
            free: 0,
            committed: 128,
            block_count: 128,
        };
        free.iter().for_each(|&block| map.put(block, 1));
        map
    }

    #[test]
    fn a_span_is_blocks_in_a_row() {
        let map = map(&[3, 4, 63, 64, 65, 90]);
        assert_eq!(map.find_span(1), Some(3));
        assert_eq!(map.find_span(3), Some(63));
        assert_eq!(map.find_span(4), None);
        assert_eq!(longest_span(&map.words), 3);
    }

    #[test]
    fn singles_come_in_order_and_return() {
        let mut map = map(&[5, 70]);
        assert_eq!(map.take_single(), Some(5));
        assert_eq!(map.take_single(), Some(70));
        assert_eq!(map.take_single(), None);
        map.put(2, 1);
        assert_eq!(map.take_single(), Some(2));
    }
}
