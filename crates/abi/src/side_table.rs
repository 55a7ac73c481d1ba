// SPDX-License-Identifier: Apache-2.0
//! Side tables: what the collector keeps beside the heap, indexed by shifting an address.
//!
//! Objects start at least [`OBJECT_BYTES_MIN`] bytes apart, so `address >> ENTRY_SHIFT` is a number
//! of their own.
//!
//! | table | entry | covers | written by |
//! |---|---|---|---|
//! | count | 1 byte | 16 bytes | collector: bits of [`CountByte`] |
//! | snoop | 1 byte | 16 bytes | mutators and collector: tag of the round in which the object was a root |
//! | snoop summary | 1 byte | a block | the same: a tag somewhere in the block |
//! | chunk log | 4 bytes | 128 bytes | as the log word in a header |
//!
//! [`OBJECT_BYTES_MIN`]: crate::object::OBJECT_BYTES_MIN

use crate::object::OBJECT_BYTES_MIN;

/// log2 of the bytes that one entry of the count and snoop tables covers.
pub const ENTRY_SHIFT: u32 = 4;

/// Snoop tags count 1, 2, … up to this and start again. A stale tag keeps an object for one epoch
/// longer.
pub const SNOOP_TAG_MAX: u8 = 0xfe;
/// The snoop entry of an object that is being cleared from its reference objects: nobody may revive
/// it.
pub const SNOOP_DEAD: u8 = 0xff;

/// An entry of the count table. Zero for free memory and for objects that no epoch has counted yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountByte(pub u8);

impl CountByte {
    /// The object's own references are counted.
    pub const MATURE: u8 = 0x80;
    /// The object waits in the zero count table.
    pub const IN_ZERO_TABLE: u8 = 0x40;
    /// Reached by the cycle trace whose colour this is.
    pub const MARK: u8 = 0x20;
    /// The count; [`Self::STUCK`] means that many or more.
    pub const COUNT_MASK: u8 = 0x1f;
    /// A count that no longer changes until a cycle trace restores it.
    pub const STUCK: u8 = 0x1f;

    /// The count.
    pub const fn count(self) -> u8 {
        self.0 & Self::COUNT_MASK
    }

    /// Whether the count is lost.
    pub const fn is_stuck(self) -> bool {
        self.count() == Self::STUCK
    }

    /// Whether the object's references are counted.
    pub const fn is_mature(self) -> bool {
        self.0 & Self::MATURE != 0
    }
}

const _: () = assert!(1 << ENTRY_SHIFT == OBJECT_BYTES_MIN);
