// SPDX-License-Identifier: Apache-2.0
//! [`AddressMap`]: where things lie in the low 4 GiB, chosen at start-up; [`CodeArea`]: where
//! compiled code may lie.
//!
//! ```text
//! 0                       null guard: a null reference plus any field offset faults
//! METADATA_START          class metadata (type descriptors, tables)
//! HEAP_START              heap, up to the ceiling
//! 4 GiB
//! CODE_AREAS_START        compiled code: three areas, in each at most one span, at a place that is
//! drawn
//! ```
//!
//! A position-independent executable, its libraries and its stacks lie above the areas of code on
//! Linux.

use crate::alloc::BLOCK_BYTES;

/// Nothing is mapped below this (Linux maps nothing below 64 KiB either).
pub const NULL_GUARD_BYTES: u32 = 1 << 20;
/// Where class metadata begins.
pub const METADATA_START: u32 = 0x1000_0000;
/// Bytes reserved for class metadata.
pub const METADATA_BYTES: u32 = 128 << 20;
/// Where the heap begins.
pub const HEAP_START: u32 = 0x2000_0000;
/// No span goes beyond this, so that an end is a 32-bit address too.
pub const CEILING: u32 = 0xffff_0000;
/// The ceiling under AddressSanitizer, whose shadow begins here.
pub const CEILING_SANITIZED: u32 = 0x7fff_8000;

/// Where the areas of code begin. AddressSanitizer's shadow ends below.
pub const CODE_AREAS_START: u64 = 0x2000_0000_0000;
/// Bytes of one area: 2^23 places for a span. All three end where no kernel puts programs or
/// libraries.
pub const CODE_AREA_BYTES: u64 = 0x1000_0000_0000;
/// Spans of code begin at multiples of a huge page.
pub const CODE_PLACE_BYTES: u64 = 2 << 20;
/// Regions of one span. A region belongs to one file of code.
pub const CODE_REGION_COUNT: usize = 32;
/// From one region to the next. Code reaches its region's table by a distance of 32 bits.
pub const CODE_REGION_BYTES: u64 = 64 << 20;
/// Bytes of a region for code. The rest is its table of addresses, of 8 bytes each: code names one
/// per 30 bytes or more.
pub const CODE_REGION_CODE_BYTES: u64 = 48 << 20;
/// Bytes of one span of code.
pub const CODE_SPAN_BYTES: u64 = CODE_REGION_COUNT as u64 * CODE_REGION_BYTES;

/// Whose code a span holds. Each has an area of its own, so no two spans of a process overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeArea {
    /// A store that was delivered, with the class library's code.
    Library,
    /// The store of this user.
    Own,
    /// This process alone.
    Process,
}

impl CodeArea {
    /// Its first address.
    pub const fn start(self) -> u64 {
        CODE_AREAS_START + self as u64 * CODE_AREA_BYTES
    }

    /// Where a span lies, by any number.
    pub const fn base(self, number: u64) -> u64 {
        let places = (CODE_AREA_BYTES - CODE_SPAN_BYTES) / CODE_PLACE_BYTES;
        self.start() + number % places * CODE_PLACE_BYTES
    }

    /// Whether a span of this area may begin at `base`.
    pub const fn may_start(self, base: u64) -> bool {
        base.is_multiple_of(CODE_PLACE_BYTES)
            && self.start() <= base
            && base <= self.start() + CODE_AREA_BYTES - CODE_SPAN_BYTES
    }
}

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
            heap: Span {
                start: HEAP_START,
                bytes: bytes as u32,
            },
        })
    }

    /// A heap of `heap_bytes` without compiled code, at one of several places in a process,
    /// `place_bytes` apart.
    pub const fn without_code(place: u32, place_bytes: u32, heap_bytes: u32) -> Self {
        assert!(heap_bytes <= place_bytes, "a place has room for its heap");
        Self {
            metadata: Span {
                start: METADATA_START + place * (1 << 20),
                bytes: 1 << 20,
            },
            heap: Span {
                start: HEAP_START + place * place_bytes,
                bytes: heap_bytes,
            },
        }
    }
}

const _: () = {
    assert!(NULL_GUARD_BYTES <= METADATA_START);
    assert!(METADATA_START + METADATA_BYTES <= HEAP_START);
    assert!(CODE_REGION_BYTES < i32::MAX as u64);
    assert!(CodeArea::Process.start() + CODE_AREA_BYTES <= 0x5500_0000_0000);
    assert!(HEAP_START.is_multiple_of(BLOCK_BYTES));
    assert!(HEAP_START < CEILING_SANITIZED);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_do_not_meet() {
        let map = AddressMap::plan(1 << 30, CEILING).unwrap();
        assert!(map.metadata.end() <= map.heap.start);
        assert_eq!(map.heap.bytes, 1 << 30);
    }

    #[test]
    fn spans_of_code_stay_in_their_areas() {
        for area in [CodeArea::Library, CodeArea::Own, CodeArea::Process] {
            for number in [0, 1, u64::MAX / 3, u64::MAX] {
                assert!(area.may_start(area.base(number)), "{area:?} {number}");
            }
            assert!(!area.may_start(area.start() + 1));
            assert!(!area.may_start(area.start() + CODE_AREA_BYTES));
        }
        assert!(!CodeArea::Library.may_start(CodeArea::Own.base(0)));
    }

    #[test]
    fn too_much_is_a_named_error() {
        let error = AddressMap::plan(4 << 30, CEILING).unwrap_err();
        assert!(error.to_string().contains("-Xmx"), "{error}");
        assert!(AddressMap::plan(2 << 30, CEILING_SANITIZED).is_err());
    }
}
