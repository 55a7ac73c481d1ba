// SPDX-License-Identifier: Apache-2.0
//! [`Loan`]: lending one's priority to a chosen thread while waiting for its answer.
//!
//! A call across threads or processes inverts priorities: the caller is urgent, the thread that
//! serves it need not be. A loan is a priority-inheritance futex whose word names the *serving*
//! thread as holder although it never took it; the lender then blocks on that word, and the kernel
//! runs the borrower at least at the lender's priority: through chains of further calls and locks,
//! also when the lender is raised meanwhile, SCHED_DEADLINE included. One lender at a time uses a
//! loan; the request itself travels beside it.
//!
//! States of the word, and who moves it:
//!
//! ```text
//! 0 ── offer (lender) ──▶ borrower ── give_back (borrower) ──▶ 0           answered before the lender waited
//!                            │
//!                            ├─ wait (lender): kernel sets WAITERS, borrower inherits
//!                            │     ├─ give_back: kernel stores lender|WAITERS ─▶ lender stores 0   answered
//!                            │     ├─ borrower ends: lender|OWNER_DIED ────────▶ lender stores 0   BorrowerDied
//!                            │     └─ due time, circle: borrower|WAITERS stays, the loan is out ── give_back ──▶ 0
//!                            ├─ borrower ended before the wait: ESRCH ─────────▶ lender stores 0   BorrowerDied
//!                            └─ retract (lender, request never sent) ──────────▶ 0
//! ```
//!
//! Bounds: one system call for the lender and one for the borrower if the lender has to wait, none
//! otherwise; the wait itself lasts as long as the borrower takes at the lender's priority, or
//! until the due time. Both sides live in one PID namespace, since the word holds a thread number.
//! A thread number can be used again after its thread ended: a lender whose borrower may end
//! unnoticed gives a due time and asks about it then.

#[cfg(not(loom))]
use crate::clock::{Clock, Monotonic};
use crate::policy::Tid;
use crate::sync::Recall;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sys::futex::{Futex, FutexError, OWNER_DIED, Private, Scope, TID_MASK};
use crate::sys::tid;

/// Why a loan did not end with the borrower's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LendError {
    /// An earlier offer is still out: its borrower has not given it back.
    #[error("an earlier loan of this word is still out")]
    Busy,
    /// The borrower ended without giving back. The word is free again.
    #[error("the borrower ended before it gave the loan back")]
    BorrowerDied,
    /// The due time passed. The loan stays out until the borrower gives it back.
    #[error("the loan was not given back in time")]
    TimedOut,
    /// The borrower waits for the lender, itself or through others. The loan stays out until it is
    /// given back.
    #[error("the borrower waits for the lender")]
    Circle,
    /// The word was written by others against the protocol, or the thread cannot inherit.
    #[error("the loan's word is not in order: {0}")]
    Broken(FutexError),
}

/// The word that is lent by. All-zero when new, `repr(transparent)` over four aligned bytes: fit
/// for shared memory, where a peer that breaks the protocol can delay an answer, but not cause a
/// panic.
#[repr(transparent)]
#[derive(Debug)]
pub struct Loan<S: Scope = Private> {
    futex: Futex<S>,
}

impl<S: Scope> Loan<S> {
    /// A word that nobody has.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            futex: Futex::new(0),
        }
    }

    /// A word that nobody has.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            futex: Futex::new(0),
        }
    }

    /// Lender, first step, before the request is sent: names the borrower. Does not sleep.
    pub fn offer(&self, borrower: Tid) -> Result<Offer<'_, S>, LendError> {
        let word = self.futex.word();
        let borrower = borrower.raw() as u32;
        // Pairs with the Release in `give_back`: what the last borrower wrote is there.
        if word
            .compare_exchange(0, borrower, Acquire, Relaxed)
            .is_err()
        {
            self.reclaim()?;
            // The word is free and this thread its only lender.
            word.store(borrower, Relaxed);
        }
        Ok(Offer {
            loan: self,
            borrower,
        })
    }

    /// Borrower, last step, after the answer is written: the lender goes on and its priority with
    /// it. `false` if the loan is not with the calling thread (the lender retracted it). Does not
    /// sleep, though the lender, if more urgent, runs at once.
    pub fn give_back(&self) -> bool {
        let own = tid::current();
        // Pairs with the Acquire in `Offer::wait`: publishes the answer.
        match self.futex.word().compare_exchange(own, 0, Release, Relaxed) {
            Ok(_) => true,
            Err(found) if found & TID_MASK == own => self.futex.unlock_pi().is_ok(),
            Err(_) => false,
        }
    }

    /// As [`Self::give_back`], to a lender that may wait without lending. One system call more.
    pub fn give_back_apart(&self) -> bool {
        let is_given = self.give_back();
        self.futex.wake(1);
        is_given
    }

    /// The calling thread ends with what it borrowed.
    #[cfg(loom)]
    pub fn end_of_borrower(&self) {
        crate::sys::model::exit(&[self.futex.word()]);
    }

    /// Whether a loan is out.
    pub fn is_out(&self) -> bool {
        self.futex.word().load(Relaxed) != 0
    }

    /// The word of a loan that was not given back, if its borrower has ended since.
    #[cold]
    fn reclaim(&self) -> Result<(), LendError> {
        let found = self.futex.word().load(Relaxed);
        match self.futex.try_lock_pi() {
            Ok(()) => Ok(()),
            Err(FutexError::OwnerGone) => {
                // Nobody alive changes it from here but another lender, against the protocol.
                let freed = self
                    .futex
                    .word()
                    .compare_exchange(found, 0, Relaxed, Relaxed);
                freed.map(drop).map_err(|_| LendError::Busy)
            }
            Err(FutexError::Changed | FutexError::Deadlock) => Err(LendError::Busy),
            Err(error) => Err(LendError::Broken(error)),
        }
    }
}

impl<S: Scope> Default for Loan<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// A loan that was offered. Dropped without [`wait`](Self::wait) it stays out until the borrower
/// gives it back.
#[must_use = "an offer lends nothing until it is waited for"]
#[derive(Debug)]
pub struct Offer<'a, S: Scope> {
    loan: &'a Loan<S>,
    borrower: u32,
}

impl<S: Scope> Offer<'_, S> {
    /// Lends until the borrower gives back. For callers that may wait for ever.
    pub fn wait(self) -> Result<(), LendError> {
        self.look()
    }

    /// Lends until the borrower gives back, at most until `due_ns` of the monotonic clock.
    pub fn wait_until(self, due_ns: u64) -> Result<(), LendError> {
        self.look_until(due_ns)
    }

    /// As [`Self::wait_until`], and the offer stays: after [`LendError::TimedOut`] the lender may
    /// wait on. For lenders that ask from time to time whether the borrower is still there.
    pub fn look_until(&self, due_ns: u64) -> Result<(), LendError> {
        self.wait_by(|| self.loan.futex.lock_pi_until(Some(due_ns)))
    }

    /// As [`Self::look_until`], by a due time that other threads of the program may move.
    pub fn look_recallable(&self, due: &Recall) -> Result<(), LendError> {
        self.wait_by(|| self.loan.futex.lock_pi_recallable(due))
    }

    /// As [`Self::look_recallable`], and lends nothing: the borrower runs as urgently as it does by
    /// itself, and gives back by [`Loan::give_back_apart`]. Its end is not noticed. May time out
    /// early.
    pub fn look_apart(&self, due: &Recall) -> Result<(), LendError> {
        let futex = &self.loan.futex;
        // Pairs with the Release in `give_back`: takes the answer.
        match futex.word().load(Acquire) {
            0 => return Ok(()),
            found => match futex.wait_recallable(found, due) {
                Ok(()) | Err(FutexError::Changed | FutexError::Interrupted) => {}
                Err(FutexError::TimedOut) => {}
                Err(error) => return Err(LendError::Broken(error)),
            },
        }
        match futex.word().load(Acquire) {
            0 => Ok(()),
            _ => Err(LendError::TimedOut),
        }
    }

    /// As [`Self::wait`], and the offer stays.
    pub fn look(&self) -> Result<(), LendError> {
        self.wait_by(|| self.loan.futex.lock_pi_until(None))
    }

    /// Looks at the word, with no system call, until it was given back or until `due_ns`; says
    /// which. Meanwhile nothing is lent: the borrower runs as urgently as it does by itself.
    #[cfg(not(loom))]
    pub fn spin_until(&self, due_ns: u64) -> bool {
        let word = self.loan.futex.word();
        loop {
            // The answer is taken by the wait that follows.
            if word.load(Relaxed) == 0 {
                return true;
            }
            if Monotonic.now_ns() >= due_ns {
                return false;
            }
            core::hint::spin_loop();
        }
    }

    /// The request was not sent after all. A borrower that has it gives back to nobody.
    pub fn retract(self) {
        let word = self.loan.futex.word();
        // Fails only if the borrower gave back on its own account: then the word is free as well.
        let _ = word.compare_exchange(self.borrower, 0, Relaxed, Relaxed);
    }

    fn wait_by(&self, lock: impl Fn() -> Result<(), FutexError>) -> Result<(), LendError> {
        let word = self.loan.futex.word();
        // Pairs with the Release in `give_back`: takes the answer. The common case if the borrower
        // was faster.
        if word.load(Acquire) == 0 {
            return Ok(());
        }
        loop {
            match lock() {
                Ok(()) => {
                    // One lender: nobody else waits here, so the word needs no kernel to be freed.
                    let found = word.swap(0, Acquire);
                    return if found & OWNER_DIED == 0 {
                        Ok(())
                    } else {
                        Err(LendError::BorrowerDied)
                    };
                }
                Err(FutexError::Interrupted | FutexError::Changed) => {}
                Err(FutexError::OwnerGone) => {
                    let found = word.swap(0, Acquire);
                    // It may have answered, and ended, between the look at the word and the call.
                    return if found == 0 {
                        Ok(())
                    } else {
                        Err(LendError::BorrowerDied)
                    };
                }
                Err(FutexError::TimedOut) => return Err(LendError::TimedOut),
                Err(FutexError::Deadlock) => return Err(LendError::Circle),
                Err(error) => return Err(LendError::Broken(error)),
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;
    use crate::clock::{Clock, Monotonic};
    use crate::thread::{Builder, Thread};

    type Pair = Arc<(Loan, AtomicBool)>;

    /// A borrower that gives back once told to, and says whether it had anything to give.
    fn borrower() -> (Pair, Thread<bool>) {
        let pair = Arc::new((Loan::new(), AtomicBool::new(false)));
        let thread = Builder::new("borrower")
            .spawn({
                let pair = Arc::clone(&pair);
                move || {
                    while !pair.1.load(SeqCst) {
                        std::thread::yield_now();
                    }
                    pair.0.give_back()
                }
            })
            .unwrap();
        (pair, thread)
    }

    #[test]
    fn an_answer_ends_a_loan_before_and_during_the_wait() {
        for is_early in [true, false] {
            let (pair, thread) = borrower();
            let offer = pair.0.offer(thread.tid()).unwrap();
            pair.1.store(true, SeqCst);
            if is_early {
                assert!(thread.join());
                assert_eq!(offer.wait(), Ok(()));
            } else {
                assert_eq!(offer.wait(), Ok(()));
                assert!(thread.join());
            }
            assert!(!pair.0.is_out());
        }
    }

    #[test]
    fn a_lender_that_spins_sees_the_answer_or_its_due_time() {
        let (pair, thread) = borrower();
        let offer = pair.0.offer(thread.tid()).unwrap();
        let due_ns = Monotonic.now_ns() + 1_000_000;
        assert!(!offer.spin_until(due_ns));
        assert!(Monotonic.now_ns() >= due_ns, "never early");
        pair.1.store(true, SeqCst);
        assert!(offer.spin_until(u64::MAX));
        assert_eq!(offer.wait(), Ok(()));
        assert!(thread.join());
    }

    #[test]
    fn a_late_answer_leaves_the_loan_out_until_it_comes() {
        let (pair, thread) = borrower();
        let offer = pair.0.offer(thread.tid()).unwrap();
        let due_ns = Monotonic.now_ns() + 1_000_000;
        assert_eq!(offer.wait_until(due_ns), Err(LendError::TimedOut));
        assert_eq!(pair.0.offer(thread.tid()).unwrap_err(), LendError::Busy);
        pair.1.store(true, SeqCst);
        assert!(thread.join());
        assert!(!pair.0.is_out());
    }

    #[test]
    fn a_lender_that_lends_nothing_has_its_answer() {
        let due = Recall::default();
        for is_early in [true, false] {
            let pair = Arc::new((Loan::<Private>::new(), AtomicBool::new(false)));
            let thread = Builder::new("apart").spawn({
                let pair = Arc::clone(&pair);
                move || {
                    while !pair.1.load(SeqCst) {
                        std::thread::yield_now();
                    }
                    pair.0.give_back_apart()
                }
            });
            let thread = thread.unwrap();
            let offer = pair.0.offer(thread.tid()).unwrap();
            due.set(1);
            assert_eq!(offer.look_apart(&due), Err(LendError::TimedOut));
            pair.1.store(true, SeqCst);
            if is_early {
                assert!(thread.join());
                assert_eq!(offer.look_apart(&due), Ok(()));
                continue;
            }
            due.set(u64::MAX >> 2);
            while let Err(error) = offer.look_apart(&due) {
                assert_eq!(error, LendError::TimedOut);
            }
            assert!(thread.join());
        }
    }

    #[test]
    fn a_retracted_offer_is_nobodys_to_give_back() {
        let (pair, thread) = borrower();
        pair.0.offer(thread.tid()).unwrap().retract();
        pair.1.store(true, SeqCst);
        assert!(!thread.join());
        assert!(!pair.0.is_out());
    }

    #[test]
    fn a_borrower_that_ends_is_told_and_the_word_is_free() {
        // Ends before the wait, and during it.
        for wait_ns in [0, 20_000_000] {
            let loan = Arc::new(Loan::<Private>::new());
            let thread = Builder::new("mortal")
                .spawn(move || Monotonic.sleep_until(Monotonic.now_ns() + wait_ns))
                .unwrap();
            let offer = loan.offer(thread.tid()).unwrap();
            if wait_ns == 0 {
                thread.join();
            }
            assert_eq!(offer.wait(), Err(LendError::BorrowerDied));
            assert!(!loan.is_out());
        }
    }

    #[test]
    fn a_dead_borrowers_loan_is_taken_back_by_the_next_offer() {
        let loan = Loan::<Private>::new();
        let mortal = Builder::new("mortal").spawn(|| ()).unwrap();
        let tid = mortal.tid();
        drop(loan.offer(tid).unwrap());
        mortal.join();
        // The kernel lets go of a joined thread a moment later.
        let offer = loop {
            match loan.offer(Tid::current()) {
                Ok(offer) => break offer,
                Err(error) => assert_eq!(error, LendError::Busy),
            }
        };
        offer.retract();
    }

    #[test]
    fn lending_to_oneself_is_a_circle() {
        let loan = Loan::<Private>::new();
        let offer = loan.offer(Tid::current()).unwrap();
        assert_eq!(offer.wait(), Err(LendError::Circle));
        assert!(loan.give_back());
    }
}
