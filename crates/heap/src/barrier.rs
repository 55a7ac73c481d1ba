// SPDX-License-Identifier: Apache-2.0
//! The coalescing write barrier: the first store into an object in an epoch records its old
//! references.
//!
//! The fast path is one byte load, one compare and the store itself ([`crate::Mutator::write`];
//! compiled code emits the same from `abi::barrier`). The slow path, here, is bounded: at most 32
//! slots are copied, and its exchange can fail at most twice per epoch (the collector settles the
//! word of the last epoch; another mutator records first, which ends the loop). It takes no lock
//! and never waits. The twin in `compiler` has the same name.

use std::sync::atomic::{AtomicU32, Ordering};

use rt::sync::atomic::fence;

use abi::barrier::LogWord;
use abi::layout::{Layout, Shape};
use abi::object::{
    ARRAY_ELEMENTS_OFFSET, ARRAY_LENGTH_OFFSET, CHUNK_BYTES, HEADER_BYTES, REFERENCE_BYTES,
    SLOTS_PER_LOG_WORD,
};

use crate::log::CHUNK_HOLDER;
use crate::memory::Memory;
use crate::metadata::far_slots;
use crate::object::ObjectRef;

/// An object, or a chunk of one: what one log word stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Holder(pub(crate) u32);

impl Holder {
    /// Who holds `slot_address` in `object`.
    pub(crate) fn of(memory: &Memory, object: ObjectRef, slot_address: u32) -> Self {
        if is_chunked(memory, object) {
            Self(slot_address & !(CHUNK_BYTES - 1) | CHUNK_HOLDER)
        } else {
            Self(object.0)
        }
    }

    pub(crate) fn is_chunk(self) -> bool {
        self.0 & CHUNK_HOLDER != 0
    }

    /// Its log word.
    pub(crate) fn log_word(self, memory: &Memory) -> &AtomicU32 {
        if self.is_chunk() {
            memory.chunk_log(self.0 & !CHUNK_HOLDER)
        } else {
            memory.header_log(ObjectRef(self.0))
        }
    }
}

/// Whether the object has a log word per chunk.
pub(crate) fn is_chunked(memory: &Memory, object: ObjectRef) -> bool {
    let layout = memory.layout(object);
    layout.is_chunked(length(memory, object, layout))
}

/// An array's length; 0 for an object with fields.
pub(crate) fn length(memory: &Memory, object: ObjectRef, layout: &Layout) -> u32 {
    match layout.shape {
        Shape::Fields => 0,
        Shape::ReferenceArray | Shape::PrimitiveArray => memory
            .word(object.0 + ARRAY_LENGTH_OFFSET)
            .load(Ordering::Relaxed),
    }
}

/// Bytes of an object without padding.
pub(crate) fn object_bytes(memory: &Memory, object: ObjectRef, layout: &Layout) -> u32 {
    match layout.shape {
        Shape::Fields => layout.bytes,
        Shape::ReferenceArray | Shape::PrimitiveArray => abi::object::array_bytes(
            length(memory, object, layout),
            u32::from(layout.element_shift),
        )
        .expect("an array that exists has a size"),
    }
}

/// Calls `visit` with the address of each strong slot of an object that is not chunked.
#[inline]
pub(crate) fn each_slot(
    memory: &Memory,
    object: ObjectRef,
    layout: &Layout,
    mut visit: impl FnMut(u32),
) {
    match layout.shape {
        Shape::Fields => {
            each_near_slot(object, layout, &mut visit);
            far_slots(layout)
                .iter()
                .for_each(|offset| visit(object.0 + offset));
        }
        Shape::ReferenceArray => {
            let first = object.0 + ARRAY_ELEMENTS_OFFSET;
            (0..length(memory, object, layout))
                .for_each(|index| visit(first + index * REFERENCE_BYTES));
        }
        Shape::PrimitiveArray => {}
    }
}

/// The slots that the layout's map holds, 64 at most.
#[inline]
fn each_near_slot(object: ObjectRef, layout: &Layout, visit: &mut impl FnMut(u32)) {
    let mut map = layout.map;
    while map != 0 {
        visit(object.0 + HEADER_BYTES + map.trailing_zeros() * REFERENCE_BYTES);
        map &= map - 1;
    }
}

/// Calls `visit` with the address of each strong slot in `[low, high)` of an object. Of the others
/// the map's are passed over, and as many as a binary search looks at.
pub(crate) fn each_slot_within(
    memory: &Memory,
    object: ObjectRef,
    layout: &Layout,
    (low, high): (u32, u32),
    mut visit: impl FnMut(u32),
) {
    match layout.shape {
        Shape::ReferenceArray => {
            let first = object.0 + ARRAY_ELEMENTS_OFFSET;
            let end = first + length(memory, object, layout) * REFERENCE_BYTES;
            let (low, high) = (first.max(low), end.min(high));
            (low..high)
                .step_by(REFERENCE_BYTES as usize)
                .for_each(visit);
        }
        Shape::Fields => {
            each_near_slot(object, layout, &mut |slot| {
                if low <= slot && slot < high {
                    visit(slot);
                }
            });
            let far = far_slots(layout);
            let begin = far.partition_point(|offset| object.0 + offset < low);
            far[begin..]
                .iter()
                .map(|offset| object.0 + offset)
                .take_while(|slot| *slot < high)
                .for_each(visit);
        }
        Shape::PrimitiveArray => {}
    }
}

/// Up to 32 references, copied out of a holder.
#[derive(Debug)]
pub(crate) struct SlotCopy {
    refs: [u32; SLOTS_PER_LOG_WORD as usize],
    count: usize,
}

impl SlotCopy {
    pub(crate) fn new() -> Self {
        Self {
            refs: [0; SLOTS_PER_LOG_WORD as usize],
            count: 0,
        }
    }

    /// Adds a reference that is not null.
    pub(crate) fn add(&mut self, reference: u32) {
        if reference != 0 {
            self.refs[self.count] = reference;
            self.count += 1;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    pub(crate) fn refs(&self) -> &[u32] {
        &self.refs[..self.count]
    }
}

/// How [`claim`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Claim {
    /// The record is published.
    Won,
    /// Somebody recorded for this epoch or the next one; the record is not needed.
    Unneeded,
}

/// Records a holder's old references once per epoch: `write` copies them into private log space and
/// returns the record's number; the exchange publishes it. Retries when the collector settled the
/// word meanwhile.
///
/// Sound only with the exchange: a mutator of the last epoch may store while this one copies, and
/// then two mutators could publish different copies (`docs/internals/collector-safety.md`,
/// shortcuts that free live objects).
pub(crate) fn claim<W: LogCell>(word: &W, epoch: u8, mut write: impl FnMut() -> u32) -> Claim {
    loop {
        let found = word.load();
        if found.is_recorded_for(epoch) {
            return Claim::Unneeded;
        }
        let record = write();
        if word.exchange(found, LogWord::recorded(epoch, record)) {
            return Claim::Won;
        }
    }
}

/// What a holder's references were when mutators switched to `epoch`: as recorded since, or as the
/// slots say if the word shows before and after that nothing was. A mutator publishes the word
/// before it stores ([`claim`]), so slots read between two looks that find nothing recorded are
/// those of the view. Both `recorded` and `slots` put them into `view`.
pub(crate) fn read_view<W: LogCell, V>(
    word: &W,
    epoch: u8,
    view: &mut V,
    recorded: impl Fn(&mut V, LogWord),
    slots: impl Fn(&mut V),
) {
    loop {
        let before = word.load();
        if before.epoch() == epoch {
            return recorded(view, before);
        }
        slots(view);
        // Who reads a new slot sees the word that was published before it.
        fence(Ordering::Acquire);
        if word.load().epoch() != epoch {
            return;
        }
    }
}

/// A log word in memory; a model checker brings its own.
pub(crate) trait LogCell {
    /// Acquire: what its publisher wrote before is seen.
    fn load(&self) -> LogWord;
    /// Sequentially consistent: the copies made before it are of before, the caller's store comes
    /// after.
    fn exchange(&self, from: LogWord, to: LogWord) -> bool;
}

impl LogCell for AtomicU32 {
    #[inline]
    fn load(&self) -> LogWord {
        LogWord(AtomicU32::load(self, Ordering::Acquire))
    }

    #[inline]
    fn exchange(&self, from: LogWord, to: LogWord) -> bool {
        self.compare_exchange(from.0, to.0, Ordering::SeqCst, Ordering::Acquire)
            .is_ok()
    }
}
