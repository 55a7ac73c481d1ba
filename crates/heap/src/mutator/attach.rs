// SPDX-License-Identifier: Apache-2.0
//! A thread becomes a mutator.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::mutator::record::MutatorRecord;
use crate::object::ObjectRef;
use rt::sys::tid;

impl Heap {
    /// Makes the calling thread a mutator: a real-time one if that is said, or while its policy is.
    /// `initial_roots` are references that the thread starts with and that somebody else keeps
    /// alive until this returns. Takes the registry's lock, and waits for the end of a pause: not
    /// for a real-time loop.
    pub fn attach(self: &Arc<Self>, is_real_time: bool, initial_roots: &[ObjectRef]) -> Mutator {
        self.pause.lock();
        let mut registry = self.registry.lock();
        let record = Arc::new(MutatorRecord::new(
            tid::current(),
            registry.joining,
            is_real_time,
        ));
        let context = &record.context;
        let [snoops, summaries] = self.memory.snoop_bases();
        for (base, value) in [
            (&context.chunk_log_base, self.memory.chunk_log_base()),
            (&context.snoop_base, snoops),
            (&context.summary_base, summaries),
            (&context.log_base, self.log.base()),
        ] {
            base.store(value as u64, Ordering::Relaxed);
        }
        // Under the registry's lock: who finds a round under way finds its tag.
        context.snoop_tag.store(self.snoop_tag(), Ordering::Relaxed);
        record.context.mutator.store(
            Arc::as_ptr(&record).expose_provenance() as u64,
            Ordering::Relaxed,
        );
        // A thread that joins after H3 began counts as scanned with an empty stack: what it starts
        // with is a root of this round by other means.
        initial_roots
            .iter()
            .filter(|it| !it.is_null())
            .for_each(|&it| self.snoop(it));
        registry.records.push(Arc::clone(&record));
        self.log.set_mutator_count(registry.records.len());
        drop(registry);
        self.pause.unlock();
        self.note_policy(&record);
        let mut mutator = Mutator::new(Arc::clone(self), record);
        initial_roots.iter().for_each(|&it| {
            mutator.local(it);
        });
        mutator
    }
}
