// SPDX-License-Identifier: Apache-2.0
//! Blocks belong to one size: a thread that allocates faster than the collector sweeps, and keeps
//! something in every block it gets, leaves blocks to other sizes.

mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use heap::{Budget, CollectorKind, HeapConfig, Mutator};
use rt::thread::{Builder, Thread};
use support::{Kinds, start};

const HEAP_BYTES: u32 = 16 << 20;
const BLOCK_SHIFT: u32 = 15;
const BLOCKS: u32 = HEAP_BYTES >> BLOCK_SHIFT;
const NODE_BYTES: u32 = 32;

/// Allocates five heaps full of nodes and keeps one in each block that it meets; returns how many.
fn pin_blocks(mutator: &mut Mutator, kinds: Kinds) -> u32 {
    let pins = mutator.alloc_array(kinds.array, BLOCKS).unwrap();
    let pins = mutator.local(pins);
    let mut pinned = HashSet::new();
    for _ in 0..5 * (HEAP_BYTES / NODE_BYTES) {
        let node = mutator.alloc(kinds.node).unwrap();
        if pinned.insert(node.bits() >> BLOCK_SHIFT) {
            let pins = mutator.get(pins);
            mutator.write_element(pins, pinned.len() as u32 - 1, node);
        }
    }
    pinned.len() as u32
}

/// Every size that a block can have gets some of its own afterwards.
fn allocate_other_sizes(mutator: &mut Mutator, kinds: Kinds) {
    let base = mutator.local_count();
    for bytes in (48..8000).step_by(40) {
        let array = mutator.alloc_array(kinds.bytes, bytes).unwrap();
        mutator.local(array);
    }
    mutator.truncate_locals(base);
}

fn check(adjust: impl Fn(&mut HeapConfig)) {
    let heap = start(CollectorKind::Stw, HEAP_BYTES, adjust);
    let kinds = Kinds::new(&heap);
    let mut mutator = heap.attach(false, &[]);
    let pinned = pin_blocks(&mut mutator, kinds);
    allocate_other_sizes(&mut mutator, kinds);
    let counters = heap.counters();
    assert!(
        counters.pauses.get() > 2 && pinned > BLOCKS / 2,
        "{pinned} {counters:?}"
    );
}

#[test]
fn a_sweep_that_stands_still_lets_no_size_take_all_blocks() {
    check(stands_still);
}

#[test]
fn a_sweep_that_goes_on_lets_no_size_take_all_blocks() {
    check(|_| {});
}

/// The sweep goes on only while somebody waits for it.
fn stands_still(config: &mut HeapConfig) {
    config.collector_budget = Some(Budget {
        runtime_ns: 1,
        period_ns: 3_600_000_000_000,
    });
}

/// Threads that need other sizes all the time, beside one that takes every block that it can.
#[test]
fn others_get_their_sizes_meanwhile() {
    let heap = start(CollectorKind::Stw, HEAP_BYTES, |_| {});
    let kinds = Kinds::new(&heap);
    let is_over = Arc::new(AtomicBool::new(false));
    let others: Vec<_> = (0..2)
        .map(|_| {
            let (heap, is_over) = (Arc::clone(&heap), Arc::clone(&is_over));
            let run = move || {
                let mut mutator = heap.attach(false, &[]);
                while !is_over.load(Ordering::Relaxed) {
                    allocate_other_sizes(&mut mutator, kinds);
                }
            };
            Builder::new("other").spawn(run).unwrap()
        })
        .collect();
    let mut mutator = heap.attach(false, &[]);
    pin_blocks(&mut mutator, kinds);
    is_over.store(true, Ordering::Relaxed);
    mutator.native(|| others.into_iter().for_each(Thread::join));
    assert_eq!(heap.counters().out_of_memory.get(), 0);
}
