// SPDX-License-Identifier: Apache-2.0
//! Waiting: locks that lend priority, the lock word of an object, one thread's parking place, lists
//! of waiters.
//!
//! Uses the crates below and the console. Every room may use it.

pub(crate) mod lock;
pub(crate) mod lock_word;
pub(crate) mod park;
pub(crate) mod waiters;
