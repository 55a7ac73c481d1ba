// SPDX-License-Identifier: Apache-2.0
//! The device's side of Android's debug bridge, as `adb` of Debian and of the SDK speaks it.
//!
//! [`Decoder`] takes bytes and gives [`Message`]s. [`Session`] takes messages, keeps the streams of
//! one connection, and says what is asked for as [`Event`]s; what it answers is fetched from it.
//! [`Key`] checks whether the client has the private half of a key that is known here. [`shell`]
//! and [`sync`] are what runs inside of streams. Nothing here opens a socket or a file, or draws a
//! number, and whatever a client sends, what is kept of it has a bound.
#![forbid(unsafe_code)]

mod key;
mod message;
mod service;
mod session;
pub mod shell;
pub mod sync;

pub use key::{KEYS_MAX, Key, KeyFault, TOKEN_BYTES, Token};
pub use message::{Command, Decoder, Fault, HEADER_BYTES, Message, PAYLOAD_MAX, STRANGER_MAX};
pub use service::Service;
pub use session::{
    Event, NAME_MAX, OUT_MAX, STRANGER_BYTES_MAX, STREAMS_MAX, Session, StreamId, TOKENS_MAX,
};
