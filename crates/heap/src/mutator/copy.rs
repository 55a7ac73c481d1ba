// SPDX-License-Identifier: Apache-2.0
//! Bulk copies of references: in pieces of 32, with one barrier for each piece and a poll after it.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::limits::COPY_SLOTS_BETWEEN_POLLS;
use crate::mutator::{Local, Mutator};
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
    /// Copies elements between arrays of references, which may be the same one: then it is as if
    /// all were read before the first is written. Each element is copied atomically, the whole is
    /// not. O(count), with a poll after every 32 elements. Panics beyond an array's end.
    pub fn copy_elements(&mut self, source: Local, target: Local, range: CopyRange) {
        let CopyRange {
            source_index,
            target_index,
            count,
        } = range;
        let end = |index: u32| u64::from(index) + u64::from(count);
        assert!(
            end(source_index) <= u64::from(self.array_length(self.get(source))),
            "inside the source"
        );
        assert!(
            end(target_index) <= u64::from(self.array_length(self.get(target))),
            "inside the target"
        );
        let is_same = self.get(source) == self.get(target);
        for piece in range.pieces(is_same) {
            let (from, to) = (self.get(source), self.get(target));
            self.copy_piece(from, to, piece);
            self.poll();
        }
    }

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

    /// Copies the elements of one array of primitives to another, as bytes. O(count).
    pub fn copy_bytes(&mut self, source: Local, target: Local, range: CopyRange) {
        let CopyRange {
            source_index,
            target_index,
            count,
        } = range;
        let (from, to) = (self.get(source), self.get(target));
        let bytes = |array| {
            let shift = u32::from(self.layout_of(array).get().element_shift);
            self.array_length(array) << shift
        };
        assert!(
            u64::from(source_index) + u64::from(count) <= u64::from(bytes(from)),
            "inside the source"
        );
        assert!(
            u64::from(target_index) + u64::from(count) <= u64::from(bytes(to)),
            "inside the target"
        );
        // Ordering: other mutators race with this copy only where the program itself has a race.
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        // SAFETY: 1. Both ranges lie inside arrays that are roots (asserted, `Local`). 2. `copy`
        // allows overlap.
        unsafe {
            let source = self.elements_ptr(from).add(source_index as usize);
            source.copy_to(
                self.elements_ptr(to).add(target_index as usize),
                count as usize,
            );
        }
    }
}
