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
    /// A final reference asks for it: a trace decides.
    AwaitsTrace,
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
    ///
    /// What is finalizable is left to the trace. What it alone refers to has counts, so counts
    /// cannot tell how much of that is finalizable as well; and once enqueued it is alive. A chain
    /// would then lose one object in each collection.
    pub(super) fn fate_of_unreferenced(&mut self, object: ObjectRef) -> Fate {
        if !self.is_referent(object) {
            return Fate::Dies;
        }
        if self.references.is_finalizable(object) {
            return Fate::AwaitsTrace;
        }
        let tag = self.heap.snoop_tag();
        let entry = self.heap.memory.snoop(object);
        if !try_give_up(entry, tag) {
            return Fate::IsRoot;
        }
        for kind in [ReferenceKind::Weak, ReferenceKind::Phantom] {
            for reference in self.references.referring(object, kind) {
                self.clear_and_enqueue(reference, object);
            }
        }
        Fate::Dies
    }

    /// Clears a reference object that refers to `object`, and enqueues it unless the program
    /// cleared it before.
    pub(crate) fn clear_and_enqueue(&mut self, reference: ObjectRef, object: ObjectRef) {
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

    /// Enqueues a final reference to `object`, which it holds strongly from now on.
    pub(crate) fn enqueue_final(&mut self, reference: ObjectRef, object: ObjectRef) {
        self.references.hold(reference);
        self.increment(object);
        self.hold_and_enqueue(reference);
    }

    fn hold_and_enqueue(&mut self, reference: ObjectRef) {
        self.increment(reference);
        self.enqueued.push(reference);
    }

    /// Shows mutators what was enqueued.
    pub(crate) fn publish_enqueued(&mut self) {
        let enqueued = self.enqueued.drain(..);
        self.heap.references.enqueue_all(enqueued);
    }
}
