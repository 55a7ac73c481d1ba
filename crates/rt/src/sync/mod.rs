// SPDX-License-Identifier: Apache-2.0
//! Waiting with a bound: locks and conditions that lend priority.
//!
//! docs/realtime.md says which of them inherits what, and for how long a caller may wait.

pub mod atomic;
pub mod lend;
