// SPDX-License-Identifier: Apache-2.0
//! `takt system` without its printing: crate `server`'s state machine with a socket, a disk and
//! processes around it. What applications' processes say is crate `agent`'s.
//!
//! - [`daemon`]: the loop that starts processes, hears their deaths and logs, and keeps the time.
//! - `world`: what one lock covers.
//! - `door` and [`protocol`]: the socket of the commands; [`client`] is its other end.
//! - `verbs`: what the commands ask for.
//! - [`bridge`]: the same commands for Android's `adb`, on a port of this machine.
//! - `disk`, `logs`: packages, and lines of logs; `remains` and `sweeps`: what a package leaves
//!   running.
//! - [`tasks`]: real-time tasks of manifests, and whether they fit.
//! - `memory`: who ends when it runs short; [`pressure`]: the kernel says that it does.
//! - `jobs`: what the machine has that jobs wait for.
//! - [`Inside`]: a server for experiments.
#![forbid(unsafe_code)]

mod alarms;
pub mod bridge;
pub mod client;
pub mod daemon;
mod disk;
mod door;
mod inside;
mod jobs;
mod logs;
mod memory;
pub mod pressure;
pub mod protocol;
mod remains;
mod saver;
mod sweeps;
pub mod tasks;
mod template;
mod verbs;
mod world;

pub use agent::native;
pub use bridge::Bridge;
pub use client::{Asked, Client, ClientError};
pub use inside::Inside;
pub use server::processes::Limits;

pub use daemon::{App, Daemon, Grants, Host, Options, Prepared, SystemError, open};
pub use memory::left as memory_left;
pub use template::Entry;
