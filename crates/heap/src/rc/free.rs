// SPDX-License-Identifier: Apache-2.0
//! Freeing: an object's references are given back, its cell is zeroed, its block is swept when the
//! epoch is over.

use std::sync::atomic::Ordering;

use abi::alloc::{BLOCK_BYTES, SIZE_CLASSES};
use abi::layout::ReferenceKind;
use abi::side_table::{CountByte, SNOOP_DEAD};

use crate::barrier::{Holder, LogCell, SlotCopy};
use crate::heap::Heap;
use crate::log::record_offset;
use crate::object::ObjectRef;
use crate::rc::Rc;
use crate::rc::count::{each_holder, view_of};
use crate::space::block::BlockUse;
use crate::space::sweep::FREE_BYTES_WORTH_TAKING;

impl Rc<'_> {
    /// Frees a dead object whose references are counted; `give_back` sees each of them.
    pub(crate) fn free(
        &mut self,
        object: ObjectRef,
        mut give_back: impl FnMut(&mut Self, ObjectRef),
    ) {
        let heap = self.heap;
        if heap.memory.layout(object).reference_kind != ReferenceKind::Strong {
            self.forget_reference(object);
        }
        let mut view = SlotCopy::new();
        each_holder(heap, object, |holder| {
            view_of(heap, holder, self.epoch, &mut view);
            forget_holder(heap, holder, self.epoch);
            view.refs()
                .iter()
                .for_each(|&it| give_back(self, ObjectRef(it)));
        });
        self.publish_count(object, CountByte(0));
        clear_dead_entry(heap, object);
        let bytes = self.cell_bytes(object);
        heap.counters.freed_bytes.add_alone(u64::from(bytes));
        heap.counters.freed_objects.add_alone(1);
        self.release_cell(object, bytes);
    }

    /// Bytes that the object occupies.
    pub(crate) fn cell_bytes(&self, object: ObjectRef) -> u32 {
        cell_bytes(self.heap, object)
    }

    fn release_cell(&mut self, object: ObjectRef, bytes: u32) {
        let heap = self.heap;
        let block = heap.blocks.index_of(object.0);
        let meta = heap.blocks.meta(block);
        if meta.usage() == BlockUse::Large {
            release_large(heap, object);
            return;
        }
        heap.memory.zero(object.0, bytes);
        let freed = u32::from(meta.freed_cells.fetch_add(1, Ordering::Relaxed)) * bytes;
        // Once, when enough of the block is free to be worth a sweep; a thorough epoch sweeps what
        // has less.
        if freed < FREE_BYTES_WORTH_TAKING && FREE_BYTES_WORTH_TAKING <= freed + bytes {
            self.dirty.push(block);
        }
    }
}

/// Gives a large object's blocks back.
pub(crate) fn release_large(heap: &Heap, object: ObjectRef) {
    let first = heap.blocks.index_of(object.0);
    let count = heap.blocks.meta(first).large_blocks.load(Ordering::Relaxed);
    // The class word first: a walker of the blocks sees an object or none.
    heap.memory.class_word(object).store(0, Ordering::Release);
    for block in first..first + count {
        heap.memory.zero(heap.blocks.start(block), BLOCK_BYTES);
        let meta = heap.blocks.meta(block);
        meta.has_referents.store(0, Ordering::Relaxed);
        meta.set_usage(BlockUse::Free);
    }
    heap.free.put(first, count);
}

/// Bytes that an object occupies with its padding.
pub(crate) fn cell_bytes(heap: &Heap, object: ObjectRef) -> u32 {
    let meta = heap.blocks.meta_of(object.0);
    match meta.usage() {
        BlockUse::Large => meta.large_blocks.load(Ordering::Relaxed) * BLOCK_BYTES,
        _ => SIZE_CLASSES[meta.class.load(Ordering::Relaxed) as usize],
    }
}

/// A dead holder may have been stored to after the view: then its record must not be settled in the
/// next epoch.
pub(crate) fn cancel_record(heap: &Heap, word: &std::sync::atomic::AtomicU32, epoch: u8) {
    let word = LogCell::load(word);
    if word.epoch() == epoch && word.has_record() {
        heap.log.cancel(record_offset(word.record()));
    }
}

/// As [`cancel_record`]; a chunk's word is clean for the next object there.
pub(crate) fn forget_holder(heap: &Heap, holder: Holder, epoch: u8) {
    let word = holder.log_word(&heap.memory);
    cancel_record(heap, word, epoch);
    if holder.is_chunk() {
        word.store(0, Ordering::Relaxed);
    }
}

/// The next object at this address may be read by reference objects of its own.
fn clear_dead_entry(heap: &Heap, object: ObjectRef) {
    let entry = heap.memory.snoop(object);
    let _ = entry.compare_exchange(SNOOP_DEAD, 0, Ordering::SeqCst, Ordering::Relaxed);
}
