// SPDX-License-Identifier: Apache-2.0
//! A window's input channel, as AOSP's: messages in order, each of which the window finishes. What
//! is not finished in time tells that the application does not respond.

use std::collections::VecDeque;

/// Messages that wait in one channel: seconds of touches at a display's rate.
const MESSAGES_MAX: usize = 256;

/// The name of a channel; never given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// What a finger does; MotionEvent's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Touch {
    /// It comes down.
    Down = 0,
    /// It goes up.
    Up = 1,
    /// It moves.
    Move = 2,
    /// The gesture is over without an end.
    Cancel = 3,
    /// It came down in another window.
    Outside = 4,
    /// Another one comes down beside those that are.
    PointerDown = 5,
    /// One of several goes up.
    PointerUp = 6,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// The window has the focus, or has no longer.
    Focus(bool),
    /// Fingers.
    Touch {
        /// What one of them does.
        touch: Touch,
        /// Which one that is, counted among those that are down.
        index: u8,
        /// All that are down, and the one that goes up.
        pointers: Pointers,
        /// Where the window lies on the display.
        corner: (f32, f32),
        /// When the first one came down.
        down_ns: u64,
    },
    /// A wheel, or two fingers on a pad.
    Scroll {
        /// On the display.
        place: (f32, f32),
        /// Where the window lies on the display.
        corner: (f32, f32),
        /// Notches to the right.
        right: f32,
        /// Notches up.
        up: f32,
    },
    /// A key.
    Key {
        /// KeyEvent's code.
        code: i32,
        /// KeyEvent's bits of the keys that are held meanwhile.
        meta: i32,
        /// Down, not up.
        is_down: bool,
        /// When it went down.
        down_ns: u64,
    },
}

/// Fingers that one gesture may have.
pub const POINTERS_MAX: usize = 10;

/// A finger that is down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pointer {
    /// Its own number for as long as it is down.
    pub id: u8,
    /// On the display.
    pub x: f32,
    /// On the display.
    pub y: f32,
}

/// Fingers in the order in which MotionEvent counts them: by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pointers {
    all: [Pointer; POINTERS_MAX],
    count: usize,
}

impl Pointers {
    /// One finger.
    pub fn one(pointer: Pointer) -> Self {
        let mut pointers = Self::default();
        pointers.all[0] = pointer;
        pointers.count = 1;
        pointers
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Pointer] {
        &self.all[..self.count]
    }

    /// Takes one more to its place; that place, or none if there are too many.
    pub(crate) fn insert(&mut self, pointer: Pointer) -> Option<usize> {
        if self.count == POINTERS_MAX {
            return None;
        }
        let place = self.as_slice().iter().take_while(|it| it.id < pointer.id);
        let place = place.count();
        self.all.copy_within(place..self.count, place + 1);
        self.all[place] = pointer;
        self.count += 1;
        Some(place)
    }

    pub(crate) fn remove(&mut self, index: usize) {
        assert!(index < self.count, "a finger that is down");
        self.all.copy_within(index + 1..self.count, index);
        self.count -= 1;
    }

    pub(crate) fn move_to(&mut self, index: usize, (x, y): (f32, f32)) {
        let pointer = &mut self.all[index];
        (pointer.x, pointer.y) = (x, y);
    }
}

/// An input on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The window finishes it by this number.
    pub sequence: u32,
    /// When it happened.
    pub at_ns: u64,
    /// What happened.
    pub input: Input,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    waiting: VecDeque<Message>,
    /// Taken and not finished.
    taken: VecDeque<Message>,
    sequence: u32,
    dropped: u64,
}

impl Channel {
    pub(crate) fn new(id: ChannelId) -> Self {
        Self {
            id,
            waiting: VecDeque::with_capacity(MESSAGES_MAX),
            taken: VecDeque::with_capacity(MESSAGES_MAX),
            sequence: 0,
            dropped: 0,
        }
    }

    /// False, and counted, when the channel is full. Messages keep their order; in a full channel
    /// a move takes the place of the move that waits last.
    pub(crate) fn send(&mut self, input: Input, at_ns: u64) -> bool {
        if self.waiting.len() + self.taken.len() == MESSAGES_MAX {
            if let Some(last) = self.waiting.back_mut()
                && is_move(&last.input)
                && is_move(&input)
            {
                (last.input, last.at_ns) = (input, at_ns);
                return true;
            }
            self.dropped += 1;
            return false;
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.waiting.push_back(Message {
            sequence: self.sequence,
            at_ns,
            input,
        });
        true
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn take(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front()?;
        // Whoever has the focus need not finish that: AOSP's own receivers do it at once.
        if !matches!(message.input, Input::Focus(_)) {
            self.taken.push_back(message);
        }
        Some(message)
    }

    /// False for a number that is not open: a window finishes what it was sent, once.
    pub(crate) fn finish(&mut self, sequence: u32) -> bool {
        let found = self.taken.iter().position(|it| it.sequence == sequence);
        found.is_some_and(|it| self.taken.remove(it).is_some())
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.taken.is_empty()
    }

    /// When the oldest that is not finished happened.
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        let oldest = self.taken.front().or(self.waiting.front())?;
        Some(oldest.at_ns)
    }
}

fn is_move(input: &Input) -> bool {
    let touch = Touch::Move;
    matches!(input, Input::Touch { touch: it, .. } if *it == touch)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Input = Input::Key {
        code: 1,
        meta: 0,
        is_down: true,
        down_ns: 0,
    };

    #[test]
    fn each_message_is_finished_once() {
        let mut channel = Channel::new(ChannelId(1));
        assert!(channel.send(KEY, 5) && channel.send(Input::Focus(true), 6));
        assert_eq!(channel.oldest_ns(), Some(5));
        let key = channel.take().unwrap();
        assert!(!channel.finish(key.sequence + 7));
        assert!(channel.finish(key.sequence) && !channel.finish(key.sequence));
        assert!(channel.take().is_some() && channel.is_quiet());
    }

    #[test]
    fn a_channel_that_nobody_reads_is_bounded() {
        let mut channel = Channel::new(ChannelId(1));
        let sent = (0..MESSAGES_MAX + 3).filter(|_| channel.send(KEY, 0));
        assert_eq!(sent.count(), MESSAGES_MAX);
        assert_eq!(channel.dropped, 3);
    }
}
