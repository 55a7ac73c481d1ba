// SPDX-License-Identifier: Apache-2.0
//! [`Memory`]: the heap's bytes and the side tables beside them, as atomics; the one place that
//! turns an address into an access.
//!
//! Every access checks that its address lies in the heap span, so safe code cannot reach beyond it;
//! a page that is not committed yet faults. What lies in a cell is words: mutators and the
//! collector read and write them concurrently, hence atomics everywhere.

use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use abi::address_map::Span;
use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT};
use abi::layout::Layout;
use abi::object::{CHUNK_SHIFT, CLASS_OFFSET, LOG_OFFSET};
use abi::side_table::ENTRY_SHIFT;

use crate::object::{ObjectRef, Slot};
use crate::step::Steps;
use crate::sys::reserve::{Access, RESERVED_BYTES, Reservation, ReserveError};

/// One entry of a side table, or eight of them.
trait Entries {}

impl Entries for AtomicU8 {}
impl Entries for AtomicU64 {}

/// See the module.
#[derive(Debug)]
pub(crate) struct Memory {
    span: Span,
    heap: Reservation,
    has_reserved_pages: bool,
    tables: [Reservation; 4],
    // Biased to address 0: adding a shifted address gives the entry.
    counts: usize,
    snoops: usize,
    summaries: usize,
    chunk_logs: usize,
    pub(crate) steps: Steps,
}

/// Bytes before an object and from it on that [`Memory::no_object`] shows.
const SHOWN_BYTES: u32 = 32;
const PAGE_BYTES: u32 = 4096;

impl Memory {
    /// With reserved pages, if they are wanted and the kernel has as many.
    pub(crate) fn reserve(span: Span, wants_reserved: bool) -> Result<Self, ReserveError> {
        assert!(span.start.is_multiple_of(BLOCK_BYTES) && span.bytes.is_multiple_of(BLOCK_BYTES));
        let (start, bytes) = (span.start as usize, span.bytes as usize);
        let is_whole = start.is_multiple_of(RESERVED_BYTES) && bytes.is_multiple_of(RESERVED_BYTES);
        let reserved = (wants_reserved && is_whole)
            .then(|| Reservation::new(start, bytes, Access::Reserved).ok())
            .flatten();
        let has_reserved_pages = reserved.is_some();
        let heap = match reserved {
            Some(heap) => heap,
            None => Reservation::new(start, bytes, Access::None)?,
        };
        let table = |shift: u32, entry_bytes: usize| {
            Reservation::new(
                0,
                (span.bytes as usize >> shift) * entry_bytes,
                Access::ReadWrite,
            )
        };
        let tables = [
            table(ENTRY_SHIFT, 1)?,
            table(ENTRY_SHIFT, 1)?,
            table(BLOCK_SHIFT, 1)?,
            table(CHUNK_SHIFT, 4)?,
        ];
        let biased = |index: usize, shift: u32, entry_bytes: usize| {
            tables[index]
                .start()
                .wrapping_sub((span.start as usize >> shift) * entry_bytes)
        };
        Ok(Self {
            counts: biased(0, ENTRY_SHIFT, 1),
            snoops: biased(1, ENTRY_SHIFT, 1),
            summaries: biased(2, BLOCK_SHIFT, 1),
            chunk_logs: biased(3, CHUNK_SHIFT, 4),
            span,
            heap,
            has_reserved_pages,
            tables,
            steps: Steps::default(),
        })
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Is the heap in pages that the administrator has reserved?
    pub(crate) fn has_reserved_pages(&self) -> bool {
        self.has_reserved_pages
    }

    /// For compiled code: `abi::context`.
    pub(crate) fn chunk_log_base(&self) -> usize {
        self.chunk_logs
    }

    /// For compiled code: the snoop table and its summaries.
    pub(crate) fn snoop_bases(&self) -> [usize; 2] {
        [self.snoops, self.summaries]
    }

    /// Makes `[start, start + bytes)` readable and writable; its bytes are zero.
    pub(crate) fn commit(&self, start: u32, bytes: u32) -> Result<(), ReserveError> {
        self.heap
            .commit((start - self.span.start) as usize, bytes as usize)
    }

    /// Gives the memory of `[start, start + bytes)`, which is committed, back to the kernel: it is
    /// zero when it is touched again.
    pub(crate) fn discard(&self, start: u32, bytes: u32) {
        self.heap
            .discard((start - self.span.start) as usize, bytes as usize);
    }

    /// What is touched first from now on comes in small pages.
    pub(crate) fn touch_small_pages(&self) {
        self.heap.touch_small_pages();
        self.tables.iter().for_each(Reservation::touch_small_pages);
    }

    /// Faults in and locks the first `bytes` of the heap and the tables that belong to them.
    pub(crate) fn populate_and_lock(&self, bytes: u32) -> Result<(), ReserveError> {
        self.heap.populate_and_lock(0, bytes as usize)?;
        for (table, (shift, entry_bytes)) in self.tables.iter().zip([
            (ENTRY_SHIFT, 1),
            (ENTRY_SHIFT, 1),
            (BLOCK_SHIFT, 1),
            (CHUNK_SHIFT, 4),
        ]) {
            table.populate_and_lock(0, (bytes as usize >> shift) * entry_bytes)?;
        }
        Ok(())
    }

    #[inline]
    fn check(&self, address: u32) {
        assert!(
            address.wrapping_sub(self.span.start) < self.span.bytes,
            "an address of the heap"
        );
    }

    /// The word at an address, which is a multiple of 4.
    #[inline]
    pub(crate) fn word(&self, address: u32) -> &AtomicU32 {
        self.check(address);
        debug_assert!(address.is_multiple_of(4));
        // SAFETY: 1. The word lies in the heap's reservation (checked), which lives as long as
        // `self`. 2. Addresses in use are multiples of 4; cleared bits keep that true for any
        // other. 3. All access to the heap's words is atomic, or by the only owner of free memory.
        unsafe { &*ptr::with_exposed_provenance::<AtomicU32>((address & !3) as usize) }
    }

    #[inline]
    pub(crate) fn slot(&self, slot: Slot) -> &AtomicU32 {
        self.word(slot.0)
    }

    /// `count` slots in a row, at least one.
    #[inline]
    pub(crate) fn slots(&self, first: Slot, count: u32) -> &[AtomicU32] {
        let offset = first.0.wrapping_sub(self.span.start);
        let end = u64::from(offset) + 4 * u64::from(count);
        assert!(end <= u64::from(self.span.bytes), "slots of the heap");
        debug_assert!(first.0.is_multiple_of(4));
        let start = ptr::with_exposed_provenance::<AtomicU32>((first.0 & !3) as usize);
        // SAFETY: as for `word`, of each of them: the first and the last one lie in the reservation
        // (checked).
        unsafe { std::slice::from_raw_parts(start, count as usize) }
    }

    #[inline]
    pub(crate) fn class_word(&self, object: ObjectRef) -> &AtomicU32 {
        self.word(object.0 + CLASS_OFFSET)
    }

    /// The log word in an object's header.
    #[inline]
    pub(crate) fn header_log(&self, object: ObjectRef) -> &AtomicU32 {
        self.word(object.0 + LOG_OFFSET)
    }

    /// The log word of the chunk that holds `address`.
    #[inline]
    pub(crate) fn chunk_log(&self, address: u32) -> &AtomicU32 {
        self.check(address);
        let entry = self
            .chunk_logs
            .wrapping_add((address >> CHUNK_SHIFT) as usize * 4);
        // SAFETY: 1. The table has an entry for each chunk of the span, and the address lies in it
        // (checked). 2. Entries are 4 bytes from a page boundary on, hence aligned; access is
        // atomic.
        unsafe { &*ptr::with_exposed_provenance::<AtomicU32>(entry) }
    }

    /// The count entry: `abi::side_table::CountByte`. Written by the collector alone.
    #[inline]
    pub(crate) fn count(&self, object: ObjectRef) -> &AtomicU8 {
        self.byte(self.counts, object.0, ENTRY_SHIFT)
    }

    /// The snoop entry: the tag of the round in which the object was a root.
    #[inline]
    pub(crate) fn snoop(&self, object: ObjectRef) -> &AtomicU8 {
        self.byte(self.snoops, object.0, ENTRY_SHIFT)
    }

    /// The snoop summary of the block that holds `address`.
    #[inline]
    pub(crate) fn summary(&self, address: u32) -> &AtomicU8 {
        self.byte(self.summaries, address, BLOCK_SHIFT)
    }

    #[inline]
    fn byte(&self, base: usize, address: u32, shift: u32) -> &AtomicU8 {
        self.check(address);
        let entry = base.wrapping_add((address >> shift) as usize);
        // SAFETY: the table has an entry for every `1 << shift` bytes of the span, and the address
        // lies in it (checked); access is atomic.
        unsafe { &*ptr::with_exposed_provenance::<AtomicU8>(entry) }
    }

    /// The count entries of a block, eight to a word, the first one lowest. For the collector:
    /// nobody else writes them, so it may read them together.
    pub(crate) fn block_counts(&self, block_start: u32) -> &[AtomicU64] {
        self.block_entries(self.counts, block_start)
    }

    /// The snoop entries of a block.
    pub(crate) fn block_snoops(&self, block_start: u32) -> &[AtomicU8] {
        self.block_entries(self.snoops, block_start)
    }

    /// What a table with an entry for each object has for a block.
    fn block_entries<T: Entries>(&self, base: usize, block_start: u32) -> &[T] {
        self.check(block_start);
        debug_assert!(block_start.is_multiple_of(BLOCK_BYTES));
        let entry = base.wrapping_add((block_start >> ENTRY_SHIFT) as usize);
        // SAFETY: a block of the span (checked) has this many entries in the table, the first of
        // them at a multiple of a word as the table's begin is; access is atomic.
        unsafe {
            std::slice::from_raw_parts(
                ptr::with_exposed_provenance::<T>(entry),
                (BLOCK_BYTES >> ENTRY_SHIFT) as usize / size_of::<T>(),
            )
        }
    }

    /// What the object is made of. Its class word is set: no reference was handed
    /// out before.
    #[inline]
    pub(crate) fn layout(&self, object: ObjectRef) -> &Layout {
        let class = self.class_word(object).load(Ordering::Acquire);
        if class == 0 {
            self.no_object(object);
        }
        // SAFETY: 1. Class words are written from `LayoutRef`s (or by compiled code from the same
        // addresses), which point to a `Layout` in the metadata span that is neither moved nor
        // changed nor freed. 2. Free memory has class word 0 (asserted), and fields never overlap a
        // class word.
        let layout = unsafe { &*ptr::with_exposed_provenance::<Layout>(class as usize) };
        match layout.own_offset {
            0 => layout,
            offset => self.own_layout(object, u32::from(offset)).unwrap_or(layout),
        }
    }

    /// Somebody named what is no object: ends with all that is known of the place.
    #[cold]
    #[inline(never)]
    fn no_object(&self, object: ObjectRef) -> ! {
        let words = |from: u32, to: u32| -> Vec<u32> {
            let all = (from..to).step_by(4);
            all.map(|at| self.word(at).load(Ordering::Relaxed))
                .collect()
        };
        let Span { start, bytes } = self.span;
        let low = object.0.saturating_sub(SHOWN_BYTES).max(start);
        let high = (object.0 + SHOWN_BYTES).min(start + bytes);
        // What was freed is zero up to its cell's end; a page that the kernel lost is, to its own.
        let page = object.0 & !(PAGE_BYTES - 1);
        let all = words(page, page + PAGE_BYTES);
        let used = all.iter().filter(|&&word| word != 0).count();
        let byte = |of: &AtomicU8| of.load(Ordering::Relaxed);
        let (step, holder) = self.steps.now();
        panic!(
            "{object:?} is no object ({step:?}, last holder {holder:#x}, count {:#x}, tag {:#x}, \
             tag of its block {:#x}, words before {:x?}, from it on {:x?}, {used} words of \
             its page are not zero)",
            byte(self.count(object)),
            byte(self.snoop(object)),
            byte(self.summary(object.0)),
            words(low, object.0),
            words(object.0, high),
        );
    }

    /// The layout that the word at `offset` names.
    #[cold]
    fn own_layout(&self, object: ObjectRef, offset: u32) -> Option<&Layout> {
        let own = self.word(object.0 + offset).load(Ordering::Acquire);
        // SAFETY: 1. Who makes an object of such a class writes there, before anybody else sees it
        // and never again, null or the address of a `LayoutRef`.
        (own != 0).then(|| unsafe { &*ptr::with_exposed_provenance::<Layout>(own as usize) })
    }

    /// Sets `bytes` bytes from `start` on to zero. The caller owns that memory: it is free and in
    /// no list.
    pub(crate) fn zero(&self, start: u32, bytes: u32) {
        self.check(start);
        assert!(bytes <= self.span.end() - start, "inside the heap");
        // SAFETY: 1. The range lies in the heap (checked). 2. It is free memory that only the
        // caller knows of; a mutator that still holds a stale referent reads it only after checks
        // that fail then (`reference`).
        unsafe {
            ptr::with_exposed_provenance_mut::<u8>(start as usize).write_bytes(0, bytes as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::CollectorKind;
    use crate::step::Step;

    /// The message says how far the collector was, whom it looked at, and what lies there.
    #[test]
    #[should_panic(expected = "is no object (Increments, last holder 0x1234")]
    #[cfg_attr(miri, ignore = "Miri reserves no address space")]
    fn what_is_no_object_is_told_with_all_that_is_known() {
        let heap = crate::testing::uncollected(CollectorKind::Rc, 16, 0);
        heap.memory.steps.begin(Step::Increments);
        heap.memory.steps.look_at(0x1234);
        let free = heap.free.take_last(&heap.memory).expect("memory");
        heap.memory.layout(ObjectRef(heap.blocks.start(free)));
    }
}
