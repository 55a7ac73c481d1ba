// SPDX-License-Identifier: Apache-2.0
//! [`Lending`]: a thread's part in lending priority, which `monitors/lend.rs` does.

use core::cell::Cell;
use core::sync::atomic::AtomicU32;

use rt::sys::futex::{Futex, Private};

use crate::sync::lock::Lock;
use crate::threads::thread::Thread;

/// A thread's part in lending.
pub(crate) struct Lending {
    /// The borrower's number while this thread waits for it.
    pub(crate) word: Futex<Private>,
    /// How many lend to this thread, and the first of them. Each leaves the list before it leaves
    /// `park`.
    pub(crate) lender_count: AtomicU32,
    pub(crate) lenders: Lock<Option<&'static Thread>>,
    /// The next in the list that this thread is in; under that list's lock.
    pub(crate) next: Cell<Option<&'static Thread>>,
}

impl Lending {
    pub(crate) const fn new() -> Self {
        Self {
            word: Futex::new(0),
            lender_count: AtomicU32::new(0),
            lenders: Lock::new(None),
            next: Cell::new(None),
        }
    }
}
