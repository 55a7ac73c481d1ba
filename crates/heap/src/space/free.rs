// SPDX-License-Identifier: Apache-2.0
//! [`FreeBlocks`]: blocks that nobody uses, all zero; the heap's growth; the reserve of real-time
//! mutators.
//!
//! A bit map under a priority-inheritance lock, held for a scan of at most `blocks / 64` words (512
//! for a heap of 1 GiB), whatever is asked for or given back. Ordinary mutators take single blocks
//! here. Real-time mutators take theirs from [`FreeBlocks::reserve`], a lock-free stack that the
//! collector fills, and come here only when it is empty; that is counted.

use crate::limits::COMMIT_BYTES;
use crate::memory::Memory;
use crate::space::block::{BlockIndex, BlockStack, BlockTable};
use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT};
use rt::sync::PiMutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// See the module.
#[derive(Debug)]
pub(crate) struct FreeBlocks {
    map: PiMutex<FreeMap>,
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
            map: PiMutex::new(FreeMap {
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

    /// Blocks that hold something.
    pub(crate) fn used_count(&self) -> u32 {
        self.committed_count().saturating_sub(self.free_count())
    }

    /// Blocks that are unused or not memory yet, the reserve left out.
    pub(crate) fn whole_count(&self) -> u32 {
        self.block_count - self.committed_count() + self.free_count.load(Ordering::Relaxed)
    }

    /// Whether a block is memory and unused, the reserve left out.
    pub(crate) fn has_some(&self) -> bool {
        self.free_count.load(Ordering::Relaxed) != 0
    }

    /// Whether less than half of the reserve is left.
    pub(crate) fn is_reserve_low(&self) -> bool {
        self.reserve.count() < self.reserve_target / 2
    }

    /// Whether the reserve can be filled again without leaving others none: memory is left to
    /// commit, or as many blocks as it holds are free beside it.
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

    /// `count` blocks in a row: first fit. The lock is held for one pass over the map's words, as
    /// for a single block.
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

    /// Blocks in the longest row of free ones, the reserve left out. Holds the lock for a copy of
    /// the map.
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

    /// Commits at least `bytes`, at once or as much as the kernel gives.
    pub(crate) fn grow_to(&self, memory: &Memory, bytes: u32) {
        let mut map = self.map.lock();
        let blocks = (bytes >> BLOCK_SHIFT).min(map.block_count);
        let missing = blocks.saturating_sub(map.committed);
        if missing > 0 {
            map.grow(memory, missing);
        }
        while map.committed < blocks && map.grow(memory, 1).is_some() {}
        self.publish(&map);
    }

    /// Gives the memory of all free blocks back to the kernel: they are zero when they are touched.
    /// Holds the lock for that long: not beside mutators.
    pub(crate) fn discard(&self, memory: &Memory) {
        let map = self.map.lock();
        for (index, &word) in map.words.iter().enumerate() {
            let free = (0..64).filter(|bit| word & 1 << bit != 0);
            for bit in free {
                let start = (index as u32 * 64 + bit) << BLOCK_SHIFT;
                memory.discard(memory.span().start + start, BLOCK_BYTES);
            }
        }
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

    /// A word at a time, as everything here: at most 512 of them for a heap of 1 GiB.
    fn put(&mut self, first: BlockIndex, count: u32) {
        for (word, mask) in masks(first, count) {
            let given = self.words[word] & mask;
            assert_eq!(given, 0, "blocks of word {word} are given back once");
            self.words[word] |= mask;
        }
        self.first_word = self.first_word.min(first as usize / 64);
        self.free += count;
    }

    fn clear(&mut self, first: BlockIndex, count: u32) {
        masks(first, count).for_each(|(word, mask)| self.words[word] &= !mask);
        self.free -= count;
    }

    /// The first free row of so many. O(words): some ten operations for each.
    fn find_span(&self, count: u32) -> Option<BlockIndex> {
        // Free blocks in a row that end where the word begins.
        let mut before = 0;
        for (index, &word) in self.words.iter().enumerate().skip(self.first_word) {
            let start = index as u32 * 64;
            if before + word.trailing_ones() >= count {
                return Some(start - before);
            }
            if let Some(bit) = row_within(word, count) {
                return Some(start + bit);
            }
            before = match word {
                u64::MAX => before + 64,
                _ => word.leading_ones(),
            };
        }
        None
    }

    /// Commits room for `count` more blocks, in steps; `None` at the maximum or if the kernel
    /// refuses.
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

/// The words that a row of blocks lies in, and which bits of each.
fn masks(first: BlockIndex, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = first + count;
    let words = first / 64..end.div_ceil(64);
    words.map(move |word| {
        let low = first.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word as usize, u64::MAX >> (64 - (high - low)) << low)
    })
}

/// The lowest bit of `word` from which on `count` bits are set: each step makes known rows up to
/// twice as long.
fn row_within(word: u64, count: u32) -> Option<u32> {
    if count > 64 {
        return None;
    }
    let (mut rows, mut length) = (word, 1);
    while length < count {
        let more = length.min(count - length);
        rows &= rows >> more;
        length += more;
    }
    (rows != 0).then(|| rows.trailing_zeros())
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

    fn full(words: usize) -> FreeMap {
        let blocks = words as u32 * 64;
        FreeMap {
            words: vec![0; words],
            first_word: 0,
            free: 0,
            committed: blocks,
            block_count: blocks,
        }
    }

    fn map(free: &[u32]) -> FreeMap {
        let mut map = full(2);
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

    /// The definition: block after block.
    fn first_fit(words: &[u64], count: u32) -> Option<u32> {
        let is_free = |block: &u32| words[*block as usize / 64] & 1 << (block % 64) != 0;
        let last = (words.len() as u32 * 64).checked_sub(count)?;
        (0..=last).find(|first| (*first..first + count).all(|it| is_free(&it)))
    }

    /// Rows within words, across them, and over whole ones: what is found and what is left is as
    /// the definition says.
    #[test]
    fn a_word_at_a_time_finds_the_same_spans() {
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32 % below
        };
        // Miri takes a second for each.
        let maps = if cfg!(miri) { 5 } else { 300 };
        for _ in 0..maps {
            let mut map = full(6);
            let mut at = random(9);
            while at < 384 {
                let length = (1 + random(150)).min(384 - at);
                map.put(at, length);
                at += length + 1 + random(40);
            }
            for _ in 0..20 {
                let count = 1 + random(160);
                let found = map.find_span(count);
                assert_eq!(found, first_fit(&map.words, count), "{count} of {map:x?}");
                let free = map.free;
                if let Some(first) = found {
                    map.clear(first, count);
                    assert_eq!(map.free, free - count);
                }
                let set: u32 = map.words.iter().map(|it| it.count_ones()).sum();
                assert_eq!(set, map.free);
            }
        }
    }

    #[test]
    #[should_panic(expected = "given back once")]
    fn what_is_free_is_not_given_back() {
        map(&[3, 4, 5]).put(2, 2);
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
