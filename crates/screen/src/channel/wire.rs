// SPDX-License-Identifier: Apache-2.0
//! A [`Message`] as bytes, from one process to another. What comes is checked: numbers that no
//! display sends are [`Malformed`].
//!
//! ```text
//! 0  sequence   4  kind, touch, index, count: a byte each   8  when   16  when it began
//! 24 corner     32 ten fingers: id, x, y; or what else the kind has, a word each
//! ```

use super::input::{Input, Message, POINTERS_MAX, Pointer, Pointers, Touch};

/// Of the longest: ten fingers.
pub(crate) const MESSAGE_BYTES: usize = FINGERS + POINTERS_MAX * FINGER_BYTES;
const FINGERS: usize = 32;
const FINGER_BYTES: usize = 12;

const FOCUS: u8 = 0;
const TOUCH: u8 = 1;
const KEY: u8 = 2;
const SCROLL: u8 = 3;

/// No display sends this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The bytes of a message, and how many there are.
pub(crate) fn encode(message: &Message) -> ([u8; MESSAGE_BYTES], usize) {
    let mut out = Bytes([0; MESSAGE_BYTES]);
    out.put(0, message.sequence);
    out.put_long(8, message.at_ns);
    let count = match message.input {
        Input::Focus(has) => {
            out.0[4] = FOCUS;
            out.put(FINGERS, has.into());
            1
        }
        Input::Touch {
            touch,
            index,
            pointers,
            corner,
            down_ns,
        } => {
            let fingers = pointers.as_slice();
            let count = fingers.len();
            out.0[4..8].copy_from_slice(&[TOUCH, touch as u8, index, count as u8]);
            out.put_long(16, down_ns);
            out.put_pair(24, corner);
            for (number, finger) in fingers.iter().enumerate() {
                let at = FINGERS + number * FINGER_BYTES;
                out.put(at, finger.id.into());
                out.put_pair(at + 4, (finger.x, finger.y));
            }
            count
        }
        Input::Scroll {
            place,
            corner,
            right,
            up,
        } => {
            out.0[4] = SCROLL;
            out.put_pair(24, corner);
            out.put_pair(FINGERS, place);
            out.put_pair(FINGERS + 8, (right, up));
            2
        }
        Input::Key {
            code,
            meta,
            is_down,
            down_ns,
        } => {
            out.0[4] = KEY;
            out.put_long(16, down_ns);
            out.put(FINGERS, code.cast_unsigned());
            out.put(FINGERS + 4, meta.cast_unsigned());
            out.put(FINGERS + 8, is_down.into());
            1
        }
    };
    (out.0, FINGERS + count * FINGER_BYTES)
}

/// The message that the bytes are.
pub(crate) fn decode(bytes: &[u8; MESSAGE_BYTES]) -> Result<Message, Malformed> {
    let bytes = Bytes(*bytes);
    let down_ns = bytes.long(16);
    let input = match bytes.0[4] {
        FOCUS => Input::Focus(bytes.claim(FINGERS)?),
        TOUCH => {
            let [touch, index, count] = [bytes.0[5], bytes.0[6], bytes.0[7]];
            let pointers = bytes.fingers(count.into())?;
            if index >= count {
                return Err(Malformed);
            }
            Input::Touch {
                touch: touch_of(touch)?,
                index,
                pointers,
                corner: bytes.pair(24)?,
                down_ns,
            }
        }
        SCROLL => {
            let (right, up) = bytes.pair(FINGERS + 8)?;
            Input::Scroll {
                place: bytes.pair(FINGERS)?,
                corner: bytes.pair(24)?,
                right,
                up,
            }
        }
        KEY => Input::Key {
            code: bytes.word(FINGERS).cast_signed(),
            meta: bytes.word(FINGERS + 4).cast_signed(),
            is_down: bytes.claim(FINGERS + 8)?,
            down_ns,
        },
        _ => return Err(Malformed),
    };
    Ok(Message {
        sequence: bytes.word(0),
        at_ns: bytes.long(8),
        input,
    })
}

fn touch_of(number: u8) -> Result<Touch, Malformed> {
    let all = [
        Touch::Down,
        Touch::Up,
        Touch::Move,
        Touch::Cancel,
        Touch::Outside,
        Touch::PointerDown,
        Touch::PointerUp,
    ];
    let found = all.into_iter().find(|it| *it as u8 == number);
    found.ok_or(Malformed)
}

struct Bytes([u8; MESSAGE_BYTES]);

impl Bytes {
    fn put(&mut self, at: usize, word: u32) {
        self.0[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }

    fn put_long(&mut self, at: usize, word: u64) {
        self.0[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }

    fn put_pair(&mut self, at: usize, (x, y): (f32, f32)) {
        self.put(at, x.to_bits());
        self.put(at + 4, y.to_bits());
    }

    fn word(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.0[at..at + 4]);
        u32::from_ne_bytes(word)
    }

    fn long(&self, at: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.0[at..at + 8]);
        u64::from_ne_bytes(word)
    }

    fn claim(&self, at: usize) -> Result<bool, Malformed> {
        match self.word(at) {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// Two numbers that can be drawn.
    fn pair(&self, at: usize) -> Result<(f32, f32), Malformed> {
        let pair = [at, at + 4].map(|it| f32::from_bits(self.word(it)));
        match pair.iter().all(|it| it.is_finite()) {
            true => Ok((pair[0], pair[1])),
            false => Err(Malformed),
        }
    }

    /// Each with its own number, in the order of these.
    fn fingers(&self, count: usize) -> Result<Pointers, Malformed> {
        let mut pointers = Pointers::default();
        if !(1..=POINTERS_MAX).contains(&count) {
            return Err(Malformed);
        }
        for number in 0..count {
            let at = FINGERS + number * FINGER_BYTES;
            let id = self.word(at);
            let (x, y) = self.pair(at + 4)?;
            let last = pointers.as_slice().last();
            if id as usize >= POINTERS_MAX || last.is_some_and(|it| u32::from(it.id) >= id) {
                return Err(Malformed);
            }
            let id = id as u8;
            pointers.insert(Pointer { id, x, y });
        }
        Ok(pointers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(random: &mut fastrand::Rng) -> Message {
        let place = (random.f32() * 900.0, random.f32() * 500.0);
        let mut pointers = Pointers::default();
        for id in 0..random.u8(1..=10) {
            pointers.insert(Pointer {
                id,
                x: place.0,
                y: place.1 + f32::from(id),
            });
        }
        let input = match random.u8(..4) {
            0 => Input::Focus(random.bool()),
            1 => Input::Touch {
                touch: touch_of(random.u8(..7)).unwrap(),
                index: random.u8(..pointers.as_slice().len() as u8),
                pointers,
                corner: place,
                down_ns: random.u64(..),
            },
            2 => Input::Scroll {
                place,
                corner: (1.0, -2.0),
                right: -0.5,
                up: 3.0,
            },
            _ => Input::Key {
                code: random.i32(..),
                meta: random.i32(..),
                is_down: random.bool(),
                down_ns: random.u64(..),
            },
        };
        Message {
            sequence: random.u32(..),
            at_ns: random.u64(..),
            input,
        }
    }

    #[test]
    fn every_message_comes_as_it_went_and_nothing_behind_its_end_counts() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..5_000 {
            let message = some(&mut random);
            let (mut bytes, size) = encode(&message);
            assert!(size <= MESSAGE_BYTES);
            random.fill(&mut bytes[size..]);
            assert_eq!(decode(&bytes), Ok(message));
        }
    }

    /// Whatever the bytes are: what is let through is what a display could have sent.
    #[test]
    fn hostile_bytes_are_refused_or_are_a_message() {
        let mut random = fastrand::Rng::with_seed(2);
        let (mut refused, mut passed) = (0, 0);
        for _ in 0..50_000 {
            let (mut bytes, _) = encode(&some(&mut random));
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..MESSAGE_BYTES);
                bytes[at] = random.u8(..);
            }
            match decode(&bytes) {
                Err(Malformed) => refused += 1,
                Ok(message) => {
                    passed += 1;
                    if let Input::Touch {
                        pointers, index, ..
                    } = message.input
                    {
                        let all = pointers.as_slice();
                        assert!(usize::from(index) < all.len() && all.len() <= POINTERS_MAX);
                        assert!(all.iter().all(|it| it.x.is_finite() && it.y.is_finite()));
                        assert!(all.windows(2).all(|it| it[0].id < it[1].id));
                    }
                }
            }
        }
        assert!(refused > 1_000 && passed > 1_000, "both occur");
    }
}
