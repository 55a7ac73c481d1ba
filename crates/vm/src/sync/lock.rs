// SPDX-License-Identifier: Apache-2.0
//! [`Lock`]: a mutex whose holder inherits the priority of who waits.
//!
//! The machine's inner locks. Critical sections are short and never enter Java.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering;
use std::sync::OnceLock;

use rt::sys::futex::{Futex, Private};

/// A value behind a priority-inheritance futex.
pub(crate) struct Lock<T> {
    futex: Futex<Private>,
    value: UnsafeCell<T>,
}

// SAFETY: 1. The value is reached only through a guard, and one guard exists at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Holds the lock until dropped.
pub(crate) struct Guard<'a, T>(&'a Lock<T>);

/// The calling thread's number, as PI futexes hold it.
pub(crate) fn own_tid() -> u32 {
    rt::sys::tid::current()
}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            futex: Futex::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits in native state, so that a holder may reach safepoints and the collector waits for
    /// nobody.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        lock_futex(&self.futex);
        Guard(self)
    }

    /// Waits in the state that the thread has: for locks whose holders reach no safepoint.
    pub(crate) fn lock_bare(&self) -> Guard<'_, T> {
        if !try_lock_futex(&self.futex) {
            wait_for_futex(&self.futex);
        }
        Guard(self)
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        unlock_futex(&self.0.futex);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: 1. This guard is the only one: the futex holds this thread's number.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.0.value.get() }
    }
}

/// A lock without a value, four bytes wide: whose turn it is to do something once.
#[derive(Default)]
pub(crate) struct Turn(Futex<Private>);

/// Has the turn until dropped.
pub(crate) struct Taken<'a>(&'a Turn);

impl Turn {
    pub(crate) const fn new() -> Self {
        Self(Futex::new(0))
    }

    /// Waits in native state and lends its priority to whoever has the turn.
    pub(crate) fn take(&self) -> Taken<'_> {
        lock_futex(&self.0);
        Taken(self)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        unlock_futex(&self.0.0);
    }
}

/// How a thread waits that may be one of Java's.
static WAIT: OnceLock<fn(&Futex<Private>)> = OnceLock::new();

/// Whoever waits for a lock of the machine does it by `wait` from now on.
pub(crate) fn wait_by(wait: fn(&Futex<Private>)) {
    let _ = WAIT.set(wait);
}

/// Takes a PI futex: one compare-and-swap, or a wait in native state that lends priority.
pub(crate) fn lock_futex(futex: &Futex<Private>) {
    if try_lock_futex(futex) {
        return;
    }
    match WAIT.get() {
        Some(wait) => wait(futex),
        None => wait_for_futex(futex),
    }
}

fn try_lock_futex(futex: &Futex<Private>) -> bool {
    let word = futex.word();
    word.compare_exchange(0, own_tid(), Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Patiently: the holder may be waiting for the collector, and that one for a visitor who waits a
/// while for this thread.
pub(crate) fn wait_for_futex(futex: &Futex<Private>) {
    if let Err(error) = futex.lock_pi_patiently() {
        panic!("a lock of the machine is out of order: {error}");
    }
}

/// Gives a PI futex back.
pub(crate) fn unlock_futex(futex: &Futex<Private>) {
    let plain = futex
        .word()
        .compare_exchange(own_tid(), 0, Ordering::Release, Ordering::Relaxed);
    if plain.is_err()
        && let Err(error) = futex.unlock_pi()
    {
        panic!("a lock of the machine is out of order: {error}");
    }
}
