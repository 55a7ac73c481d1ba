// SPDX-License-Identifier: Apache-2.0
//! The log word: in which epoch were the old references of this object (or chunk) recorded, and
//! where.
//!
//! ```text
//!  31            8 7        0
//! +---------------+----------+
//! | record        | epoch    |      epoch 0: clean; 1, 2, 3: rotating
//! +---------------+----------+      record 0: born in that epoch, nothing recorded
//! ```
//!
//! The epoch is the lowest byte, so that the fast path of a reference store is one byte load and
//! one byte compare with [`crate::context::MutatorContext::fast_epoch`]:
//!
//! ```text
//! if byte[log_word] != byte[context + FAST_EPOCH] { call write_slow(object, log_word, value, slot) }
//! store slot, value
//! ```
//!
//! The compare fails always while a handshake round is under way: `fast_epoch` is [`FAST_NONE`]
//! then. The log word of an object with at most [`SLOTS_PER_LOG_WORD`] slots is at [`LOG_OFFSET`];
//! larger objects have one per chunk in a side table, at `chunk_log_base + (slot >> CHUNK_SHIFT) *
//! 4`.
//!
//! A record holds what the references were:
//!
//! ```text
//! +0 holder   +4 count   +8 … old references that are not null      to a multiple of 16 bytes
//! ```
//!
//! A mutator writes the next one at `context.log_base + context.log_next`, as long as the largest
//! fits below `context.log_limit`; it is the collector's once the log word names it.
//!
//! [`LOG_OFFSET`]: crate::object::LOG_OFFSET
//! [`SLOTS_PER_LOG_WORD`]: crate::object::SLOTS_PER_LOG_WORD

use crate::object::SLOTS_PER_LOG_WORD;

/// Bits of the epoch in a log word.
pub const EPOCH_BITS: u32 = 8;
/// The epoch of a log word whose object was not stored to since the last settlement.
pub const EPOCH_CLEAN: u8 = 0;
/// Epochs count 1, 2, 3, 1, …: at most two of them are alive besides clean.
pub const EPOCH_COUNT: u8 = 3;
/// A fast epoch that no log word has: every store takes the slow path.
pub const FAST_NONE: u8 = 0xff;
/// Log records are multiples of this many bytes; the record number counts such units.
pub const RECORD_UNIT_BYTES: u32 = 16;
/// Record numbers are below this: 256 MiB of log space.
pub const RECORD_COUNT: u32 = 1 << (32 - EPOCH_BITS);
/// In a record: how many references follow.
pub const RECORD_COUNT_OFFSET: u32 = 4;
/// In a record: the first of them.
pub const RECORD_OLD_OFFSET: u32 = 8;
/// Bytes of the largest record.
pub const RECORD_BYTES_MAX: u32 = record_bytes(SLOTS_PER_LOG_WORD);
/// The record number of an object born in its epoch.
pub const RECORD_BORN: u32 = 0;

/// Bytes of a record with `count` old references.
pub const fn record_bytes(count: u32) -> u32 {
    (RECORD_OLD_OFFSET + 4 * count).next_multiple_of(RECORD_UNIT_BYTES)
}

/// A log word as a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogWord(pub u32);

impl LogWord {
    /// Nothing recorded since the last settlement.
    pub const CLEAN: Self = Self(0);

    /// Recorded in `epoch` at `record`.
    pub const fn recorded(epoch: u8, record: u32) -> Self {
        debug_assert!(record < RECORD_COUNT);
        Self(record << EPOCH_BITS | epoch as u32)
    }

    /// Of an object allocated in `epoch`: it has no old references to record.
    pub const fn born(epoch: u8) -> Self {
        Self::recorded(epoch, RECORD_BORN)
    }

    /// The epoch, or [`EPOCH_CLEAN`].
    pub const fn epoch(self) -> u8 {
        self.0 as u8
    }

    /// The record, or [`RECORD_BORN`].
    pub const fn record(self) -> u32 {
        self.0 >> EPOCH_BITS
    }

    /// Whether its old references lie in a record.
    pub const fn has_record(self) -> bool {
        self.record() != RECORD_BORN
    }

    /// Whether a mutator in `epoch` finds nothing left to record: the word is of that epoch or of
    /// the next one.
    pub const fn is_recorded_for(self, epoch: u8) -> bool {
        self.epoch() == epoch || self.epoch() == epoch_after(epoch)
    }
}

/// The epoch that follows.
pub const fn epoch_after(epoch: u8) -> u8 {
    if epoch == EPOCH_COUNT { 1 } else { epoch + 1 }
}

const _: () = {
    assert!(RECORD_COUNT as u64 * RECORD_UNIT_BYTES as u64 == 256 << 20);
    assert!(FAST_NONE > EPOCH_COUNT);
    assert!(LogWord::CLEAN.epoch() == EPOCH_CLEAN);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_word_holds_what_it_was_given() {
        let word = LogWord::recorded(3, RECORD_COUNT - 1);
        assert_eq!((word.epoch(), word.record()), (3, RECORD_COUNT - 1));
        assert!(word.has_record());
        assert!(!LogWord::born(2).has_record());
        assert!(!LogWord::CLEAN.is_recorded_for(1));
    }

    #[test]
    fn a_word_of_the_next_epoch_needs_no_record_but_one_of_the_last_does() {
        for epoch in 1..=EPOCH_COUNT {
            let next = epoch_after(epoch);
            assert!(LogWord::recorded(epoch, 7).is_recorded_for(epoch));
            assert!(LogWord::recorded(next, 7).is_recorded_for(epoch));
            assert!(!LogWord::recorded(epoch, 7).is_recorded_for(next));
        }
    }
}
