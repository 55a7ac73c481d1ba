// SPDX-License-Identifier: Apache-2.0
//! Where a window lies: what it wishes ([`Wish`]) and what it gets ([`Frames`]), by the rules of
//! AOSP's WindowLayout and Gravity on a display without bars, cut-outs and keyboard.

use crate::geometry::Rect;

/// WindowManager.LayoutParams.MATCH_PARENT.
const MATCH_PARENT: i32 = -1;
/// Not measured yet: WindowLayout.UNSPECIFIED_LENGTH.
const UNSPECIFIED: i32 = -1;
/// FLAG_LAYOUT_NO_LIMITS.
const NO_LIMITS: u32 = 0x200;
/// FLAG_LAYOUT_IN_SCREEN.
const IN_SCREEN: u32 = 0x100;
/// How far a window without limits may lie from the display.
const FAR: i32 = 10_000;

// Gravity's bits for one axis.
const BEFORE: u32 = 2;
const AFTER: u32 = 4;
const CLIP: u32 = 8;
const VERTICAL_SHIFT: u32 = 4;
// Gravity's bits that hold a window in the display, whole.
const DISPLAY_CLIP_VERTICAL: u32 = 0x1000_0000;
const DISPLAY_CLIP_HORIZONTAL: u32 = 0x0100_0000;

/// What a window asks for: of WindowManager.LayoutParams what places it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// A width, or MATCH_PARENT or WRAP_CONTENT.
    pub width: i32,
    /// A height, as the width.
    pub height: i32,
    /// How wide its views are; -1 if nobody knows yet.
    pub measured_width: i32,
    /// How high its views are.
    pub measured_height: i32,
    /// An offset to where gravity draws it.
    pub x: i32,
    /// An offset to where gravity draws it.
    pub y: i32,
    /// android.view.Gravity, for a reader from left to right.
    pub gravity: u32,
    /// Flags of LayoutParams.
    pub flags: u32,
    /// A part of the parent's width, added to x.
    pub margin_x: f32,
    /// A part of the parent's height, added to y.
    pub margin_y: f32,
}

/// Where a window lies, and in what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// The window.
    pub frame: Rect,
    /// What it was placed in.
    pub parent: Rect,
    /// What it must not leave.
    pub display: Rect,
}

impl Wish {
    /// Places it on a display, or for a window of a window in that one's frame.
    pub fn place(&self, display: Rect, attached: Option<Rect>) -> Frames {
        let parent = match attached {
            Some(frame) if self.flags & IN_SCREEN == 0 => frame,
            _ => display,
        };
        let has_limits = self.flags & NO_LIMITS == 0;
        let display = match has_limits {
            true => display,
            false => Rect::new(-FAR, -FAR, FAR, FAR),
        };
        let width = length(self.width, self.measured_width, parent.width());
        let height = length(self.height, self.measured_height, parent.height());
        let x = self
            .x
            .saturating_add((self.margin_x * parent.width() as f32) as i32);
        let y = self
            .y
            .saturating_add((self.margin_y * parent.height() as f32) as i32);
        let vertical = self.gravity >> VERTICAL_SHIFT;
        let (left, right) = apply(self.gravity, (parent.left, parent.right), width, x);
        let (top, bottom) = apply(vertical, (parent.top, parent.bottom), height, y);
        let mut frame = Rect::new(left, top, right, bottom);
        if has_limits {
            let clips = self.gravity & DISPLAY_CLIP_HORIZONTAL != 0;
            (frame.left, frame.right) = hold((left, right), (display.left, display.right), clips);
            let clips = self.gravity & DISPLAY_CLIP_VERTICAL != 0;
            (frame.top, frame.bottom) = hold((top, bottom), (display.top, display.bottom), clips);
        }
        Frames {
            frame,
            parent,
            display,
        }
    }
}

fn length(wished: i32, measured: i32, parent: i32) -> i32 {
    match (wished, measured) {
        (MATCH_PARENT, _) => parent,
        (0.., UNSPECIFIED) => wished,
        (_, UNSPECIFIED) => parent,
        (_, measured) => measured,
    }
}

/// Gravity.apply, for one axis.
fn apply(gravity: u32, (low, high): (i32, i32), length: i32, offset: i32) -> (i32, i32) {
    let (mut start, mut end) = match gravity & (BEFORE | AFTER) {
        BEFORE => (
            low.saturating_add(offset),
            low.saturating_add(offset).saturating_add(length),
        ),
        AFTER => (
            high.saturating_sub(offset).saturating_sub(length),
            high.saturating_sub(offset),
        ),
        0 => {
            let start = low + (high - low - length) / 2 + offset;
            (start, start + length)
        }
        _ => (low.saturating_add(offset), high.saturating_add(offset)),
    };
    let is_fill = gravity & (BEFORE | AFTER) == BEFORE | AFTER;
    if !is_fill && gravity & CLIP != 0 {
        start = start.max(low);
        end = end.min(high);
    }
    (start, end)
}

/// Gravity.applyDisplay, for one axis.
fn hold((start, end): (i32, i32), (low, high): (i32, i32), clips: bool) -> (i32, i32) {
    if clips {
        return (start.max(low), end.min(high));
    }
    let offset = match () {
        () if start < low => low - start,
        () if end > high => high - end,
        () => 0,
    };
    if offset == 0 {
        return (start, end);
    }
    if end - start > high - low {
        return (low, high);
    }
    (start + offset, end + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISPLAY: Rect = Rect::of_size(800, 480);
    const TOP_LEFT: u32 = 0x33;
    const CENTER: u32 = 0x11;

    fn wish(width: i32, height: i32, gravity: u32) -> Wish {
        Wish {
            width,
            height,
            gravity,
            measured_width: width.max(UNSPECIFIED),
            measured_height: height.max(UNSPECIFIED),
            ..Wish::default()
        }
    }

    #[test]
    fn an_activity_fills_the_display() {
        let frames = wish(MATCH_PARENT, MATCH_PARENT, 0).place(DISPLAY, None);
        assert_eq!(frames.frame, DISPLAY);
    }

    #[test]
    fn a_dialog_lies_in_the_middle() {
        let frames = wish(300, 200, CENTER).place(DISPLAY, None);
        assert_eq!(frames.frame, Rect::new(250, 140, 550, 340));
    }

    #[test]
    fn a_popup_lies_in_its_window_and_stays_on_the_display() {
        let popup = Wish {
            x: 700,
            y: 30,
            ..wish(200, 100, TOP_LEFT)
        };
        let attached = Some(Rect::new(10, 20, 410, 420));
        let frames = popup.place(DISPLAY, attached);
        assert_eq!(frames.frame, Rect::new(600, 50, 800, 150));
        let free = Wish {
            flags: NO_LIMITS,
            ..popup
        };
        let frames = free.place(DISPLAY, attached);
        assert_eq!(frames.frame, Rect::new(710, 50, 910, 150));
    }

    #[test]
    fn a_window_that_is_too_large_is_cut_to_the_display() {
        let frames = wish(900, 100, CENTER).place(DISPLAY, None);
        assert_eq!(frames.frame, Rect::new(0, 190, 800, 290));
    }
}
