// SPDX-License-Identifier: Apache-2.0
//! Class-file methods into IR.
//!
//! [`translate`] interprets the bytecode abstractly: each local variable and
//! stack place has a register per type, so that the IR's types are those that
//! the abstract frames prove. Blocks are translated again until the frames at
//! their entries no longer change. Neighbours: `classfile` parses,
//! [`verify`](crate::verify) checks the outcome once more.

mod frame;
mod instruction;
mod layout;
mod translate;

pub use translate::{TranslateError, memory_kind, translate};
