// SPDX-License-Identifier: Apache-2.0
//! [`Debt`]: a word that names who owes something, so that its waiters lend priority.
//!
//! The creditor writes the number of the thread that owes ([`Debt::owe`]), waits with
//! [`Debt::wait_for_debtor`], as often as it likes, and the debtor pays with [`Debt::pay`]. The
//! kernel raises the thread named in the word to the priority of the most urgent waiter, through
//! chains of such words and of locks. (`rt::sync::lend` has loans that end at a due time; here the
//! creditor looks again and goes on waiting, and may withdraw what it settled itself.)

use std::sync::atomic::Ordering;

use rt::clock::{Clock, Monotonic};
use rt::sync::PiWord;
use rt::sync::atomic::AtomicU32;
use rt::sys::futex::FutexError;
use rt::sys::tid;

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
#[derive(Debug, Default)]
pub(crate) struct Debt(PiWord);

impl Debt {
    /// Makes `debtor` the owner of a free word.
    pub(crate) fn owe(&self, debtor: u32) {
        self.word().store(debtor, Ordering::Release);
    }

    /// Makes `debtor` the owner if nobody is. The debtor pays with [`Self::pay_if_owed`] whether or
    /// not it was asked.
    pub(crate) fn try_owe(&self, debtor: u32) {
        let word = self.word();
        // If somebody is, waiting for that one is as good: the caller looks again.
        let _ = word.compare_exchange(0, debtor, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Gives up what the calling thread owes. O(1); a system call only if somebody waits.
    pub(crate) fn pay(&self) {
        self.0.unlock();
    }

    /// Gives the word up if the calling thread owes it.
    pub(crate) fn pay_if_owed(&self) {
        if self.0.holder() == tid::current() {
            self.pay();
        }
    }

    /// Whether somebody owns or owes it.
    pub(crate) fn is_out(&self) -> bool {
        self.word().load(Ordering::Acquire) != 0
    }

    /// Withdraws a debt that the debtor no longer knows of. Nobody waits for it.
    pub(crate) fn forgive(&self) {
        self.word().store(0, Ordering::Release);
    }

    /// Waits at most `timeout_ns` until the debtor unlocks, lending it priority.
    pub(crate) fn wait_for_debtor(&self, timeout_ns: u64) -> DebtWait {
        if self.word().load(Ordering::Acquire) == 0 {
            return DebtWait::Paid;
        }
        let due_ns = Monotonic.now_ns().saturating_add(timeout_ns);
        match self.0.futex().lock_pi_until(Some(due_ns)) {
            Ok(()) => {
                self.0.unlock();
                DebtWait::Paid
            }
            Err(FutexError::OwnerGone) => DebtWait::DebtorGone,
            Err(_) => DebtWait::TimedOut,
        }
    }

    fn word(&self) -> &AtomicU32 {
        self.0.futex().word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no `rt::thread`")]
    fn a_debt_is_waited_for_until_it_is_paid() {
        let word = Arc::new(Debt::default());
        assert_eq!(word.wait_for_debtor(1), DebtWait::Paid);
        let (send, receive) = std::sync::mpsc::sync_channel::<()>(1);
        let debtor = {
            let word = Arc::clone(&word);
            rt::thread::Builder::new("debtor").spawn(move || {
                receive.recv().unwrap();
                word.pay();
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
