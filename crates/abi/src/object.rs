// SPDX-License-Identifier: Apache-2.0
//! Objects as bytes: a header of 12 bytes, then fields, or a length and elements.
//!
//! ```text
//!  +0  class word          address of the type descriptor; 0 in free memory
//!  +4  lock-and-hash word  the virtual machine's; 0 in a new object
//!  +8  log word            see `barrier`
//! +12  fields, or an array's length (32 bits) and at +16 its elements
//! ```
//!
//! A new object is published in this order: lock word, log word, length, and the class word last.
//! Memory that is handed out is zero from +12 on; the bytes +0 to +12 are written by the one that
//! allocates. A class word of zero is how the collector tells free memory from an object, so
//! nothing else may write one.

/// Offset of the class word.
pub const CLASS_OFFSET: u32 = 0;
/// Offset of the lock-and-hash word.
pub const LOCK_OFFSET: u32 = 4;
/// Offset of the log word.
pub const LOG_OFFSET: u32 = 8;
/// Bytes before the first field.
pub const HEADER_BYTES: u32 = 12;
/// Offset of an array's length, unsigned and of 32 bits.
pub const ARRAY_LENGTH_OFFSET: u32 = 12;
/// Offset of an array's first element, whatever its type: 64-bit elements are aligned.
pub const ARRAY_ELEMENTS_OFFSET: u32 = 16;

/// Bytes of a reference.
pub const REFERENCE_BYTES: u32 = 4;
/// log2 of [`REFERENCE_BYTES`].
pub const REFERENCE_SHIFT: u32 = 2;
/// The reference to nothing.
pub const NULL: u32 = 0;

/// Every object starts at a multiple of this.
pub const ALIGNMENT: u32 = 8;
/// The smallest distance between two objects: one entry of a side table each.
pub const OBJECT_BYTES_MIN: u32 = 16;
/// Bytes that one log word covers in objects with more than [`SLOTS_PER_LOG_WORD`] slots.
pub const CHUNK_BYTES: u32 = 128;
/// log2 of [`CHUNK_BYTES`].
pub const CHUNK_SHIFT: u32 = 7;
/// Slots that one log word covers at most: the bound of the write barrier's slow path.
pub const SLOTS_PER_LOG_WORD: u32 = CHUNK_BYTES / REFERENCE_BYTES;

const _: () = {
    assert!(HEADER_BYTES == LOG_OFFSET + 4);
    assert!(ARRAY_LENGTH_OFFSET == HEADER_BYTES);
    assert!(ARRAY_ELEMENTS_OFFSET.is_multiple_of(8));
    assert!(1 << REFERENCE_SHIFT == REFERENCE_BYTES);
    assert!(1 << CHUNK_SHIFT == CHUNK_BYTES);
    assert!(SLOTS_PER_LOG_WORD == 32);
    assert!(OBJECT_BYTES_MIN >= HEADER_BYTES);
};

/// Bytes of an array without padding, or `None` if no address range could hold it.
pub const fn array_bytes(length: u32, element_shift: u32) -> Option<u32> {
    let bytes = ARRAY_ELEMENTS_OFFSET as u64 + ((length as u64) << element_shift);
    if bytes <= u32::MAX as u64 - CHUNK_BYTES as u64 {
        Some(bytes as u32)
    } else {
        None
    }
}

/// Whether an array of references has a log word per chunk instead of the one in its header.
pub const fn is_chunked_array(length: u32) -> bool {
    length > SLOTS_PER_LOG_WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_that_no_heap_could_hold_has_no_size() {
        assert_eq!(array_bytes(0, 3), Some(16));
        assert_eq!(array_bytes(3, 2), Some(28));
        assert_eq!(array_bytes(u32::MAX, 0), None);
        assert_eq!(array_bytes(1 << 30, 3), None);
    }
}
