// SPDX-License-Identifier: Apache-2.0
//! What is global to several applications, as a pure state machine: events in, effects out.
//!
//! - [`Packages`]: what is installed, who may what, and which component takes an intent.
//! - [`Processes`]: started, attached, late, dead, and how soon again.
//! - [`Activities`]: tasks and back stacks, by launch modes and flags.
//! - [`Services`]: started, bound, in front, started again.
//! - [`Providers`]: who holds what an authority names.
//! - [`Alarms`]: what is to be done at which time.
//! - [`Jobs`]: what is done once its time has come and its conditions hold.
//! - [`Broadcasts`]: who gets one, whose turn it is, and what stays.
//! - [`Frequency`]: at which level the processors are held, and for whom.
//! - [`Grants`]: single addresses that others may reach.
//! - [`Memory`]: who is needed how much, and who ends when memory runs short.
//! - [`Notices`]: notifications, and how long each stays.
//! - [`PendingIntents`]: intents that others send in a package's name.
//! - [`Server`]: all of them, so that no record outlives its package or process.
//! - [`store`]: what is kept over a kill −9, on a disk that somebody gives.
//!
//! Here is no Java, no clock, no file and no thread. Each table has a bound, named beside it.
#![forbid(unsafe_code)]

pub mod activities;
pub mod alarms;
pub mod broadcasts;
mod effect;
pub mod frequency;
pub mod grants;
mod id;
pub mod jobs;
pub mod memory;
pub mod notices;
pub mod packages;
pub mod pending;
pub mod processes;
pub mod providers;
pub mod server;
pub mod services;
pub mod store;

pub use activities::Activities;
pub use alarms::Alarms;
pub use broadcasts::Broadcasts;
pub use effect::{Cx, Effect, EndReason};
pub use frequency::Frequency;
pub use grants::Grants;
pub use id::{
    ActivityId, BroadcastId, ConnectionId, Payload, PendingId, ProcessId, ProcessKey, RunId,
    ServiceId, TaskId,
};
pub use jobs::Jobs;
pub use memory::Memory;
pub use notices::Notices;
pub use packages::Packages;
pub use pending::PendingIntents;
pub use processes::{Death, Process, ProcessState, Processes, Question};
pub use providers::Providers;
pub use server::Server;
pub use services::Services;
