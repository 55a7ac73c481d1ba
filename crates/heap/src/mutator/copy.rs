// SPDX-License-Identifier: Apache-2.0
//! Bulk copies of references: recorded chunk by chunk, with a poll after each.

use std::sync::atomic::Ordering;

use crate::limits::COPY_SLOTS_BETWEEN_POLLS;
use crate::mutator::{Local, Mutator};

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

impl Mutator {
    /// Copies elements between arrays of references, which may be the same one: then it is as if all were read
    /// before the first is written. Each element is copied atomically, the whole is not. O(count), with a poll
    /// after every 32 elements. Panics beyond an array's end.
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
        let is_backward = self.get(source) == self.get(target) && source_index < target_index;
        for done in 0..count {
            let offset = if is_backward { count - 1 - done } else { done };
            let (from, to) = (self.get(source), self.get(target));
            let value = self.read(from.element(source_index + offset));
            self.write_element(to, target_index + offset, value);
            if (done + 1).is_multiple_of(COPY_SLOTS_BETWEEN_POLLS) {
                self.poll();
            }
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
        // SAFETY: 1. Both ranges lie inside arrays that are roots (asserted, `Local`). 2. `copy` allows overlap.
        unsafe {
            let source = self.elements_ptr(from).add(source_index as usize);
            source.copy_to(
                self.elements_ptr(to).add(target_index as usize),
                count as usize,
            );
        }
    }
}
