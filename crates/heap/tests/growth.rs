// SPDX-License-Identifier: Apache-2.0
//! A mutator that is faster than the collector waits before the heap grows far beyond what lives.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use heap::limits::{COMMIT_BYTES, GROWTH_BEFORE_WAIT};
use heap::{CollectorKind, Heap};
use rt::thread::{Builder, Thread};
use support::{Kinds, start};

const HEAP_BYTES: u32 = 128 << 20;
/// More than may be committed without a wait.
const GARBAGE_BYTES: u64 = 90 << 20;
const NODE_BYTES: u64 = 32;

/// A mutator in managed state that answers nothing until it ends.
fn spawn_brake(heap: &Arc<Heap>, is_over: &Arc<AtomicBool>) -> Thread<()> {
    let (heap, is_over) = (Arc::clone(heap), Arc::clone(is_over));
    let (joined, has_joined) = std::sync::mpsc::sync_channel(1);
    let thread = Builder::new("brake").spawn(move || {
        let _mutator = heap.attach(false, &[]);
        joined.send(()).unwrap();
        while !is_over.load(SeqCst) {
            core::hint::spin_loop();
        }
    });
    has_joined.recv().unwrap();
    thread.unwrap()
}

/// How often one mutator waited that makes garbage while no epoch ends, how often it should have
/// without real-time threads, and how many epochs ended.
fn waits(prepare: impl FnOnce(&Arc<Heap>)) -> (u64, u64, u64) {
    let heap = start(CollectorKind::Rc, HEAP_BYTES, |config| {
        config.epoch_interval_ns = 3_600_000_000_000;
    });
    prepare(&heap);
    let kinds = Kinds::new(&heap);
    let is_over = Arc::new(AtomicBool::new(false));
    // No epoch ends as long as the brake does not answer.
    let brake = spawn_brake(&heap, &is_over);
    let mut mutator = heap.attach(false, &[]);
    for _ in 0..GARBAGE_BYTES / NODE_BYTES {
        mutator.alloc(kinds.node).unwrap();
    }
    let counters = heap.counters();
    let (waits, epochs) = (counters.growth_waits.get(), counters.epochs.get());
    let (_, committed) = heap.free_and_committed_bytes();
    drop(mutator);
    is_over.store(true, SeqCst);
    brake.join();
    assert_eq!(counters.out_of_memory.get(), 0);
    let steps = (committed - u64::from(GROWTH_BEFORE_WAIT)) / u64::from(COMMIT_BYTES);
    (waits, steps, epochs)
}

#[test]
fn who_is_faster_than_the_collector_waits_before_the_heap_grows() {
    let (waits, steps, epochs) = waits(|_| {});
    assert_eq!(epochs, 0);
    // It waited once for each step that the heap grew by, and then had it all the same.
    assert!(steps > 0);
    assert_eq!(waits, steps);
}

/// Who sleeps may hold what a real-time thread waits for.
#[test]
fn nobody_waits_beside_a_real_time_thread() {
    let expected = waits(|heap| heap.expect_real_time());
    assert!(expected.1 > 0);
    assert_eq!(expected.0, 0);
    let declared = waits(|heap| drop(heap.attach(true, &[])));
    assert_eq!(declared.0, 0);
}
