// SPDX-License-Identifier: Apache-2.0
//! [`Seat`]: one person's fingers, mouse and keys, and what they mean for a [`Stage`].

use std::sync::Arc;

use super::keys::{self, Key};
use super::stage::{Deed, Stage};
use crate::channel::Touch;

/// Fingers of one seat.
pub const FINGERS_MAX: usize = 10;
/// Keys that are down: two hands have fewer.
const KEYS_MAX: usize = 16;
/// The finger that a mouse is, beside those that a back end names by a byte.
const MOUSE: u8 = 0xff;
/// KeyEvent.KEYCODE_BACK.
const BACK: i32 = 4;

/// Who sits before a display. When it goes, what is down is down no longer.
pub struct Seat {
    stage: Arc<dyn Stage>,
    /// The upper bits of its fingers' names.
    name: u32,
    /// Buttons that are down.
    buttons: u8,
    /// Bits of the keys that are held.
    meta: i32,
    /// Codes of keys that are down.
    codes: Vec<i32>,
    /// Fingers that are down, by the names that go on, and where they are.
    fingers: Vec<(u32, (f32, f32))>,
}

impl Seat {
    /// The left button of a mouse.
    pub const LEFT: u8 = 1;
    /// The right one.
    pub const RIGHT: u8 = 4;

    /// One of this number, which no other one has.
    pub fn new(stage: Arc<dyn Stage>, number: u32) -> Self {
        Self {
            stage,
            name: number << 8,
            buttons: 0,
            meta: 0,
            codes: Vec::with_capacity(KEYS_MAX),
            fingers: Vec::with_capacity(FINGERS_MAX),
        }
    }

    /// A mouse is there, and these of its buttons are down: the left one is a finger, the right
    /// one goes back.
    pub fn mouse(&mut self, buttons: u8, place: (f32, f32)) {
        let (pressed, released) = (buttons & !self.buttons, self.buttons & !buttons);
        self.buttons = buttons;
        if pressed & Self::LEFT != 0 {
            self.touch(MOUSE, Touch::Down, place);
        } else if released & Self::LEFT != 0 {
            self.touch(MOUSE, Touch::Up, place);
        } else if buttons & Self::LEFT != 0 {
            self.touch(MOUSE, Touch::Move, place);
        }
        if (pressed | released) & Self::RIGHT != 0 {
            self.code(BACK, pressed & Self::RIGHT != 0);
        }
    }

    /// A finger that the back end names; the last name is the mouse's own.
    pub fn finger(&mut self, finger: u8, touch: Touch, place: (f32, f32)) {
        if finger != MOUSE {
            self.touch(finger, touch, place);
        }
    }

    /// A finger goes up where it was last.
    pub fn lift(&mut self, finger: u8) {
        let name = self.name | u32::from(finger);
        let known = self.fingers.iter().find(|it| it.0 == name);
        if let Some((_, place)) = known.copied() {
            self.finger(finger, Touch::Up, place);
        }
    }

    fn touch(&mut self, finger: u8, touch: Touch, place: (f32, f32)) {
        let name = self.name | u32::from(finger);
        let known = self.fingers.iter().position(|it| it.0 == name);
        match (touch, known) {
            (Touch::Down, None) if self.fingers.len() < FINGERS_MAX => {
                self.fingers.push((name, place));
            }
            (Touch::Up, Some(index)) => drop(self.fingers.swap_remove(index)),
            // A gesture ends as a whole.
            (Touch::Cancel, Some(_)) => self.fingers.clear(),
            (_, Some(index)) => self.fingers[index].1 = place,
            (_, None) => return,
        }
        self.stage.take(Deed::Finger { name, touch, place });
    }

    /// A wheel turns so many notches to the right and up.
    pub fn wheel(&self, place: (f32, f32), (right, up): (f32, f32)) {
        self.stage.take(Deed::Scroll { place, right, up });
    }

    /// A key by X11's number goes down or up. A character is text, unless a key is held that makes
    /// it a command.
    pub fn key(&mut self, keysym: u32, is_down: bool) {
        let (character, code) = match keys::of_keysym(keysym) {
            None => return,
            Some(Key::Held(code, bits)) => {
                self.meta = match is_down {
                    true => self.meta | bits,
                    false => self.meta & !bits,
                };
                (None, Some(code))
            }
            Some(Key::Code(code)) => (None, Some(code)),
            Some(Key::Text(character, code)) => (Some(character), code),
        };
        let is_text = self.meta & !keys::SHIFTS == 0;
        match (character.filter(|_| is_text && is_down), code) {
            (Some(character), code) => self.stage.take(Deed::Text(character, code)),
            // It went down as text.
            (None, Some(code))
                if character.is_some() && !self.codes.contains(&code) && !is_down => {}
            (None, Some(code)) => self.code(code, is_down),
            (None, None) => {}
        }
    }

    fn code(&mut self, code: i32, is_down: bool) {
        self.codes.retain(|it| *it != code);
        if is_down && self.codes.len() < KEYS_MAX {
            self.codes.push(code);
        }
        let meta = self.meta;
        self.stage.take(Deed::Code {
            code,
            meta,
            is_down,
        });
    }

    /// The keyboard is somebody else's now: no key is down any longer.
    pub fn let_keys_go(&mut self) {
        self.meta = 0;
        for code in std::mem::take(&mut self.codes) {
            self.code(code, false);
        }
    }

    /// The gesture is over, whatever was down.
    pub fn let_fingers_go(&mut self) {
        self.buttons = 0;
        let fingers = std::mem::take(&mut self.fingers);
        if let Some((name, place)) = fingers.first().copied() {
            let touch = Touch::Cancel;
            self.stage.take(Deed::Finger { name, touch, place });
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.let_fingers_go();
        self.let_keys_go();
    }
}

#[cfg(test)]
mod tests {
    use rt::sync::PiMutex;

    use super::*;
    use crate::picture::Picture;

    /// Writes down what it hears.
    #[derive(Default)]
    struct Heard(PiMutex<Vec<Deed>>);

    impl Stage for Heard {
        fn picture(&self, _: Option<u64>, _: u64) -> Option<(u64, Picture)> {
            None
        }

        fn size(&self) -> (u32, u32) {
            (800, 480)
        }

        fn take(&self, deed: Deed) {
            self.0.lock().push(deed);
        }

        fn say(&self, _: &str) {}
    }

    fn seat() -> (Arc<Heard>, Seat) {
        let heard = Arc::new(Heard::default());
        let seat = Seat::new(Arc::clone(&heard) as Arc<dyn Stage>, 1);
        (heard, seat)
    }

    fn finger(name: u32, touch: Touch, place: (f32, f32)) -> Deed {
        Deed::Finger { name, touch, place }
    }

    fn code(code: i32, meta: i32, is_down: bool) -> Deed {
        Deed::Code {
            code,
            meta,
            is_down,
        }
    }

    #[test]
    fn a_mouse_is_a_finger_and_goes_back() {
        let (heard, mut seat) = seat();
        for (buttons, x) in [(0, 1.0), (1, 2.0), (1, 3.0), (0, 4.0), (4, 5.0), (0, 6.0)] {
            seat.mouse(buttons, (x, 0.0));
        }
        let expected = [
            finger(0x1ff, Touch::Down, (2.0, 0.0)),
            finger(0x1ff, Touch::Move, (3.0, 0.0)),
            finger(0x1ff, Touch::Up, (4.0, 0.0)),
            code(BACK, 0, true),
            code(BACK, 0, false),
        ];
        assert_eq!(*heard.0.lock(), expected);
    }

    #[test]
    fn what_is_down_is_let_go() {
        let (heard, mut seat) = seat();
        seat.finger(0, Touch::Down, (1.0, 1.0));
        seat.finger(7, Touch::Down, (2.0, 2.0));
        seat.finger(7, Touch::Move, (3.0, 2.0));
        seat.lift(7);
        seat.lift(7);
        seat.key(0xff53, true);
        drop(seat);
        let expected = [
            finger(0x100, Touch::Down, (1.0, 1.0)),
            finger(0x107, Touch::Down, (2.0, 2.0)),
            finger(0x107, Touch::Move, (3.0, 2.0)),
            finger(0x107, Touch::Up, (3.0, 2.0)),
            code(22, 0, true),
            finger(0x100, Touch::Cancel, (1.0, 1.0)),
            code(22, 0, false),
        ];
        assert_eq!(*heard.0.lock(), expected);
    }

    #[test]
    fn fingers_are_bounded() {
        let (heard, mut seat) = seat();
        for finger in 0..=u8::MAX {
            seat.finger(finger, Touch::Down, (0.0, 0.0));
        }
        assert_eq!(heard.0.lock().len(), FINGERS_MAX);
    }

    #[test]
    fn a_character_is_text_unless_a_key_makes_it_a_command() {
        let (heard, mut seat) = seat();
        let (a, ctrl, shift) = (0x61, 0xffe3, 0xffe1);
        let down = [(a, true), (a, false), (shift, true), (0x41, true)];
        // The command's key goes up after the one that made it a command.
        let command = [(shift, false), (ctrl, true), (a, true), (ctrl, false)];
        for (keysym, is_down) in [&down[..], &command, &[(a, false), (a, true)]].concat() {
            seat.key(keysym, is_down);
        }
        let expected = [
            Deed::Text('a', Some(29)),
            code(59, 0x41, true),
            Deed::Text('A', Some(29)),
            code(59, 0, false),
            code(113, 0x3000, true),
            code(29, 0x3000, true),
            code(113, 0, false),
            code(29, 0, false),
            Deed::Text('a', Some(29)),
        ];
        assert_eq!(*heard.0.lock(), expected);
    }
}
