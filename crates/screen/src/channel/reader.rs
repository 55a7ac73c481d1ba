// SPDX-License-Identifier: Apache-2.0
//! [`Reader`]: the end of a channel that a window's looper reads. It takes no lock of the display.

use std::os::fd::BorrowedFd;

use super::input::{ChannelId, Input, Message};
use super::pair::PairReader;
use super::ring::RingReader;

/// The window's end of a channel.
#[derive(Debug)]
pub struct Reader {
    pub(super) id: ChannelId,
    pub(super) end: ReaderEnd,
    /// What the display wrote and no display writes.
    pub(super) malformed: u64,
}

#[derive(Debug)]
pub(super) enum ReaderEnd {
    Ring(RingReader),
    Pair(PairReader),
}

/// A message that the looper has.
#[derive(Debug)]
pub struct Taken {
    /// What came.
    pub message: Message,
    /// The display wants to hear that there is room: [`crate::Screen::hear`].
    pub tells: bool,
}

/// Why a message is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadFault {
    /// It is skipped; those behind it may be good.
    #[error("the display wrote an input that is none")]
    Malformed,
    /// Nothing more comes.
    #[error("the display wrote a count of inputs that cannot be")]
    Broken,
}

impl Reader {
    /// Whose end this is.
    pub fn id(&self) -> ChannelId {
        self.id
    }

    /// The next message; the window finishes it, except for the focus.
    pub fn take(&mut self) -> Result<Option<Taken>, ReadFault> {
        let taken = match &mut self.end {
            ReaderEnd::Ring(ring) => ring.take(),
            ReaderEnd::Pair(pair) => pair.take(),
        };
        self.malformed += u64::from(taken == Err(ReadFault::Malformed));
        let Some((message, mut tells)) = taken? else {
            return Ok(None);
        };
        if matches!(message.input, Input::Focus(_)) {
            // As AOSP's own receivers do.
            tells |= self.finish(message.sequence);
        }
        Ok(Some(Taken { message, tells }))
    }

    /// The window has done with a message. True if the display wants to hear of it at once: it
    /// looks by itself whenever it asks for what is open.
    pub fn finish(&mut self, sequence: u32) -> bool {
        match &mut self.end {
            // One that does not fit is open for ever: the display has lost count, not this window.
            ReaderEnd::Ring(ring) => {
                let _ = ring.finish(sequence);
                false
            }
            // As AOSP's dispatcher, which wakes for each.
            ReaderEnd::Pair(pair) => pair.finish(sequence),
        }
    }

    /// Is there something to take? Of a socket this is not known without taking.
    pub fn has_waiting(&self) -> bool {
        match &self.end {
            ReaderEnd::Ring(ring) => ring.has_waiting(),
            ReaderEnd::Pair(_) => false,
        }
    }

    /// What a looper listens to, if it is not woken.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        match &self.end {
            ReaderEnd::Ring(_) => None,
            ReaderEnd::Pair(pair) => Some(pair.file()),
        }
    }

    /// How many messages were none.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}
