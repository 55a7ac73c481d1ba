// SPDX-License-Identifier: Apache-2.0
//! What lies where in the memory that two processes share.
//!
//! ```text
//! words   both write   for each side as caller: bits posted to each looper; for each slot: lock,
//!                      back, turn
//! data    one for each side, which alone writes it: requests, answers, count of oneways served
//! face    one for each process, which alone writes it: its loopers
//! ```

use crate::lent::chain::{CHAIN_MAX, Chain};

/// Calls that a process may have out over one link: more callers wait, the most urgent first.
pub(crate) const SLOTS: usize = 32;
/// Of these, kept for real-time callers.
pub(crate) const SLOTS_KEPT: usize = 8;
/// Loopers of a process.
pub(crate) const LOOPERS_MAX: usize = 8;
/// A message and its header; larger ones go in a file of their own.
pub(crate) const MESSAGE_BYTES: usize = 4096;
/// A parcel with its positions: what Android's buffer of a process holds.
pub(crate) const PARCEL_BYTES_MAX: usize = 1 << 20;
/// Descriptors in one parcel.
pub(crate) const FDS_MAX: usize = 16;
/// Calls without an answer that one end may have waiting at the other.
pub(crate) const ONEWAYS_MAX: u64 = 64;

pub(crate) const PAGE: usize = 4096;
pub(crate) const WORDS_BYTES: usize = 2 * PAGE;
pub(crate) const DATA_BYTES: usize = 2 * SLOTS * MESSAGE_BYTES + PAGE;
pub(crate) const FACE_BYTES: usize = PAGE;
/// In data: how many oneways of the other side were served.
pub(crate) const SERVED: usize = 2 * SLOTS * MESSAGE_BYTES;

/// Which half of a side's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// What the side says as caller.
    Requests,
    /// What it says as server.
    Answers,
}

impl Area {
    pub(crate) fn offset(self, slot: usize) -> usize {
        match self {
            Self::Requests => slot * MESSAGE_BYTES,
            Self::Answers => (SLOTS + slot) * MESSAGE_BYTES,
        }
    }
}

/// In words: bits posted by a side to a looper of the other.
pub(crate) fn posted(side: usize, looper: usize) -> usize {
    side * PAGE + looper * 8
}

/// In words: where a slot of a side begins, on a line of its own.
fn slot(side: usize, slot: usize) -> usize {
    side * PAGE + 64 + slot * 64
}

/// What the caller lends.
pub(crate) fn lock(side: usize, index: usize) -> usize {
    slot(side, index)
}

/// What the server lends when it calls back.
pub(crate) fn back(side: usize, index: usize) -> usize {
    slot(side, index) + 4
}

pub(crate) fn turn(side: usize, index: usize) -> usize {
    slot(side, index) + 8
}

/// Whether the caller waits for `lock` without lending, and the server for `back`: who gives that
/// back wakes it then.
pub(crate) fn lock_is_apart(side: usize, index: usize) -> usize {
    slot(side, index) + 12
}

pub(crate) fn back_is_apart(side: usize, index: usize) -> usize {
    slot(side, index) + 16
}

const _: () = assert!(LOOPERS_MAX * 8 <= 64 && 64 + SLOTS * 64 <= PAGE && SLOTS <= 64);

/// In face: a looper's thread, whether it sleeps, whether it is kept for real time.
pub(crate) fn looper_tid(index: usize) -> usize {
    64 * (index + 1)
}

pub(crate) fn looper_sleeps(index: usize) -> usize {
    looper_tid(index) + 4
}

pub(crate) fn looper_is_kept(index: usize) -> usize {
    looper_tid(index) + 8
}

/// Whether it waits in a call of its own.
pub(crate) fn looper_is_away(index: usize) -> usize {
    looper_tid(index) + 12
}

/// What a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A call.
    #[default]
    Request,
    /// Its answer, or an error.
    Answer,
    /// A looper that is kept for real time does not serve an ordinary caller.
    Declined,
    /// The node inherits less than the caller lends: up to what `claim` says.
    Limited,
}

/// Before each message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) status: i32,
    /// The same in a request and what comes back.
    pub(crate) sequence: u32,
    pub(crate) target: u64,
    pub(crate) code: u32,
    /// Who waits, and how urgently at most.
    pub(crate) tid: u32,
    pub(crate) claim: u32,
    pub(crate) size: u32,
    pub(crate) positions: u32,
    pub(crate) fds: u32,
    /// Whether the bytes lie in a file beside it.
    pub(crate) is_apart: bool,
    /// Of a request: who waits for it.
    pub(crate) chain: Chain,
}

pub(crate) const HEADER_BYTES: usize = 128;
/// In it: where the chain lies.
const CHAIN_AT: usize = 64;
const _: () = assert!(CHAIN_AT + CHAIN_MAX * 8 <= HEADER_BYTES);

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let words = [
            self.kind as u32,
            self.status.cast_unsigned(),
            self.sequence,
            self.code,
            self.target as u32,
            (self.target >> 32) as u32,
            self.tid,
            self.claim,
            self.size,
            self.positions,
            self.fds,
            u32::from(self.is_apart),
        ];
        let mut bytes = [0; HEADER_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        let chain = bytes[CHAIN_AT..].chunks_exact_mut(8);
        for (chunk, token) in chain.zip(self.chain.0) {
            chunk.copy_from_slice(&token.to_le_bytes());
        }
        bytes
    }

    /// `None` for what no end writes: sizes beyond the bounds, or a kind that is none.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let mut chain = Chain::default();
        let tokens = bytes[CHAIN_AT..].as_chunks().0;
        for (token, bytes) in chain.0.iter_mut().zip(tokens) {
            *token = u64::from_le_bytes(*bytes);
        }
        let mut words = bytes.chunks_exact(4).map(|it| {
            it.iter()
                .rev()
                .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
        });
        let mut next = || words.next().unwrap_or(0);
        let kind = match next() {
            0 => Kind::Request,
            1 => Kind::Answer,
            2 => Kind::Declined,
            3 => Kind::Limited,
            _ => return None,
        };
        let (status, sequence, code) = (next().cast_signed(), next(), next());
        let (low, high) = (next(), next());
        let header = Self {
            kind,
            status,
            sequence,
            code,
            target: u64::from(high) << 32 | u64::from(low),
            tid: next(),
            claim: next(),
            size: next(),
            positions: next(),
            fds: next(),
            is_apart: next() != 0,
            chain,
        };
        let whole = header.whole();
        let room = if header.is_apart {
            PARCEL_BYTES_MAX
        } else {
            MESSAGE_BYTES - HEADER_BYTES
        };
        (whole <= room && header.fds as usize <= FDS_MAX).then_some(header)
    }

    /// Bytes of the parcel, filled up to a word of eight, and of its positions.
    pub(crate) fn whole(&self) -> usize {
        let positions = (self.positions as usize).saturating_mul(4);
        self.positions_at().saturating_add(positions)
    }

    /// Where the positions lie behind the header.
    pub(crate) fn positions_at(&self) -> usize {
        (self.size as usize).next_multiple_of(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header {
            kind: Kind::Answer,
            status: -32,
            sequence: 7,
            target: 1 << 40 | 5,
            code: 3,
            tid: 11,
            claim: 80,
            size: 100,
            positions: 2,
            fds: 1,
            is_apart: false,
            chain: Chain(std::array::from_fn(|index| u64::MAX - index as u64)),
        };
        assert_eq!(Header::parse(&header.to_bytes()), Some(header));
    }

    #[test]
    fn sizes_beyond_the_bounds_are_no_header() {
        for (size, positions, fds, is_apart) in [
            (u32::MAX, 0, 0, true),
            (8, u32::MAX, 0, true),
            (4096, 0, 0, false),
            (8, 0, 17, false),
        ] {
            let header = Header {
                size,
                positions,
                fds,
                is_apart,
                ..Header::default()
            };
            assert_eq!(Header::parse(&header.to_bytes()), None, "{header:?}");
        }
    }
}
