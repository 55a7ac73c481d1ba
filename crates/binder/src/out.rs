// SPDX-License-Identifier: Apache-2.0
//! [`CallsOut`]: which calls are out, without a lock: what a call may still name stays until the
//! calls are over that were out when it went.
//!
//! Calls count themselves in the epoch in which they begin. An epoch ends when no call of the one
//! before is out; so what went in an epoch may go for good two epochs later.

use rt::sync::atomic::AtomicU64;
use rt::sync::atomic::Ordering::SeqCst;
use rt::sync::atomic::seq_cst_for_loom;

/// Epochs after which no call is out that was when something went.
pub(crate) const GRACE: u64 = 2;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct CallsOut {
    epoch: AtomicU64,
    /// Calls of even and of odd epochs.
    out: [AtomicU64; 2],
    /// Things that wait for their grace to end.
    leaving: AtomicU64,
}

/// A call that is out.
#[derive(Debug)]
#[must_use = "a call that begins ends"]
pub(crate) struct Out(usize);

impl CallsOut {
    /// A call goes out. Repeats only where an epoch has just ended.
    pub(crate) fn begin(&self) -> Out {
        loop {
            let epoch = self.epoch.load(SeqCst);
            let parity = (epoch & 1) as usize;
            self.out[parity].fetch_add(1, SeqCst);
            seq_cst_for_loom();
            if self.epoch.load(SeqCst) == epoch {
                return Out(parity);
            }
            self.out[parity].fetch_sub(1, SeqCst);
        }
    }

    /// It is over; whether something waits that may go now: [`Self::set_leaving`].
    pub(crate) fn end(&self, out: Out) -> bool {
        self.out[out.0].fetch_sub(1, SeqCst);
        seq_cst_for_loom();
        self.leaving.load(SeqCst) > 0
    }

    /// How many things wait. One thread at a time.
    pub(crate) fn set_leaving(&self, count: usize) {
        self.leaving.store(count as u64, SeqCst);
        seq_cst_for_loom();
    }

    /// The epoch now.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(SeqCst)
    }

    /// Ends epochs that can end, and gives the one that lasts. One thread at a time.
    pub(crate) fn advance(&self) -> u64 {
        for _ in 0..GRACE {
            let epoch = self.epoch.load(SeqCst);
            if self.out[((epoch + 1) & 1) as usize].load(SeqCst) != 0 {
                break;
            }
            self.epoch.store(epoch + 1, SeqCst);
            seq_cst_for_loom();
        }
        self.epoch.load(SeqCst)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_went_waits_for_the_calls_that_were_out_and_for_no_others() {
        let calls = CallsOut::default();
        let before = calls.begin();
        let went = calls.epoch();
        calls.set_leaving(1);
        assert!(calls.advance() < went + GRACE, "a call is out");
        let after = calls.begin();
        assert!(calls.advance() < went + GRACE, "it is out still");
        assert!(calls.end(before), "something waits");
        assert!(
            calls.advance() >= went + GRACE,
            "a later call holds it no longer"
        );
        calls.set_leaving(0);
        assert!(!calls.end(after));
        let last = calls.begin();
        assert!(!calls.end(last));
    }
}
