// SPDX-License-Identifier: Apache-2.0
//! A mutator's face of reference objects ([`crate::reference`]): referents read, given and cleared,
//! and what was enqueued taken.

use std::sync::atomic::Ordering;

use abi::layout::ReferenceKind;
use abi::side_table::CountByte;

use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::object::{ObjectRef, Slot};
use crate::reference::{Referent, read_undecided, try_revive};

impl Mutator {
    /// `Reference.get`: the referent, or null if it was cleared.
    pub fn read_referent(&mut self, reference: ObjectRef) -> ObjectRef {
        let slot = reference.slot(self.layout_of(reference).get().referent_offset);
        if self.record.context.is_weak_guarded.load(Ordering::Relaxed) == 0 {
            return self.read(slot);
        }
        self.read_referent_slow(reference)
    }

    /// As [`Self::read_referent`], while the collector may be deciding.
    #[cold]
    pub fn read_referent_slow(&mut self, reference: ObjectRef) -> ObjectRef {
        let layout = self.layout_of(reference);
        let layout = layout.get();
        let slot = reference.slot(layout.referent_offset);
        if matches!(
            layout.reference_kind,
            ReferenceKind::Strong | ReferenceKind::Final
        ) {
            // A final reference is read after it was enqueued: the queue, or its reader, holds the
            // referent.
            let referent = self.read(slot);
            // And cleared then: that count may be given back in the epoch that is under way, behind
            // this thread's scan.
            if !referent.is_null() {
                self.heap.snoop(referent);
            }
            return referent;
        }
        let heap = &*self.heap;
        read_undecided(&heap.references, &HeapReferent { heap, slot })
    }

    /// Gives a reference object its referent, or none. Not for real-time loops: may take a lock and
    /// allocate.
    pub fn write_referent(&mut self, reference: ObjectRef, referent: ObjectRef) {
        let slot = reference.slot(self.layout_of(reference).get().referent_offset);
        let heap = &self.heap;
        heap.memory.slot(slot).store(referent.0, Ordering::Release);
        // Between H2 and H3 the reference object is of the next epoch: the one that is settled
        // knows nothing of it, and would free a referent that no stack holds at H3 without clearing
        // the slot.
        if self.record.context.is_snooping.load(Ordering::Relaxed) != 0 && !referent.is_null() {
            heap.snoop(referent);
        }
        let born = self.record.context.born.load(Ordering::Relaxed);
        let is_new = heap.memory.header_log(reference).load(Ordering::Relaxed) == born;
        if heap.is_counting() && !referent.is_null() && !is_new {
            // It may have matured with an empty slot. It is not freed before the collector looks:
            // the caller holds it, and the next epoch looks before it frees.
            heap.references.note_late(reference);
        }
    }

    /// `Reference.clear`.
    pub fn clear_referent(&mut self, reference: ObjectRef) {
        let slot = reference.slot(self.layout_of(reference).get().referent_offset);
        self.heap.memory.slot(slot).store(0, Ordering::Release);
    }

    /// The next reference object whose referent is gone; the caller must root it before the next
    /// safepoint.
    pub fn take_pending_reference(&mut self) -> Option<ObjectRef> {
        let reference = self.heap.references.take_pending()?;
        self.note_root(reference);
        Some(reference)
    }
}

struct HeapReferent<'h> {
    heap: &'h Heap,
    slot: Slot,
}

impl Referent for HeapReferent<'_> {
    fn read(&self) -> ObjectRef {
        ObjectRef(self.heap.memory.slot(self.slot).load(Ordering::Acquire))
    }

    fn try_revive(&self, referent: ObjectRef) -> bool {
        let tag = self.heap.snoop_tag();
        let memory = &self.heap.memory;
        // Before the entry: who finds no tag here does not look there. Too much if it is given up.
        memory.summary(referent.0).store(tag, Ordering::SeqCst);
        try_revive(memory.snoop(referent), tag)
    }

    fn snoop(&self, referent: ObjectRef) {
        self.heap.snoop(referent);
    }

    fn is_marked(&self, referent: ObjectRef) -> bool {
        let count = CountByte(self.heap.memory.count(referent).load(Ordering::SeqCst));
        let colour = self.heap.references.colour.load(Ordering::SeqCst);
        !count.is_mature() || count.0 & CountByte::MARK == colour
    }
}
