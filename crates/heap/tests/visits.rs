// SPDX-License-Identifier: Apache-2.0
//! A visitor, the mutator that it waits for, and the collector for which that one waits: each lends
//! to the next, and the collector, which answers for the mutator, wants what the visitor holds. The
//! kernel refuses to close such a circle. And `stw`, which holds everybody, visitors included.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use heap::CollectorKind;
use rt::thread::Builder;
use support::{now_ns, start};

const VISITS_NEEDED: u64 = 20_000;
const EPOCHS_NEEDED: u64 = 5_000;
/// In managed code, before it waits: long enough for the visitor to wait in the kernel.
const MANAGED_NS: u64 = 30_000;
/// Far more than it takes.
const TIME_NS_MAX: u64 = 60_000_000_000;

#[test]
#[cfg_attr(miri, ignore = "Miri knows no `rt::thread`")]
fn a_mutator_that_waits_for_the_collector_is_visited_and_answered_for() {
    let heap = start(CollectorKind::Rc, 8 << 20, |_| ());
    let is_over = Arc::new(AtomicBool::new(false));
    let epochs = Arc::new(AtomicU64::new(0));
    let (joined, has_joined) = std::sync::mpsc::sync_channel(1);
    let mutator = {
        let (heap, is_over) = (Arc::clone(&heap), Arc::clone(&is_over));
        let epochs = Arc::clone(&epochs);
        Builder::new("mutator").spawn(move || {
            let mut mutator = heap.attach(false, &[]);
            joined.send(()).unwrap();
            while !is_over.load(Relaxed) {
                let end_ns = now_ns() + MANAGED_NS;
                while now_ns() < end_ns {}
                mutator.collect_epoch();
                epochs.fetch_add(1, Relaxed);
            }
        })
    }
    .unwrap();
    has_joined.recv().unwrap();
    let end_ns = now_ns() + TIME_NS_MAX;
    let mut visits = 0;
    while visits < VISITS_NEEDED || epochs.load(Relaxed) < EPOCHS_NEEDED {
        heap.visit(|_| true, Some(end_ns), |_| ()).unwrap();
        visits += 1;
        assert!(now_ns() < end_ns, "{visits} visits, {epochs:?} epochs");
    }
    is_over.store(true, Relaxed);
    mutator.join();
}

/// A mutator asks for room for another one, in managed code, while a visitor waits for it and the
/// collector for the visitor.
#[test]
#[cfg_attr(miri, ignore = "Miri knows no `rt::thread`")]
fn a_mutator_that_is_visited_starts_threads_beside_pauses() {
    const VISITS_NEEDED: u64 = 4_000;
    const PAUSES_NEEDED: u64 = 400;
    let heap = start(CollectorKind::Stw, 8 << 20, |_| ());
    let is_over = Arc::new(AtomicBool::new(false));
    let pauses = Arc::new(AtomicU64::new(0));
    let (joined, has_joined) = std::sync::mpsc::sync_channel(1);
    let starter = {
        let (heap, is_over) = (Arc::clone(&heap), Arc::clone(&is_over));
        Builder::new("starter").spawn(move || {
            let mut mutator = heap.attach(false, &[]);
            joined.send(()).unwrap();
            while !is_over.load(Relaxed) {
                let end_ns = now_ns() + MANAGED_NS;
                while now_ns() < end_ns {}
                assert!(heap.place().is_some());
                mutator.poll();
            }
        })
    }
    .unwrap();
    has_joined.recv().unwrap();
    let collecting = {
        let (heap, is_over) = (Arc::clone(&heap), Arc::clone(&is_over));
        let pauses = Arc::clone(&pauses);
        Builder::new("collecting").spawn(move || {
            let mut mutator = heap.attach(false, &[]);
            while !is_over.load(Relaxed) {
                mutator.collect_epoch();
                pauses.fetch_add(1, Relaxed);
            }
        })
    }
    .unwrap();
    let end_ns = now_ns() + TIME_NS_MAX;
    let mut visits = 0;
    while visits < VISITS_NEEDED || pauses.load(Relaxed) < PAUSES_NEEDED {
        heap.visit(|_| true, Some(end_ns), |_| ()).unwrap();
        visits += 1;
        assert!(now_ns() < end_ns, "{visits} visits, {pauses:?} pauses");
    }
    is_over.store(true, Relaxed);
    starter.join();
    collecting.join();
}
