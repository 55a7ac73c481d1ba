// SPDX-License-Identifier: Apache-2.0
//! Log space runs out: an ordinary mutator waits at three quarters, what is left is posted ahead
//! for real-time ones.
//!
//! A mutator that answers nothing keeps every epoch from ending, so no space comes back.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use heap::{CollectorKind, Heap, Local, Mutator, ObjectRef};
use rt::thread::Builder;
use support::{Kinds, SLOTS, start};

const SEGMENTS: u32 = 32;
/// What two mutators may hold beside them.
const HELD: u32 = 4;
/// Records of a segment of 16 KiB whose holders had no references: 16 bytes each, behind a header
/// of that size.
const RECORDS_PER_SEGMENT: u32 = (16 << 10) / 16 - 1;
const LEAF: u32 = 1000;
/// More objects than the log has records for.
const LEAVES: u32 = (SEGMENTS + HELD) * RECORDS_PER_SEGMENT / LEAF;

/// Segments that a mutator filled when it was first told to wait.
fn segments_filled(is_real_time: bool) -> u32 {
    let heap = start(CollectorKind::Rc, 16 << 20, |config| {
        config.log_segments = SEGMENTS;
    });
    let kinds = Kinds::new(&heap);
    let progress = Arc::new(Progress::default());
    let mut brake = heap.attach(false, &[]);
    let storing = {
        let (heap, progress) = (Arc::clone(&heap), Arc::clone(&progress));
        let body = move || store_everywhere(&heap, kinds, is_real_time, &progress);
        Builder::new("storing").spawn(body).unwrap()
    };
    while !progress.has_old_objects.load(SeqCst) {
        brake.poll();
    }
    // From here on it answers nothing.
    progress.is_braked.store(true, SeqCst);
    let counters = heap.counters();
    while counters.log_exhausted.get() == 0 && !storing.is_finished() {
        std::thread::yield_now();
    }
    assert!(counters.log_exhausted.get() > 0, "exhausting is counted");
    let filled = progress.done.load(SeqCst) / RECORDS_PER_SEGMENT;
    progress.is_over.store(true, SeqCst);
    brake.native(|| storing.join());
    drop(brake);
    filled
}

/// Of the thread that stores, and what it waits for.
#[derive(Default)]
struct Progress {
    has_old_objects: AtomicBool,
    is_braked: AtomicBool,
    /// Records.
    done: AtomicU32,
    is_over: AtomicBool,
}

fn store_everywhere(heap: &Arc<Heap>, kinds: Kinds, is_real_time: bool, progress: &Progress) {
    let mut mutator = heap.attach(is_real_time, &[]);
    let leaves: Vec<Local> = (0..LEAVES)
        .map(|_| make_leaf(&mut mutator, kinds))
        .collect();
    for _ in 0..2 {
        mutator.collect_epoch();
    }
    progress.has_old_objects.store(true, SeqCst);
    mutator.native(|| {
        while !progress.is_braked.load(SeqCst) {
            std::thread::yield_now();
        }
    });
    for leaf in leaves {
        for index in 0..LEAF {
            let leaf = mutator.get(leaf);
            let node = mutator.read(leaf.element(index));
            mutator.write(node, node.slot(SLOTS[0]), ObjectRef::NULL);
            progress.done.fetch_add(1, SeqCst);
            if progress.is_over.load(SeqCst) {
                return;
            }
            mutator.poll();
        }
    }
}

fn make_leaf(mutator: &mut Mutator, kinds: Kinds) -> Local {
    let leaf = mutator.alloc_array(kinds.array, LEAF).unwrap();
    let leaf = mutator.local(leaf);
    for index in 0..LEAF {
        let node = mutator.alloc(kinds.node).unwrap();
        let leaf = mutator.get(leaf);
        mutator.write_element(leaf, index, node);
    }
    leaf
}

#[test]
fn a_real_time_mutator_goes_on_where_an_ordinary_one_waits() {
    let ordinary = segments_filled(false);
    assert!(ordinary < SEGMENTS / 4 * 3 + HELD, "{ordinary} segments");
    let real_time = segments_filled(true);
    assert!(real_time >= SEGMENTS / 8 * 7 + HELD, "{real_time} segments");
}

/// Each holds a current segment and a spare one: more than a small heap's log has to share.
#[test]
fn many_mutators_record_into_a_small_log() {
    const MUTATORS: u32 = 300;
    let heap = start(CollectorKind::Rc, 16 << 20, |_| ());
    let kinds = Kinds::new(&heap);
    let mut mutator = heap.attach(false, &[]);
    let leaf = make_leaf(&mut mutator, kinds);
    for _ in 0..2 {
        mutator.collect_epoch();
    }
    let mut others: Vec<Mutator> = (0..MUTATORS)
        .map(|index| {
            let node = mutator.read(mutator.get(leaf).element(index));
            let mut other = heap.attach(false, &[node]);
            other.write(node, node.slot(SLOTS[0]), ObjectRef::NULL);
            other.enter_native();
            other
        })
        .collect();
    assert_eq!(heap.counters().log_exhausted.get(), 0);
    others.iter_mut().for_each(|other| {
        other.leave_native();
    });
}
