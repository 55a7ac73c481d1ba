// SPDX-License-Identifier: Apache-2.0
//! Bulk copies of references: in pieces of 32, with one barrier for each piece. The caller polls
//! between them.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::limits::COPY_SLOTS_BETWEEN_POLLS;
use crate::mutator::Mutator;
use crate::object::ObjectRef;

/// Which elements go where.
#[derive(Clone, Copy, Debug)]
pub struct CopyRange {
    /// First element read.
    pub source_index: u32,
    /// First element written.
    pub target_index: u32,
    /// How many.
    pub count: u32,
}

impl CopyRange {
    /// The range in pieces of at most 32 elements, in the order in which they must be copied: from
    /// the end if it goes upwards within one array.
    pub fn pieces(self, is_same_array: bool) -> impl Iterator<Item = CopyRange> {
        let is_backward = is_same_array && self.source_index < self.target_index;
        let step = COPY_SLOTS_BETWEEN_POLLS;
        (0..self.count.div_ceil(step)).map(move |number| {
            let done = number * step;
            let count = step.min(self.count - done);
            let offset = if is_backward {
                self.count - done - count
            } else {
                done
            };
            CopyRange {
                source_index: self.source_index + offset,
                target_index: self.target_index + offset,
                count,
            }
        })
    }
}

impl Mutator {
    /// Copies one of a range's [`CopyRange::pieces`]: the barrier once for all of it. No safepoint.
    /// Panics beyond the end of the heap; the caller has checked the arrays' ends.
    pub fn copy_piece(&mut self, source: ObjectRef, target: ObjectRef, piece: CopyRange) {
        debug_assert!(piece.count <= COPY_SLOTS_BETWEEN_POLLS);
        if piece.count == 0 {
            return;
        }
        let first = target.element(piece.target_index);
        if self.heap.is_counting() {
            let last = target.element(piece.target_index + piece.count - 1);
            self.record_elements(target, first, last);
        }
        let memory = &self.heap.memory;
        let from = memory.slots(source.element(piece.source_index), piece.count);
        let to = memory.slots(first, piece.count);
        let is_snooping = self.record.context.is_snooping.load(Ordering::Relaxed) != 0;
        let copy = |(from, to): (&AtomicU32, &AtomicU32)| {
            // One load: what is stored is what was made a root.
            let value = ObjectRef(from.load(Ordering::Acquire));
            if is_snooping && !value.is_null() {
                self.heap.snoop(value);
            }
            to.store(value.0, Ordering::Release);
        };
        let both = from.iter().zip(to);
        if source == target && piece.source_index < piece.target_index {
            both.rev().for_each(copy);
        } else {
            both.for_each(copy);
        }
    }
}
