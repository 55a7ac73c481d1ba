// SPDX-License-Identifier: Apache-2.0
//! A channel in shared memory: messages one way, the numbers of finished ones back. Each side
//! copies what the other wrote, and checks the copy.
//!
//! ```text
//! 0   written, wants       the display's line        64  taken, finished   the window's
//! 128 heard                the display's: finishes that it took
//! 256 slots of messages, then finishes: a number each
//! ```

use std::ops::Range;

use rt::shared::{Memfd, Region, SharedError};
use rt::sync::atomic::AtomicU32;
use rt::sync::atomic::Ordering::SeqCst;

use super::input::Message;
use super::wire::{self, MESSAGE_BYTES};
use super::words::{self, Nonsense, Writer};
use super::{IN_FLIGHT_MAX, ReadFault, Sent};

/// Messages that nobody took: half a second of touches at 120 a second.
const SLOTS: u32 = 64;
/// Three lines of a cache.
const SLOT_BYTES: usize = 192;
/// One for each message that may be open.
const FINISHES: u32 = IN_FLIGHT_MAX as u32;
const FINISH_BYTES: usize = 8;

const WRITTEN: usize = 0;
const WANTS: usize = 8;
const TAKEN: usize = 64;
const FINISHED: usize = 72;
const HEARD: usize = 128;
const MESSAGES: Range<usize> = 256..256 + SLOTS as usize * SLOT_BYTES;
/// Four pages.
const BYTES: usize = 16_384;

const _: () = assert!(MESSAGE_BYTES <= SLOT_BYTES && SLOT_BYTES.is_multiple_of(64));
const _: () = assert!(MESSAGES.end + FINISHES as usize * FINISH_BYTES <= BYTES);

fn count(region: &Region, offset: usize) -> &AtomicU32 {
    region.word(offset)
}

/// The display's end.
#[derive(Debug)]
pub(super) struct RingSender {
    region: Region,
    messages: Writer,
    finishes: words::Reader,
    is_wanting: bool,
}

/// The window's end.
#[derive(Debug)]
pub(super) struct RingReader {
    region: Region,
    messages: words::Reader,
    finishes: Writer,
}

/// Both ends, each with a mapping of its own.
pub(super) fn pair() -> Result<(RingSender, RingReader), SharedError> {
    let file = Memfd::new(c"input", BYTES)?;
    let sender = RingSender {
        region: file.map()?,
        messages: Writer::new(SLOTS),
        finishes: words::Reader::new(FINISHES),
        is_wanting: false,
    };
    let reader = RingReader {
        region: file.map()?,
        messages: words::Reader::new(SLOTS),
        finishes: Writer::new(FINISHES),
    };
    Ok((sender, reader))
}

impl RingSender {
    pub(super) fn try_send(&mut self, message: &Message) -> Result<Sent, Nonsense> {
        let taken = count(&self.region, TAKEN);
        let room = self
            .messages
            .room_or_want(taken, count(&self.region, WANTS))?;
        if room == 0 {
            self.is_wanting = true;
            return Ok(Sent::Full);
        }
        let (bytes, size) = wire::encode(message);
        let at = MESSAGES.start + self.messages.slot() * SLOT_BYTES;
        self.region.write(at, &bytes[..size]);
        let may_sleep = self.messages.show(count(&self.region, WRITTEN), taken)?;
        Ok(Sent::There { wakes: may_sleep })
    }

    /// Nothing waits for room any longer.
    pub(super) fn want_nothing(&mut self) {
        if self.is_wanting {
            self.is_wanting = false;
            count(&self.region, WANTS).store(0, SeqCst);
        }
    }

    /// The next message that is finished.
    pub(super) fn next_finish(&mut self) -> Result<Option<u32>, Nonsense> {
        let Some(slot) = self.finishes.next(count(&self.region, FINISHED))? else {
            return Ok(None);
        };
        let mut number = [0; 4];
        let at = MESSAGES.end + slot * FINISH_BYTES;
        self.region.read(at, &mut number);
        self.finishes.done(count(&self.region, HEARD));
        Ok(Some(u32::from_ne_bytes(number)))
    }
}

impl RingReader {
    /// True beside the message: the display waits for room.
    pub(super) fn take(&mut self) -> Result<Option<(Message, bool)>, ReadFault> {
        let next = self.messages.next(count(&self.region, WRITTEN));
        let Some(slot) = next.map_err(|Nonsense| ReadFault::Broken)? else {
            return Ok(None);
        };
        let mut bytes = [0; MESSAGE_BYTES];
        let at = MESSAGES.start + slot * SLOT_BYTES;
        self.region.read(at, &mut bytes);
        self.messages.done(count(&self.region, TAKEN));
        let wants = count(&self.region, WANTS).load(SeqCst) != 0;
        let message = wire::decode(&bytes);
        let message = message.map_err(|wire::Malformed| ReadFault::Malformed)?;
        Ok(Some((message, wants)))
    }

    /// False if there is no room: the display has not heard of as many as it may leave open.
    pub(super) fn finish(&mut self, sequence: u32) -> bool {
        let heard = count(&self.region, HEARD);
        if !self.finishes.room(heard).is_ok_and(|it| it > 0) {
            return false;
        }
        let at = MESSAGES.end + self.finishes.slot() * FINISH_BYTES;
        self.region.write(at, &sequence.to_ne_bytes());
        let shown = self.finishes.show(count(&self.region, FINISHED), heard);
        shown.is_ok()
    }

    pub(super) fn has_waiting(&self) -> bool {
        let next = self.messages.next(count(&self.region, WRITTEN));
        next.is_ok_and(|it| it.is_some())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::input::Input;
    use super::*;

    const WORDS: [usize; 5] = [WRITTEN, WANTS, TAKEN, FINISHED, HEARD];

    fn key(sequence: u32) -> Message {
        Message {
            sequence,
            at_ns: 7,
            input: Input::Key {
                code: sequence.cast_signed(),
                meta: 0,
                is_down: true,
                down_ns: 5,
            },
        }
    }

    /// Writes what no honest window does where the window may write.
    impl RingSender {
        pub(in super::super) fn spoil(&self, taken: u32, finished: u32) {
            count(&self.region, TAKEN).store(taken, SeqCst);
            count(&self.region, FINISHED).store(finished, SeqCst);
        }
    }

    #[test]
    fn a_ring_keeps_the_order_wakes_who_may_sleep_and_says_that_it_is_full() {
        let (mut sender, mut reader) = pair().unwrap();
        for round in 0..3 {
            for number in 0..SLOTS {
                let sent = sender.try_send(&key(round * SLOTS + number)).unwrap();
                assert_eq!(sent, Sent::There { wakes: number == 0 });
            }
            assert_eq!(sender.try_send(&key(0)), Ok(Sent::Full));
            for number in 0..SLOTS {
                let (message, wants) = reader.take().unwrap().unwrap();
                assert_eq!(message, key(round * SLOTS + number));
                assert!(wants, "the display waits for room");
                assert!(reader.finish(message.sequence));
                assert_eq!(sender.next_finish(), Ok(Some(message.sequence)));
            }
            sender.want_nothing();
            assert!(matches!(reader.take(), Ok(None)) && !reader.has_waiting());
            assert_eq!(sender.next_finish(), Ok(None));
        }
    }

    /// Whatever lies in the memory: each look ends, and gives what could have been sent, or a
    /// fault. Both ends stay what they are.
    #[test]
    fn hostile_memory_costs_bounded_work_and_no_more() {
        let mut faults = 0;
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut sender, mut reader) = pair().unwrap();
            for step in 0..400 {
                match random.u8(..8) {
                    0 => {
                        let word = WORDS[random.usize(..WORDS.len())];
                        let near = count(&reader.region, word).load(SeqCst);
                        let value = match random.bool() {
                            true => near.wrapping_add(random.u32(..70)),
                            false => random.u32(..),
                        };
                        count(&reader.region, word).store(value, SeqCst);
                    }
                    1 => {
                        let at = random.usize(256 / 8..BYTES / 8) * 8;
                        reader.region.write(at, &random.u64(..).to_ne_bytes());
                    }
                    2 | 3 => faults += u32::from(sender.try_send(&key(step)).is_err()),
                    4 | 5 => faults += u32::from(reader.take().is_err()),
                    6 => _ = reader.finish(random.u32(..)),
                    _ => {
                        let mut heard = 0;
                        while let Ok(Some(_)) = sender.next_finish() {
                            heard += 1;
                            assert!(heard <= FINISHES, "seed {seed}: no more than lie there");
                        }
                    }
                }
            }
        }
        assert!(faults > 1_000, "faults are seen: {faults}");
    }
}
