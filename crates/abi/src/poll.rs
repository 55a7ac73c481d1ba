// SPDX-License-Identifier: Apache-2.0
//! The poll: at method entry and at loop back-edges, one load and one branch.
//!
//! ```text
//! loop:   if byte[context + POLL] != 0 { call poll_slow() }   # a safepoint with a stack map
//! entry:  if stack pointer < word[context + STACK_LIMIT_OR_POLL] {
//!             if stack pointer < that word's low 48 bits { throw StackOverflowError }
//!             call poll_slow()
//!         }
//! ```
//!
//! The byte is the highest of that word. So a method's entry looks at the stack's limit and at the
//! poll by one compare.
//!
//! The collector, and nobody else, sets the byte; the mutator clears it when it answers. A mutator
//! between a write barrier's compare and its store is not at a poll: a handshake never takes effect
//! inside a store.

/// The byte's value while nobody asks.
pub const POLL_IDLE: u8 = 0;
/// The byte's value while the collector waits for an answer.
pub const POLL_ASKED: u8 = 1;
