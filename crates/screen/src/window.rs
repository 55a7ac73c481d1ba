// SPDX-License-Identifier: Apache-2.0
//! One window: [`WindowKind`] says where in the pile it belongs, its flags who gets touches.

use crate::buffers::Buffers;
use crate::channel::Channel;
use crate::geometry::Rect;
use crate::placement::Frames;

/// FLAG_DIM_BEHIND.
const DIM_BEHIND: u32 = 0x2;
/// FLAG_NOT_FOCUSABLE.
const NOT_FOCUSABLE: u32 = 0x8;
/// FLAG_NOT_TOUCHABLE.
const NOT_TOUCHABLE: u32 = 0x10;
/// FLAG_NOT_TOUCH_MODAL.
const NOT_TOUCH_MODAL: u32 = 0x20;
/// FLAG_WATCH_OUTSIDE_TOUCH.
const WATCH_OUTSIDE: u32 = 0x4_0000;

/// The name of a window, for as long as it lives; never given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowId(pub u32);

/// Where a window belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowKind {
    /// An activity's or a dialog's.
    Application,
    /// A window's own, above it: a menu, a list.
    Panel(WindowId),
    /// A window's own, below it: a surface that shows through.
    Media(WindowId),
    /// Above all applications: a toast.
    System,
}

#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) id: WindowId,
    pub(crate) kind: WindowKind,
    pub(crate) channel: Option<Channel>,
    pub(crate) frames: Frames,
    /// How far the surface reaches beyond the frame: for shadows.
    pub(crate) insets: Rect,
    pub(crate) flags: u32,
    pub(crate) alpha: f32,
    pub(crate) dim: f32,
    pub(crate) is_visible: bool,
    /// Nothing shines through it, whatever its pixels say.
    pub(crate) is_opaque: bool,
    pub(crate) buffers: Option<Buffers>,
}

impl Window {
    pub(crate) fn surface(&self) -> Rect {
        self.frames.frame.grown(self.insets)
    }

    pub(crate) fn can_have_focus(&self) -> bool {
        self.is_visible && self.channel.is_some() && self.flags & NOT_FOCUSABLE == 0
    }

    /// Does a touch at a place of the display belong to it?
    pub(crate) fn is_touched(&self, x: f32, y: f32) -> bool {
        if !self.is_visible || self.channel.is_none() || self.flags & NOT_TOUCHABLE != 0 {
            return false;
        }
        let is_modal = self.flags & (NOT_FOCUSABLE | NOT_TOUCH_MODAL) == 0;
        is_modal || self.frames.frame.contains(x, y)
    }

    /// Does it hear of touches that go elsewhere?
    pub(crate) fn watches(&self) -> bool {
        self.is_visible && self.channel.is_some() && self.flags & WATCH_OUTSIDE != 0
    }

    /// How much of what lies below it is dark.
    pub(crate) fn darkness(&self) -> f32 {
        match self.flags & DIM_BEHIND {
            0 => 0.0,
            _ => self.dim.clamp(0.0, 1.0),
        }
    }

    pub(crate) fn has_frame(&self) -> bool {
        self.buffers.as_ref().is_some_and(|it| it.frames() > 0)
    }
}
