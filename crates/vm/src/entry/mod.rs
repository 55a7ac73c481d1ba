// SPDX-License-Identifier: Apache-2.0
//! Where compiled code and the machine call each other: trampolines, slow paths, barriers.
//!
//! Uses everything below, since compiled code may ask for anything. Only what starts the machine
//! uses it.

pub(crate) mod alloc;
pub(crate) mod barrier;
pub(crate) mod functions;
pub(crate) mod trampolines;
