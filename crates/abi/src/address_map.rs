// SPDX-License-Identifier: Apache-2.0
//! [`AddressMap`]: where things lie in the low 4 GiB, chosen at start-up.
//!
//! ```text
//! 0                       null guard: a null reference plus any field offset faults
//! METADATA_START          class metadata (type descriptors, tables)
//! CODE_START              compiled code; below 2 GiB, so calls and pointers fit 32 bits
//! HEAP_START              heap, up to the ceiling
//! ```
//!
//! A position-independent executable, its libraries and its stacks lie far above 4 GiB on Linux.

use crate::alloc::BLOCK_BYTES;

/// Nothing is mapped below this (Linux maps nothing below 64 KiB either).
pub const NULL_GUARD_BYTES: u32 = 1 << 20;
/// Where class metadata begins.
pub const METADATA_START: u32 = 0x1000_0000;
/// Bytes reserved for class metadata.
pub const METADATA_BYTES: u32 = 128 << 20;
/// Where compiled code begins.
pub const CODE_START: u32 = METADATA_START + METADATA_BYTES;
/// Bytes reserved for compiled code.
pub const CODE_BYTES: u32 = 128 << 20;
/// Where the heap begins.
pub const HEAP_START: u32 = CODE_START + CODE_BYTES;
/// No span goes beyond this, so that an end is a 32-bit address too.
pub const CEILING: u32 = 0xffff_0000;
/// The ceiling under AddressSanitizer, whose shadow begins here.
pub const CEILING_SANITIZED: u32 = 0x7fff_8000;

/// Addresses from `start` to `start + bytes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first address.
    pub start: u32,
    /// How many bytes.
    pub bytes: u32,
}

impl Span {
    /// The first address behind it.
    pub const fn end(self) -> u32 {
        self.start + self.bytes
    }

    /// Whether it holds `address`.
    pub const fn contains(self, address: u32) -> bool {
        self.start <= address && address < self.end()
    }
}

/// The heap does not fit below the ceiling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapTooLarge {
    /// What was asked for.
    pub bytes: u64,
    /// What there is room for.
    pub bytes_max: u32,
}

impl core::fmt::Display for HeapTooLarge {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "a heap of {} MiB does not fit: references are 32 bits wide and leave room for {} MiB (-Xmx{}m)",
            self.bytes >> 20,
            self.bytes_max >> 20,
            self.bytes_max >> 20
        )
    }
}

impl core::error::Error for HeapTooLarge {}

/// The spans of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressMap {
    /// Type descriptors and tables.
    pub metadata: Span,
    /// Compiled code.
    pub code: Span,
    /// Objects.
    pub heap: Span,
}

impl AddressMap {
    /// Room for a heap of `heap_bytes_max` (rounded up to blocks) below `ceiling`.
    pub const fn plan(heap_bytes_max: u64, ceiling: u32) -> Result<Self, HeapTooLarge> {
        let bytes_max = (ceiling - HEAP_START) / BLOCK_BYTES * BLOCK_BYTES;
        let bytes = heap_bytes_max.next_multiple_of(BLOCK_BYTES as u64);
        if bytes > bytes_max as u64 {
            return Err(HeapTooLarge {
                bytes: heap_bytes_max,
                bytes_max,
            });
        }
        Ok(Self {
            metadata: Span {
                start: METADATA_START,
                bytes: METADATA_BYTES,
            },
            code: Span {
                start: CODE_START,
                bytes: CODE_BYTES,
            },
            heap: Span {
                start: HEAP_START,
                bytes: bytes as u32,
            },
        })
    }

    /// A heap of `heap_bytes` without compiled code, at one of several places in a process, `place_bytes` apart.
    pub const fn without_code(place: u32, place_bytes: u32, heap_bytes: u32) -> Self {
        assert!(heap_bytes <= place_bytes, "a place has room for its heap");
        Self {
            metadata: Span {
                start: METADATA_START + place * (1 << 20),
                bytes: 1 << 20,
            },
            code: Span { start: 0, bytes: 0 },
            heap: Span {
                start: HEAP_START + place * place_bytes,
                bytes: heap_bytes,
            },
        }
    }
}

const _: () = {
    assert!(NULL_GUARD_BYTES <= METADATA_START);
    assert!(CODE_START + CODE_BYTES <= 1 << 31);
    assert!(HEAP_START.is_multiple_of(BLOCK_BYTES));
    assert!(HEAP_START < CEILING_SANITIZED);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_do_not_meet() {
        let map = AddressMap::plan(1 << 30, CEILING).unwrap();
        assert!(map.metadata.end() <= map.code.start);
        assert!(map.code.end() <= map.heap.start);
        assert_eq!(map.heap.bytes, 1 << 30);
    }

    #[test]
    fn too_much_is_a_named_error() {
        let error = AddressMap::plan(4 << 30, CEILING).unwrap_err();
        assert!(error.to_string().contains("-Xmx"), "{error}");
        assert!(AddressMap::plan(2 << 30, CEILING_SANITIZED).is_err());
    }
}
