// SPDX-License-Identifier: Apache-2.0
//! What goes to a window: a [`Message`] is an [`Input`], its time and its number.

/// The name of a channel; never given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// What a finger does; MotionEvent's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
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

    /// Are they the same fingers, wherever they are?
    pub(crate) fn are(&self, others: &Self) -> bool {
        let ids = |it: &Self| it.all.map(|it| it.id);
        self.count == others.count && ids(self)[..self.count] == ids(others)[..self.count]
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
