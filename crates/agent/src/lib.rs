// SPDX-License-Identifier: Apache-2.0
//! What applications' processes say to the server over Binder, and the steps that they fetch: all
//! of a server but its disk, its socket and the processes that it starts.
//!
//! - [`State`]: what one lock covers, and how the state machine's effects are carried out.
//! - [`Agent`]: the interface `takt.system.ISystem`, for the one that keeps a state ([`Keeper`]).
//! - [`Hosted`]: a server inside the one process that it is for.
//! - [`native`]: an application's process without a Java machine.
//! - `queue`: the steps of a process, and what of them outlives it.
//! - [`payloads`]: intents, as their senders have them.
//! - [`Alarms`]: which PendingIntent is sent when, by the one that has a clock ([`Times`]).
//! - [`Frequencies`]: at which level the processors are held.
//! - `contents`, [`senders`]: the binders of providers and of PendingIntents.
//! - [`place`]: where packages lie.
//!
//! No thread that serves one process waits for another: what a process is to do lies in a queue
//! that it fetches from, and a binder is handed on in an answer.
#![forbid(unsafe_code)]

mod alarms;
mod calls;
mod contents;
pub mod frequency;
mod hosted;
pub mod native;
pub mod payloads;
pub mod place;
mod queue;
pub mod senders;
mod state;

pub use alarms::{Alarms, Times};
pub use calls::{Agent, ISystemStub, Keeper, Whole, Wish};
pub use contents::Contents;
pub use frequency::Frequencies;
pub use hosted::{HostError, Hosted, JobsWait};
pub use state::{NotSent, Running, Start, State, Totals};
