// SPDX-License-Identifier: Apache-2.0
//! [`Pinned`]: stores and polls by the instructions that compiled code has for them and no others.
//!
//! Compiled code keeps the context's address in a register (`abi::context`); here that is a local variable. For
//! measurements, and for native loops that store much.

use std::sync::atomic::Ordering;

use abi::context::MutatorContext;
use abi::object::LOG_OFFSET;
use abi::poll::POLL_IDLE;

use crate::memory::Memory;
use crate::mutator::Mutator;
use crate::object::ObjectRef;

/// See the module.
#[derive(Debug)]
pub struct Pinned<'m> {
    mutator: &'m mut Mutator,
    context: &'m MutatorContext,
}

impl Mutator {
    /// Its context in a register.
    #[inline]
    pub fn pinned(&mut self) -> Pinned<'_> {
        let context: *const MutatorContext = self.context();
        Pinned {
            // SAFETY: the mutator keeps its record, in which the context lies, and is itself borrowed as long.
            context: unsafe { &*context },
            mutator: self,
        }
    }
}

impl Pinned<'_> {
    /// As [`Mutator::write`], by offset: a byte load, a compare, the store (`abi::barrier`).
    ///
    /// # Safety
    /// `object` is an object of this heap that has at most 32 slots, and one of them is at `offset`.
    #[inline(always)]
    pub unsafe fn write(&mut self, object: ObjectRef, offset: u32, value: ObjectRef) {
        // SAFETY: the caller's obligation: both words lie in that object.
        let (epoch, slot) = unsafe {
            (
                Memory::low_byte_unchecked(object, LOG_OFFSET),
                Memory::field_unchecked(object, offset),
            )
        };
        if epoch.load(Ordering::Relaxed) != self.context.fast_epoch.load(Ordering::Relaxed) {
            self.mutator.write_slow(object, object.slot(offset), value);
        }
        slot.store(value.0, Ordering::Release);
    }

    /// As [`Mutator::write_unlogged`], by offset: the store.
    ///
    /// # Safety
    /// As for [`Self::write`].
    #[inline(always)]
    pub unsafe fn write_unlogged(&mut self, object: ObjectRef, offset: u32, value: ObjectRef) {
        debug_assert!(!self.mutator.heap.is_counting());
        // SAFETY: the caller's obligation.
        let slot = unsafe { Memory::field_unchecked(object, offset) };
        slot.store(value.0, Ordering::Release);
    }

    /// A safepoint, as compiled code has it at each back-edge.
    #[inline(always)]
    pub fn poll(&mut self) {
        if self.context.poll.load(Ordering::Relaxed) != POLL_IDLE {
            self.mutator.poll_slow();
        }
    }
}
