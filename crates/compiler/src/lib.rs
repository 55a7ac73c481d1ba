// SPDX-License-Identifier: Apache-2.0
//! IR to machine code by Cranelift.
//!
//! [`Compiler::method`] lowers a verified [`ir::Function`]; [`Compiler::native`] makes the bridge
//! to a native method and [`Compiler::adapter`] the one from Rust into Java. All give
//! [`CompiledCode`]: position-independent bytes with the tables that unwinding, stack traces and
//! the collector need, and the places where addresses go. What the code must know of classes and
//! members it asks a [`Linker`], which `vm` implements; nothing here touches memory. Modules carry
//! the names of their twins in `abi`.
#![forbid(unsafe_code)]

mod adapter;
mod alloc;
mod arithmetic;
mod array;
mod barrier;
mod body;
mod call;
mod code;
mod entry;
mod exception;
mod fact;
mod field;
mod home;
mod inline;
mod intrinsic;
mod linker;
mod live;
mod lower;
mod native;
mod object;
mod passes;
mod pieces;
mod piecewise;
mod place;
mod poll;
mod profile;
mod received;
mod record;
mod safepoint;
mod scalar;

pub use adapter::Shape;
pub use body::{Heat, is_whole, looped_ops, usual_ops};
pub use code::{CallSite, CompileError, CompiledCode, Compiler, HIDDEN, Relocation, StackMap};
pub use entry::Entry;
pub use inline::inlinable;
pub use intrinsic::Intrinsic;
pub use linker::{
    Address, Body, ClassLink, ConstantLink, FieldLink, HandleLayout, Linker, MethodLink,
    NativeMethod, NewLink, Profile, Received, SubtypeTest,
};
pub use passes::Passes;
pub use place::{SCOPES_MAX, scope_and_offset};
pub use record::{class_record, lock_word, machine_word, method_record, profile_cell, site_record};
