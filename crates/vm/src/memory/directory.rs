// SPDX-License-Identifier: Apache-2.0
//! [`Directory`]: records that others use by a number while they may end at any time.
//!
//! A `java.lang.Thread` has such a number while its thread runs, and a thread that unparks it
//! reads it. By the time it is used the thread may have ended and the number been given to another.
//! Why nobody touches a record that is gone, or takes one for another:
//!
//! 1. An entry's record is used under the entry's lock only, and [`Directory::leave`] takes that
//!    lock. A record ends after it has left: so while it is used it has not.
//! 2. Entries never move and are never freed: an old number finds an entry, with no record or some.
//! 3. An entry has its record's key, and it is looked at under the lock: a key that differs
//!    finds nothing. The key of a thread is its object. A caller that names it keeps it, and an
//!    object has one thread in its life.
//!
//! The lock lends priority and is held for a few instructions or one system call that does not
//! wait.

use std::sync::Arc;

use crate::memory::table::Table;
use crate::sync::lock::Lock;

/// See the module.
pub(crate) struct Directory<T: 'static> {
    entries: Table<Lock<Option<Entry<T>>>>,
}

struct Entry<T> {
    key: u32,
    record: Arc<T>,
}

impl<T> Directory<T> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Table::new(),
        }
    }

    /// Gives `record` a number, not 0.
    pub(crate) fn enter(&self, key: u32, record: Arc<T>) -> u32 {
        let index = self.entries.take();
        *self.entries.at(index).lock_keeping_state() = Some(Entry { key, record });
        index + 1
    }

    /// Nobody finds the record under `number` from here on. Its owner holds it still.
    pub(crate) fn leave(&self, number: u32) {
        let index = number - 1;
        let left = self.entries.at(index).lock_keeping_state().take();
        debug_assert!(left.is_some(), "it has entered");
        self.entries.give_back(index);
    }

    /// Runs `work`, which neither waits nor reaches a safepoint, on the record with `key`, if it is
    /// still under `number`; it does not leave meanwhile. 0 is nobody's number.
    pub(crate) fn with<R>(
        &self,
        number: u32,
        key: u32,
        work: impl FnOnce(&Arc<T>) -> R,
    ) -> Option<R> {
        // Any number may come: reflection that was let in writes what it likes.
        let entry = self
            .entries
            .find(number.checked_sub(1)?)?
            .lock_keeping_state();
        let entry = entry.as_ref().filter(|entry| entry.key == key)?;
        Some(work(&entry.record))
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

    use super::*;

    const SEATS: usize = 4;
    const LOOKERS: usize = 2;
    /// Guests that each looker must have met.
    const MEETINGS: u32 = 2000;

    struct Guest {
        key: u32,
        is_in: AtomicU32,
    }

    static DIRECTORY: Directory<Guest> = Directory::new();
    /// Lookers that are done.
    static DONE: AtomicUsize = AtomicUsize::new(0);
    /// What thread objects are: key in the upper half, number in the lower one.
    static NAMES: [AtomicU64; SEATS] = [const { AtomicU64::new(0) }; SEATS];

    /// A looker has met enough, or has found what must not be.
    struct Done;

    impl Drop for Done {
        fn drop(&mut self) {
            DONE.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Enters and leaves again and again, each time as another, and stays in sight after it has
    /// left.
    fn come_and_go(seat: usize) {
        for round in 1.. {
            if DONE.load(Ordering::Relaxed) == LOOKERS {
                return;
            }
            let key = round * SEATS as u32 + seat as u32;
            let is_in = AtomicU32::new(1);
            let guest = Arc::new(Guest { key, is_in });
            let number = DIRECTORY.enter(key, Arc::clone(&guest));
            let name = u64::from(key) << 32 | u64::from(number);
            NAMES[seat].store(name, Ordering::Release);
            let found = DIRECTORY.with(number, key, |found| Arc::ptr_eq(found, &guest));
            assert_eq!(found, Some(true));
            if round % 16 == 0 {
                std::thread::yield_now();
            }
            DIRECTORY.leave(number);
            guest.is_in.store(0, Ordering::Release);
            assert!(DIRECTORY.with(number, key, |_| ()).is_none());
            assert_eq!(Arc::strong_count(&guest), 1);
        }
    }

    /// The thread found is the one that was asked for, and is in for as long as it is looked at.
    fn look(mut seat: usize) {
        let _done = Done;
        let mut seen = 0;
        while seen < MEETINGS {
            seat = (seat + 1) % SEATS;
            let name = NAMES[seat].load(Ordering::Acquire);
            let (key, number) = ((name >> 32) as u32, name as u32);
            let found = DIRECTORY.with(number, key, |guest| {
                let was_in = guest.is_in.load(Ordering::Acquire);
                std::thread::yield_now();
                (guest.key, was_in, guest.is_in.load(Ordering::Acquire))
            });
            if let Some(found) = found {
                assert_eq!(found, (key, 1, 1));
                seen += 1;
            }
        }
    }

    #[test]
    fn an_old_number_finds_nobody_else() {
        std::thread::scope(|scope| {
            (0..SEATS).for_each(|seat| drop(scope.spawn(move || come_and_go(seat))));
            (0..LOOKERS).for_each(|seat| drop(scope.spawn(move || look(seat))));
        });
        assert!(
            DIRECTORY.entries.count() <= SEATS as u32,
            "numbers come again"
        );
        for never_given in [0, 1 << 24, u32::MAX] {
            assert!(DIRECTORY.with(never_given, 0, |_| ()).is_none());
        }
    }
}
