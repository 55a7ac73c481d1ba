// SPDX-License-Identifier: Apache-2.0
//! A mutator that is faster than the collector waits before the heap grows far beyond what lives.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use heap::limits::GROWTH_BEFORE_WAIT;
use heap::{CollectorKind, Heap};
use rt::thread::{Builder, Thread};
use support::{Kinds, now_ns, start};

const HEAP_BYTES: u32 = 128 << 20;
/// More than may be committed while no epoch ends.
const GARBAGE_BYTES: u64 = 110 << 20;
const NODE_BYTES: u64 = 32;
/// A failure is a failure and no hang.
const PATIENCE_NS: u64 = 60_000_000_000;

/// A mutator in managed state that answers nothing until it may.
fn spawn_brake(
    heap: &Arc<Heap>,
    may_go: &Arc<AtomicBool>,
    is_over: &Arc<AtomicBool>,
) -> Thread<()> {
    let (heap, may_go, is_over) = (Arc::clone(heap), Arc::clone(may_go), Arc::clone(is_over));
    let (joined, has_joined) = std::sync::mpsc::sync_channel(1);
    let thread = Builder::new("brake").spawn(move || {
        let mut mutator = heap.attach(false, &[]);
        joined.send(()).unwrap();
        while !may_go.load(SeqCst) {
            core::hint::spin_loop();
        }
        while !is_over.load(SeqCst) {
            mutator.poll();
        }
    });
    has_joined.recv().unwrap();
    thread.unwrap()
}

#[test]
fn who_is_faster_than_the_collector_waits_before_the_heap_grows() {
    let heap = start(CollectorKind::Rc, HEAP_BYTES, |config| {
        config.epoch_interval_ns = 3_600_000_000_000;
    });
    let kinds = Kinds::new(&heap);
    let [may_go, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let made = Arc::new(AtomicU64::new(0));
    let brake = spawn_brake(&heap, &may_go, &is_over);
    let actor = {
        let (heap, made) = (Arc::clone(&heap), Arc::clone(&made));
        Builder::new("actor").spawn(move || {
            let mut mutator = heap.attach(false, &[]);
            while made.load(SeqCst) < GARBAGE_BYTES / NODE_BYTES {
                mutator.alloc(kinds.node).unwrap();
                made.fetch_add(1, SeqCst);
            }
        })
    };
    let end_ns = now_ns() + PATIENCE_NS;
    while heap.counters().growth_waits.get() == 0 && now_ns() < end_ns {
        std::hint::spin_loop();
    }
    // No epoch ends as long as the brake does not answer.
    let (waits, bytes) = (
        heap.counters().growth_waits.get(),
        made.load(SeqCst) * NODE_BYTES,
    );
    let (_, committed) = heap.free_and_committed_bytes();
    may_go.store(true, SeqCst);
    actor.unwrap().join();
    is_over.store(true, SeqCst);
    brake.join();
    assert_eq!(waits, 1);
    assert!(
        bytes <= u64::from(GROWTH_BEFORE_WAIT),
        "{bytes} bytes were made"
    );
    assert_eq!(committed, u64::from(GROWTH_BEFORE_WAIT));
    assert_eq!(made.load(SeqCst), GARBAGE_BYTES / NODE_BYTES);
    assert_eq!(heap.counters().out_of_memory.get(), 0);
}
