// SPDX-License-Identifier: Apache-2.0
//! A display in a browser: [`Server`] gives one page, and to that page pictures and input over a
//! WebSocket, as RFB ([`rfb`]).
//!
//! What is shown comes from a [`Stage`]. One thread asks it for pictures and finds out which tiles
//! have changed ([`Frame`]). Each client has a thread that reads and one that writes. A client is
//! sent what has changed since its last request, so a slow one gets fewer pictures and holds up
//! nobody. All threads are ordinary ones.
//!
//! It knows no Java and no window: only pictures, and what a person does at them.
#![forbid(unsafe_code)]

mod client;
mod frame;
mod http;
mod keys;
pub mod rfb;
mod server;

pub use frame::Frame;
pub use keys::{Key, of_keysym};
pub use server::{CLIENTS_MAX, ServeError, Server, Stage};

/// What a person has done.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// A finger, by a name that no other one of all clients has.
    Finger {
        /// Its name.
        name: u32,
        /// What it does.
        touch: screen::Touch,
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
    /// What was copied in the browser.
    Clip(String),
    /// The browser's window has another size.
    Resize(u32, u32),
    /// A quarter turn to the left.
    Rotate,
}
