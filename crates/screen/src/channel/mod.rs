// SPDX-License-Identifier: Apache-2.0
//! A window's input channel, as AOSP's: messages in order, each of which the window finishes. What
//! is not finished in time tells that the application does not respond.
//!
//! The display has the [`Channel`], the window's looper the [`Reader`]. Between them is a [`ring`]
//! in shared memory, or, to be measured beside it, a socket [`pair`]. What finds no room there
//! waits here: moves of the same fingers become one, notches of a wheel are summed up, and for
//! each finger or key that is down there is room for its end. Whatever else finds no room is
//! refused, and counted.

#[cfg(not(loom))]
mod input;
#[cfg(loom)]
mod models;
#[cfg(not(loom))]
mod open;
#[cfg(not(loom))]
mod pair;
#[cfg(not(loom))]
mod reader;
#[cfg(not(loom))]
mod ring;
#[cfg(not(loom))]
mod wire;
mod words;

#[cfg(not(loom))]
pub(crate) use open::{Channel, Unsent};
#[cfg(not(loom))]
use open::{IN_FLIGHT_MAX, Sent};
#[cfg(not(loom))]
pub use {
    input::{ChannelId, Input, Message, POINTERS_MAX, Pointer, Pointers, Touch},
    open::Carrier,
    reader::{ReadFault, Reader, Taken},
};
