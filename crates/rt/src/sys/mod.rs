// SPDX-License-Identifier: Apache-2.0
//! The system calls that `rt` is made of, one file per noun, typed but without policy of their own.

mod errno;
pub mod futex;
pub(crate) mod sched;
pub(crate) mod tid;

pub use errno::Errno;
