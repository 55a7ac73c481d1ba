// SPDX-License-Identifier: Apache-2.0
//! Size classes, and the bump ranges from which compiled code allocates.
//!
//! ```text
//! start = context.bump[class].next
//! if start + bytes > context.bump[class].limit { call alloc_slow(layout, length) }
//! context.bump[class].next = start + bytes        # bytes: the size of the class
//! lock = 0; log = context.born; length; class word    # in this order
//! ```
//!
//! A range is a run of free cells of one class in the mutator's own block. Both ends are 0 when
//! there is none, so one compare decides. Objects above [`SMALL_BYTES_MAX`] always take the slow
//! path.

use crate::object::{
    CHUNK_BYTES, HEADER_BYTES, OBJECT_BYTES_MIN, REFERENCE_BYTES, SLOTS_PER_LOG_WORD,
};

/// Bytes of a block: the unit in which mutators take memory.
pub const BLOCK_BYTES: u32 = 32 << 10;
/// log2 of [`BLOCK_BYTES`].
pub const BLOCK_SHIFT: u32 = 15;
/// The largest object that lies in a block with others; above it, an object has whole blocks of its
/// own.
pub const SMALL_BYTES_MAX: u32 = 16 << 10;
/// Number of size classes.
pub const SIZE_CLASS_COUNT: usize = 43;

/// Bytes of a cell, by class. Steps of 8 up to 128, then at most a third of a cell lost to
/// rounding; the last classes are a block's third and half. From 256 on the multiples of
/// [`CHUNK_BYTES`] serve chunked objects, whose cells must not share a log word.
pub const SIZE_CLASSES: [u32; SIZE_CLASS_COUNT] = [
    16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 144, 160, 176, 192, 208, 224,
    240, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3200, 4096,
    5376, 6528, 8192, 10880, 16384,
];

/// A run of free cells.
#[repr(C)]
#[derive(Debug, Default)]
pub struct BumpRange {
    /// Address of the next object.
    pub next: core::sync::atomic::AtomicU32,
    /// First address behind the run.
    pub limit: core::sync::atomic::AtomicU32,
}

/// log2 of a [`BumpRange`]'s size, to index them.
pub const BUMP_RANGE_SHIFT: u32 = 3;

/// The class whose cells hold `bytes`; `None` above [`SMALL_BYTES_MAX`]. O(1) up to 256 bytes, else
/// O(log classes).
pub const fn size_class(bytes: u32) -> Option<usize> {
    if bytes > SMALL_BYTES_MAX {
        return None;
    }
    if bytes <= 128 {
        let units = bytes.div_ceil(8);
        return Some(if units <= 2 { 0 } else { units as usize - 2 });
    }
    let (mut low, mut high) = (14, SIZE_CLASS_COUNT - 1);
    while low < high {
        let middle = (low + high) / 2;
        if SIZE_CLASSES[middle] < bytes {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// An object with a log word per chunk has a cell of this size at least.
pub const CHUNKED_BYTES_MIN: u32 = 2 * CHUNK_BYTES;

/// As [`size_class`], for an object with a log word per chunk: cells are whole chunks.
pub const fn size_class_chunked(bytes: u32) -> Option<usize> {
    size_class(bytes.next_multiple_of(CHUNK_BYTES))
}

const _: () = {
    assert!(1 << BLOCK_SHIFT == BLOCK_BYTES);
    assert!(size_of::<BumpRange>() == 1 << BUMP_RANGE_SHIFT);
    assert!(SIZE_CLASSES[0] == OBJECT_BYTES_MIN);
    // The least has one slot more than a log word stands for.
    let least = HEADER_BYTES + (SLOTS_PER_LOG_WORD + 1) * REFERENCE_BYTES;
    assert!(CHUNKED_BYTES_MIN <= least.next_multiple_of(CHUNK_BYTES));
    assert!(SIZE_CLASSES[14] == 128);
    assert!(SIZE_CLASSES[SIZE_CLASS_COUNT - 1] == SMALL_BYTES_MAX);
    // Whole chunks find a class of whole chunks.
    let mut bytes = CHUNK_BYTES;
    while bytes <= SMALL_BYTES_MAX {
        match size_class(bytes) {
            Some(class) => assert!(SIZE_CLASSES[class].is_multiple_of(CHUNK_BYTES)),
            None => panic!("a small size has a class"),
        }
        bytes += CHUNK_BYTES;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_the_smallest_class_that_holds_it() {
        for bytes in 1..=SMALL_BYTES_MAX {
            let class = size_class(bytes).unwrap();
            assert!(bytes <= SIZE_CLASSES[class]);
            assert!(class == 0 || SIZE_CLASSES[class - 1] < bytes, "{bytes}");
        }
        assert_eq!(size_class(SMALL_BYTES_MAX + 1), None);
    }

    #[test]
    fn rounding_loses_at_most_a_third() {
        // Above, a block holds two cells or three: between them there is nothing to round to.
        for bytes in 64..=10_880 {
            let cell = SIZE_CLASSES[size_class(bytes).unwrap()];
            assert!(cell - bytes < cell / 3 + 8, "{bytes} in {cell}");
        }
    }
}
