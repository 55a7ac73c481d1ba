// SPDX-License-Identifier: Apache-2.0
//! What a heap does, one thing at a time, under both collectors.

mod support;

use heap::{CollectorKind, CopyRange, Event, EventKind, Mutator, ObjectRef};
use support::{ID, Kinds, REFERENT, SLOTS, copy_elements, start};

const BOTH: [CollectorKind; 2] = [CollectorKind::Rc, CollectorKind::Stw];

/// Runs `body` on a small heap of each kind.
fn on_both(body: impl Fn(&mut Mutator, Kinds)) {
    for kind in BOTH {
        let heap = start(kind, 16 << 20, |_| {});
        let kinds = Kinds::new(&heap);
        let mut mutator = heap.attach(false, &[]);
        body(&mut mutator, kinds);
        drop(mutator);
    }
}

fn node(mutator: &mut Mutator, kinds: Kinds, id: u32) -> ObjectRef {
    let node = mutator.alloc(kinds.node).unwrap();
    mutator.write_u32(node, ID, id);
    node
}

fn assert_sound(mutator: &mut Mutator) {
    if mutator.heap().is_counting() {
        let verdict = mutator.verify();
        assert_eq!(verdict.faults, Vec::<String>::new());
    }
}

#[test]
fn what_a_root_reaches_stays() {
    on_both(|mutator, kinds| {
        let first = node(mutator, kinds, 1);
        let root = mutator.local(first);
        let second = node(mutator, kinds, 2);
        let first = mutator.get(root);
        mutator.write(first, first.slot(SLOTS[0]), second);
        for _ in 0..3 {
            mutator.collect_full();
        }
        let first = mutator.get(root);
        let second = mutator.read(first.slot(SLOTS[0]));
        assert_eq!(
            (mutator.read_u32(first, ID), mutator.read_u32(second, ID)),
            (1, 2)
        );
        assert_sound(mutator);
    });
}

#[test]
fn what_nothing_reaches_is_freed() {
    on_both(|mutator, kinds| {
        let before = mutator.heap().counters().freed_objects.get();
        for id in 0..1000 {
            node(mutator, kinds, id);
        }
        mutator.collect_full();
        assert_eq!(mutator.heap().counters().freed_objects.get() - before, 1000);
    });
}

#[test]
fn a_chain_of_any_length_is_freed_without_recursion() {
    on_both(|mutator, kinds| {
        let first = node(mutator, kinds, 0);
        let root = mutator.local(first);
        for id in 1..100_000 {
            let next = node(mutator, kinds, id);
            let head = mutator.get(root);
            mutator.write(next, next.slot(SLOTS[1]), head);
            mutator.set(root, next);
        }
        mutator.collect_full();
        assert_eq!(mutator.heap().counters().freed_objects.get(), 0);
        mutator.truncate_locals(0);
        mutator.collect_full();
        assert_eq!(mutator.heap().counters().freed_objects.get(), 100_000);
        assert_sound(mutator);
    });
}

#[test]
fn a_dead_cycle_is_freed_and_gives_back_what_it_held() {
    on_both(|mutator, kinds| {
        let kept = node(mutator, kinds, 7);
        let kept_root = mutator.local(kept);
        let base = mutator.local_count();
        let first = node(mutator, kinds, 1);
        let first_root = mutator.local(first);
        let second = node(mutator, kinds, 2);
        let (first, kept) = (mutator.get(first_root), mutator.get(kept_root));
        mutator.write(first, first.slot(SLOTS[0]), second);
        mutator.write(second, second.slot(SLOTS[0]), first);
        mutator.write(second, second.slot(SLOTS[1]), kept);
        mutator.collect_full();
        mutator.truncate_locals(base);
        mutator.collect_full();
        assert_eq!(mutator.heap().counters().freed_objects.get(), 2);
        assert_sound(mutator);
        mutator.truncate_locals(0);
        mutator.collect_full();
        assert_eq!(mutator.heap().counters().freed_objects.get(), 3);
    });
}

/// Runs `body` on a small heap of `rc` in which nothing is collected that nobody asks for.
fn undisturbed(body: impl Fn(&mut Mutator, Kinds)) {
    let heap = start(CollectorKind::Rc, 16 << 20, |config| {
        config.epoch_interval_ns = u64::MAX;
    });
    let kinds = Kinds::new(&heap);
    body(&mut heap.attach(false, &[]), kinds);
}

/// An array with a log word for each chunk is no reason to count what it holds while it is young.
#[test]
fn what_only_a_young_array_held_dies_with_it() {
    undisturbed(|mutator, kinds| {
        let array = mutator.alloc_array(kinds.array, 100).unwrap();
        let root = mutator.local(array);
        for index in 0..100 {
            let pair = [node(mutator, kinds, index), node(mutator, kinds, index)];
            mutator.write(pair[0], pair[0].slot(SLOTS[0]), pair[1]);
            mutator.write(pair[1], pair[1].slot(SLOTS[0]), pair[0]);
            let array = mutator.get(root);
            mutator.write_element(array, index, pair[0]);
        }
        mutator.truncate_locals(0);
        mutator.collect_full();
        let counters = mutator.heap().counters();
        assert_eq!(counters.freed_young_objects.get(), 201);
        assert_eq!(counters.trace_freed_objects.get(), 0);
        assert_sound(mutator);
    });
}

/// Its references are counted when it matures, once: chunk by chunk, no matter who recorded them.
#[test]
fn what_a_young_array_holds_is_counted_once() {
    for collected_at in [0, 40, 80] {
        undisturbed(|mutator, kinds| {
            let array = mutator.alloc_array(kinds.array, 100).unwrap();
            let root = mutator.local(array);
            for index in 0..100 {
                if index == collected_at {
                    mutator.collect_full();
                }
                let element = node(mutator, kinds, index);
                let array = mutator.get(root);
                mutator.write_element(array, index, element);
            }
            mutator.collect_full();
            assert_sound(mutator);
            let array = mutator.get(root);
            for index in 0..100 {
                let element = mutator.read(array.element(index));
                assert_eq!(mutator.read_u32(element, ID), index);
            }
            mutator.truncate_locals(0);
            mutator.collect_full();
            assert_eq!(mutator.heap().counters().freed_objects.get(), 101);
            assert_sound(mutator);
        });
    }
}

#[test]
fn a_count_that_stuck_is_restored_by_a_trace() {
    on_both(|mutator, kinds| {
        let popular = node(mutator, kinds, 1);
        let root = mutator.local(popular);
        let array = mutator.alloc_array(kinds.array, 100).unwrap();
        let holder = mutator.local(array);
        let (array, popular) = (mutator.get(holder), mutator.get(root));
        (0..100).for_each(|index| mutator.write_element(array, index, popular));
        mutator.collect_full();
        let array = mutator.get(holder);
        (1..100).for_each(|index| mutator.write_element(array, index, ObjectRef::NULL));
        mutator.collect_full();
        mutator.collect_full();
        mutator.set(root, ObjectRef::NULL);
        let array = mutator.get(holder);
        mutator.write_element(array, 0, ObjectRef::NULL);
        // Counting alone suffices again.
        mutator.collect_epoch();
        mutator.collect_epoch();
        let freed = mutator.heap().counters().freed_objects.get();
        assert!(freed == 1 || !mutator.heap().is_counting());
        assert_sound(mutator);
    });
}

#[test]
fn arrays_of_every_size_hold_what_is_stored() {
    on_both(|mutator, kinds| {
        for length in [0, 1, 27, 28, 29, 32, 33, 64, 100, 1000, 5000, 20_000] {
            let base = mutator.local_count();
            let array = mutator.alloc_array(kinds.array, length).unwrap();
            let root = mutator.local(array);
            for index in 0..length {
                let element = node(mutator, kinds, index);
                let array = mutator.get(root);
                mutator.write_element(array, index, element);
            }
            mutator.collect_epoch();
            let array = mutator.get(root);
            for index in 0..length {
                let element = mutator.read(array.element(index));
                assert_eq!(mutator.read_u32(element, ID), index, "of {length}");
            }
            mutator.truncate_locals(base);
        }
        assert_sound(mutator);
        mutator.collect_full();
        mutator.collect_full();
        let counters = mutator.heap().counters();
        assert_eq!(counters.allocated_bytes.get(), counters.freed_bytes.get());
    });
}

#[test]
fn copies_may_overlap() {
    on_both(|mutator, kinds| {
        let array = mutator.alloc_array(kinds.array, 200).unwrap();
        let root = mutator.local(array);
        for index in 0..200 {
            let element = node(mutator, kinds, index);
            let array = mutator.get(root);
            mutator.write_element(array, index, element);
        }
        copy_elements(
            mutator,
            root,
            root,
            CopyRange {
                source_index: 0,
                target_index: 50,
                count: 150,
            },
        );
        copy_elements(
            mutator,
            root,
            root,
            CopyRange {
                source_index: 60,
                target_index: 10,
                count: 100,
            },
        );
        let ids: Vec<u32> = (0..200)
            .map(|index| {
                let element = mutator.read(mutator.get(root).element(index));
                mutator.read_u32(element, ID)
            })
            .collect();
        let mut model: Vec<u32> = (0..200).collect();
        model.copy_within(0..150, 50);
        model.copy_within(60..160, 10);
        assert_eq!(ids, model);
        assert_sound(mutator);
    });
}

#[test]
fn a_wide_object_has_slots_beyond_its_map() {
    on_both(|mutator, kinds| {
        let wide = mutator.alloc(kinds.wide).unwrap();
        let root = mutator.local(wide);
        for index in 0..support::WIDE_SLOTS {
            let element = node(mutator, kinds, index);
            let wide = mutator.get(root);
            let array_slot = wide.slot(16 + 4 * index);
            mutator.write_chunked(wide, array_slot, element);
        }
        mutator.collect_full();
        mutator.collect_full();
        assert_eq!(mutator.heap().counters().freed_objects.get(), 0);
        assert_sound(mutator);
        mutator.truncate_locals(0);
        mutator.collect_full();
        assert_eq!(
            mutator.heap().counters().freed_objects.get(),
            u64::from(support::WIDE_SLOTS) + 1
        );
    });
}

#[test]
fn references_are_cleared_and_enqueued_in_javas_order() {
    on_both(|mutator, kinds| {
        let target = node(mutator, kinds, 1);
        let root = mutator.local(target);
        let mut made = Vec::new();
        for site in [kinds.weak, kinds.phantom, kinds.finalizer] {
            let reference = mutator.alloc(site).unwrap();
            let target = mutator.get(root);
            mutator.write(reference, reference.slot(REFERENT), target);
            made.push(mutator.local(reference));
        }
        mutator.collect_full();
        let weak = mutator.get(made[0]);
        assert_eq!(mutator.read_referent(weak), mutator.get(root));
        assert_eq!(mutator.take_pending_reference(), None);

        mutator.set(root, ObjectRef::NULL);
        mutator.collect_full();
        // The weak one is cleared, the final one holds the target, the phantom one waits.
        let (weak, finalizer) = (mutator.get(made[0]), mutator.get(made[2]));
        assert_eq!(mutator.read_referent(weak), ObjectRef::NULL);
        let target = mutator.read_referent(finalizer);
        assert_eq!(mutator.read_u32(target, ID), 1);
        let pending: Vec<_> = std::iter::from_fn(|| mutator.take_pending_reference()).collect();
        assert_eq!(pending, [weak, finalizer]);
        assert_sound(mutator);

        // Finalized: the program clears the final reference; now the phantom one speaks.
        let finalizer = mutator.get(made[2]);
        mutator.clear_referent(finalizer);
        mutator.collect_full();
        mutator.collect_full();
        assert_eq!(mutator.take_pending_reference(), Some(mutator.get(made[1])));
        assert_eq!(mutator.heap().counters().freed_objects.get(), 1);
        assert_sound(mutator);
    });
}

/// A chain of finalizable objects, each with a final reference in an array that is a root; `back`
/// links them the other way as well.
fn finalizable_chain(mutator: &mut Mutator, kinds: Kinds, count: u32, back: bool) {
    let finals = mutator.alloc_array(kinds.array, count).unwrap();
    let finals = mutator.local(finals);
    let first = mutator.local(ObjectRef::NULL);
    for id in 0..count {
        let (link, before) = (node(mutator, kinds, id), mutator.get(first));
        mutator.write(link, link.slot(SLOTS[0]), before);
        if back && !before.is_null() {
            mutator.write(before, before.slot(SLOTS[1]), link);
        }
        mutator.set(first, link);
        let reference = mutator.alloc(kinds.finalizer).unwrap();
        let (link, finals) = (mutator.get(first), mutator.get(finals));
        mutator.write(reference, reference.slot(REFERENT), link);
        mutator.write_element(finals, id, reference);
    }
    mutator.set(first, ObjectRef::NULL);
}

#[test]
fn a_chain_of_finalizable_objects_is_found_at_once() {
    for back in [false, true] {
        on_both(|mutator, kinds| {
            const COUNT: u32 = 1000;
            finalizable_chain(mutator, kinds, COUNT, back);
            mutator.collect_kept_soft();
            let mut taken = 0;
            while let Some(reference) = mutator.take_pending_reference() {
                let link = mutator.read_referent(reference);
                assert!(mutator.read_u32(link, ID) < COUNT);
                mutator.clear_referent(reference);
                taken += 1;
            }
            assert_eq!(taken, COUNT);
            assert_sound(mutator);
            mutator.collect_kept_soft();
            mutator.collect_kept_soft();
            assert_eq!(mutator.heap().counters().freed_objects.get(), COUNT.into());
        });
    }
}

/// The first of the chain goes by its count, and nobody asks for a trace.
#[test]
fn what_awaits_a_trace_gets_one() {
    let heap = start(CollectorKind::Rc, 16 << 20, |config| {
        config.epoch_interval_ns = 3_000_000;
        config.trace_interval_ns = 15_000_000;
    });
    let kinds = Kinds::new(&heap);
    let mut mutator = heap.attach(false, &[]);
    finalizable_chain(&mut mutator, kinds, 10, false);
    let (mut taken, end_ns) = (0, support::now_ns() + 60_000_000_000);
    while taken < 10 && support::now_ns() < end_ns {
        mutator.native(std::thread::yield_now);
        taken += i32::from(mutator.take_pending_reference().is_some());
    }
    assert_eq!((taken, mutator.take_pending_reference()), (10, None));
}

/// Two rings that die together: one is finalizable and names the other by a weak reference alone.
#[test]
fn a_finalizer_finds_what_its_weak_references_name() {
    on_both(|mutator, kinds| {
        let finalizer = mutator.alloc(kinds.finalizer).unwrap();
        let finalizer = mutator.local(finalizer);
        let base = mutator.local_count();
        let [ring, other] = [1, 2].map(|id| {
            let ring = node(mutator, kinds, id);
            mutator.write(ring, ring.slot(SLOTS[0]), ring);
            mutator.local(ring)
        });
        let weak = mutator.alloc(kinds.weak).unwrap();
        let (ring, other) = (mutator.get(ring), mutator.get(other));
        mutator.write(weak, weak.slot(REFERENT), other);
        mutator.write(ring, ring.slot(SLOTS[1]), weak);
        let reference = mutator.get(finalizer);
        mutator.write_referent(reference, ring);
        mutator.truncate_locals(base);
        mutator.collect_kept_soft();
        let reference = mutator.get(finalizer);
        assert_eq!(mutator.take_pending_reference(), Some(reference));
        assert_eq!(mutator.take_pending_reference(), None);
        let ring = mutator.read_referent(reference);
        let weak = mutator.read(ring.slot(SLOTS[1]));
        let other = mutator.read_referent(weak);
        assert_eq!(
            (mutator.read_u32(ring, ID), mutator.read_u32(other, ID)),
            (1, 2)
        );
        assert_sound(mutator);
    });
}

#[test]
fn weak_references_into_a_dead_cycle_are_cleared() {
    on_both(|mutator, kinds| {
        let first = node(mutator, kinds, 1);
        let root = mutator.local(first);
        mutator.write(first, first.slot(SLOTS[0]), first);
        let weak = mutator.alloc(kinds.weak).unwrap();
        let weak_root = mutator.local(weak);
        let first = mutator.get(root);
        mutator.write(weak, weak.slot(REFERENT), first);
        mutator.collect_full();
        let weak = mutator.get(weak_root);
        assert_eq!(mutator.read_referent(weak), mutator.get(root));
        mutator.set(root, ObjectRef::NULL);
        mutator.collect_full();
        let weak = mutator.get(weak_root);
        assert_eq!(mutator.read_referent(weak), ObjectRef::NULL);
        assert_eq!(mutator.take_pending_reference(), Some(weak));
        assert_sound(mutator);
    });
}

#[test]
fn soft_references_hold_until_memory_runs_out() {
    on_both(|mutator, kinds| {
        let target = node(mutator, kinds, 1);
        let root = mutator.local(target);
        let soft = mutator.alloc(kinds.soft).unwrap();
        let soft_root = mutator.local(soft);
        let target = mutator.get(root);
        mutator.write(soft, soft.slot(REFERENT), target);
        mutator.set(root, ObjectRef::NULL);
        if mutator.heap().is_counting() {
            mutator.collect_epoch();
            mutator.collect_epoch();
            let soft = mutator.get(soft_root);
            assert_ne!(mutator.read_referent(soft), ObjectRef::NULL);
        }
        mutator.collect_full();
        let soft = mutator.get(soft_root);
        assert_eq!(mutator.read_referent(soft), ObjectRef::NULL);
        assert_sound(mutator);
    });
}

#[test]
fn exhausted_memory_is_a_value_and_harms_nothing() {
    on_both(|mutator, kinds| {
        let array = mutator.alloc_array(kinds.array, 200_000).unwrap();
        let root = mutator.local(array);
        let mut filled = 0;
        let error = loop {
            match mutator.alloc_array(kinds.bytes, 2000) {
                Ok(object) => {
                    let array = mutator.get(root);
                    mutator.write_element(array, filled, object);
                    filled += 1;
                }
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("out of memory"), "{error}");
        assert!(filled > 4000, "most of 16 MiB was there: {filled}");
        assert_sound(mutator);
        let array = mutator.get(root);
        assert!(
            (0..filled).all(|it| mutator.array_length(mutator.read(array.element(it))) == 2000)
        );
        assert!(mutator.alloc_array(kinds.bytes, 1 << 28).is_err());
        // Given up, it is there again.
        mutator.truncate_locals(0);
        mutator.collect_full();
        for _ in 0..4000 {
            mutator.alloc_array(kinds.bytes, 2000).unwrap();
        }
    });
}

#[test]
fn events_tell_what_the_collector_did() {
    let heap = start(CollectorKind::Rc, 16 << 20, |_| {});
    let mut mutator = heap.attach(false, &[]);
    mutator.collect_full();
    let events = heap.events().since(0);
    let trace = events.iter().find(|it| it.kind == EventKind::Trace);
    let trace = trace.expect("a trace ended");
    let holds_trace = |it: &&Event| it.start_ns <= trace.start_ns && trace.end_ns <= it.end_ns;
    let mut epochs = events.iter().filter(|it| it.kind == EventKind::Epoch);
    let epoch = epochs.find(holds_trace).expect("its epoch ended");
    let rounds = [EventKind::Snoop, EventKind::Switch, EventKind::Scan].map(|kind| {
        let is_its = |it: &&Event| it.kind == kind && epoch.start_ns <= it.start_ns;
        events.iter().find(is_its).expect("a round ended")
    });
    assert!(rounds.is_sorted_by(|a, b| a.end_ns <= b.start_ns));
    assert!(rounds[2].end_ns <= trace.start_ns);
    assert_eq!(rounds.map(|it| it.amount), [1, 1, 1], "one mutator");
}

/// Objects of `count` nodes that lie right behind the one before.
fn in_a_row(mutator: &mut Mutator, kinds: Kinds, count: u32) -> u32 {
    let nodes: Vec<u32> = (0..count)
        .map(|id| node(mutator, kinds, id).bits())
        .collect();
    let bytes = nodes[1].abs_diff(nodes[0]).min(256);
    let is_next = |it: &&[u32]| it[1].wrapping_sub(it[0]) == bytes;
    nodes.windows(2).filter(is_next).count() as u32
}

#[test]
fn real_time_mutators_get_whole_blocks_and_others_the_gaps() {
    let heap = start(CollectorKind::Rc, 16 << 20, |_| {});
    let kinds = Kinds::new(&heap);
    let mut ordinary = heap.attach(false, &[]);
    // Blocks with gaps: of three nodes the second and third die.
    for id in 0..6000 {
        let node = node(&mut ordinary, kinds, id);
        if id % 3 == 0 {
            ordinary.local(node);
        }
    }
    ordinary.collect_full();
    assert!(in_a_row(&mut ordinary, kinds, 100) <= 60, "gaps of two");
    let mut urgent = ordinary.native(|| heap.attach(true, &[]));
    assert_eq!(in_a_row(&mut urgent, kinds, 100), 99, "one block");
    drop(urgent);
    assert_sound(&mut ordinary);
}

#[test]
fn who_has_a_real_time_policy_is_a_real_time_mutator() {
    use rt::policy::Policy;
    on_both(|mutator, _| {
        let is_real_time = |mutator: &mut Mutator| {
            mutator.collect_full();
            mutator.heap().answers()[0].is_real_time
        };
        assert!(!is_real_time(mutator));
        let granted = Policy::fifo(1).enter();
        let granted =
            granted.expect("the right to real-time policies (`takt doctor` tells how to get it)");
        assert!(is_real_time(mutator));
        drop(granted);
        assert!(!is_real_time(mutator), "lowered again");
    });
}
