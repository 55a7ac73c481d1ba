// SPDX-License-Identifier: Apache-2.0
//! A screen: which windows lie on a display, what is in them, who gets the input.
//!
//! [`Screen`] is a state machine. It asks no clock and waits for nobody: time comes in as an
//! argument, and what an application must hear comes out of [`Screen::next_event`]. Pixels lie in
//! [`Buffers`], three of them for each window, in shared memory. A [`BackEnd`] shows what
//! [`Screen::compose`] makes of all windows; [`PictureFile`] writes it as a PNG. What other back
//! ends share is in [`back_end`]: its pump alone has a thread and a clock.
//!
//! It knows no Java and no Android class: `natives` brings windows and events to both.
#![forbid(unsafe_code)]

pub mod back_end;
mod buffers;
mod channel;
mod display;
mod geometry;
mod layers;
mod picture;
mod placement;
mod screen;
mod vsync;
mod window;

pub use back_end::{BackEnd, Fault, PictureFile};
pub use buffers::{Buffers, Frame};
pub use channel::{ChannelId, Input, Message, POINTERS_MAX, Pointer, Pointers, Touch};
pub use display::Display;
pub use geometry::Rect;
pub use layers::{Change, LayerId, LayerKind, Owner};
pub use picture::Picture;
pub use placement::{Frames, Wish};
pub use screen::{Event, FingerId, Refusal, Screen};
pub use vsync::{Tick, Vsync};
pub use window::{WindowId, WindowKind};
