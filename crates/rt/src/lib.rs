// SPDX-License-Identifier: Apache-2.0
//! Linux's real-time faces as safe types, and the only home of system-level unsafe code.
//!
//! Time comes from [`clock`], who runs when from [`policy`] and [`thread`], what never faults from
//! [`memory`], releases from [`periodic`], figures from [`recorder`], a frequency that stays from
//! [`frequency`]. Nothing here knows Java, Binder or Android.

pub mod affinity;
pub mod bell;
pub mod clock;
#[cfg(not(loom))]
pub mod driver;
#[cfg(not(loom))]
pub mod frequency;
pub mod guard;
pub mod lines;
pub mod memory;
pub mod peer;
pub mod periodic;
pub mod policy;
pub mod process;
pub mod recorder;
pub mod rights;
pub mod section;
#[cfg(not(loom))]
pub mod shared;
pub mod socket;
pub mod stop;
pub mod sync;
pub mod sys;
pub mod thread;
