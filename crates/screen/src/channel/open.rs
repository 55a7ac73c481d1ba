// SPDX-License-Identifier: Apache-2.0
//! [`Channel`]: what the display keeps of a channel: what waits for room, what is not finished.

use std::collections::VecDeque;

use rt::shared::SharedError;

use super::input::{ChannelId, Input, Message, Touch};
use super::pair::{self, PairSender};
use super::reader::{Reader, ReaderEnd};
use super::ring::{self, RingSender};
use super::words::Nonsense;

/// Messages that are open in one channel, but for the focus: seconds of touches at a display's
/// rate.
pub(crate) const MESSAGES_MAX: usize = 256;
/// Messages that are sent and not finished, the focus among them.
pub(super) const IN_FLIGHT_MAX: usize = 256;

/// What brings messages to the looper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// A ring in shared memory.
    #[default]
    Ring,
    /// A socket pair, as stock Android has it: to be measured beside the ring.
    SocketPair,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is there; who reads it may sleep, and is woken.
    There {
        /// By the sender.
        wakes: bool,
    },
    /// There is no room.
    Full,
}

/// Why a message does not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    Full,
    /// The window wrote nonsense: it gets nothing more.
    Broken,
}

#[derive(Debug)]
enum Sender {
    Ring(RingSender),
    Pair(PairSender),
}

impl Sender {
    fn try_send(&mut self, message: &Message) -> Result<Sent, Nonsense> {
        match self {
            Self::Ring(ring) => ring.try_send(message),
            Self::Pair(pair) => pair.try_send(message),
        }
    }

    fn next_finish(&mut self) -> Result<Option<u32>, Nonsense> {
        match self {
            Self::Ring(ring) => ring.next_finish(),
            Self::Pair(pair) => pair.next_finish(),
        }
    }
}

/// A message that is on its way.
#[derive(Clone, Copy, Debug)]
struct Open {
    sequence: u32,
    at_ns: u64,
    is_focus: bool,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    sender: Sender,
    /// The other end, until the window takes it.
    reader: Option<Reader>,
    /// For which there was no room.
    waiting: VecDeque<Message>,
    /// Sent and not finished.
    sent: VecDeque<Open>,
    /// Of both, those that are not the focus.
    open: usize,
    fingers: usize,
    /// Keys that went down here.
    keys: Vec<i32>,
    sequence: u32,
    refused: u64,
    is_broken: bool,
}

impl Channel {
    pub(crate) fn new(id: ChannelId, carrier: Carrier) -> Result<Self, SharedError> {
        let (sender, end) = match carrier {
            Carrier::Ring => {
                let (sender, reader) = ring::pair()?;
                (Sender::Ring(sender), ReaderEnd::Ring(reader))
            }
            Carrier::SocketPair => {
                let refused = |errno| SharedError::Refused {
                    what: "make a pair of sockets",
                    errno,
                };
                let (sender, reader) = pair::pair().map_err(refused)?;
                (Sender::Pair(sender), ReaderEnd::Pair(reader))
            }
        };
        Ok(Self {
            id,
            sender,
            reader: Some(Reader {
                id,
                end,
                malformed: 0,
            }),
            waiting: VecDeque::with_capacity(2 * MESSAGES_MAX + 1),
            sent: VecDeque::with_capacity(IN_FLIGHT_MAX),
            open: 0,
            fingers: 0,
            keys: Vec::with_capacity(MESSAGES_MAX),
            sequence: 0,
            refused: 0,
            is_broken: false,
        })
    }

    /// The window's end, once.
    pub(crate) fn take_reader(&mut self) -> Option<Reader> {
        self.reader.take()
    }

    pub(crate) fn give_back(&mut self, reader: Reader) {
        self.reader = Some(reader);
    }

    /// Messages keep their order. True if the window's looper is to be woken.
    pub(crate) fn send(&mut self, input: Input, at_ns: u64) -> Result<bool, Unsent> {
        let flushed = self.flush();
        if self.is_broken {
            return Err(Unsent::Broken);
        }
        if self.joins_last(&input, at_ns) {
            return Ok(flushed);
        }
        if !self.has_room_for(&input) {
            self.refused += 1;
            return Err(Unsent::Full);
        }
        self.count(&input);
        self.sequence = self.sequence.wrapping_add(1);
        self.waiting.push_back(Message {
            sequence: self.sequence,
            at_ns,
            input,
        });
        Ok(self.flush() | flushed)
    }

    /// Hears what is finished, and sends what waits. True if the looper is to be woken.
    pub(crate) fn flush(&mut self) -> bool {
        self.hear();
        let mut wakes = false;
        while let Some(message) = self.waiting.front()
            && !self.is_broken
            && self.sent.len() < IN_FLIGHT_MAX
        {
            match self.sender.try_send(message) {
                Ok(Sent::There { wakes: it }) => wakes |= it,
                Ok(Sent::Full) => return wakes,
                Err(Nonsense) => {
                    self.is_broken = true;
                    return wakes;
                }
            }
            self.sent.push_back(Open {
                sequence: message.sequence,
                at_ns: message.at_ns,
                is_focus: is_focus(&message.input),
            });
            self.waiting.pop_front();
        }
        if let Sender::Ring(ring) = &mut self.sender
            && self.waiting.is_empty()
        {
            ring.want_nothing();
        }
        wakes
    }

    /// What the window has finished, as many as may lie there. A number that is not open is none.
    fn hear(&mut self) {
        for _ in 0..IN_FLIGHT_MAX {
            match self.sender.next_finish() {
                _ if self.is_broken => return,
                Ok(None) => return,
                Ok(Some(sequence)) => {
                    let found = self.sent.iter().position(|it| it.sequence == sequence);
                    if let Some(done) = found.and_then(|it| self.sent.remove(it)) {
                        self.open -= usize::from(!done.is_focus);
                    }
                }
                Err(Nonsense) => self.is_broken = true,
            }
        }
    }

    /// Does the last one that waits say the same by now?
    fn joins_last(&mut self, input: &Input, now_ns: u64) -> bool {
        let Some(last) = self.waiting.back_mut() else {
            return false;
        };
        match (&mut last.input, input) {
            (Input::Focus(had), Input::Focus(has)) => {
                // Neither was heard of: the window has what it had before.
                if had != has {
                    self.waiting.pop_back();
                }
            }
            (
                Input::Touch {
                    touch: Touch::Move,
                    pointers: old,
                    ..
                },
                Input::Touch {
                    touch: Touch::Move,
                    pointers: new,
                    ..
                },
            ) if old.are(new) => (last.input, last.at_ns) = (*input, now_ns),
            (
                Input::Scroll {
                    place: old,
                    right,
                    up,
                    ..
                },
                Input::Scroll {
                    place: new,
                    right: more_right,
                    up: more_up,
                    ..
                },
            ) if old == new => {
                *right += more_right;
                *up += more_up;
            }
            _ => return false,
        }
        true
    }

    /// What is down keeps room for its end; what begins needs room for both.
    fn has_room_for(&self, input: &Input) -> bool {
        let kept = self.fingers + self.keys.len();
        let free = MESSAGES_MAX - self.open - kept;
        match input {
            Input::Focus(_) => self.waiting.len() <= 2 * MESSAGES_MAX,
            Input::Touch { touch, .. } => match touch {
                Touch::Down | Touch::PointerDown => free >= 2,
                Touch::Up | Touch::PointerUp | Touch::Cancel => self.fingers > 0 || free >= 1,
                Touch::Move | Touch::Outside => free >= 1,
            },
            Input::Key { code, is_down, .. } => match (is_down, self.keys.contains(code)) {
                (true, false) => free >= 2,
                (false, true) => true,
                _ => free >= 1,
            },
            Input::Scroll { .. } => free >= 1,
        }
    }

    fn count(&mut self, input: &Input) {
        self.open += usize::from(!is_focus(input));
        match *input {
            // Who has the focus no longer hears of no key's end.
            Input::Focus(false) => self.keys.clear(),
            Input::Focus(true) | Input::Scroll { .. } => {}
            Input::Touch { touch, .. } => match touch {
                Touch::Down | Touch::PointerDown => self.fingers += 1,
                Touch::Up | Touch::PointerUp => self.fingers = self.fingers.saturating_sub(1),
                Touch::Cancel => self.fingers = 0,
                Touch::Move | Touch::Outside => {}
            },
            Input::Key { code, is_down, .. } => {
                self.keys.retain(|it| *it != code);
                if is_down {
                    self.keys.push(code);
                }
            }
        }
    }

    pub(crate) fn is_quiet(&mut self) -> bool {
        self.hear();
        self.waiting.is_empty() && self.sent.is_empty()
    }

    /// When the oldest that is not finished happened.
    pub(crate) fn oldest_ns(&mut self) -> Option<u64> {
        self.hear();
        let sent = self.sent.front().map(|it| it.at_ns);
        sent.or_else(|| self.waiting.front().map(|it| it.at_ns))
    }
}

fn is_focus(input: &Input) -> bool {
    matches!(input, Input::Focus(_))
}

#[cfg(test)]
mod tests {
    use super::super::input::{Pointer, Pointers};
    use super::*;

    fn key(code: i32, is_down: bool) -> Input {
        Input::Key {
            code,
            meta: 0,
            is_down,
            down_ns: 0,
        }
    }

    fn touch(touch: Touch, x: f32) -> Input {
        Input::Touch {
            touch,
            index: 0,
            pointers: Pointers::one(Pointer { id: 0, x, y: 0.0 }),
            corner: (0.0, 0.0),
            down_ns: 0,
        }
    }

    fn open(carrier: Carrier) -> (Channel, Reader) {
        let mut channel = Channel::new(ChannelId(1), carrier).unwrap();
        let reader = channel.take_reader().unwrap();
        (channel, reader)
    }

    /// What comes when all is read and finished.
    fn all(channel: &mut Channel, reader: &mut Reader) -> Vec<Input> {
        let mut inputs = Vec::new();
        loop {
            channel.flush();
            let Some(taken) = reader.take().unwrap() else {
                return inputs;
            };
            reader.finish(taken.message.sequence);
            inputs.push(taken.message.input);
        }
    }

    #[test]
    fn each_message_is_finished_once() {
        for carrier in [Carrier::Ring, Carrier::SocketPair] {
            let (mut channel, mut reader) = open(carrier);
            channel.send(key(1, true), 5).unwrap();
            channel.send(Input::Focus(true), 6).unwrap();
            assert_eq!(channel.oldest_ns(), Some(5));
            let taken = reader.take().unwrap().unwrap();
            reader.finish(taken.message.sequence + 7);
            assert_eq!(channel.oldest_ns(), Some(5), "{carrier:?}");
            reader.finish(taken.message.sequence);
            assert_eq!(channel.oldest_ns(), Some(6));
            reader.finish(taken.message.sequence);
            assert!(!channel.is_quiet());
            assert!(reader.take().unwrap().is_some() && channel.is_quiet());
        }
    }

    /// An application that stands still: all its room is taken, and what ends is still heard of.
    #[test]
    fn a_full_channel_joins_moves_refuses_what_begins_and_drops_no_end() {
        for carrier in [Carrier::Ring, Carrier::SocketPair] {
            let (mut channel, mut reader) = open(carrier);
            channel.send(touch(Touch::Down, 0.0), 0).unwrap();
            channel.send(key(-1, true), 0).unwrap();
            let mut begun = 0;
            while channel.send(key(begun, true), 0).is_ok() {
                begun += 1;
            }
            assert_eq!(begun, (MESSAGES_MAX as i32 - 4) / 2, "{carrier:?}");
            assert_eq!(channel.refused, 1);
            assert_eq!(
                channel.send(touch(Touch::Move, 1.0), 0),
                Err(Unsent::Full),
                "its place comes with the end"
            );
            for code in -1..begun {
                channel.send(key(code, false), 0).unwrap();
            }
            channel.send(touch(Touch::Up, 2.0), 0).unwrap();
            assert_eq!(channel.open, MESSAGES_MAX);
            let came = all(&mut channel, &mut reader);
            assert_eq!(came.len(), MESSAGES_MAX);
            assert_eq!(came.last(), Some(&touch(Touch::Up, 2.0)));
            assert!(channel.is_quiet() && channel.keys.is_empty() && channel.fingers == 0);
        }
    }

    #[test]
    fn moves_and_notches_that_wait_become_one_and_the_focus_that_comes_and_goes_is_none() {
        let (mut channel, mut reader) = open(Carrier::Ring);
        channel.send(touch(Touch::Down, 0.0), 0).unwrap();
        for step in 0..1_000 {
            channel.send(touch(Touch::Move, step as f32), 0).unwrap();
        }
        let notch = |up| Input::Scroll {
            place: (1.0, 1.0),
            corner: (0.0, 0.0),
            right: 0.0,
            up,
        };
        for _ in 0..1_000 {
            channel.send(notch(1.0), 0).unwrap();
            channel.send(Input::Focus(false), 0).unwrap();
            channel.send(Input::Focus(true), 0).unwrap();
        }
        channel.send(touch(Touch::Up, 999.0), 0).unwrap();
        let came = all(&mut channel, &mut reader);
        assert_eq!(
            came.len(),
            64 + 3,
            "a ring, the last move, the sum, the end"
        );
        let last = [
            touch(Touch::Move, 999.0),
            notch(1_000.0),
            touch(Touch::Up, 999.0),
        ];
        assert_eq!(came[64..], last);
        assert_eq!(channel.refused, 0);
    }

    /// Each down that was taken has its up, each message that was taken comes once and in order,
    /// whatever is sent and whenever the window reads.
    #[test]
    fn random_senders_and_readers_lose_no_end() {
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut channel, mut reader) = open(Carrier::Ring);
            let (mut down, mut came) = ([false; 100], Vec::new());
            for _ in 0..2_000 {
                match random.u8(..10) {
                    0 if seed % 3 == 0 => {
                        if let Some(taken) = reader.take().unwrap() {
                            came.push(taken.message);
                            reader.finish(taken.message.sequence);
                        }
                    }
                    1..6 => {
                        let code = random.usize(..100);
                        let input = key(code as i32, !down[code]);
                        match channel.send(input, 0) {
                            Ok(_) => down[code] = !down[code],
                            Err(fault) => {
                                assert!(!down[code] && fault == Unsent::Full, "seed {seed}");
                            }
                        }
                    }
                    _ => _ = channel.send(touch(Touch::Move, random.f32()), 0),
                }
                assert!(channel.open <= MESSAGES_MAX);
            }
            for (code, _) in down.iter().enumerate().filter(|it| *it.1) {
                channel.send(key(code as i32, false), 0).unwrap();
            }
            loop {
                channel.flush();
                let Some(taken) = reader.take().unwrap() else {
                    break;
                };
                came.push(taken.message);
                reader.finish(taken.message.sequence);
            }
            assert!(came.windows(2).all(|it| it[0].sequence < it[1].sequence));
            let mut held = [false; 100];
            for message in &came {
                if let Input::Key { code, is_down, .. } = message.input {
                    assert_ne!(held[code as usize], is_down, "seed {seed}: in pairs");
                    held[code as usize] = is_down;
                }
            }
            assert!(
                held.iter().all(|it| !it) && channel.is_quiet(),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn a_window_that_writes_nonsense_gets_no_more_and_does_not_respond() {
        for (taken, finished) in [(2, 0), (0, 1_000), (u32::MAX, 0)] {
            let (mut channel, reader) = open(Carrier::Ring);
            channel.send(key(1, true), 5).unwrap();
            let Sender::Ring(ring) = &channel.sender else {
                panic!("a ring");
            };
            ring.spoil(taken, finished);
            let _ = channel.send(key(2, true), 6);
            assert_eq!(channel.send(key(3, true), 7), Err(Unsent::Broken));
            assert_eq!(channel.oldest_ns(), Some(5), "it is told of as stuck");
            drop(reader);
        }
    }
}
