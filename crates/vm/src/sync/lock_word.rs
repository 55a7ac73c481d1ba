// SPDX-License-Identifier: Apache-2.0
//! The lock-and-hash word of an object.
//!
//! ```text
//!  31 30 29                 0
//!   0  0  0                      free, no hash
//!   0  1  recursion:8 tid:22     thin lock
//!   1  0  hash:30                hash, not locked
//!   1  1  monitor index          inflated
//! ```
//!
//! Compiled code exchanges 0 and [`thin`] itself ([`abi::context::THIN_LOCK`]); the rest is
//! `monitors/monitor`'s.

pub(crate) const THIN: u32 = 1 << 30;
pub(crate) const HASH: u32 = 2 << 30;
pub(crate) const FAT: u32 = 3 << 30;
pub(crate) const TAG: u32 = 3 << 30;
pub(crate) const VALUE: u32 = !TAG;
pub(crate) const TID: u32 = (1 << 22) - 1;
pub(crate) const RECURSION_SHIFT: u32 = 22;
pub(crate) const RECURSION_MAX: u32 = 0xff;

const _: () = assert!(TAG == compiler::lock_word::TAG && HASH == compiler::lock_word::HASH);

/// What a thread of this number has locked once.
pub(crate) const fn thin(tid: u32) -> u32 {
    THIN | tid
}
