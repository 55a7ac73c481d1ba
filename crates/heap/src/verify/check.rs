// SPDX-License-Identifier: Apache-2.0
//! What the verifier looks at, with every mutator held.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use abi::layout::ReferenceKind;
use abi::side_table::CountByte;
use foldhash::{HashMap, HashSet};

use crate::barrier::{self, SlotCopy};
use crate::heap::Heap;
use crate::mutator::record::MutatorRecord;
use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::rc::count::{each_holder, view_of};
use crate::space::block::BlockUse;
use crate::stw::Stw;
use crate::verify::Verdict;

impl Rc<'_> {
    /// Answers the question that is open.
    pub(crate) fn verify_now(&mut self) {
        let heap = self.heap;
        let asked = heap.verifier.asked();
        self.run_epoch(None);
        let records = heap.stop_world();
        let mut check = Check {
            heap,
            epoch: self.epoch,
            verdict: Verdict::default(),
        };
        let objects = check.objects();
        check.counts(self, &objects);
        check.answer(&objects, &records, asked);
    }
}

impl Stw<'_> {
    /// As the counting collector's, without counts.
    pub(crate) fn verify_now(&mut self, heap: &Heap) {
        let asked = heap.verifier.asked();
        self.collect(false);
        let records = heap.stop_world();
        let mut check = Check {
            heap,
            epoch: abi::barrier::EPOCH_CLEAN,
            verdict: Verdict::default(),
        };
        let objects = check.objects();
        check.answer(&objects, &records, asked);
    }
}

/// Faults in a [`Verdict`].
const FAULTS_MAX: usize = 16;

struct Check<'a> {
    heap: &'a Heap,
    epoch: u8,
    verdict: Verdict,
}

impl Check<'_> {
    /// What is the same for both collectors; lets the mutators go on.
    fn answer(mut self, objects: &HashSet<ObjectRef>, records: &[Arc<MutatorRecord>], asked: u64) {
        let heap = self.heap;
        let mut roots = Vec::new();
        heap.each_global_root(&mut |it| roots.push(it));
        records
            .iter()
            .for_each(|it| heap.each_stack_root(it, &mut |root| roots.push(root)));
        self.reachable(objects, roots);
        heap.verifier.answer(asked, self.verdict);
        heap.resume_world(records);
    }

    fn fault(&mut self, text: impl FnOnce() -> String) {
        if self.verdict.faults.len() < FAULTS_MAX {
            self.verdict.faults.push(text());
        }
    }

    /// Every object, found by its class word.
    fn objects(&mut self) -> HashSet<ObjectRef> {
        let heap = self.heap;
        let mut objects = HashSet::default();
        for block in 0..heap.free.committed_count() {
            let cells: Vec<u32> = match heap.blocks.meta(block).usage() {
                BlockUse::Free | BlockUse::LargeTail => Vec::new(),
                BlockUse::Large => vec![heap.blocks.start(block)],
                BlockUse::Owned | BlockUse::Partial | BlockUse::Full => {
                    heap.blocks.cells(block).collect()
                }
            };
            let is_object =
                |&it: &ObjectRef| heap.memory.class_word(it).load(Ordering::Relaxed) != 0;
            objects.extend(cells.into_iter().map(ObjectRef).filter(is_object));
        }
        self.verdict.objects = objects.len() as u64;
        objects
    }

    /// Counts against the references of all counted objects at the view, and the collector's own.
    fn counts(&mut self, rc: &Rc, objects: &HashSet<ObjectRef>) {
        let heap = self.heap;
        let mut expected: HashMap<ObjectRef, u32> = HashMap::default();
        let mut view = SlotCopy::new();
        for &object in objects {
            // A young one's references are not counted yet.
            if !rc.count_of(object).is_mature() {
                continue;
            }
            each_holder(heap, object, |holder| {
                view_of(heap, holder, self.epoch, &mut view);
                view.refs()
                    .iter()
                    .for_each(|&it| *expected.entry(ObjectRef(it)).or_default() += 1);
            });
            let held = rc.references.get(object).filter(|it| it.is_holding);
            if let Some(entry) = held
                && heap.memory.layout(object).reference_kind != ReferenceKind::Strong
            {
                *expected.entry(entry.referent).or_default() += 1;
            }
        }
        heap.references
            .each_held(|it| *expected.entry(it).or_default() += 1);
        for (&object, &count) in &expected {
            if !objects.contains(&object) {
                self.fault(|| {
                    format!("{object:?} is referred to {count} times and does not exist")
                });
            }
        }
        for &object in objects {
            let (found, counted) = (
                rc.count_of(object),
                expected.get(&object).copied().unwrap_or(0),
            );
            if found.is_stuck() {
                self.verdict.stuck += 1;
            } else if u32::from(found.count()) != counted {
                self.fault(|| {
                    format!(
                        "{object:?} has count {} and {counted} references",
                        found.count()
                    )
                });
            }
            let is_lost =
                found.is_mature() && found.count() == 0 && found.0 & CountByte::IN_ZERO_TABLE == 0;
            if is_lost {
                self.fault(|| {
                    format!("{object:?} has count zero and is not in the zero count table")
                });
            }
        }
    }

    /// What roots reach now must exist, and what reference objects among it refer to.
    fn reachable(&mut self, objects: &HashSet<ObjectRef>, mut grey: Vec<ObjectRef>) {
        let memory = &self.heap.memory;
        let mut seen: HashSet<ObjectRef> = HashSet::default();
        while let Some(object) = grey.pop() {
            if !seen.insert(object) {
                continue;
            }
            if !objects.contains(&object) {
                self.fault(|| format!("{object:?} is reachable and does not exist"));
                continue;
            }
            let layout = memory.layout(object);
            barrier::each_slot(memory, object, layout, |slot| {
                let reference = memory.word(slot).load(Ordering::Relaxed);
                if reference != 0 {
                    grey.push(ObjectRef(reference));
                }
            });
            if layout.reference_kind != ReferenceKind::Strong {
                let slot = memory.slot(object.slot(layout.referent_offset));
                let referent = ObjectRef(slot.load(Ordering::Relaxed));
                if !referent.is_null() && !objects.contains(&referent) {
                    self.fault(|| {
                        format!("{object:?} refers to {referent:?}, which does not exist")
                    });
                }
            }
        }
        self.verdict.reachable = seen.len() as u64;
    }
}
