// SPDX-License-Identifier: Apache-2.0
//! The cycle trace: marks everything reachable at the view, frees what is not, restores stuck
//! counts.
//!
//! It runs at the end of an epoch, when counts are exact for the view, over the same logs: what
//! mutators overwrite from then on they record, so the view stays readable however long the trace
//! takes. No mutator does extra work, none is asked anything. Until it ends no further epoch
//! begins. (Azatchi et al. 2003, adapted: vm-facts 4.6.)

use std::sync::atomic::Ordering;

use abi::layout::ReferenceKind;
use abi::side_table::{CountByte, ENTRY_SHIFT};
use foldhash::HashMap;
use rt::clock::{Clock, Monotonic};

use crate::barrier::SlotCopy;
use crate::events::EventKind;
use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::rc::count::{each_holder, view_of};
use crate::reference::{Entry, Mode};
use crate::space::block::BlockUse;

/// What a trace does with soft references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TraceKind {
    /// They hold their referents.
    Ordinary,
    /// They are cleared unless something stronger holds the referent: memory is about to be
    /// exhausted.
    ClearSoft,
}

/// Whose referents a walk marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Follow {
    /// Of the reference objects that hold theirs by a count.
    Held,
    /// As `Held`, but for soft ones.
    HeldButSoft,
    /// Of all: what is about to be finalized still finds them.
    All,
}

impl Rc<'_> {
    /// See the module.
    pub(crate) fn trace(&mut self, kind: TraceKind) {
        let heap = self.heap;
        let (start_ns, freed) = (Monotonic.now_ns(), heap.counters.trace_freed_objects.get());
        self.colour ^= CountByte::MARK;
        heap.references.colour.store(self.colour, Ordering::SeqCst);
        heap.references.set_mode(Mode::Tracing);
        self.is_tracing = true;
        self.stuck_edges = HashMap::default();
        let mut held = Vec::new();
        heap.references.each_held(|it| held.push(it));
        held.into_iter().for_each(|it| self.mark_edge(it));
        // All of them are roots, some by a tag that is stale: they stay for this epoch, and so they
        // must be marked.
        self.zero.clone().into_iter().for_each(|it| self.mark(it));
        let follow = match kind {
            TraceKind::Ordinary => Follow::Held,
            TraceKind::ClearSoft => Follow::HeldButSoft,
        };
        loop {
            let seen = heap.references.word();
            self.mark_snooped();
            self.drain_grey(follow);
            if heap.references.try_close(seen) {
                break;
            }
        }
        self.settle_references(kind);
        self.settle_awaiting();
        self.sweep_unmarked();
        self.is_tracing = false;
        heap.counters.traces.add(1);
        let freed = heap.counters.trace_freed_objects.get() - freed;
        heap.events.add(EventKind::Trace, start_ns, freed);
    }

    /// Soft and final references whose referent the program cleared hold nothing any more, and ask
    /// for nothing.
    pub(crate) fn forget_cleared(&mut self) {
        let heap = self.heap;
        let is_cleared = |it: ObjectRef| {
            let offset = heap.memory.layout(it).referent_offset;
            heap.memory.slot(it.slot(offset)).load(Ordering::Acquire) == 0
        };
        for (reference, _) in self
            .references
            .select(|it, entry| (entry.is_holding || entry.is_open_final()) && is_cleared(it))
        {
            self.forget_reference(reference);
        }
    }

    /// Roots: everything that was scanned or stored while the handshakes ran.
    fn mark_snooped(&mut self) {
        let heap = self.heap;
        let tag = heap.snoop_tag();
        for block in 0..heap.free.committed_count() {
            let start = heap.blocks.start(block);
            if heap.memory.summary(start).load(Ordering::SeqCst) != tag {
                continue;
            }
            match heap.blocks.meta(block).usage() {
                BlockUse::Free | BlockUse::LargeTail => {}
                BlockUse::Large => self.mark_if_snooped(ObjectRef(start), tag),
                BlockUse::Owned | BlockUse::Partial | BlockUse::Full => {
                    let entries = heap.memory.block_snoops(start);
                    for cell in heap.blocks.cells(block) {
                        if entries[((cell - start) >> ENTRY_SHIFT) as usize].load(Ordering::SeqCst)
                            == tag
                        {
                            self.mark(ObjectRef(cell));
                        }
                    }
                }
            }
        }
    }

    fn mark_if_snooped(&mut self, object: ObjectRef, tag: u8) {
        if self.heap.memory.snoop(object).load(Ordering::SeqCst) == tag {
            self.mark(object);
        }
    }

    /// Marks an object unless it is marked, or too young to be traced.
    fn mark(&mut self, object: ObjectRef) {
        let count = self.count_of(object);
        if count.is_mature() && count.0 & CountByte::MARK != self.colour {
            self.publish_count(object, CountByte(count.0 ^ CountByte::MARK));
            self.grey.push(object);
        }
    }

    /// As [`Self::mark`], for a counted reference: edges to stuck objects are counted again.
    fn mark_edge(&mut self, object: ObjectRef) {
        if self.count_of(object).is_stuck() {
            self.count_stuck_edge(object);
        }
        self.mark(object);
    }

    pub(crate) fn count_stuck_edge(&mut self, object: ObjectRef) {
        let edges = self.stuck_edges.entry(object).or_insert(0);
        *edges = (*edges + 1).min(CountByte::STUCK);
    }

    fn drain_grey(&mut self, follow: Follow) {
        let heap = self.heap;
        let mut view = SlotCopy::new();
        while let Some(object) = self.grey.pop() {
            heap.counters.trace_steps.add_alone(1);
            each_holder(heap, object, |holder| {
                view_of(heap, holder, self.epoch, &mut view);
                view.refs()
                    .iter()
                    .for_each(|&it| self.mark_edge(ObjectRef(it)));
            });
            if heap.memory.layout(object).reference_kind != ReferenceKind::Strong
                && let Some(entry) = self.references.get(object)
            {
                self.follow_referent(entry, follow);
            }
            self.ticker.tick(heap);
        }
    }

    fn follow_referent(&mut self, entry: Entry, follow: Follow) {
        let is_left_out = entry.kind == ReferenceKind::Soft && follow == Follow::HeldButSoft;
        if entry.is_holding && !is_left_out {
            self.mark_edge(entry.referent);
        } else if follow == Follow::All {
            self.mark(entry.referent);
        }
    }

    pub(crate) fn is_unmarked(&self, object: ObjectRef) -> bool {
        let count = self.count_of(object);
        count.is_mature() && count.0 & CountByte::MARK != self.colour
    }

    /// The trace is closed: what is unmarked stays so, but for what final references still need.
    /// Nobody sees what is enqueued before all of that is marked: finalizers read weak references.
    fn settle_references(&mut self, kind: TraceKind) {
        // Referents that lost the table's count while unmarked: most die now; who does not gives
        // the count back.
        let mut unheld = match kind {
            TraceKind::Ordinary => Vec::new(),
            TraceKind::ClearSoft => self.clear_soft(),
        };
        self.clear_unmarked(ReferenceKind::Weak);
        self.enqueue_finals();
        self.clear_unmarked(ReferenceKind::Phantom);
        // Reference objects that are garbage themselves say nothing.
        for (reference, entry) in self.references.select(|it, _| self.is_unmarked(it)) {
            self.references.remove(reference);
            if entry.is_holding {
                unheld.push(entry.referent);
            }
        }
        self.publish_enqueued();
        unheld
            .into_iter()
            .filter(|&it| !self.is_unmarked(it))
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|it| {
                self.decrement(it);
            });
    }

    /// Clears soft references to what is unmarked; returns the referents, which lose a count each.
    fn clear_soft(&mut self) -> Vec<ObjectRef> {
        let is_soft = |it: ObjectRef, entry: &Entry| {
            entry.kind == ReferenceKind::Soft && !self.is_unmarked(it)
        };
        let mut unheld = Vec::new();
        for (reference, entry) in self.references.select(is_soft) {
            if self.is_unmarked(entry.referent) {
                unheld.push(entry.referent);
                self.clear_and_enqueue(reference, entry.referent);
            } else if self.count_of(entry.referent).is_stuck() {
                self.count_stuck_edge(entry.referent);
            }
        }
        unheld
    }

    /// All that is finalizable, at once; it is alive until it has been finalized. So is what it
    /// refers to, also by reference objects that nothing else reaches: they were not asked before.
    fn enqueue_finals(&mut self) {
        let finals = self.unmarked_referents(Entry::is_open_final);
        for &(reference, entry) in &finals {
            self.enqueue_final(reference, entry.referent);
        }
        finals
            .iter()
            .for_each(|(_, entry)| self.mark(entry.referent));
        self.drain_grey(Follow::All);
    }

    /// What reference objects that are marked themselves say of unmarked referents.
    fn unmarked_referents(&self, is_chosen: impl Fn(&Entry) -> bool) -> Vec<(ObjectRef, Entry)> {
        self.references.select(|it, entry| {
            is_chosen(entry) && !self.is_unmarked(it) && self.is_unmarked(entry.referent)
        })
    }

    fn clear_unmarked(&mut self, kind: ReferenceKind) {
        for (reference, entry) in self.unmarked_referents(|entry| entry.kind == kind) {
            self.clear_and_enqueue(reference, entry.referent);
        }
    }

    /// Frees everything unmarked. References among the dead are not given back, those to the living
    /// are.
    fn sweep_unmarked(&mut self) {
        let heap = self.heap;
        let mut stuck = Vec::new();
        for block in 0..heap.free.committed_count() {
            match heap.blocks.meta(block).usage() {
                BlockUse::Free | BlockUse::LargeTail => {}
                BlockUse::Large => {
                    self.sweep_object(ObjectRef(heap.blocks.start(block)), &mut stuck);
                }
                BlockUse::Owned | BlockUse::Partial | BlockUse::Full => {
                    for cell in heap.blocks.cells(block) {
                        self.sweep_object(ObjectRef(cell), &mut stuck);
                    }
                    self.ticker.tick_many(heap, 64);
                }
            }
        }
        stuck.into_iter().for_each(|it| self.restore_stuck(it));
    }

    fn sweep_object(&mut self, object: ObjectRef, stuck: &mut Vec<ObjectRef>) {
        let count = self.count_of(object);
        if !count.is_mature() {
            return;
        }
        if count.0 & CountByte::MARK == self.colour {
            if count.is_stuck() {
                stuck.push(object);
            }
            return;
        }
        assert_eq!(
            count.0 & CountByte::IN_ZERO_TABLE,
            0,
            "the zero count table holds roots alone"
        );
        self.heap.counters.trace_freed_objects.add_alone(1);
        self.free(object, |rc, child| {
            let count = rc.count_of(child);
            let is_living = !count.is_mature() || count.0 & CountByte::MARK == rc.colour;
            if is_living && count.count() != 0 {
                rc.decrement(child);
            }
        });
    }

    /// The trace saw every counted reference to a stuck object: that many it has.
    fn restore_stuck(&mut self, object: ObjectRef) {
        let edges = self.stuck_edges.get(&object).copied().unwrap_or(0);
        if edges >= CountByte::STUCK {
            return;
        }
        let count = self.count_of(object);
        let mut restored = CountByte(count.0 & !CountByte::COUNT_MASK | edges);
        if edges == 0 && restored.0 & CountByte::IN_ZERO_TABLE == 0 {
            restored = CountByte(restored.0 | CountByte::IN_ZERO_TABLE);
            self.push_zero(object);
        }
        self.set_count(object, restored);
        self.heap.counters.stuck_restored.add(1);
    }
}
