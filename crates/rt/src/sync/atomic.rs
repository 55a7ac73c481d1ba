// SPDX-License-Identifier: Apache-2.0
//! Atomics as the machine has them, or as loom models them (`--cfg loom`): the only switch between the two.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
