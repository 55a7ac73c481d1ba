// SPDX-License-Identifier: Apache-2.0
//! Java threads: their records, entering Java code, and their stacks.
//!
//! Uses code, classes and memory. It knows no object's contents and links no class. What runs
//! Java or looks at threads uses it.

pub(crate) mod enter;
pub(crate) mod held;
pub(crate) mod ledger;
pub(crate) mod lending;
pub(crate) mod locals;
pub(crate) mod lock_wait;
pub(crate) mod noted_locks;
pub(crate) mod real_time;
pub(crate) mod saved;
pub(crate) mod thread;
pub(crate) mod totals;
pub(crate) mod unwind;
pub(crate) mod waiting;
