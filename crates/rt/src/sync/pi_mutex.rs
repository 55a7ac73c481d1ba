// SPDX-License-Identifier: Apache-2.0
//! [`PiMutex`]: a lock whose holder inherits the priority of the most urgent thread that waits for
//! it.
//!
//! For the threads of one process; `shared_mutex` is the one for several, `pi_condvar` the
//! condition beside it. `pi_word` is the lock, here it gets a value.
//!
//! Bounds: an uncontended lock or unlock is one compare-and-swap. A contended lock is one system
//! call and waits for the rest of the holder's critical section, run at the caller's priority, and
//! for those of waiters at least as urgent. A contended unlock is one system call that hands the
//! lock to the most urgent waiter: nobody overtakes it.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::sync::TimedOut;
use crate::sync::pi_word::PiWord;
use crate::sys::futex::{Futex, Private};

/// A value behind a priority-inheritance lock. Not poisoned by panics: an unwinding holder releases
/// it.
pub struct PiMutex<T: ?Sized> {
    word: PiWord,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, so sharing the lock moves it between
// threads at most.
unsafe impl<T: ?Sized + Send> Sync for PiMutex<T> {}
// SAFETY: nobody holds a lock that is moved: a guard borrows it.
unsafe impl<T: ?Sized + Send> Send for PiMutex<T> {}

impl<T> PiMutex<T> {
    /// Unlocked; needs no memory but its own.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self {
            word: PiWord::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Unlocked; needs no memory but its own.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self {
            word: PiWord::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// The value of a lock that nobody else can reach.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> PiMutex<T> {
    /// Locks; waits as the module says. Panics if the caller holds the lock, if it waits for itself
    /// through other locks for a minute, or if the holder ended with its guard leaked.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> PiMutexGuard<'_, T> {
        self.word.lock();
        self.guard()
    }

    /// Locks, or gives up at `due_ns` of the monotonic clock. Panics as [`Self::lock`] does.
    #[track_caller]
    pub fn lock_until(&self, due_ns: u64) -> Result<PiMutexGuard<'_, T>, TimedOut> {
        self.word.lock_until(due_ns)?;
        Ok(self.guard())
    }

    /// As [`Self::lock`]; a wait is run by `around` ([`PiWord::lock_within`]).
    #[inline]
    #[track_caller]
    pub fn lock_within(&self, around: impl FnOnce(&mut dyn FnMut())) -> PiMutexGuard<'_, T> {
        self.word.lock_within(around);
        self.guard()
    }

    /// Locks if nobody holds it. One compare-and-swap.
    pub fn try_lock(&self) -> Option<PiMutexGuard<'_, T>> {
        self.word.try_lock().then(|| self.guard())
    }

    /// The value of a lock that nobody else can reach now.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The word, for `pi_condvar`.
    pub(super) fn futex(&self) -> &Futex<Private> {
        self.word.futex()
    }

    /// Locks without a guard.
    #[track_caller]
    pub(super) fn acquire(&self) {
        self.word.lock();
    }

    /// Unlocks. The calling thread holds the lock and lets no reference into the value live on.
    pub(super) fn release(&self) {
        self.word.unlock();
    }

    fn guard(&self) -> PiMutexGuard<'_, T> {
        PiMutexGuard {
            mutex: self,
            stays: PhantomData,
        }
    }
}

impl<T: Default> Default for PiMutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PiMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => f.debug_tuple("PiMutex").field(&&*value).finish(),
            None => f.write_str("PiMutex(<held>)"),
        }
    }
}

/// The locked value; unlocks when dropped. Stays on its thread, whose number is in the lock.
#[must_use = "the lock is released when the guard is dropped"]
pub struct PiMutexGuard<'a, T: ?Sized> {
    mutex: &'a PiMutex<T>,
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value and nothing more.
unsafe impl<T: ?Sized + Sync> Sync for PiMutexGuard<'_, T> {}

impl<'a, T: ?Sized> PiMutexGuard<'a, T> {
    /// The lock that is held, for `pi_condvar`.
    pub(super) fn mutex(&self) -> &'a PiMutex<T> {
        self.mutex
    }
}

impl<T: ?Sized> Deref for PiMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock, and `&self` excludes `deref_mut`.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for PiMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's thread holds the lock, and `&mut self` excludes any other use of this
        // guard.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for PiMutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.release();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PiMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::{Clock, Monotonic};
    use crate::thread::Builder;

    static COUNTER: PiMutex<u64> = PiMutex::new(0);

    #[test]
    fn no_addition_is_lost() {
        let adders: Vec<_> = (0..4)
            .map(|index| {
                let add = || (0..5_000).for_each(|_| *COUNTER.lock() += 1);
                Builder::new(format!("adder {index}")).spawn(add).unwrap()
            })
            .collect();
        adders.into_iter().for_each(|adder| adder.join());
        assert_eq!(*COUNTER.lock(), 20_000);
    }

    #[test]
    fn a_held_lock_is_refused_and_timed_out() {
        let mutex = Arc::new(PiMutex::new(1));
        let guard = mutex.lock();
        let other = Builder::new("other")
            .spawn({
                let mutex = Arc::clone(&mutex);
                move || {
                    let due_ns = Monotonic.now_ns() + 1_000_000;
                    let is_refused = mutex.try_lock().is_none();
                    (is_refused, mutex.lock_until(due_ns).map(|guard| *guard))
                }
            })
            .unwrap();
        assert_eq!(other.join(), (true, Err(TimedOut)));
        drop(guard);
        assert_eq!(mutex.lock_until(0).map(|guard| *guard), Ok(1));
    }

    #[test]
    #[should_panic(expected = "holds the lock already")]
    fn locking_twice_is_named() {
        let mutex = PiMutex::new(());
        let _guard = mutex.lock();
        let _again = mutex.lock();
    }

    #[test]
    fn an_unwinding_holder_releases() {
        let mutex = PiMutex::new(1);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = mutex.lock();
            panic!("with the lock held");
        }));
        assert!(result.is_err());
        assert_eq!(*mutex.lock(), 1);
    }
}
