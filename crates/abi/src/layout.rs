// SPDX-License-Identifier: Apache-2.0
//! [`Layout`]: the type descriptor that a class word points to.
//!
//! The heap sees of a class what stands here and nothing else: its size, where its references lie,
//! what kind of reference object it is. The virtual machine's class record begins with one. It lies
//! in the class metadata span of the address map and never moves or changes once an object of it
//! exists.

use crate::object::{
    ALIGNMENT, ARRAY_ELEMENTS_OFFSET, HEADER_BYTES, REFERENCE_SHIFT, SLOTS_PER_LOG_WORD,
};

/// What an object of a layout is made of.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Fields at fixed offsets.
    Fields = 0,
    /// A length and references.
    ReferenceArray = 1,
    /// A length and bytes.
    PrimitiveArray = 2,
}

/// How a referent is held.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceKind {
    /// No reference object: all its slots are strong.
    Strong = 0,
    /// Cleared when memory would be exhausted otherwise.
    Soft = 1,
    /// Cleared when nothing stronger holds the referent.
    Weak = 2,
    /// Enqueued, not cleared, when nothing stronger holds the referent; holds it strongly from then
    /// on.
    Final = 3,
    /// Cleared when the referent is gone.
    Phantom = 4,
}

/// Reference slots that a bit map describes: the words of the first 256 bytes behind the header.
pub const MAP_WORDS: u32 = 64;

/// A type descriptor.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bit `i` is set if the word at `HEADER_BYTES + 4 * i` is a strong slot.
    pub map: u64,
    /// Fields: bytes of an object, header included. Arrays: [`ARRAY_ELEMENTS_OFFSET`].
    pub bytes: u32,
    /// Address of `far_count` 32-bit offsets, ascending, of the strong slots that `map` cannot
    /// hold; 0 if none.
    pub far_slots: u32,
    /// Number of offsets at `far_slots`.
    pub far_count: u32,
    /// Number of strong slots of an object with fields.
    pub slot_count: u32,
    /// Offset of the referent, not among the strong slots; 0 for [`ReferenceKind::Strong`].
    pub referent_offset: u32,
    /// What an object is made of.
    pub shape: Shape,
    /// How the referent is held.
    pub reference_kind: ReferenceKind,
    /// log2 of an element's bytes; 0 for fields.
    pub element_shift: u8,
    /// Offset of a word with the address of a layout that is the object's own, and in place of this
    /// one unless that word is null; 0 for most. A class object has the class's static fields
    /// behind those of all class objects.
    pub own_offset: u8,
}

impl Layout {
    /// An object of `bytes` bytes, header included, with strong slots at `offsets`. All of them
    /// must lie within the first [`MAP_WORDS`] words behind the header; for more see `far_slots`.
    pub const fn fields(bytes: u32, offsets: &[u32]) -> Self {
        assert!(bytes >= HEADER_BYTES, "an object has a header");
        let mut map = 0;
        let mut index = 0;
        while index < offsets.len() {
            let offset = offsets[index];
            assert!(
                offset >= HEADER_BYTES && offset.is_multiple_of(4),
                "slots are aligned and lie behind the header"
            );
            assert!(offset + 4 <= bytes, "slots lie inside the object");
            let word = (offset - HEADER_BYTES) / 4;
            assert!(word < MAP_WORDS, "the map ends here; use far_slots");
            map |= 1 << word;
            index += 1;
        }
        Self {
            map,
            bytes: bytes.next_multiple_of(ALIGNMENT),
            far_slots: 0,
            far_count: 0,
            slot_count: offsets.len() as u32,
            referent_offset: 0,
            shape: Shape::Fields,
            reference_kind: ReferenceKind::Strong,
            element_shift: 0,
            own_offset: 0,
        }
    }

    /// As [`Self::fields`], with a referent at `referent_offset`, which is not one of `offsets`.
    pub const fn reference(
        kind: ReferenceKind,
        bytes: u32,
        offsets: &[u32],
        referent_offset: u32,
    ) -> Self {
        let layout = Self::fields(bytes, offsets);
        assert!(
            referent_offset >= HEADER_BYTES && referent_offset + 4 <= bytes,
            "the referent lies inside"
        );
        let word = (referent_offset - HEADER_BYTES) / 4;
        assert!(
            word >= MAP_WORDS || layout.map & 1 << word == 0,
            "the referent is not a strong slot"
        );
        Self {
            referent_offset,
            reference_kind: kind,
            ..layout
        }
    }

    /// An array of references.
    pub const fn reference_array() -> Self {
        Self {
            shape: Shape::ReferenceArray,
            element_shift: REFERENCE_SHIFT as u8,
            ..Self::primitive_array(0)
        }
    }

    /// An array whose elements are `1 << element_shift` bytes and hold no references.
    pub const fn primitive_array(element_shift: u8) -> Self {
        let fields = Self::fields(ARRAY_ELEMENTS_OFFSET, &[]);
        Self {
            shape: Shape::PrimitiveArray,
            element_shift,
            ..fields
        }
    }

    /// Whether an object of `length` elements (0 for fields) has a log word per chunk.
    pub const fn is_chunked(&self, length: u32) -> bool {
        match self.shape {
            Shape::Fields => self.slot_count > SLOTS_PER_LOG_WORD,
            Shape::ReferenceArray => length > SLOTS_PER_LOG_WORD,
            Shape::PrimitiveArray => false,
        }
    }
}

const _: () = assert!(size_of::<Layout>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_a_bit_per_slot() {
        let layout = Layout::fields(40, &[12, 20, 36]);
        assert_eq!(layout.map, 0b100_0101);
        assert_eq!((layout.bytes, layout.slot_count), (40, 3));
        assert!(!layout.is_chunked(0));
    }

    #[test]
    fn arrays_of_references_are_chunked_above_one_log_word() {
        assert!(!Layout::reference_array().is_chunked(32));
        assert!(Layout::reference_array().is_chunked(33));
        assert!(!Layout::primitive_array(3).is_chunked(1 << 20));
    }

    #[test]
    #[should_panic(expected = "not a strong slot")]
    fn a_referent_is_not_counted() {
        let _ = Layout::reference(ReferenceKind::Weak, 24, &[12, 16], 16);
    }
}
