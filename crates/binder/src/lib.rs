// SPDX-License-Identifier: Apache-2.0
//! Calls between processes that wait for nobody less urgent.
//!
//! A [`Process`] has nodes, each a [`Service`]; a [`Binder`] is a reference to one, here or in
//! another process. Two processes are joined by a link: [`Process::join`] makes one inside a
//! program (transport `direct`: a call is a function call), [`Process::connect`] one between two
//! programs (transport `lent`: the caller lends its priority to the thread that serves it).
//! [`Process::attach`] joins all that use a kernel's `/dev/binder` (transport `driver`).
//! docs/internals/binder.md has the protocol and the bounds. Nothing here knows Java.
#![forbid(unsafe_code)]
#![cfg_attr(
    loom,
    allow(dead_code, unused_imports, reason = "models build the words alone")
)]

#[cfg(not(loom))]
mod binder;
#[cfg(not(loom))]
mod direct;
#[cfg(not(loom))]
mod driver;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod exports;
#[cfg(not(loom))]
mod introduce;
mod lent;
#[cfg(not(loom))]
mod limits;
#[cfg(not(loom))]
mod link;
#[cfg(not(loom))]
mod node;
#[cfg(not(loom))]
mod oneway;
mod out;
#[cfg(not(loom))]
mod process;
#[cfg(not(loom))]
mod proxy;
#[cfg(not(loom))]
mod serving;
#[cfg(not(loom))]
pub mod stub;

#[cfg(not(loom))]
pub use {
    binder::{Binder, WeakBinder},
    driver::{AttachError, Device, DeviceOptions},
    error::CallError,
    lent::{ConnectError, Connection, Side},
    node::{Call, Node, Service, codes},
    process::{Counters, End, Options, Process, SPIN_NS_MAX, StartError},
    proxy::{Proxy, Token},
    serving::{Caller, Cleared, clear_caller},
};

/// What calls carry.
#[cfg(not(loom))]
pub type Parcel = parcel::Parcel<Binder>;
