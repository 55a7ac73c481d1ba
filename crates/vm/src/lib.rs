// SPDX-License-Identifier: Apache-2.0
//! The Java machine under OpenJDK's class library: `libjvm.so`.
//!
//! The JDK's launcher loads it and calls [`jni::invocation`]; the JDK's own
//! native libraries call the JVM_* functions of [`jvm`]. Classes come from
//! `lib/modules` and from Java's loaders ([`link::loader`]); methods are compiled
//! on their first call or taken from disk ([`compile`], [`code`]). docs/internals/machine.md
//! says how it works as built and what is missing.
//!
//! Each folder is a room, whose `mod.rs` says what it is for. layers.toml orders
//! them from the ground up; `cargo xtask tidy` names imports that go upwards.

/// What the machine itself allocates: records of classes and code, and all that compiling needs.
/// The C library's arena of any thread but the first grows by a system call for each page, and its
/// lock lends no priority.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod classes;
mod code;
mod compile;
mod console;
mod entry;
mod inspect;
mod invoke;
mod jni;
mod jvm;
mod link;
mod memory;
mod monitors;
mod natives;
mod objects;
mod options;
mod realtime;
mod start;
mod sync;
mod threads;
