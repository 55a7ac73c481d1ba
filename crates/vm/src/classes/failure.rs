// SPDX-License-Identifier: Apache-2.0
//! [`Failures`]: which constants of a class could not be resolved, and how.
//! `link/failure` fills it.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;

use crate::sync::lock::Lock;

/// What an error says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// Internal name of its class, which the boot loader has.
    pub(crate) class: String,
    pub(crate) message: Option<String>,
}

/// A failed resolution: every later one must fail in the same way.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Words,
    pub(crate) cause: Option<Words>,
}

/// What failed. A computed call has each of its bytecodes resolved apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Unresolved {
    /// The constant at an index.
    Constant(u16),
    /// The site at an address.
    Call(u64),
}

/// The failed resolutions of a class: one at most for each constant and each computed call.
pub(crate) struct Failures {
    has_some: AtomicBool,
    known: Lock<BTreeMap<Unresolved, &'static Failure>>,
}

impl Failures {
    pub(crate) const fn new() -> Self {
        Self {
            has_some: AtomicBool::new(false),
            known: Lock::new(BTreeMap::new()),
        }
    }

    pub(crate) fn find(&self, what: Unresolved) -> Option<&'static Failure> {
        // Pairs with Release in `keep`.
        if !self.has_some.load(Ordering::Acquire) {
            return None;
        }
        self.known.lock().get(&what).copied()
    }

    /// Remembers a failure; the first one stays.
    pub(crate) fn keep(&self, what: Unresolved, failure: Failure) {
        let failure: &'static Failure = Box::leak(Box::new(failure));
        self.known.lock().entry(what).or_insert(failure);
        self.has_some.store(true, Ordering::Release);
    }
}
