// SPDX-License-Identifier: Apache-2.0
//! [`LogSpace`]: where mutators record the old references of what they overwrite.
//!
//! Segments of 16 KiB, each used by one mutator in one epoch; a log word names a record by its
//! number. A mutator always has a current segment and a spare one, taken without a lock from a
//! stack that the collector refills, so recording never waits; a mutator that finds the stack empty
//! is counted (`log_exhausted`) and waits for the collector, to which it lends its priority.
//!
//! ```text
//! segment: +0 next segment + 1   +4 end of the last record        then records
//! record:  `abi::barrier`
//! ```
//!
//! A holder is the address of an object or, with its lowest bit set, of a chunk. The collector sets
//! it to 0 when the holder is freed before its record is settled.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use abi::barrier::{RECORD_COUNT_OFFSET, RECORD_OLD_OFFSET, RECORD_UNIT_BYTES, record_bytes};

use crate::limits::{LOG_SEGMENT_BYTES, LOG_SEGMENT_COUNT, LOG_SEGMENTS_PER_MUTATOR};
use crate::sys::reserve::{Access, Reservation, ReserveError};

/// What a mutator holds: the current one and the spare.
const SEGMENTS_HELD: u32 = 2;
const SEGMENT_HEADER_BYTES: u32 = RECORD_UNIT_BYTES;

/// A segment's number, never 0: record number 0 means "born".
pub(crate) type SegmentIndex = u32;

/// See the module.
#[derive(Debug)]
pub(crate) struct LogSpace {
    reservation: Reservation,
    /// As `BlockStack`: tag and first segment (0 for none).
    head: AtomicU64,
    free_count: AtomicU32,
    /// Segments from here on were never used.
    fresh: AtomicU32,
    segment_count: u32,
    /// Of those, what mutators hold.
    held_count: AtomicU32,
    mutators_max: u32,
}

/// Where a mutator's next record goes: an offset in the log space.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct LogCursor {
    /// Current segment; 0 for none.
    pub(crate) segment: SegmentIndex,
    pub(crate) next: u32,
    pub(crate) limit: u32,
}

impl LogSpace {
    /// Room for `shared_count` segments, and for those that `mutators_max` mutators are sure of.
    pub(crate) fn reserve(shared_count: u32, mutators_max: u32) -> Result<Self, ReserveError> {
        let segment_count = shared_count + mutators_max * LOG_SEGMENTS_PER_MUTATOR;
        assert!(
            1 < segment_count && segment_count <= LOG_SEGMENT_COUNT,
            "segments that record numbers reach"
        );
        let bytes = segment_count as usize * LOG_SEGMENT_BYTES as usize;
        Ok(Self {
            reservation: Reservation::new(0, bytes, Access::ReadWrite)?,
            head: AtomicU64::new(0),
            free_count: AtomicU32::new(0),
            fresh: AtomicU32::new(1),
            segment_count,
            held_count: AtomicU32::new(0),
            mutators_max,
        })
    }

    /// What is touched first from now on comes in small pages.
    pub(crate) fn touch_small_pages(&self) {
        self.reservation.touch_small_pages();
    }

    /// Faults in and locks the first `count` segments.
    pub(crate) fn populate_and_lock(&self, count: u32) -> Result<(), ReserveError> {
        let bytes = count.min(self.segment_count) as usize * LOG_SEGMENT_BYTES as usize;
        self.reservation.populate_and_lock(0, bytes)
    }

    /// Its address.
    pub(crate) fn base(&self) -> usize {
        self.reservation.start()
    }

    /// The word at an offset in the log space.
    #[inline]
    pub(crate) fn word(&self, offset: u32) -> &AtomicU32 {
        assert!(
            offset < self.segment_count * LOG_SEGMENT_BYTES,
            "inside the log space"
        );
        // SAFETY: 1. The word lies in the reservation (asserted), which lives as long as `self`. 2.
        // Offsets are multiples of 4; cleared bits keep that true for any other. Access is atomic.
        unsafe {
            &*std::ptr::with_exposed_provenance::<AtomicU32>(
                self.reservation.start() + (offset & !3) as usize,
            )
        }
    }

    /// So many mutators there are now: what they hold is not what the log is short of.
    pub(crate) fn set_mutator_count(&self, count: usize) {
        let held = self.mutators_max.min(count as u32) * SEGMENTS_HELD;
        self.held_count.store(held, Ordering::Relaxed);
    }

    /// Segments in use beyond what mutators hold.
    pub(crate) fn used_count(&self) -> u32 {
        (self.fresh.load(Ordering::Relaxed).min(self.segment_count) - 1)
            .saturating_sub(self.free_count.load(Ordering::Relaxed))
            .saturating_sub(self.held_count.load(Ordering::Relaxed))
    }

    /// Segments there are beyond what mutators are sure of.
    pub(crate) fn shared_count(&self) -> u32 {
        self.segment_count - self.mutators_max * LOG_SEGMENTS_PER_MUTATOR
    }

    /// Whether a mutator should wait at its next poll until log space comes back. The last quarter
    /// is posted ahead for real-time mutators, but for a sixteenth: what is written between that
    /// and the poll must fit.
    pub(crate) fn is_low(&self, is_real_time: bool) -> bool {
        let all = self.shared_count();
        let enough = if is_real_time {
            all / 16 * 15
        } else {
            all / 4 * 3
        };
        self.used_count() > enough
    }

    /// An empty segment. Lock-free: a failed exchange means that another thread got or gave one.
    pub(crate) fn try_take(&self) -> Option<SegmentIndex> {
        let mut head = self.head.load(Ordering::Acquire);
        while head as u32 != 0 {
            let segment = head as u32;
            let next = self
                .word(segment * LOG_SEGMENT_BYTES)
                .load(Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(next);
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::Acquire, Ordering::Acquire)
            {
                Ok(_) => {
                    self.free_count.fetch_sub(1, Ordering::Relaxed);
                    return Some(segment);
                }
                Err(found) => head = found,
            }
        }
        let take = |fresh: u32| (fresh < self.segment_count).then_some(fresh + 1);
        self.fresh
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .ok()
    }

    /// Gives a segment back.
    pub(crate) fn put(&self, segment: SegmentIndex) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            self.word(segment * LOG_SEGMENT_BYTES)
                .store(head as u32, Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(segment);
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(found) => head = found,
            }
        }
        self.free_count.fetch_add(1, Ordering::Relaxed);
    }

    /// A cursor at the start of `segment`.
    pub(crate) fn cursor(segment: SegmentIndex) -> LogCursor {
        let start = segment * LOG_SEGMENT_BYTES;
        LogCursor {
            segment,
            next: start + SEGMENT_HEADER_BYTES,
            limit: start + LOG_SEGMENT_BYTES,
        }
    }

    /// Ends a segment behind its last record and links it in front of `rest` (0 for none).
    pub(crate) fn seal(&self, cursor: LogCursor, rest: SegmentIndex) {
        let start = cursor.segment * LOG_SEGMENT_BYTES;
        self.word(start).store(rest, Ordering::Relaxed);
        self.word(start + 4).store(cursor.next, Ordering::Release);
    }

    /// The segment that a sealed one is linked to.
    pub(crate) fn next(&self, segment: SegmentIndex) -> SegmentIndex {
        self.word(segment * LOG_SEGMENT_BYTES)
            .load(Ordering::Relaxed)
    }

    /// The offsets of a sealed segment's records.
    pub(crate) fn records(&self, segment: SegmentIndex) -> impl Iterator<Item = u32> {
        let start = segment * LOG_SEGMENT_BYTES;
        let end = self.word(start + 4).load(Ordering::Acquire);
        let mut next = start + SEGMENT_HEADER_BYTES;
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let record = next;
                next += record_bytes(self.count(record));
                record
            })
        })
    }

    /// The holder of the record at an offset, with its mark; 0 if it was freed.
    pub(crate) fn holder(&self, record: u32) -> u32 {
        self.word(record).load(Ordering::Relaxed)
    }

    /// Makes the record mean nothing.
    pub(crate) fn cancel(&self, record: u32) {
        self.word(record).store(0, Ordering::Relaxed);
    }

    /// How many old references a record holds.
    pub(crate) fn count(&self, record: u32) -> u32 {
        self.word(record + RECORD_COUNT_OFFSET)
            .load(Ordering::Relaxed)
    }

    /// Makes one of them null.
    pub(crate) fn strike(&self, record: u32, index: u32) {
        self.word(record + RECORD_OLD_OFFSET + 4 * index)
            .store(0, Ordering::Relaxed);
    }

    /// One of them; null if it was struck.
    pub(crate) fn old(&self, record: u32, index: u32) -> u32 {
        self.word(record + RECORD_OLD_OFFSET + 4 * index)
            .load(Ordering::Relaxed)
    }
}

/// The number that a log word holds for the record at `offset`.
pub(crate) const fn record_number(offset: u32) -> u32 {
    offset / RECORD_UNIT_BYTES
}

/// The offset of a record by its number.
pub(crate) const fn record_offset(number: u32) -> u32 {
    number * RECORD_UNIT_BYTES
}

/// Marks the holder of a record as a chunk.
pub(crate) const CHUNK_HOLDER: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri reserves no address space")]
    fn records_are_found_again() {
        let log = LogSpace::reserve(3, 0).unwrap();
        let segment = log.try_take().unwrap();
        let mut cursor = LogSpace::cursor(segment);
        let mut written = Vec::new();
        for count in [0, 1, 2, 3, 32] {
            log.word(cursor.next).store(count + 100, Ordering::Relaxed);
            log.word(cursor.next + 4).store(count, Ordering::Relaxed);
            written.push(cursor.next);
            assert_eq!(record_offset(record_number(cursor.next)), cursor.next);
            cursor.next += record_bytes(count);
        }
        log.seal(cursor, 0);
        assert_eq!(log.records(segment).collect::<Vec<_>>(), written);
        assert!(
            written
                .iter()
                .all(|&it| log.holder(it) == log.count(it) + 100)
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri reserves no address space")]
    fn segments_run_out_and_come_back() {
        let log = LogSpace::reserve(3, 0).unwrap();
        let taken = [log.try_take().unwrap(), log.try_take().unwrap()];
        assert_ne!(taken[0], taken[1]);
        assert_eq!((log.try_take(), log.used_count()), (None, 2));
        log.put(taken[0]);
        assert_eq!(log.try_take(), Some(taken[0]));
    }
}
