// SPDX-License-Identifier: Apache-2.0
//! Streams of sound whose bursts have a deadline: [`Stream`] plays or records on a [`Device`].
//!
//! [`state`] says which request a state takes, as AAudio has it. [`device`] holds the back ends: a
//! card by ALSA, a WAV file, nothing at all. [`predict`] says how much processor time a burst will
//! want. Here is no Java and no Binder; `aaudio` is Android's C interface to this.
//!
//! What the thread of a callback does between two waits takes no memory and no lock but one that
//! inherits, and its loops end after a buffer's bursts at most.
#![forbid(unsafe_code)]

pub mod device;
pub mod format;
pub mod governor;
pub mod predict;
mod published;
pub mod state;
pub mod steered;
pub mod stream;

pub use device::{Backend, Device, DeviceError, Direction, Feature, Granted, Wanted};
pub use format::Format;
pub use governor::Governor;
pub use published::Timestamp;
pub use state::{Refusal, Request, State};
pub use stream::{
    Call, Callback, Flow, Grant, Model, OnDisconnect, Overruns, Playback, Stream, StreamError,
};
