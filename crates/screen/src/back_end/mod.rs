// SPDX-License-Identifier: Apache-2.0
//! What back ends share, so that each has its own devices and protocol alone.
//!
//! A back end asks a [`Stage`] for pictures and tells it what a person does. [`Seat`] makes deeds
//! of fingers, mice and keys; [`Layout`] makes keys of what a keyboard sends. [`Film`] finds out
//! which tiles of a picture have changed ([`Frame`]), and [`Pump`] does so on a thread of its own.

mod arrow;
mod film;
mod frame;
mod keys;
mod layout;
mod picture_file;
mod pump;
mod seat;
mod stage;

pub use arrow::Arrow;
pub use film::Film;
pub use frame::Frame;
pub use keys::{Key, of_keysym};
pub use layout::{KEYMAP_BYTES_MAX, Layout, LayoutFault};
pub use picture_file::{Fault, PictureFile};
pub use pump::{LOOK_NS, PICTURE_NS, Pump, thread};
pub use seat::{FINGERS_MAX, Seat};
pub use stage::{Deed, PIXELS_MAX, SIDE_MAX, SIDE_MIN, Stage, size_within};

use crate::geometry::Rect;
use crate::picture::Picture;

/// What shows a display's pictures.
pub trait BackEnd {
    /// Shows one. `damage` is what differs from the last one.
    fn show(&mut self, picture: &Picture, damage: Rect) -> Result<(), Fault>;
}
