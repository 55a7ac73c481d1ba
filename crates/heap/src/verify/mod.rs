// SPDX-License-Identifier: Apache-2.0
//! The verifier: with every mutator held, compares counts with a full trace. For tests and for a
//! doubt.
//!
//! Under `rc` it checks, at the view of the last epoch: every object that a root, or a counted
//! object's reference, reaches exists; and every count is the number of counted references to its
//! object, or stuck.

mod check;

use std::sync::atomic::{AtomicU64, Ordering};

use rt::sync::PiMutex;

/// What the verifier found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Objects that exist.
    pub objects: u64,
    /// Objects that roots reach now.
    pub reachable: u64,
    /// Objects whose counts are stuck.
    pub stuck: u64,
    /// What is wrong, at most a few of them. Empty: all is well.
    pub faults: Vec<String>,
}

/// A question and its answer.
#[derive(Debug, Default)]
pub(crate) struct Verifier {
    asked: AtomicU64,
    answered: AtomicU64,
    verdict: PiMutex<Verdict>,
}

impl Verifier {
    // --- mutators ---

    /// A question; it is answered once [`Self::has_answered`] it.
    pub(crate) fn ask(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn has_answered(&self, ticket: u64) -> bool {
        self.answered.load(Ordering::SeqCst) >= ticket
    }

    /// The last answer.
    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict.lock().clone()
    }

    // --- collector ---

    pub(crate) fn is_asked(&self) -> bool {
        self.asked() != self.answered.load(Ordering::SeqCst)
    }

    /// The questions that an answer will be for, if what it looks at begins after this.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Answers the questions up to `asked`.
    pub(crate) fn answer(&self, asked: u64, verdict: Verdict) {
        *self.verdict.lock() = verdict;
        self.answered.store(asked, Ordering::SeqCst);
    }
}
