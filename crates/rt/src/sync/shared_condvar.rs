// SPDX-License-Identifier: Apache-2.0
//! [`SharedCondvar`]: waiting for a condition under a [`SharedMutex`], across processes.
//!
//! A waiter sleeps at a word; a notification changes the word and wakes the most urgent sleeper,
//! which then waits for the lock as anyone does and lends its priority to the holder meanwhile.
//! Unlike `pi_condvar` it does not move sleepers to the lock's queue: the lock is the C library's,
//! whose list of held locks only its own code may fill.
//!
//! Bounds: a notification is one system call that does not sleep. A notified wait ends after at
//! most two wake-ups at the waiter's own priority, and the critical sections of the holder and of
//! more urgent waiters. A process that dies in a wait leaves nothing behind.

use crate::guard;
use crate::sync::Wake;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::shared_mutex::{SharedLockError, SharedMutexGuard};
use crate::sys::futex::{Futex, FutexError, Shared};

/// A condition of what one [`SharedMutex`](crate::sync::SharedMutex) protects. All-zero when new,
/// `repr(transparent)` over four aligned bytes: fit for shared memory.
#[repr(transparent)]
#[derive(Debug)]
pub struct SharedCondvar {
    /// Notifications so far, in circles of 2³², as in `pi_condvar`. Changes under the lock.
    sequence: Futex<Shared>,
}

impl SharedCondvar {
    /// Nobody waits.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            sequence: Futex::new(0),
        }
    }

    /// Nobody waits.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            sequence: Futex::new(0),
        }
    }

    /// Releases the lock, sleeps until notified, and takes the lock again. May return early: check
    /// the condition.
    pub fn wait<'a, T>(
        &self,
        guard: SharedMutexGuard<'a, T>,
    ) -> Result<SharedMutexGuard<'a, T>, SharedLockError<'a, T>> {
        self.wait_for(guard, None).map(|(guard, _)| guard)
    }

    /// As [`Self::wait`], until `due_ns` of the monotonic clock; the lock is then taken again,
    /// however long that takes. `TimedOut` means that no notification came while the caller waited.
    pub fn wait_until<'a, T>(
        &self,
        guard: SharedMutexGuard<'a, T>,
        due_ns: u64,
    ) -> Result<(SharedMutexGuard<'a, T>, Wake), SharedLockError<'a, T>> {
        self.wait_for(guard, Some(due_ns))
    }

    /// Wakes the most urgent waiter.
    pub fn notify_one<T>(&self, guard: &SharedMutexGuard<'_, T>) {
        self.notify(guard, 1);
    }

    /// Wakes all waiters.
    pub fn notify_all<T>(&self, guard: &SharedMutexGuard<'_, T>) {
        self.notify(guard, u32::MAX);
    }

    /// The guard is the witness that the sequence does not change between a waiter's look and its
    /// sleep unseen.
    fn notify<T>(&self, _: &SharedMutexGuard<'_, T>, count: u32) {
        let next = self.sequence.word().load(Relaxed).wrapping_add(1);
        self.sequence.word().store(next, Relaxed);
        self.sequence.wake(count);
    }

    fn wait_for<'a, T>(
        &self,
        guard: SharedMutexGuard<'a, T>,
        due_ns: Option<u64>,
    ) -> Result<(SharedMutexGuard<'a, T>, Wake), SharedLockError<'a, T>> {
        guard::blocking("wait for a condition");
        let mutex = guard.mutex();
        let expected = self.sequence.word().load(Relaxed);
        drop(guard);
        let slept = self.sequence.wait_until(expected, due_ns);
        let guard = mutex.lock()?;
        let is_unchanged = self.sequence.word().load(Relaxed) == expected;
        let wake = match slept {
            Err(FutexError::TimedOut) if is_unchanged => Wake::TimedOut,
            _ => Wake::Notified,
        };
        Ok((guard, wake))
    }
}

impl Default for SharedCondvar {
    fn default() -> Self {
        Self::new()
    }
}
