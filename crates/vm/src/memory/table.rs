// SPDX-License-Identifier: Apache-2.0
//! [`Table`]: numbers for records that never move, found without a lock.
//!
//! Lock words name monitors by such numbers, thread objects their threads' entries. Records are
//! made in chunks that stay for ever; a number that was given back is given out again.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::sync::lock::Lock;

/// Records made at once: some 300 KiB of monitors.
const CHUNK_RECORDS: usize = 4096;
/// Chunks in all, for 67 million records.
const CHUNKS_MAX: usize = 1 << 14;

/// See the module.
pub(crate) struct Table<T: 'static> {
    chunks: [AtomicPtr<T>; CHUNKS_MAX],
    /// Numbers given out at least once. Written under `free`'s lock.
    count: AtomicU32,
    /// Has room for all numbers: giving one back allocates nothing.
    free: Lock<Vec<u32>>,
    /// Chunks that `take` had to make itself.
    late: AtomicU32,
}

impl<T: Default> Table<T> {
    pub(crate) const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS_MAX],
            count: AtomicU32::new(0),
            free: Lock::new(Vec::new()),
            late: AtomicU32::new(0),
        }
    }

    /// The record with a number that [`Self::take`] gave.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> &'static T {
        self.find(index).expect("a number that was given out")
    }

    /// The record with any number, if there is one.
    #[inline]
    pub(crate) fn find(&self, index: u32) -> Option<&'static T> {
        let (chunk, place) = (
            index as usize / CHUNK_RECORDS,
            index as usize % CHUNK_RECORDS,
        );
        // Pairs with the Release in `publish`.
        let chunk = self.chunks.get(chunk)?.load(Ordering::Acquire);
        // SAFETY: 1. A chunk has CHUNK_RECORDS records, made before its address was stored, and
        // stays.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(place) })
    }

    /// The number of the record at an address. O(chunks), without a lock.
    pub(crate) fn index_of(&self, address: u64) -> Option<u32> {
        let bytes = (CHUNK_RECORDS * size_of::<T>()) as u64;
        let used = self.count().div_ceil(CHUNK_RECORDS as u32) as usize;
        let chunks = self.chunks[..used].iter().enumerate();
        chunks
            .map(|(chunk, start)| (chunk, start.load(Ordering::Acquire) as u64))
            .find(|(_, start)| *start != 0 && (*start..start + bytes).contains(&address))
            .map(|(chunk, start)| {
                let place = (address - start) as usize / size_of::<T>();
                (chunk * CHUNK_RECORDS + place) as u32
            })
    }

    /// A number whose record nobody uses. Takes a lock whose holders wait for nobody.
    pub(crate) fn take(&self) -> u32 {
        let mut free = self.free.lock_keeping_state();
        if let Some(index) = free.pop() {
            return index;
        }
        let index = self.count.load(Ordering::Relaxed);
        let chunk = index as usize / CHUNK_RECORDS;
        assert!(
            chunk < CHUNKS_MAX,
            "more records than the table has room for"
        );
        if self.chunks[chunk].load(Ordering::Relaxed).is_null() {
            self.late.fetch_add(1, Ordering::Relaxed);
            let missing = (chunk + 1) * CHUNK_RECORDS - free.len();
            free.reserve(missing);
            self.publish(chunk, new_records());
        }
        self.count.store(index + 1, Ordering::Release);
        index
    }

    /// Makes records, so that [`Self::take`] need not, if there are few left. For a thread that may
    /// allocate.
    pub(crate) fn prepare(&self) {
        let chunk = (self.count() as usize + CHUNK_RECORDS / 2) / CHUNK_RECORDS;
        let is_there = |chunk: &AtomicPtr<T>| !chunk.load(Ordering::Relaxed).is_null();
        if self.chunks.get(chunk).is_none_or(is_there) {
            return;
        }
        // Allocated before the lock and freed behind it: who takes a number meanwhile waits for
        // nobody.
        let records = new_records();
        let mut room = Vec::with_capacity((chunk + 1) * CHUNK_RECORDS);
        let mut free = self.free.lock_keeping_state();
        let unused = if is_there(&self.chunks[chunk]) {
            Some(records)
        } else {
            room.append(&mut free);
            core::mem::swap(&mut room, &mut free);
            self.publish(chunk, records);
            None
        };
        drop(free);
        drop((unused, room));
    }

    /// Under `free`'s lock.
    fn publish(&self, chunk: usize, records: Box<[T]>) {
        let records = Box::leak(records).as_mut_ptr();
        self.chunks[chunk].store(records, Ordering::Release);
    }

    /// Chunks that [`Self::take`] had to make itself.
    pub(crate) fn late(&self) -> u32 {
        self.late.load(Ordering::Relaxed)
    }

    /// Gives back a number that nothing names any more.
    pub(crate) fn give_back(&self, index: u32) {
        self.free.lock_keeping_state().push(index);
    }

    /// Numbers given out so far, those given back included.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }
}

fn new_records<T: Default>() -> Box<[T]> {
    (0..CHUNK_RECORDS).map(|_| T::default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: Table<AtomicU32> = Table::new();

    #[test]
    fn numbers_come_again_and_records_stay() {
        let many = CHUNK_RECORDS as u32 + 10;
        let taken: Vec<u32> = (0..many).map(|_| TABLE.take()).collect();
        taken
            .iter()
            .for_each(|&index| TABLE.at(index).store(index, Ordering::Relaxed));
        assert!(
            taken
                .iter()
                .all(|&index| TABLE.at(index).load(Ordering::Relaxed) == index)
        );
        assert!(
            [2 * CHUNK_RECORDS as u32, u32::MAX]
                .iter()
                .all(|&index| TABLE.find(index).is_none())
        );
        for index in [0, 7, many - 1] {
            let address = core::ptr::from_ref(TABLE.at(index)) as u64;
            assert_eq!(TABLE.index_of(address), Some(index));
        }
        assert_eq!(TABLE.index_of(8), None);
        TABLE.give_back(7);
        assert_eq!(TABLE.take(), 7);
        assert_eq!((TABLE.take(), TABLE.count()), (many, many + 1));
    }

    #[test]
    fn who_takes_prepared_numbers_makes_nothing() {
        static TABLE: Table<AtomicU32> = Table::new();
        for _ in 0..3 * CHUNK_RECORDS {
            TABLE.prepare();
            TABLE.take();
        }
        assert_eq!(TABLE.late(), 0);
        let room = TABLE.free.lock_keeping_state().capacity();
        (0..TABLE.count()).for_each(|index| TABLE.give_back(index));
        assert_eq!(TABLE.free.lock_keeping_state().capacity(), room);
        for _ in 0..5 * CHUNK_RECORDS {
            TABLE.take();
        }
        assert_eq!(TABLE.late(), 1);
        assert_eq!(TABLE.count(), 5 * CHUNK_RECORDS as u32);
    }
}
