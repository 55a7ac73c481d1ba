// SPDX-License-Identifier: Apache-2.0
//! The system calls that `rt` is made of, one file per noun, typed but without policy of their own.

mod errno;
pub(crate) mod sched;

pub use errno::Errno;
