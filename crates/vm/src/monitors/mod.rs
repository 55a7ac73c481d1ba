// SPDX-License-Identifier: Apache-2.0
//! Monitors, and threads as Java sees them: `synchronized`, `Object.wait`, parking, lending.
//!
//! Uses objects and threads. Linking, which initialises classes, and the faces use it.

pub(crate) mod java_thread;
pub(crate) mod lend;
pub(crate) mod monitor;
