// SPDX-License-Identifier: Apache-2.0
//! The typed register IR that both front ends end in.
//!
//! A [`Function`] has registers of five types, blocks of instructions and at
//! most one handler per block. [`verify`] proves that registers are written
//! before they are read and used at their type only, [`check_references`] that
//! references are of the classes they are used as; `compiler` accepts nothing
//! that has not passed it. [`bytecode`] translates methods of class files,
//! [`dex`] those of DEX files.
//!
//! Indices of members and constants mean what they mean in the file that the
//! method came from; only `vm` resolves them.
#![forbid(unsafe_code)]

pub mod bytecode;
pub mod dex;
mod dispatch;
mod function;
mod inst;
mod locks;
mod references;
mod sparse;
mod text;
mod types;
mod verify;
mod worklist;

pub use function::{Block, BlockId, Function, Reg};
pub use inst::{BinaryOp, CompareOp, Condition, Inst, InvokeKind, LoadedConstant, Op, UnaryOp};
pub use references::{Hierarchy, MemberRef, Names, ReferenceError, Subject, check_references};
pub use types::{MemoryKind, Type};
pub use verify::{VerifyError, for_each_read, verify};
pub use worklist::Worklist;
