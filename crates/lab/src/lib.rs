// SPDX-License-Identifier: Apache-2.0
//! The lab: a command in a QEMU guest, on Debian's PREEMPT_RT or standard kernel, on a machine that
//! has neither.
//!
//! A [`Job`] says what to run; [`Lab::run`] runs it once, [`check`](Lab::check) twice with a
//! comparison, [`sweep`](Lab::sweep) once per seed. Two modes: [`Mode::HostRoot`] shows the host's
//! files through 9p and uses KVM when that works. [`Mode::Deterministic`] packs the command with
//! all it needs into an initramfs and counts instructions instead of time, so that the same job
//! gives the same bits. docs/internals/lab.md explains both. Used by `takt lab` and `takt bench`.
#![forbid(unsafe_code)]

mod accel;
mod cache;
mod closure;
mod determinism;
mod elf;
mod error;
mod guest;
mod initramfs;
mod java;
mod job;
mod kernel;
mod lab;
mod machine;
mod module;
mod out;
mod outcome;
mod share;
mod shell;
mod stream;
mod sweep;

pub use cache::Cache;
pub use determinism::{Comparison, Difference};
pub use error::LabError;
pub use java::MODULES_DEFAULT as JAVA_MODULES_DEFAULT;
pub use job::{Job, Mode, RtcSource};
pub use kernel::Flavour;
pub use lab::Lab;
pub use module::ModuleRequest;
pub use outcome::{Fingerprint, Outcome};
pub use stream::{Captured, Discard, Sink};
pub use sweep::{Sample, Sweep};
