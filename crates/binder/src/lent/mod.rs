// SPDX-License-Identifier: Apache-2.0
//! Transport `lent`: between two programs, without a driver. The caller writes its request into
//! memory that both map, lends its priority to a looper of the other process, and waits.
//!
//! `layout` says what lies where, `words` who moves what; `connect` makes a link, `call` is the
//! caller's half, `looper` the server's, `message` what both read and write; `door` hears the
//! socket beside the memory: references, descriptors, calls without an answer, deaths. `chain` and
//! `seat` bring calls home to the thread that waits for them.

#[cfg(not(loom))]
mod call;
#[cfg(not(loom))]
mod chain;
#[cfg(not(loom))]
mod connect;
#[cfg(not(loom))]
mod door;
#[cfg(not(loom))]
mod face;
#[cfg(all(test, not(loom)))]
mod hostile;
#[cfg(not(loom))]
mod inbox;
#[cfg(all(test, not(loom)))]
mod killed;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod lending;
#[cfg(not(loom))]
mod lents;
#[cfg(not(loom))]
pub(crate) mod looper;
#[cfg(not(loom))]
mod meeting;
#[cfg(not(loom))]
mod message;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod news;
mod seat;
#[cfg(not(loom))]
mod slots;
#[cfg(not(loom))]
mod steps;
mod words;

#[cfg(not(loom))]
pub use connect::{ConnectError, Connection, Side};
#[cfg(not(loom))]
pub(crate) use {
    call::Conversation,
    chain::Chain,
    door::{Door, watch},
    face::Face,
    layout::LOOPERS_MAX,
    lents::Lents,
};
