// SPDX-License-Identifier: Apache-2.0
//! The Java machine under OpenJDK's class library: `libjvm.so`.
//!
//! The JDK's launcher loads it and calls [`jni::invocation`]; the JDK's own
//! native libraries call the JVM_* functions of [`jvm`]. Classes come from
//! `lib/modules` and from Java's loaders ([`loader`], [`link`]); methods are
//! compiled on their first call or taken from disk ([`compile`], [`code_cache`], [`code_store`]).
//! docs/internals/machine.md says how it works as built and what is missing.

mod access;
mod ahead;
mod allocation;
mod array;
mod attach;
mod backtrace;
mod barrier;
mod boot;
mod call_table;
mod class;
mod code_base;
mod code_cache;
mod code_file;
mod code_space;
mod code_store;
mod code_writer;
mod compile;
mod constraint;
mod crash;
mod dex_class;
mod dex_null_message;
mod directory;
mod entries;
mod execute;
mod handles;
mod heap_binding;
mod indy;
mod init;
mod intrinsics;
mod java_thread;
mod jni;
mod jvm;
mod known;
mod lend;
mod library;
mod link;
mod loader;
mod lock;
mod memory;
mod message;
mod mirror;
mod module;
mod monitor;
mod native;
mod natives;
mod noted_locks;
mod null_message;
mod object;
mod options;
mod own_module;
mod park;
mod pending;
mod perf_map;
mod question;
mod realtime;
mod reflect;
mod report;
mod resolve;
mod roots;
mod signals;
mod site;
mod snapshot;
mod string;
mod symbol;
mod table;
mod thread;
mod thread_dump;
mod unwind;
mod verification;
mod waiters;
