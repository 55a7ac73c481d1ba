// SPDX-License-Identifier: Apache-2.0
//! Priority travels: a FIFO-50 hog over an ordinary mutator does not stop reclamation while a
//! FIFO-80 mutator allocates. All on one processor, where nothing but lending could let the
//! ordinary mutator run.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use heap::{CollectorKind, Heap};
use rt::affinity::CpuSet;
use rt::policy::{Policy, Tid};
use rt::thread::{Builder, Thread};
use support::{Kinds, now_ns, start};

/// Reclamation needs epochs, and each needs an answer of the mutator under the hog.
const EPOCHS_NEEDED: u64 = 3;
/// Three handshakes for each epoch.
const ANSWERS_NEEDED: u64 = 3 * EPOCHS_NEEDED;
/// The hog gives up after this, so that a failure is a failure and no hang.
const HOG_NS: u64 = 20_000_000_000;

/// An ordinary mutator that only polls.
fn spawn_ordinary(heap: &Arc<Heap>, one: CpuSet, is_stopping: &Arc<AtomicBool>) -> Thread<()> {
    let (heap, is_stopping) = (Arc::clone(heap), Arc::clone(is_stopping));
    let (joined, has_joined) = std::sync::mpsc::sync_channel(1);
    let thread = Builder::new("ordinary")
        .policy(Policy::Other { nice: 0 })
        .affinity(one)
        .spawn(move || {
            let mut mutator = heap.attach(false, &[]);
            joined.send(()).unwrap();
            while !is_stopping.load(SeqCst) {
                mutator.poll();
            }
        })
        .unwrap();
    has_joined.recv().unwrap();
    thread
}

/// Returns whether it was told to stop before it gave up.
fn spawn_hog(one: CpuSet, is_stopping: &Arc<AtomicBool>) -> Thread<bool> {
    let is_stopping = Arc::clone(is_stopping);
    Builder::new("hog")
        .policy(Policy::fifo(50))
        .affinity(one)
        .spawn(move || {
            let end_ns = now_ns() + HOG_NS;
            while now_ns() < end_ns && !is_stopping.load(SeqCst) {}
            now_ns() < end_ns
        })
        .unwrap()
}

/// Allocates under the hog until there were enough epochs; returns how many, and whether the hog
/// was still there.
fn run_urgent(
    heap: &Arc<Heap>,
    kinds: Kinds,
    one: CpuSet,
    is_stopping: &Arc<AtomicBool>,
) -> (u64, bool) {
    let mut mutator = heap.attach(true, &[]);
    let hog = spawn_hog(one, is_stopping);
    let before = heap.counters().epochs.get();
    let mut due_ns = now_ns();
    while heap.counters().epochs.get() < before + EPOCHS_NEEDED && !hog.is_finished() {
        for _ in 0..2000 {
            mutator.alloc(kinds.node).unwrap();
        }
        due_ns += 1_000_000;
        mutator.native(|| rt::clock::Clock::sleep_until(&rt::clock::Monotonic, due_ns));
    }
    is_stopping.store(true, SeqCst);
    (heap.counters().epochs.get() - before, hog.join())
}

#[test]
fn a_hog_over_an_ordinary_mutator_does_not_stop_reclamation() {
    let probe = Builder::new("probe").policy(Policy::fifo(80));
    probe
        .spawn(|| ())
        .expect("the right to real-time policies (`takt doctor` tells how to get it)");
    let one = CpuSet::single(CpuSet::of(Tid::current()).unwrap().iter().next().unwrap());
    one.apply(Tid::current()).unwrap();
    let heap = start(CollectorKind::Rc, 16 << 20, |config| {
        config.collector_policy = Some(Policy::fifo(1));
        config.reserve_bytes = 4 << 20;
        config.epoch_interval_ns = 3_600_000_000_000;
    });
    let kinds = Kinds::new(&heap);
    let is_stopping = Arc::new(AtomicBool::new(false));
    let ordinary = spawn_ordinary(&heap, one, &is_stopping);
    let start_ns = now_ns();
    let urgent = {
        let (heap, is_stopping) = (Arc::clone(&heap), Arc::clone(&is_stopping));
        Builder::new("urgent")
            .policy(Policy::fifo(80))
            .affinity(one)
            .spawn(move || run_urgent(&heap, kinds, one, &is_stopping))
    }
    .unwrap();
    let (epochs, is_hog_alive) = urgent.join();
    ordinary.join();
    // A kernel that keeps a little time for ordinary threads would let each answer come about once
    // a second.
    let took_ns = now_ns() - start_ns;
    assert!(
        took_ns < ANSWERS_NEEDED * 500_000_000,
        "{took_ns} ns: not by lending"
    );
    assert!(
        is_hog_alive,
        "the hog ended by itself: {epochs} epochs in its time"
    );
    assert!(epochs >= EPOCHS_NEEDED);
    assert!(
        heap.counters().loans.get() > 0,
        "the collector was lent the priority"
    );
}
