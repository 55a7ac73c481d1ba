// SPDX-License-Identifier: Apache-2.0
//! Objects: the heap's binding, arrays, strings, handles, and what keeps objects alive.
//!
//! Uses threads, since a thread allocates and is scanned. Everything that touches Java objects
//! uses it.

pub(crate) mod array;
pub(crate) mod handles;
pub(crate) mod heap_binding;
pub(crate) mod pending;
pub(crate) mod roots;
pub(crate) mod string;
