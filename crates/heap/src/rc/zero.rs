// SPDX-License-Identifier: Apache-2.0
//! The zero count table: objects without a counted reference. Those that are roots stay in it, and
//! those that are finalizable wait beside it for a trace; the others are freed, and what loses its
//! last reference by that follows in the same walk, without recursion.

use abi::side_table::CountByte;

use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::rc::references::Fate;

impl Rc<'_> {
    pub(super) fn sweep_zero_table(&mut self) {
        let mut kept = Vec::new();
        while let Some(object) = self.zero.pop() {
            let count = self.count_of(object);
            debug_assert!(count.is_mature() && count.0 & CountByte::IN_ZERO_TABLE != 0);
            if count.count() != 0 {
                self.leave_zero_table(object);
            } else if self.is_root(object) {
                kept.push(object);
            } else {
                match self.fate_of_unreferenced(object) {
                    Fate::Dies => self.free(object, |rc, child| rc.decrement(child)),
                    Fate::IsRoot => kept.push(object),
                    Fate::AwaitsTrace => self.awaiting.push(object),
                }
            }
            let heap = self.heap;
            self.ticker.tick(heap);
        }
        self.zero = kept;
        self.publish_enqueued();
    }

    /// Before a trace decides: who was counted since, or is a root, or lost its final reference,
    /// awaits it no longer.
    pub(super) fn recall_awaiting(&mut self) {
        self.zero.append(&mut self.awaiting);
    }

    /// The trace has decided: who is a root stays in the table. The others were enqueued, and are
    /// counted for that; or their final references are garbage as they are themselves.
    pub(crate) fn settle_awaiting(&mut self) {
        for object in std::mem::take(&mut self.awaiting) {
            let is_held = self.count_of(object).count() != 0;
            if is_held || self.is_unmarked(object) {
                self.leave_zero_table(object);
            } else {
                self.push_zero(object);
            }
        }
    }

    fn leave_zero_table(&mut self, object: ObjectRef) {
        let count = self.count_of(object);
        self.set_count(object, CountByte(count.0 & !CountByte::IN_ZERO_TABLE));
    }
}
