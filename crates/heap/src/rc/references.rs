// SPDX-License-Identifier: Apache-2.0
//! Reference objects under counting: known from the epoch in which they mature, decided when their
//! referent's count is zero, referents before what they refer to.

use std::sync::atomic::Ordering;

use abi::layout::{Layout, ReferenceKind};

use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::reference::{Entry, try_give_up};

/// What becomes of an object that no count and no root holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It is freed.
    Dies,
    /// A mutator read it through a weak reference meanwhile.
    IsRoot,
    /// Its final reference was enqueued and holds it.
    IsHeld,
}

impl Rc<'_> {
    /// A reference object matured.
    pub(super) fn register_reference(&mut self, object: ObjectRef, layout: &Layout) {
        let kind = layout.reference_kind;
        if kind == ReferenceKind::Strong {
            return;
        }
        let slot = object.slot(layout.referent_offset);
        let referent = ObjectRef(self.heap.memory.slot(slot).load(Ordering::Acquire));
        if referent.is_null() {
            return;
        }
        let is_holding = kind == ReferenceKind::Soft;
        self.references.insert(
            object,
            Entry {
                referent,
                kind,
                is_holding,
            },
        );
        self.heap
            .blocks
            .meta_of(referent.0)
            .has_referents
            .store(1, Ordering::Relaxed);
        if is_holding {
            self.increment(referent);
        } else if !self.count_of(referent).is_mature() && !self.is_born_after_view(referent) {
            // From here on its death has an order: objects that only die young have none among
            // them.
            self.mature(referent);
        }
    }

    /// Reference objects that matured before they had a referent. Those that are young yet are met
    /// when they mature.
    pub(super) fn register_late(&mut self) {
        let heap = self.heap;
        for reference in heap.references.take_late() {
            if self.count_of(reference).is_mature() && self.references.get(reference).is_none() {
                self.register_reference(reference, heap.memory.layout(reference));
            }
        }
        self.drain_maturing();
    }

    /// A reference object dies by its count, or its referent was cleared by the program.
    pub(crate) fn forget_reference(&mut self, object: ObjectRef) {
        if let Some(entry) = self.references.remove(object)
            && entry.is_holding
        {
            self.decrement(entry.referent);
        }
    }

    pub(super) fn is_referent(&self, object: ObjectRef) -> bool {
        self.heap
            .blocks
            .meta_of(object.0)
            .has_referents
            .load(Ordering::Relaxed)
            != 0
            && self.references.is_referent(object)
    }

    /// Decides between freeing an object and what its reference objects ask for, against mutators
    /// that read them.
    pub(super) fn fate_of_unreferenced(&mut self, object: ObjectRef) -> Fate {
        if !self.is_referent(object) {
            return Fate::Dies;
        }
        let tag = self.heap.snoop_tag();
        let entry = self.heap.memory.snoop(object);
        if !try_give_up(entry, tag) {
            return Fate::IsRoot;
        }
        self.clear_and_enqueue(object, ReferenceKind::Weak);
        if self.enqueue_final(object) {
            self.heap.memory.snoop(object).store(0, Ordering::SeqCst);
            return Fate::IsHeld;
        }
        self.clear_and_enqueue(object, ReferenceKind::Phantom);
        Fate::Dies
    }

    /// Clears the reference objects of one kind that refer to `object` and enqueues those it
    /// cleared.
    pub(crate) fn clear_and_enqueue(&mut self, object: ObjectRef, kind: ReferenceKind) {
        for reference in self.references.referring(object, kind) {
            self.references.remove(reference);
            let offset = self.heap.memory.layout(reference).referent_offset;
            let slot = self.heap.memory.slot(reference.slot(offset));
            let is_cleared = slot
                .compare_exchange(object.0, 0, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok();
            if is_cleared {
                self.hold_and_enqueue(reference);
            }
        }
    }

    /// Enqueues the final references to `object`, which they hold strongly from now on.
    pub(crate) fn enqueue_final(&mut self, object: ObjectRef) -> bool {
        let finals = self.references.referring(object, ReferenceKind::Final);
        for &reference in &finals {
            self.references.remove(reference);
            self.increment(object);
            let held = Entry {
                referent: object,
                kind: ReferenceKind::Final,
                is_holding: true,
            };
            self.references.insert(reference, held);
            self.hold_and_enqueue(reference);
        }
        !finals.is_empty()
    }

    fn hold_and_enqueue(&mut self, reference: ObjectRef) {
        self.increment(reference);
        self.heap.references.enqueue(reference);
    }
}
