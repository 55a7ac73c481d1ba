// SPDX-License-Identifier: Apache-2.0
//! [`MutatorContext`]: what the pinned register of a managed thread points to.
//!
//! The first cache line holds what stores, polls and allocations read; then the bump ranges; then
//! words that the virtual machine names as it likes. Written by the mutator itself, or by a
//! collector that has claimed the mutator's state word; only `poll` is written by the collector at
//! any time. Hence atomics without ordering.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::alloc::{BumpRange, SIZE_CLASS_COUNT};

/// Words at the end of a context that belong to the virtual machine.
pub const MACHINE_WORD_COUNT: usize = 32;

/// Per-thread state that compiled code reads.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct MutatorContext {
    /// Bits 0 to 31 of the stack's limit ([`Self::stack_limit`]).
    limit_low: AtomicU32,
    /// Bits 32 to 47 of it.
    limit_middle: AtomicU16,
    /// Zero: as long as `poll` is as well, the first eight bytes are the limit.
    limit_high: AtomicU8,
    /// Not zero: a handshake waits for this mutator (`poll`). As the highest byte of the first
    /// word it then lies above every stack, so one compare at a method's entry sees both.
    pub poll: AtomicU8,
    /// A log word of this epoch needs no record (`barrier`).
    pub fast_epoch: AtomicU8,
    /// Not zero between this mutator's first and third handshake: stored references are roots.
    pub is_snooping: AtomicU8,
    /// Not zero while a referent may be about to be cleared: `Reference.get` must call the runtime.
    pub is_weak_guarded: AtomicU8,
    /// The log word of an object born now.
    pub born: AtomicU32,
    /// Add `(slot >> CHUNK_SHIFT) * 4` for the log word of a chunk.
    pub chunk_log_base: AtomicU64,
    /// The runtime's own record of this mutator (`heap::Mutator`'s shared part); opaque to compiled
    /// code.
    pub mutator: AtomicU64,
    /// The virtual machine's thread.
    pub thread: AtomicU64,
    /// A reference in flight: the pending exception. A root.
    pub exception: AtomicU32,
    /// The lock word of an object that this thread alone has locked, once. A free one is 0.
    pub thin_lock: AtomicU32,
    /// Frame pointer and return address of the last managed frame, while the thread is outside
    /// managed code.
    pub last_frame: AtomicU64,
    /// See `last_frame`.
    pub last_return: AtomicU64,
    /// One run of free cells per size class (`alloc`).
    pub bump: [BumpRange; SIZE_CLASS_COUNT],
    /// The virtual machine's.
    pub machine: [AtomicU64; MACHINE_WORD_COUNT],
    /// Add `address >> ENTRY_SHIFT` for the snoop entry of an object (`side_table`).
    pub snoop_base: AtomicU64,
    /// Add `address >> BLOCK_SHIFT` for the snoop summary of its block.
    pub summary_base: AtomicU64,
    /// What both get while [`Self::is_snooping`].
    pub snoop_tag: AtomicU8,
    /// Where the next log record goes: an offset from [`Self::log_base`], a multiple of
    /// [`RECORD_UNIT_BYTES`].
    ///
    /// [`RECORD_UNIT_BYTES`]: crate::barrier::RECORD_UNIT_BYTES
    pub log_next: AtomicU32,
    /// Where the mutator's log segment ends; 0 if it has none.
    pub log_limit: AtomicU32,
    /// Address of the log space.
    pub log_base: AtomicU64,
}

impl Default for MutatorContext {
    fn default() -> Self {
        Self {
            limit_low: AtomicU32::default(),
            limit_middle: AtomicU16::default(),
            limit_high: AtomicU8::default(),
            poll: AtomicU8::default(),
            fast_epoch: AtomicU8::new(crate::barrier::FAST_NONE),
            is_snooping: AtomicU8::default(),
            is_weak_guarded: AtomicU8::default(),
            born: AtomicU32::default(),
            chunk_log_base: AtomicU64::default(),
            mutator: AtomicU64::default(),
            thread: AtomicU64::default(),
            exception: AtomicU32::default(),
            thin_lock: AtomicU32::default(),
            last_frame: AtomicU64::default(),
            last_return: AtomicU64::default(),
            bump: [const {
                BumpRange {
                    next: AtomicU32::new(0),
                    limit: AtomicU32::new(0),
                }
            }; SIZE_CLASS_COUNT],
            machine: [const { AtomicU64::new(0) }; MACHINE_WORD_COUNT],
            snoop_base: AtomicU64::default(),
            summary_base: AtomicU64::default(),
            snoop_tag: AtomicU8::default(),
            log_next: AtomicU32::default(),
            log_limit: AtomicU32::default(),
            log_base: AtomicU64::default(),
        }
    }
}

impl MutatorContext {
    /// Stack addresses below this are not for managed frames. For the mutator itself.
    pub fn stack_limit(&self) -> u64 {
        let middle = u64::from(self.limit_middle.load(Ordering::Relaxed));
        middle << 32 | u64::from(self.limit_low.load(Ordering::Relaxed))
    }

    /// Sets [`Self::stack_limit`]. For the mutator itself, outside compiled code.
    ///
    /// # Panics
    /// When it has more than 48 bits.
    pub fn set_stack_limit(&self, limit: u64) {
        assert!(limit < 1 << STACK_LIMIT_BITS, "a stack at {limit:#x}");
        self.limit_middle
            .store((limit >> 32) as u16, Ordering::Relaxed);
        self.limit_low.store(limit as u32, Ordering::Relaxed);
    }
}

/// Bits of the word at [`STACK_LIMIT_OR_POLL`] that are the limit.
pub const STACK_LIMIT_BITS: u32 = 48;

/// Offset of the word that is the stack's limit while nobody asks for a handshake, and else above
/// every stack.
pub const STACK_LIMIT_OR_POLL: i32 = offset_of!(MutatorContext, limit_low) as i32;
/// Offset of the poll byte.
pub const POLL: i32 = offset_of!(MutatorContext, poll) as i32;
/// Offset of the fast epoch.
pub const FAST_EPOCH: i32 = offset_of!(MutatorContext, fast_epoch) as i32;
/// Offset of the snooping flag.
pub const IS_SNOOPING: i32 = offset_of!(MutatorContext, is_snooping) as i32;
/// Offset of the weak guard.
pub const IS_WEAK_GUARDED: i32 = offset_of!(MutatorContext, is_weak_guarded) as i32;
/// Offset of the birth log word.
pub const BORN: i32 = offset_of!(MutatorContext, born) as i32;
/// Offset of the biased base of the chunk log table.
pub const CHUNK_LOG_BASE: i32 = offset_of!(MutatorContext, chunk_log_base) as i32;
/// Offset of the virtual machine's thread.
pub const THREAD: i32 = offset_of!(MutatorContext, thread) as i32;
/// Offset of the pending exception.
pub const EXCEPTION: i32 = offset_of!(MutatorContext, exception) as i32;
/// Offset of the lock word of what this thread has locked once.
pub const THIN_LOCK: i32 = offset_of!(MutatorContext, thin_lock) as i32;
/// Offset of the last managed frame's frame pointer.
pub const LAST_FRAME: i32 = offset_of!(MutatorContext, last_frame) as i32;
/// Offset of the last managed frame's return address.
pub const LAST_RETURN: i32 = offset_of!(MutatorContext, last_return) as i32;
/// Offset of the virtual machine's words.
pub const MACHINE: i32 = offset_of!(MutatorContext, machine) as i32;
/// Offset of the biased base of the snoop table.
pub const SNOOP_BASE: i32 = offset_of!(MutatorContext, snoop_base) as i32;
/// Offset of the biased base of the snoop summaries.
pub const SUMMARY_BASE: i32 = offset_of!(MutatorContext, summary_base) as i32;
/// Offset of the snoop tag.
pub const SNOOP_TAG: i32 = offset_of!(MutatorContext, snoop_tag) as i32;
/// Offset of where the next log record goes.
pub const LOG_NEXT: i32 = offset_of!(MutatorContext, log_next) as i32;
/// Offset of where the log segment ends.
pub const LOG_LIMIT: i32 = offset_of!(MutatorContext, log_limit) as i32;
/// Offset of the log space's address.
pub const LOG_BASE: i32 = offset_of!(MutatorContext, log_base) as i32;

/// Offset of where the next object of a class goes.
pub const fn bump_next(class: usize) -> i32 {
    (offset_of!(MutatorContext, bump) + class * size_of::<BumpRange>()) as i32
}

/// Offset of where a class's run ends.
pub const fn bump_limit(class: usize) -> i32 {
    bump_next(class) + offset_of!(BumpRange, limit) as i32
}

const _: () = {
    // One line for what every store and poll reads.
    assert!(CHUNK_LOG_BASE + 8 <= 64);
    // Little-endian: the poll is what counts most of the word.
    assert!(STACK_LIMIT_OR_POLL == 0 && POLL == 7);
    // Short displacements in machine code.
    assert!(EXCEPTION < 128);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_and_the_poll_leave_each_other_alone() {
        let context = MutatorContext::default();
        let limit = 0x7fff_1234_5678;
        context.set_stack_limit(limit);
        context
            .poll
            .store(crate::poll::POLL_ASKED, Ordering::Relaxed);
        assert_eq!(context.stack_limit(), limit);
        context.set_stack_limit(0xffff_ffff);
        assert_eq!(context.stack_limit(), 0xffff_ffff);
        let poll = context.poll.load(Ordering::Relaxed);
        assert_eq!(poll, crate::poll::POLL_ASKED);
    }

    #[test]
    #[should_panic(expected = "a stack at")]
    fn a_stack_lies_below_the_poll() {
        MutatorContext::default().set_stack_limit(1 << STACK_LIMIT_BITS);
    }
}
