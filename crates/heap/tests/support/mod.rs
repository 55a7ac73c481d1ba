// SPDX-License-Identifier: Apache-2.0
//! What the heap's tests share: heaps beside each other, random numbers that replay, two kinds of
//! objects.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::atomic::{AtomicU32, Ordering};

use abi::address_map::AddressMap;
use abi::layout::{Layout, ReferenceKind};
use heap::{
    AllocSite, CollectorKind, CopyRange, Heap, HeapConfig, LayoutRef, Local, Mutator, NoBinding,
    ReserveError, Running, StartError,
};

/// A heap of `bytes` at a place that no other heap of this process has. Room for some at a time,
/// even under AddressSanitizer.
pub(crate) fn start(kind: CollectorKind, bytes: u32, adjust: impl Fn(&mut HeapConfig)) -> Running {
    let running = reserve(kind, bytes, adjust);
    running.begin().expect("a thread for the collector");
    running
}

/// The same without a collector's thread.
pub(crate) fn reserve(
    kind: CollectorKind,
    bytes: u32,
    adjust: impl Fn(&mut HeapConfig),
) -> Running {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const PLACE_BYTES: u32 = 128 << 20;
    const PLACES: u32 = 11;
    assert!(bytes <= PLACE_BYTES);
    for _ in 0..10_000 {
        let place = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
        let map = AddressMap::without_code(place, PLACE_BYTES, bytes);
        let mut config = HeapConfig::new(map, kind);
        config.reserve_bytes = 256 << 10;
        adjust(&mut config);
        match Running::reserve(config, Box::new(NoBinding)) {
            Ok(running) => return running,
            Err(StartError::Reserve(ReserveError::Occupied { .. })) => {
                rt::clock::Clock::sleep_until(&rt::clock::Monotonic, now_ns() + 1_000_000);
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("no place for another heap");
}

/// Copies elements between arrays of references as the machine does: as if all were read before
/// the first is written, with a poll after each piece.
pub(crate) fn copy_elements(mutator: &mut Mutator, source: Local, target: Local, range: CopyRange) {
    for piece in range.pieces(mutator.get(source) == mutator.get(target)) {
        mutator.copy_piece(mutator.get(source), mutator.get(target), piece);
        mutator.poll();
    }
}

pub(crate) fn now_ns() -> u64 {
    rt::clock::Clock::now_ns(&rt::clock::Monotonic)
}

/// xorshift64*: small, and the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

pub(crate) const SLOTS: [u32; 3] = [12, 16, 20];
pub(crate) const ID: u32 = 24;
pub(crate) const CHECK: u32 = 28;

/// Layouts used by the tests.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    /// Three slots, an identity and its check: 32 bytes.
    pub(crate) node: AllocSite,
    pub(crate) array: LayoutRef,
    pub(crate) bytes: LayoutRef,
    pub(crate) weak: AllocSite,
    pub(crate) soft: AllocSite,
    pub(crate) phantom: AllocSite,
    pub(crate) finalizer: AllocSite,
    /// 40 strong slots: a log word per chunk, some of them beyond the map.
    pub(crate) wide: AllocSite,
}

pub(crate) const REFERENT: u32 = 16;
pub(crate) const WIDE_SLOTS: u32 = 100;
/// Of a wide object, in front of its slots.
pub(crate) const WIDE_MARK: u32 = 12;

impl Kinds {
    pub(crate) fn new(heap: &Heap) -> Self {
        let add = |layout| heap.metadata().add(layout, &[]).unwrap();
        let reference = |kind| AllocSite::fields(add(Layout::reference(kind, 24, &[12], REFERENT)));
        let near: Vec<u32> = (0..60).map(|it| 16 + 4 * it).collect();
        let far: Vec<u32> = (60..WIDE_SLOTS).map(|it| 16 + 4 * it).collect();
        let wide = heap
            .metadata()
            .add(Layout::fields(16 + 4 * WIDE_SLOTS, &near), &far)
            .unwrap();
        Self {
            node: AllocSite::fields(add(Layout::fields(32, &SLOTS))),
            array: add(Layout::reference_array()),
            bytes: add(Layout::primitive_array(0)),
            weak: reference(ReferenceKind::Weak),
            soft: reference(ReferenceKind::Soft),
            phantom: reference(ReferenceKind::Phantom),
            finalizer: reference(ReferenceKind::Final),
            wide: AllocSite::fields(wide),
        }
    }
}

/// The seeds to run: one by `HEAP_SEED`, or the fixed ones.
pub(crate) fn seeds(fixed: &[u64]) -> Vec<u64> {
    match std::env::var("HEAP_SEED") {
        Ok(seed) => vec![seed.parse().expect("HEAP_SEED is a number")],
        Err(_) => fixed.to_vec(),
    }
}

pub(crate) fn check_of(id: u32) -> u32 {
    id.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995
}
