// SPDX-License-Identifier: Apache-2.0
//! [`PiLock`]: a word that holds its owner's thread number, so that whoever waits lends it
//! priority.
//!
//! Used in two ways. As a lock: `lock` and `unlock` by the same thread. As a debt: the creditor
//! writes the number of the thread that owes something ([`PiLock::owe`]), waits with
//! [`PiLock::wait_for_debtor`], as often as it likes, and the debtor pays with [`PiLock::unlock`].
//! In both cases the kernel raises the thread named in the word to the priority of the most urgent
//! waiter, through chains of such words. (`rt::sync::lend` has loans that end at a due time; here
//! the creditor looks again and goes on waiting, and may withdraw what it settled itself.)

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

use rt::clock::{Clock, Monotonic};
use rt::sys::futex::{Futex, FutexError, Private, TID_MASK};

/// The calling thread's number, as a futex word holds it; a system call the first time only, and
/// behind a fork.
pub(crate) fn tid() -> u32 {
    rt::sys::tid::current()
}

/// How waiting for a debtor ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DebtWait {
    /// The word is free: the debt is paid.
    Paid,
    /// Not within the time.
    TimedOut,
    /// The debtor's thread is gone.
    DebtorGone,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct PiLock(Futex<Private>);

impl Default for PiLock {
    fn default() -> Self {
        Self(Futex::new(0))
    }
}

impl PiLock {
    /// Takes the lock, lending priority to its owner while waiting.
    ///
    /// Patiently, for there are circles of lenders that open by themselves: a visitor, holding a
    /// claim lock, waits a while for a mutator that has gone to wait for the collector, which wants
    /// that lock.
    pub(crate) fn lock(&self) {
        let word = self.0.word();
        if word
            .compare_exchange(0, tid(), Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
        if let Err(error) = self.0.lock_pi_patiently() {
            panic!("the owner of a heap lock does not end or wait for us: {error}");
        }
    }

    /// Gives up what the calling thread owns or owes. O(1); a system call only if somebody waits.
    pub(crate) fn unlock(&self) {
        let word = self.0.word();
        if word
            .compare_exchange(tid(), 0, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            self.0.unlock_pi().expect("who unlocks holds the word");
        }
    }

    /// Makes `debtor` the owner of a free word.
    pub(crate) fn owe(&self, debtor: u32) {
        self.0.word().store(debtor, Ordering::Release);
    }

    /// Makes `debtor` the owner if nobody is. The debtor pays with [`Self::pay`] whether or not it
    /// was asked.
    pub(crate) fn try_owe(&self, debtor: u32) {
        let word = self.0.word();
        // If somebody is, waiting for that one is as good: the caller looks again.
        let _ = word.compare_exchange(0, debtor, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Gives the word up if the calling thread owes it.
    pub(crate) fn pay(&self) {
        if self.0.word().load(Ordering::Acquire) & TID_MASK == tid() {
            self.unlock();
        }
    }

    /// Whether somebody owns or owes it.
    pub(crate) fn is_out(&self) -> bool {
        self.0.word().load(Ordering::Acquire) != 0
    }

    /// Withdraws a debt that the debtor no longer knows of. Nobody waits for it.
    pub(crate) fn forgive(&self) {
        self.0.word().store(0, Ordering::Release);
    }

    /// Waits at most `timeout_ns` until the debtor unlocks, lending it priority.
    pub(crate) fn wait_for_debtor(&self, timeout_ns: u64) -> DebtWait {
        if self.0.word().load(Ordering::Acquire) == 0 {
            return DebtWait::Paid;
        }
        match self
            .0
            .lock_pi_until(Some(Monotonic.now_ns().saturating_add(timeout_ns)))
        {
            Ok(()) => {
                self.unlock();
                DebtWait::Paid
            }
            Err(FutexError::OwnerGone) => DebtWait::DebtorGone,
            Err(_) => DebtWait::TimedOut,
        }
    }
}

/// A value behind a [`PiLock`].
#[derive(Debug, Default)]
pub(crate) struct PiCell<T> {
    lock: PiLock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock admits one thread at a time, so sharing the cell only moves `T` between threads.
unsafe impl<T: Send> Sync for PiCell<T> {}

impl<T> PiCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            lock: PiLock::default(),
            value: UnsafeCell::new(value),
        }
    }

    /// Exclusive access until the guard is dropped. Waiting lends priority to the holder.
    pub(crate) fn lock(&self) -> PiGuard<'_, T> {
        self.lock.lock();
        PiGuard(self)
    }
}

/// Exclusive access to a [`PiCell`]'s value.
pub(crate) struct PiGuard<'a, T>(&'a PiCell<T>);

impl<T> Deref for PiGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for PiGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `&mut self` excludes a second access through the guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for PiGuard<'_, T> {
    fn drop(&mut self) {
        self.0.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no `rt::thread`")]
    fn one_at_a_time() {
        let cell = Arc::new(PiCell::new(0_u64));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let cell = Arc::clone(&cell);
                rt::thread::Builder::new("adder")
                    .spawn(move || (0..20_000).for_each(|_| *cell.lock() += 1))
                    .unwrap()
            })
            .collect();
        threads.into_iter().for_each(rt::thread::Thread::join);
        assert_eq!(*cell.lock(), 80_000);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no `rt::thread`")]
    fn a_debt_is_waited_for_until_it_is_paid() {
        let word = Arc::new(PiLock::default());
        assert_eq!(word.wait_for_debtor(1), DebtWait::Paid);
        let (send, receive) = std::sync::mpsc::sync_channel::<()>(1);
        let debtor = {
            let word = Arc::clone(&word);
            rt::thread::Builder::new("debtor").spawn(move || {
                receive.recv().unwrap();
                word.unlock();
            })
        }
        .unwrap();
        word.owe(debtor.tid().raw() as u32);
        assert_eq!(word.wait_for_debtor(1_000_000), DebtWait::TimedOut);
        send.send(()).unwrap();
        assert_eq!(word.wait_for_debtor(30_000_000_000), DebtWait::Paid);
        debtor.join();
    }
}
