// SPDX-License-Identifier: Apache-2.0
//! Facts that compiled code and the runtime share, stated once.
//!
//! The compiler turns them into machine code, the heap and the virtual machine into Rust; the
//! asserts beside them fail the build when the two would drift apart. Types and arithmetic only: no
//! memory is touched here.
//!
//! - [`object`]: the header of 12 bytes, references of 32 bits, where an array's elements begin;
//! - [`layout`]: the type descriptor that a class word points to;
//! - [`barrier`]: the log word and when a store may skip recording;
//! - [`alloc`]: size classes and the bump ranges of a mutator;
//! - [`poll`]: the byte that asks for a handshake;
//! - [`context`]: what the pinned register points to;
//! - [`address_map`]: null guard, class metadata, code, heap in the low 4 GiB;
//! - [`side_table`]: what lies beside the heap, found by arithmetic from an address.
#![forbid(unsafe_code)]

pub mod address_map;
pub mod alloc;
pub mod barrier;
pub mod context;
pub mod layout;
pub mod object;
pub mod poll;
pub mod side_table;
