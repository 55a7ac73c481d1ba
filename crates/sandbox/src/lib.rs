// SPDX-License-Identifier: Apache-2.0
//! Confines a process before it runs an application.
//!
//! A [`Spec`] says what the application may do. [`Confinement::prepare`] makes of it what the
//! kernel takes, tries that in a child that runs nothing, and says in a [`Report`] what holds and
//! what this kernel or user does not offer. [`Confinement::confine`] has a command start confined;
//! [`Confinement::enter`] confines the calling process.
//!
//! There is never a PID namespace: threads lend their priority by number, and lending is what
//! bounds a call's time (docs/internals/binder.md). Nothing here knows Java, packages or Android's
//! permissions.

mod calls;
mod confinement;
mod disk;
mod files;
mod grants;
mod group;
mod plan;
mod report;
mod spec;
mod step;
mod sys;
mod wire;

pub use confinement::{Confinement, Error, Strictness};
pub use disk::{Disk, has_quotas};
pub use files::landlock_level;
pub use grants::Grants;
pub use group::{Group, GroupError};
pub use plan::may_raise;
pub use report::{Bound, Report, State};
pub use spec::{
    Access, Grant, Identity, Limits, LocalSockets, Network, OtherProcesses, RealTime, Spec,
};
pub use wire::{Entry, Packed, enter};
