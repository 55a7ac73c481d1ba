// SPDX-License-Identifier: Apache-2.0
//! [`PiWord`]: a lock's word, which names its holder, so that its waiters lend it priority.
//!
//! What is behind every priority-inheritance lock of a process: [`PiMutex`] is one with a value.
//! Bare, it is for what one function locks and another unlocks, and for words that say more, as a
//! monitor's. docs/internals/real-time.md says for how long a caller may wait.
//!
//! There are circles of lenders that open by themselves: a visitor, holding a lock, waits a while
//! for a mutator that has gone to wait for the collector, which wants that lock. So who locks is
//! patient ([`Patience`]).
//!
//! [`PiMutex`]: crate::sync::PiMutex

use crate::sync::TimedOut;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sys::futex::{Futex, FutexError, OWNER_DIED, Patience, Private, TID_MASK, WAITERS};
use crate::sys::tid;

/// See the module.
#[derive(Debug, Default)]
pub struct PiWord(Futex<Private>);

impl PiWord {
    /// Free.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(Futex::new(0))
    }

    /// Free.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self(Futex::new(0))
    }

    /// The word, for protocols that let one thread name another as its holder.
    pub fn futex(&self) -> &Futex<Private> {
        &self.0
    }

    /// The number of the thread that holds it; 0 if none does.
    pub fn holder(&self) -> u32 {
        self.0.word().load(Acquire) & TID_MASK
    }

    /// Locks if nobody holds it. One compare-and-swap.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let own = tid::current();
        // Pairs with the Release in `unlock`.
        self.0
            .word()
            .compare_exchange(0, own, Acquire, Relaxed)
            .is_ok()
    }

    /// Locks if it becomes free within so many looks, some 40 ns each, and nobody waits in the
    /// kernel, which would hand it over to them. For ordinary threads: it lends nothing meanwhile.
    pub fn try_lock_looking(&self, looks: u32) -> bool {
        for _ in 0..looks {
            std::hint::spin_loop();
            match self.0.word().load(Relaxed) {
                0 if self.try_lock() => return true,
                word if word & WAITERS != 0 => return false,
                _ => {}
            }
        }
        false
    }

    /// Locks. Panics if the caller holds it, if it waits for itself through other locks for a
    /// minute, or if a holder ended.
    #[inline]
    #[track_caller]
    pub fn lock(&self) {
        if !self.try_lock() {
            let locked = self.lock_slow(None);
            assert!(locked.is_ok(), "a wait without a due time has no end");
        }
    }

    /// Locks, or gives up at `due_ns` of the monotonic clock. Panics as [`Self::lock`] does.
    #[track_caller]
    pub fn lock_until(&self, due_ns: u64) -> Result<(), TimedOut> {
        if self.try_lock() {
            return Ok(());
        }
        self.lock_slow(Some(due_ns))
    }

    /// As [`Self::lock`], but a wait is run by `around`, which calls what it is given: in another
    /// state of the thread, or with its time taken.
    #[inline]
    #[track_caller]
    pub fn lock_within(&self, around: impl FnOnce(&mut dyn FnMut())) {
        if self.try_lock() {
            return;
        }
        let mut is_locked = false;
        around(&mut || {
            if !is_locked {
                self.lock();
                is_locked = true;
            }
        });
        assert!(is_locked, "who is given a wait waits");
    }

    /// Locks as the language has it: for ever, where `patience` says so. Panics when it ends.
    #[track_caller]
    pub fn lock_patiently(&self, patience: Patience) {
        if let Err(error) = self.0.lock_pi_patiently(None, patience) {
            panic!("a lock is out of order: {error}");
        }
    }

    /// Unlocks. The calling thread holds it. A system call only if somebody waits.
    #[inline]
    pub fn unlock(&self) {
        let own = tid::current();
        // Pairs with the Acquire in `try_lock`: publishes what the lock protects.
        let released = self.0.word().compare_exchange(own, 0, Release, Relaxed);
        if released.is_err() {
            let released = self.0.unlock_pi();
            assert_eq!(released, Ok(()), "who unlocks holds the word");
        }
    }

    #[cold]
    #[track_caller]
    fn lock_slow(&self, due_ns: Option<u64>) -> Result<(), TimedOut> {
        match self.0.lock_pi_patiently(due_ns, Patience::MINUTE) {
            Ok(()) => {}
            Err(FutexError::TimedOut) => return Err(TimedOut),
            Err(FutexError::Deadlock) => {
                panic!("this thread holds the lock already, or waits for itself through others")
            }
            Err(FutexError::OwnerGone) => panic!("a thread ended while it held this lock"),
            Err(error) => panic!("a lock's word was overwritten: {error}"),
        }
        let word = self.0.word().load(Relaxed);
        assert_eq!(
            word & OWNER_DIED,
            0,
            "a thread ended while it held this lock"
        );
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::thread::Builder;

    #[test]
    fn only_a_wait_is_run_by_another() {
        let word = Arc::new(PiWord::new());
        word.lock_within(|_| panic!("the word was free"));
        let other = Builder::new("other")
            .spawn({
                let word = Arc::clone(&word);
                move || {
                    let mut waits = 0;
                    word.lock_within(|wait| {
                        waits += 1;
                        wait();
                        wait();
                    });
                    let is_own = word.holder() == tid::current();
                    word.unlock();
                    (waits, is_own)
                }
            })
            .unwrap();
        while word.futex().word().load(Relaxed) & WAITERS == 0 {
            std::thread::yield_now();
        }
        assert!(!word.try_lock_looking(u32::MAX), "not where somebody waits");
        word.unlock();
        assert_eq!(other.join(), (1, true));
        assert_eq!(word.holder(), 0);
    }

    #[test]
    fn a_look_takes_what_is_free_and_ends() {
        let word = PiWord::new();
        assert!(word.try_lock_looking(1));
        assert!(!word.try_lock_looking(10), "it is held");
        word.unlock();
        assert!(!word.try_lock_looking(0));
    }

    #[test]
    #[should_panic(expected = "who is given a wait waits")]
    fn who_does_not_wait_has_no_lock() {
        let word = PiWord::new();
        word.futex().word().store(tid::current(), Relaxed);
        word.lock_within(|_wait| {});
    }
}
