// SPDX-License-Identifier: Apache-2.0
//! The system calls that `rt` is made of, one file per noun, typed but without policy of their own.

mod errno;
pub mod futex;
#[cfg(loom)]
pub mod model;
pub(crate) mod sched;
pub mod tid;

pub use errno::Errno;
