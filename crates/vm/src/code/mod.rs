// SPDX-License-Identifier: Apache-2.0
//! Compiled code as bytes: in memory, on disk, and found by address.
//!
//! Nobody compiles here and nothing of Java runs: [`crate::compile`] fills it. It uses memory,
//! sync, options and the records of classes. Threads, the compiler's side and the inspectors use
//! it.

pub(crate) mod base;
pub(crate) mod cache;
pub(crate) mod call_table;
pub(crate) mod file;
pub(crate) mod question;
pub(crate) mod space;
pub(crate) mod store;
pub(crate) mod writer;
