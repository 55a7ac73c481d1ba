// SPDX-License-Identifier: Apache-2.0
//! A display in a browser: [`Server`] gives one page, and to that page pictures and input over a
//! WebSocket, as RFB ([`rfb`]).
//!
//! What is shown comes from a [`screen::back_end::Stage`]. One thread asks it for pictures and
//! finds out which tiles have changed. Each client has a thread that reads and one that writes. A
//! client is sent what has changed since its last request, so a slow one gets fewer pictures and
//! holds up nobody. All threads are ordinary ones.
//!
//! It knows no Java and no window: only pictures, and what a person does at them.
#![forbid(unsafe_code)]

mod client;
mod http;
pub mod rfb;
mod server;

pub use server::{CLIENTS_MAX, ServeError, Server};
