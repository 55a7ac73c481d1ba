// SPDX-License-Identifier: Apache-2.0
//! Compiling a method on its first call, and the answers to the compiler's questions.
//!
//! Uses link and invoke to answer, and code to keep what comes out. The entries and the start
//! use it.

pub(crate) mod again;
pub(crate) mod answers;
pub(crate) mod bodies;
pub(crate) mod intrinsics;
pub(crate) mod method;
pub(crate) mod profile;
pub(crate) mod received;
