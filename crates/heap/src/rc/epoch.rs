// SPDX-License-Identifier: Apache-2.0
//! One epoch, from the first handshake to the last free block.
//!
//! The order is the proof's (`docs/internals/collector-safety.md`): snooping everywhere before
//! anyone switches, global roots between the two, increments before decrements, counting before
//! freeing.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rt::clock::{Clock, Monotonic};

use crate::events::EventKind;
use crate::heap::Heap;
use crate::mutator::handshake::Round;
use crate::mutator::record::MutatorRecord;
use crate::mutator::state::State;
use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::reference::Mode;
use crate::step::Step;

impl Rc<'_> {
    /// Settles what mutators recorded since the last epoch. With `clears_soft`, a trace is part of
    /// it that clears soft references.
    pub(crate) fn run_epoch(&mut self, trace: Option<crate::cycle::TraceKind>) {
        let heap = self.heap;
        let (start_ns, freed_bytes) = (Monotonic.now_ns(), heap.counters.freed_bytes.get());
        heap.pace.take_blocks();
        let released = heap.references.take_released();
        let steps = &heap.memory.steps;
        steps.begin(Step::Handshakes);
        heap.next_snoop_tag();
        heap.references.set_mode(Mode::Deciding);
        heap.round(Round::Snoop, |_| {});
        // Between all of H1 and any of H3: what is put into a global root later is snooped.
        heap.each_global_root(&mut |object| heap.snoop(object));
        let ended = self.switch(heap);
        heap.round(Round::Scan, |_| {});
        self.bury(heap, &ended);
        self.advance_epoch();

        self.matured_chunked.clear();
        steps.begin(Step::Increments);
        self.settle_increments();
        self.register_late();
        steps.begin(Step::Promotion);
        self.promote_young();
        steps.begin(Step::Decrements);
        self.settle_decrements();
        released.iter().for_each(|&it| self.decrement(it));
        self.release_segments();
        if trace.is_some() {
            self.forget_cleared();
            self.recall_awaiting();
        }
        steps.begin(Step::ZeroTable);
        self.sweep_zero_table();
        steps.begin(Step::Young);
        self.sweep_young();
        // The table holds roots alone, so a trace that follows frees nothing that lies in it.
        if let Some(kind) = trace {
            steps.begin(Step::Trace);
            self.trace(kind);
        }
        steps.begin(Step::Sweep);
        self.sweep_dirty(trace.is_some() || self.is_thorough);
        self.end_epoch(heap);
        steps.begin(Step::Rest);
        let freed_bytes = heap.counters.freed_bytes.get() - freed_bytes;
        heap.events.add(EventKind::Epoch, start_ns, freed_bytes);
    }

    /// H2. Returns the mutators that had ended before it: they give their last here.
    fn switch(&mut self, heap: &Heap) -> Vec<Arc<MutatorRecord>> {
        let handed = &mut self.handed;
        let ended: Vec<_> = {
            let registry = heap.registry.lock();
            registry
                .records
                .iter()
                .filter(|it| it.has_ended.load(Ordering::SeqCst))
                .cloned()
                .collect()
        };
        heap.round(Round::Switch, |record| {
            let given = Heap::take_handed(record);
            let mut segment = given.segments;
            while segment != 0 {
                handed.segments.push(segment);
                segment = heap.log.next(segment);
            }
            for (mut link, list) in [
                (given.blocks, &mut handed.blocks),
                (given.larges, &mut handed.larges),
            ] {
                while link != 0 {
                    list.push(link - 1);
                    link = heap.blocks.meta(link - 1).next.load(Ordering::Relaxed);
                }
            }
        });
        ended
    }

    /// Forgets mutators that ended before H2: they have answered it and nothing of theirs is left.
    fn bury(&self, heap: &Heap, ended: &[Arc<MutatorRecord>]) {
        if ended.is_empty() {
            return;
        }
        let mut registry = heap.registry.lock();
        registry.records.retain(|record| {
            let is_dead = ended.iter().any(|it| Arc::ptr_eq(it, record));
            if is_dead {
                debug_assert_eq!(
                    record.handshake.state.get(),
                    State::Native,
                    "an ended mutator stays outside managed code"
                );
                // SAFETY: 1. The mutator has ended: nobody but the collector touches its record. 2.
                // One borrow.
                let own = unsafe { record.own() };
                [own.segment, own.spare]
                    .into_iter()
                    .filter(|&it| it != 0)
                    .for_each(|it| heap.log.put(it));
            }
            !is_dead
        });
        heap.log.set_mutator_count(registry.records.len());
    }

    fn release_segments(&mut self) {
        let segments = std::mem::take(&mut self.handed.segments);
        self.heap.counters.log_segments.add(segments.len() as u64);
        segments.into_iter().for_each(|it| self.heap.log.put(it));
    }

    fn end_epoch(&mut self, heap: &Heap) {
        heap.references.set_mode(Mode::Idle);
        {
            let mut registry = heap.registry.lock();
            registry.joining.is_weak_guarded = false;
            // A late look at the flag only takes the slow path, which finds the mode idle.
            registry
                .records
                .iter()
                .for_each(|it| it.context.is_weak_guarded.store(0, Ordering::Relaxed));
        }
        heap.free.fill_reserve(&heap.memory, &heap.blocks);
        heap.note_used();
        let freed = heap.counters.freed_bytes.get();
        heap.counters
            .live_bytes
            .set(heap.counters.allocated_bytes.get().saturating_sub(freed));
        heap.counters.zero_table.set(self.zero.len() as u64);
        heap.counters.finalizable.set(self.awaiting.len() as u64);
        heap.counters.epochs.add(1);
    }

    /// Adds an object to the zero count table.
    pub(crate) fn push_zero(&mut self, object: ObjectRef) {
        self.zero.push(object);
    }
}
