// SPDX-License-Identifier: Apache-2.0
//! [`PiCondvar`]: waiting for a condition under a [`PiMutex`], with inheritance from the
//! notification on.
//!
//! A waiter sleeps at the condition's word. A notification moves it, asleep, to the queue of the
//! lock (FUTEX_CMP_REQUEUE_PI): from then on it lends its priority to the lock's holder, and it
//! wakes once, as holder. The C library's condition variable does neither. `shared_condvar` is the
//! one for several processes.
//!
//! The notifier shows the guard of the lock. So the sequence changes under the lock only, a waiter
//! that read it there cannot miss a notification, and the lock that waiters are moved to is known.
//!
//! Bounds: a notification nobody waits for is a load; else one system call that does not sleep,
//! O(waiters moved). `notify_one` picks the most urgent real-time waiter, equals in order of
//! arrival. A wait ends after the notification and, as for any lock, after the critical sections of
//! the holder and of more urgent waiters.

use crate::guard;
use crate::sync::Wake;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::pi_mutex::PiMutexGuard;
use crate::sys::futex::{Futex, FutexError, Private};

/// A condition of what one [`PiMutex`](crate::sync::PiMutex) protects. Belongs to that lock while
/// anyone waits; a notification with another lock's guard panics, or reaches nobody.
#[derive(Debug)]
pub struct PiCondvar {
    /// Notifications so far, in circles of 2³²: a waiter must not sleep through a whole circle on
    /// its way to the kernel. Changes under the lock.
    sequence: Futex<Private>,
    /// Threads between their call and their return. Changes under the lock.
    waiter_count: AtomicU32,
}

impl PiCondvar {
    /// Nobody waits; needs no memory but its own.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            sequence: Futex::new(0),
            waiter_count: AtomicU32::new(0),
        }
    }

    /// Nobody waits; needs no memory but its own.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            sequence: Futex::new(0),
            waiter_count: AtomicU32::new(0),
        }
    }

    /// Releases the lock, sleeps until notified, and has the lock again. May return early: check
    /// the condition.
    pub fn wait<T: ?Sized>(&self, guard: &mut PiMutexGuard<'_, T>) {
        let _notified = self.wait_for(guard, None);
    }

    /// As [`Self::wait`], until `due_ns` of the monotonic clock; the lock is then taken again,
    /// however long that takes. `TimedOut` means that no notification came while the caller waited.
    pub fn wait_until<T: ?Sized>(&self, guard: &mut PiMutexGuard<'_, T>, due_ns: u64) -> Wake {
        self.wait_for(guard, Some(due_ns))
    }

    /// Lets the most urgent waiter go on once it has the lock.
    pub fn notify_one<T: ?Sized>(&self, guard: &PiMutexGuard<'_, T>) {
        self.notify(guard, 0);
    }

    /// Lets all waiters go on, one after the other as they get the lock, the most urgent first.
    pub fn notify_all<T: ?Sized>(&self, guard: &PiMutexGuard<'_, T>) {
        self.notify(guard, u32::MAX);
    }

    fn notify<T: ?Sized>(&self, guard: &PiMutexGuard<'_, T>, queue_max: u32) {
        if self.waiter_count.load(Relaxed) == 0 {
            return;
        }
        let next = self.sequence.word().load(Relaxed).wrapping_add(1);
        // A waiter that has read the old value and is not asleep yet is turned back by the kernel.
        self.sequence.word().store(next, Relaxed);
        let moved = self
            .sequence
            .requeue_pi(next, queue_max, guard.mutex().futex());
        assert!(moved.is_ok(), "a condition belongs to one lock: {moved:?}");
    }

    fn wait_for<T: ?Sized>(&self, guard: &mut PiMutexGuard<'_, T>, due_ns: Option<u64>) -> Wake {
        // Before the lock is released: it may panic, and the guard must be true then.
        guard::blocking("wait for a condition");
        let mutex = guard.mutex();
        let expected = self.sequence.word().load(Relaxed);
        let count = self.waiter_count.load(Relaxed);
        self.waiter_count.store(count + 1, Relaxed);
        mutex.release();
        let slept = self
            .sequence
            .wait_requeue_pi_until(expected, due_ns, mutex.futex());
        if slept.is_err() {
            mutex.acquire();
        }
        let count = self.waiter_count.load(Relaxed);
        self.waiter_count.store(count - 1, Relaxed);
        match slept {
            Ok(()) | Err(FutexError::Changed | FutexError::Interrupted) => Wake::Notified,
            // It may have been picked and timed out on its way to the lock: then its notification
            // must not be lost to the others.
            Err(FutexError::TimedOut) if self.sequence.word().load(Relaxed) != expected => {
                Wake::Notified
            }
            Err(FutexError::TimedOut) => Wake::TimedOut,
            Err(error) => panic!("a condition's word was overwritten: {error}"),
        }
    }
}

impl Default for PiCondvar {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::{Clock, Monotonic};
    use crate::sync::PiMutex;
    use crate::thread::Builder;

    #[test]
    fn every_item_reaches_one_taker() {
        let state = Arc::new((PiMutex::new((0_u32, 0_u32)), PiCondvar::new()));
        let takers: Vec<_> = (0..3)
            .map(|index| {
                let state = Arc::clone(&state);
                let take = move || {
                    let mut guard = state.0.lock();
                    for _ in 0..1_000 {
                        while guard.0 == 0 {
                            state.1.wait(&mut guard);
                        }
                        guard.0 -= 1;
                        guard.1 += 1;
                    }
                };
                Builder::new(format!("taker {index}")).spawn(take).unwrap()
            })
            .collect();
        for index in 0..3_000 {
            let mut guard = state.0.lock();
            guard.0 += 1;
            if index % 7 == 0 {
                state.1.notify_all(&guard);
            } else {
                state.1.notify_one(&guard);
            }
        }
        takers.into_iter().for_each(|taker| taker.join());
        assert_eq!(*state.0.lock(), (0, 3_000));
    }

    #[test]
    fn a_wait_ends_at_its_due_time_with_the_lock() {
        let (mutex, condvar) = (PiMutex::new(5), PiCondvar::new());
        let mut guard = mutex.lock();
        let due_ns = Monotonic.now_ns() + 1_000_000;
        assert_eq!(condvar.wait_until(&mut guard, due_ns), Wake::TimedOut);
        assert!(Monotonic.now_ns() >= due_ns, "never early");
        assert!(mutex.try_lock().is_none());
        *guard += 1;
        drop(guard);
        assert_eq!(*mutex.lock(), 6);
    }
}
