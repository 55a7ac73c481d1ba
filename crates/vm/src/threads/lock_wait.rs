// SPDX-License-Identifier: Apache-2.0
//! How a thread of Java's waits for a lock of the machine: in native state, and its ledger notes
//! it.

use rt::sys::futex::{Futex, Private};

use crate::sync::lock;
use crate::threads::ledger;
use crate::threads::thread;

/// For [`lock::wait_by`].
pub(crate) fn wait(futex: &Futex<Private>) {
    match thread::current() {
        Some(thread) => {
            let wait = || thread.outside(|| lock::wait_for_futex(futex));
            ledger::timed(thread, wait, |ledger, ns, ()| {
                ledger.machine_locks.add(ns, None);
            });
        }
        None => lock::wait_for_futex(futex),
    }
}
