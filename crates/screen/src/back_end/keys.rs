// SPDX-License-Identifier: Apache-2.0
//! X11's numbers of keys as Android's: [`of_keysym`].

/// What a key is for an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character; its code, if a key of Android's has one.
    Text(char, Option<i32>),
    /// A key without a character, by KeyEvent's code.
    Code(i32),
    /// A key that is held meanwhile: its code, and KeyEvent's bits for it.
    Held(i32, i32),
}

/// META_SHIFT_ON and META_SHIFT_LEFT_ON.
const SHIFT: i32 = 0x41;
/// META_ALT_ON and META_ALT_LEFT_ON.
const ALT: i32 = 0x12;
/// META_CTRL_ON and META_CTRL_LEFT_ON.
const CTRL: i32 = 0x3000;
/// META_META_ON and META_META_LEFT_ON.
const META: i32 = 0x3_0000;
const SHIFT_RIGHT: i32 = 0x81;
/// What makes another character, and no command.
pub(crate) const SHIFTS: i32 = SHIFT | SHIFT_RIGHT;
const ALT_RIGHT: i32 = 0x22;
const CTRL_RIGHT: i32 = 0x5000;
const META_RIGHT: i32 = 0x5_0000;

/// Keys without a character: X11's number, KeyEvent's code.
const CODES: [(u32, i32); 38] = [
    (0xff08, 67),
    (0xff09, 61),
    (0xff0d, 66),
    (0xff13, 121),
    (0xff14, 116),
    (0xff1b, 111),
    (0xff50, 122),
    (0xff51, 21),
    (0xff52, 19),
    (0xff53, 22),
    (0xff54, 20),
    (0xff55, 92),
    (0xff56, 93),
    (0xff57, 123),
    (0xff61, 120),
    (0xff63, 124),
    (0xff67, 82),
    (0xff7f, 143),
    (0xff8d, 160),
    (0xffbe, 131),
    (0xffbf, 132),
    (0xffc0, 133),
    (0xffc1, 134),
    (0xffc2, 135),
    (0xffc3, 136),
    (0xffc4, 137),
    (0xffc5, 138),
    (0xffc6, 139),
    (0xffc7, 140),
    (0xffc8, 141),
    (0xffc9, 142),
    (0xffe5, 115),
    (0xffff, 112),
    (0x1008_ff11, 25),
    (0x1008_ff12, 164),
    (0x1008_ff13, 24),
    // XF86Back: Android's own key.
    (0x1008_ff26, 4),
    (0x1008_ff18, 3),
];

/// Keys that are held: X11's number, KeyEvent's code and bits.
const HELD: [(u32, i32, i32); 10] = [
    (0xffe1, 59, SHIFT),
    (0xffe2, 60, SHIFT_RIGHT),
    (0xffe3, 113, CTRL),
    (0xffe4, 114, CTRL_RIGHT),
    (0xffe7, 117, META),
    (0xffe8, 118, META_RIGHT),
    (0xffe9, 57, ALT),
    (0xffea, 58, ALT_RIGHT),
    (0xffeb, 117, META),
    (0xffec, 118, META_RIGHT),
];

/// Marks of a key of Android's without shift.
const MARKS: [(char, i32); 14] = [
    (' ', 62),
    (',', 55),
    ('.', 56),
    ('`', 68),
    ('-', 69),
    ('=', 70),
    ('[', 71),
    (']', 72),
    ('\\', 73),
    (';', 74),
    ('\'', 75),
    ('/', 76),
    ('@', 77),
    ('+', 81),
];

/// What an X11 keysym is; none for one that has no meaning here.
pub fn of_keysym(keysym: u32) -> Option<Key> {
    if let Some((_, code)) = CODES.iter().find(|it| it.0 == keysym) {
        return Some(Key::Code(*code));
    }
    if let Some((_, code, bits)) = HELD.iter().find(|it| it.0 == keysym) {
        return Some(Key::Held(*code, *bits));
    }
    let character = match keysym {
        0x20..=0x7e | 0xa0..=0xff => char::from_u32(keysym)?,
        // Keys of the number pad: their characters.
        0xffaa..=0xffb9 => char::from_u32(keysym - 0xff80)?,
        0x0100_0100..=0x0110_ffff => char::from_u32(keysym - 0x0100_0000)?,
        _ => return None,
    };
    Some(Key::Text(character, code_of(character)))
}

fn code_of(character: char) -> Option<i32> {
    let after = |first: u8, code: i32| Some(code + (character as i32 - i32::from(first)));
    match character.to_ascii_lowercase() {
        '0'..='9' => after(b'0', 7),
        lower @ 'a'..='z' => Some(29 + (lower as i32 - i32::from(b'a'))),
        mark => MARKS.iter().find(|it| it.0 == mark).map(|it| it.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_characters_codes_or_held() {
        let check = |keysym, key| assert_eq!(of_keysym(keysym), key, "{keysym:#x}");
        check(0x61, Some(Key::Text('a', Some(29))));
        check(0x5a, Some(Key::Text('Z', Some(54))));
        check(0x39, Some(Key::Text('9', Some(16))));
        check(0xe4, Some(Key::Text('ä', None)));
        check(0x0100_20ac, Some(Key::Text('€', None)));
        check(0xffb5, Some(Key::Text('5', Some(12))));
        check(0xff0d, Some(Key::Code(66)));
        check(0xffe3, Some(Key::Held(113, 0x3000)));
        check(0x0100_d800, None);
        check(0, None);
        check(u32::MAX, None);
    }
}
