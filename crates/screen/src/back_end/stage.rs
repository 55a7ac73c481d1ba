// SPDX-License-Identifier: Apache-2.0
//! [`Stage`]: what a back end shows, and who hears what is done there ([`Deed`]).

use crate::channel::Touch;
use crate::picture::Picture;

/// A side that a back end may ask for; below, no application has room.
pub const SIDE_MIN: u32 = 64;
/// The same: pictures of 4 K.
pub const SIDE_MAX: u32 = 4096;
/// Of one picture: 4 K by 2 K.
pub const PIXELS_MAX: u32 = 4096 * 2304;

/// What is shown, and who hears what is done.
pub trait Stage: Send + Sync + 'static {
    /// The picture, if its number is no longer this one; waits for that until a time, no longer.
    fn picture(&self, unlike: Option<u64>, due_ns: u64) -> Option<(u64, Picture)>;

    /// The display's size now.
    fn size(&self) -> (u32, u32);

    /// Something was done. It does not wait.
    fn take(&self, deed: Deed);

    /// What a person should read in the log.
    fn say(&self, text: &str);
}

/// What a person has done.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// A finger, by a name that no other one of all back ends has.
    Finger {
        /// Its name.
        name: u32,
        /// What it does.
        touch: Touch,
        /// On the display.
        place: (f32, f32),
    },
    /// A wheel over a place.
    Scroll {
        /// On the display.
        place: (f32, f32),
        /// Notches to the right.
        right: f32,
        /// Notches up.
        up: f32,
    },
    /// A key with a code of Android's.
    Code {
        /// KeyEvent's code.
        code: i32,
        /// KeyEvent's bits of what is held.
        meta: i32,
        /// Down, not up.
        is_down: bool,
    },
    /// A character, for the view that takes text; its key's code, if none does.
    Text(char, Option<i32>),
    /// What was copied elsewhere.
    Clip(String),
    /// What shows the display has another size.
    Resize(u32, u32),
    /// A quarter turn to the left.
    Rotate,
    /// The display's window was closed: the application ends as by Ctrl-C.
    Close,
}

/// The nearest size that a display may have.
pub fn size_within(width: u32, height: u32) -> (u32, u32) {
    let width = width.clamp(SIDE_MIN, SIDE_MAX);
    let height = height.clamp(SIDE_MIN, SIDE_MAX);
    (width, height.min(PIXELS_MAX / width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_within_its_bounds() {
        assert_eq!(size_within(800, 480), (800, 480));
        assert_eq!(size_within(0, u32::MAX), (64, 4096));
        assert_eq!(size_within(5000, 4000), (4096, 2304));
    }
}
