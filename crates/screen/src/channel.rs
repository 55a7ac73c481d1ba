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
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// The window has the focus, or has no longer.
    Focus(bool),
    /// A finger.
    Touch {
        /// What it does.
        touch: Touch,
        /// On the display.
        x: f32,
        /// On the display.
        y: f32,
        /// In the window.
        window_x: f32,
        /// In the window.
        window_y: f32,
        /// When it came down.
        down_ns: u64,
    },
    /// A key.
    Key {
        /// KeyEvent's code.
        code: i32,
        /// Down, not up.
        is_down: bool,
        /// When it went down.
        down_ns: u64,
    },
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

    /// False, and counted, when the channel is full.
    pub(crate) fn send(&mut self, input: Input, at_ns: u64) -> bool {
        if self.waiting.len() + self.taken.len() == MESSAGES_MAX {
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

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Input = Input::Key {
        code: 1,
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
