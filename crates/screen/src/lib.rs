// SPDX-License-Identifier: Apache-2.0
//! A screen: which windows lie on a display, what is in them, who gets the input.
//!
//! [`Screen`] is a state machine. It asks no clock and waits for nobody: time comes in as an
//! argument, and whose looper must be woken comes out of [`Screen::next_told`]. Pixels lie in
//! [`Buffers`], three of them for each window, in shared memory. A [`BackEnd`] shows what
//! [`Screen::compose`] makes of all windows; [`PictureFile`] writes it as a PNG. What other back
//! ends share is in [`back_end`]: its pump alone has a thread and a clock.
//!
//! It knows no Java and no Android class: `natives` brings windows and events to both.
#![forbid(unsafe_code)]
#![cfg_attr(
    loom,
    allow(
        dead_code,
        unused_imports,
        reason = "models build a ring's counts alone"
    )
)]

#[cfg(not(loom))]
pub mod back_end;
#[cfg(not(loom))]
mod buffers;
mod channel;
#[cfg(not(loom))]
mod display;
#[cfg(not(loom))]
mod geometry;
#[cfg(not(loom))]
mod layers;
#[cfg(not(loom))]
mod picture;
#[cfg(not(loom))]
mod placement;
#[cfg(not(loom))]
mod screen;
#[cfg(not(loom))]
mod vsync;
#[cfg(not(loom))]
mod window;

#[cfg(not(loom))]
pub use {
    back_end::{BackEnd, Fault, PictureFile},
    buffers::{Buffers, Frame},
    channel::{
        Carrier, ChannelId, Input, Message, POINTERS_MAX, Pointer, Pointers, ReadFault, Reader,
        Taken, Touch,
    },
    display::Display,
    geometry::Rect,
    layers::{Change, LayerId, LayerKind, Owner},
    picture::Picture,
    placement::{Frames, Wish},
    screen::{FingerId, Refusal, Screen},
    vsync::{Tick, Vsync},
    window::{WindowId, WindowKind},
};
