// SPDX-License-Identifier: Apache-2.0
//! [`SharedMutex`]: a robust priority-inheritance lock in memory that several processes map.
//!
//! Robust: if a holder ends, by a crash too, the next one gets the lock and is told, and repairs
//! the value or gives it up for everyone. The kernel finds the locks of a dying thread through a
//! list per thread, of which there is one, registered by the C library. Hence this is the C
//! library's mutex (robust, inheriting, process-shared): a list of our own would take the place of
//! the one that its mutexes in this very process depend on.
//!
//! Bounds: as `pi_mutex`, with some twenty instructions more for the list. `shared_condvar` is the
//! condition beside it.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::clock::timespec;
use crate::guard;
use crate::sys::Errno;

/// Why a shared lock was not taken as usual.
#[derive(Debug, thiserror::Error)]
pub enum SharedLockError<'a, T> {
    /// The lock is the caller's, but its last holder ended while it held it: the value may be half
    /// written. Dropping this gives the value up for all processes.
    #[error("the last holder of the shared lock ended while it held it")]
    OwnerDied(Repair<'a, T>),
    /// A repair was given up: the lock will never be taken again.
    #[error("the shared value was given up after its lock's holder ended")]
    Abandoned,
    /// Somebody holds it (`try_lock`).
    #[error("the shared lock is held")]
    Held,
    /// The due time passed.
    #[error("the due time passed")]
    TimedOut,
    /// The caller holds it already, or waits for itself through other locks.
    #[error("waiting for the shared lock would close a circle")]
    Circle,
    /// The shared memory was overwritten, or memory is out.
    #[error("the shared lock is not in order: {0}")]
    Broken(Errno),
}

/// A value in shared memory behind a robust priority-inheritance lock. Built in place, never moved.
#[repr(C)]
pub struct SharedMutex<T> {
    lock: UnsafeCell<libc::pthread_mutex_t>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread of all processes at a time.
unsafe impl<T: Send> Sync for SharedMutex<T> {}
// SAFETY: it is not moved (see `place`); a reference may be sent like any other.
unsafe impl<T: Send> Send for SharedMutex<T> {}

impl<T> SharedMutex<T> {
    /// Builds an unlocked lock at `place`. One process does so, before the others look there.
    ///
    /// # Safety
    /// 1. `place` is aligned and writable, and nobody else uses it during the call.
    /// 2. It stays there and mapped as long as any process may lock it: it is not moved or copied.
    /// 3. `T` means the same in every process that maps it: no addresses, no references, one layout
    ///    (`repr(C)`).
    pub unsafe fn place(place: NonNull<MaybeUninit<Self>>, value: T) -> Result<(), Errno> {
        let place = place.as_ptr().cast::<Self>();
        let mut attr = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY:
        // 1. `attr` is initialised first, changed by its own functions, and ended at last.
        // 2. `place` may be written (the caller's first obligation); only its fields' addresses are
        //    formed before they hold values.
        unsafe {
            let attr = attr.as_mut_ptr();
            check(libc::pthread_mutexattr_init(attr))?;
            let placed = set_kind(attr).and_then(|()| {
                let lock = UnsafeCell::raw_get(&raw const (*place).lock);
                check(libc::pthread_mutex_init(lock, attr))
            });
            libc::pthread_mutexattr_destroy(attr);
            placed?;
            UnsafeCell::raw_get(&raw const (*place).value).write(value);
        }
        Ok(())
    }

    /// Locks; waits as long as its holder takes at the caller's priority.
    pub fn lock(&self) -> Result<SharedMutexGuard<'_, T>, SharedLockError<'_, T>> {
        // SAFETY: `self` was built by `place` and is still there: the maker of the reference
        // vouched for it.
        let returned = match unsafe { libc::pthread_mutex_trylock(self.lock.get()) } {
            libc::EBUSY => {
                guard::blocking("wait for a shared lock");
                // SAFETY: as above.
                unsafe { libc::pthread_mutex_lock(self.lock.get()) }
            }
            returned => returned,
        };
        self.outcome(returned)
    }

    /// Locks, or gives up at `due_ns` of the monotonic clock.
    pub fn lock_until(
        &self,
        due_ns: u64,
    ) -> Result<SharedMutexGuard<'_, T>, SharedLockError<'_, T>> {
        // SAFETY: as in `lock`.
        let returned = match unsafe { libc::pthread_mutex_trylock(self.lock.get()) } {
            libc::EBUSY => {
                guard::blocking("wait for a shared lock");
                let due = timespec(due_ns);
                // SAFETY: as in `lock`; `due` outlives the call.
                unsafe {
                    pthread_mutex_clocklock(self.lock.get(), libc::CLOCK_MONOTONIC, &raw const due)
                }
            }
            returned => returned,
        };
        self.outcome(returned)
    }

    /// Locks if nobody holds it. Does not wait.
    pub fn try_lock(&self) -> Result<SharedMutexGuard<'_, T>, SharedLockError<'_, T>> {
        // SAFETY: as in `lock`.
        self.outcome(unsafe { libc::pthread_mutex_trylock(self.lock.get()) })
    }

    fn outcome(
        &self,
        returned: libc::c_int,
    ) -> Result<SharedMutexGuard<'_, T>, SharedLockError<'_, T>> {
        let guard = || SharedMutexGuard {
            mutex: self,
            stays: PhantomData,
        };
        match returned {
            0 => Ok(guard()),
            libc::EOWNERDEAD => Err(SharedLockError::OwnerDied(Repair { guard: guard() })),
            libc::ENOTRECOVERABLE => Err(SharedLockError::Abandoned),
            libc::EBUSY => Err(SharedLockError::Held),
            libc::ETIMEDOUT => Err(SharedLockError::TimedOut),
            libc::EDEADLK => Err(SharedLockError::Circle),
            errno => Err(SharedLockError::Broken(Errno(errno))),
        }
    }
}

impl<T> fmt::Debug for SharedMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMutex").finish_non_exhaustive()
    }
}

/// Robust, inheriting, for all processes; locking twice is an error and not a hang.
///
/// # Safety
/// `attr` is initialised.
unsafe fn set_kind(attr: *mut libc::pthread_mutexattr_t) -> Result<(), Errno> {
    // SAFETY: the caller's obligation.
    unsafe {
        check(libc::pthread_mutexattr_setpshared(
            attr,
            libc::PTHREAD_PROCESS_SHARED,
        ))?;
        check(libc::pthread_mutexattr_setprotocol(
            attr,
            libc::PTHREAD_PRIO_INHERIT,
        ))?;
        check(libc::pthread_mutexattr_setrobust(
            attr,
            libc::PTHREAD_MUTEX_ROBUST,
        ))?;
        check(libc::pthread_mutexattr_settype(
            attr,
            libc::PTHREAD_MUTEX_ERRORCHECK,
        ))
    }
}

fn check(returned: libc::c_int) -> Result<(), Errno> {
    match returned {
        0 => Ok(()),
        errno => Err(Errno(errno)),
    }
}

unsafe extern "C" {
    /// Since version 2.30 of the C library; 2.34 takes the monotonic clock for inheriting locks.
    fn pthread_mutex_clocklock(
        lock: *mut libc::pthread_mutex_t,
        clock: libc::clockid_t,
        due: *const libc::timespec,
    ) -> libc::c_int;
}

/// The locked value; unlocks when dropped. Stays on its thread.
#[must_use = "the lock is released when the guard is dropped"]
pub struct SharedMutexGuard<'a, T> {
    mutex: &'a SharedMutex<T>,
    stays: PhantomData<*const ()>,
}

impl<'a, T> SharedMutexGuard<'a, T> {
    /// The lock that is held, for `shared_condvar`.
    pub(super) fn mutex(&self) -> &'a SharedMutex<T> {
        self.mutex
    }
}

impl<T> Deref for SharedMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: 1. The value was written by `place` before anyone locked.
        //         2. The guard's thread holds the lock, and `&self` excludes `deref_mut`.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for SharedMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `&mut self` excludes any other use of this guard.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for SharedMutexGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the lock. Unlocking without a repair gives the value up.
        unsafe { libc::pthread_mutex_unlock(self.mutex.lock.get()) };
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The locked value after its holder ended: to be looked at and put right.
#[must_use = "dropping a repair gives the value up for all processes"]
#[derive(Debug)]
pub struct Repair<'a, T> {
    guard: SharedMutexGuard<'a, T>,
}

impl<'a, T> Repair<'a, T> {
    /// Declares the value whole again.
    pub fn mend(self) -> SharedMutexGuard<'a, T> {
        // SAFETY: the guard's thread holds the lock, in the state that EOWNERDEAD announced.
        let returned = unsafe { libc::pthread_mutex_consistent(self.guard.mutex.lock.get()) };
        assert_eq!(returned, 0, "a repair is made of a lock whose owner died");
        self.guard
    }
}

impl<T> Deref for Repair<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Repair<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::{Clock, Monotonic};
    use crate::thread::Builder;

    /// In one process: `tests/shared.rs` has two.
    fn shared<T>(value: T) -> Arc<SharedMutex<T>> {
        let mut room = Arc::<SharedMutex<T>>::new_uninit();
        let place = NonNull::from(Arc::get_mut(&mut room).unwrap());
        // SAFETY: 1. and 2. the allocation is new, ours and not moved. 3. One process looks at it.
        unsafe { SharedMutex::place(place, value) }.unwrap();
        // SAFETY: `place` has written both fields.
        unsafe { room.assume_init() }
    }

    /// A thread that ends with the lock held.
    fn die_with(mutex: &Arc<SharedMutex<u32>>) {
        let mutex = Arc::clone(mutex);
        let die = move || {
            let mut guard = mutex.lock().unwrap();
            *guard = 7;
            let _kept = std::mem::ManuallyDrop::new(guard);
        };
        Builder::new("mortal").spawn(die).unwrap().join();
    }

    #[test]
    fn a_mended_value_goes_on() {
        let mutex = shared(0);
        die_with(&mutex);
        let Err(SharedLockError::OwnerDied(mut repair)) = mutex.lock() else {
            panic!("the death must be told");
        };
        assert_eq!(*repair, 7);
        *repair = 1;
        drop(repair.mend());
        assert_eq!(*mutex.lock().unwrap(), 1);
    }

    #[test]
    fn a_value_given_up_stays_so() {
        let mutex = shared(0);
        die_with(&mutex);
        assert!(matches!(mutex.lock(), Err(SharedLockError::OwnerDied(_))));
        assert!(matches!(mutex.lock(), Err(SharedLockError::Abandoned)));
        assert!(matches!(mutex.try_lock(), Err(SharedLockError::Abandoned)));
    }

    #[test]
    fn a_held_lock_is_refused_timed_out_and_no_circle_hangs() {
        let mutex = shared(0);
        let guard = mutex.lock().unwrap();
        assert!(matches!(mutex.lock(), Err(SharedLockError::Circle)));
        let other = Arc::clone(&mutex);
        let wait = move || {
            let due_ns = Monotonic.now_ns() + 1_000_000;
            assert!(matches!(other.try_lock(), Err(SharedLockError::Held)));
            assert!(matches!(
                other.lock_until(due_ns),
                Err(SharedLockError::TimedOut)
            ));
            assert!(Monotonic.now_ns() >= due_ns, "never early");
        };
        Builder::new("other").spawn(wait).unwrap().join();
        drop(guard);
        assert!(mutex.lock_until(0).is_ok());
    }
}
