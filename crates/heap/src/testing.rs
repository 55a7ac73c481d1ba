// SPDX-License-Identifier: Apache-2.0
//! What the unit tests share: a heap that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use abi::address_map::AddressMap;
use abi::alloc::BLOCK_BYTES;

use crate::binding::NoBinding;
use crate::heap::{CollectorKind, Heap, HeapConfig};

/// A heap of so many blocks, all of them memory, without a collector's thread, at a place of its
/// own.
pub(crate) fn uncollected(kind: CollectorKind, blocks: u32, reserve: u32) -> Arc<Heap> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const PLACE_BYTES: u32 = 16 << 20;
    let place = NEXT.fetch_add(1, Ordering::Relaxed);
    let bytes = blocks * BLOCK_BYTES;
    assert!(bytes <= PLACE_BYTES && place < 64);
    let map = AddressMap::without_code(place, PLACE_BYTES, bytes);
    let mut config = HeapConfig::new(map, kind);
    config.reserve_bytes = reserve * BLOCK_BYTES;
    config.heap_bytes_start = bytes;
    Arc::new(Heap::reserve(config, Box::new(NoBinding)).unwrap())
}
