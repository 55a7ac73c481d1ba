// SPDX-License-Identifier: Apache-2.0
//! `takt system` without its printing: crate `server`'s state machine with a socket, a disk and
//! processes around it.
//!
//! - [`daemon`]: the loop that starts processes, hears their deaths and logs, and keeps the time.
//! - `state`: what one lock covers, and how the state machine's effects are carried out.
//! - `agent`: what an application's process says over Binder, and the steps that it fetches.
//! - `queue`: those steps, and what of them outlives the process.
//! - `door` and [`protocol`]: the socket of the commands; [`client`] is its other end.
//! - `verbs`: what the commands ask for.
//! - [`bridge`]: the same commands for Android's `adb`, on a port of this machine.
//! - `disk`, `logs`, `payloads`: packages, lines of logs, intents; `remains` and `sweeps`: what a
//!   package leaves running.
//! - [`native`]: an application without a Java machine; [`Inside`]: a server for experiments.
//! - `contents`, `senders`: the binders of providers and of PendingIntents.
//!
//! No thread that serves one process waits for another: what a process is to do lies in a queue
//! that it fetches from, and a binder is handed on in an answer.
#![forbid(unsafe_code)]

mod agent;
pub mod bridge;
pub mod client;
mod contents;
pub mod daemon;
mod disk;
mod door;
mod inside;
mod logs;
pub mod native;
mod payloads;
pub mod protocol;
mod queue;
mod remains;
mod senders;
mod state;
mod sweeps;
mod template;
mod verbs;

pub use bridge::Bridge;
pub use client::{Asked, Client, ClientError};
pub use server::processes::Limits;

pub use inside::Inside;

pub use daemon::{App, Daemon, Grants, Host, Options, Prepared, SystemError, open};
pub use template::Entry;
