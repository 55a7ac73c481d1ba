// SPDX-License-Identifier: Apache-2.0
//! JNI: the function table that native code sees.
//!
//! A `JNIEnv *` is the address of a word in the thread's context. A local
//! reference is the address of a slot above the thread's mark; global ones are
//! slots of their own ([`crate::objects::handles`]). Native code runs in native state; what it
//! calls here becomes managed for the time of the call ([`of`]).

mod array;
mod call;
pub(crate) mod member;
mod object;
mod string;
mod table;
mod variadic;

pub(crate) mod invocation;

use crate::memory;
use crate::threads::thread::{Managed, Thread, Thrown};

/// The version reported: JNI 10.
pub(crate) const VERSION: i32 = 0x000a_0000;

pub(crate) fn table_address() -> u64 {
    table::TABLE.as_ptr() as u64
}

/// A C string's bytes.
pub(crate) fn c_bytes(text: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if text != 0 {
        let mut at = text;
        loop {
            match memory::read::<u8>(at) {
                0 => break,
                byte => bytes.push(byte),
            }
            at += 1;
        }
    }
    bytes
}

/// A C string in modified UTF-8 for Rust.
pub(crate) fn c_text(text: u64) -> String {
    classfile::to_string_lossy(&c_bytes(text))
}

/// The outcome of `work`, or the type's zero with an exception pending.
pub(crate) fn outcome<T: Default>(work: Result<T, Thrown>) -> T {
    work.unwrap_or_default()
}

/// The thread behind an environment, in managed state for as long as the value lives:
/// `let thread = &*of(env);` for the rest of a function, `of(env).…` for one statement.
pub(crate) fn of(env: u64) -> Managed {
    Managed::enter(Thread::of_env(env))
}
