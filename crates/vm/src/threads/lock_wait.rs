// SPDX-License-Identifier: Apache-2.0
//! How a thread of Java's waits for a lock of the machine: in native state, and its ledger notes
//! it.

use crate::threads::ledger;
use crate::threads::thread;

/// For [`crate::sync::lock::wait_by`].
pub(crate) fn run(wait: &mut dyn FnMut()) {
    match thread::current() {
        Some(thread) => {
            let wait = || thread.outside(wait);
            ledger::timed(thread, wait, |ledger, ns, ()| {
                ledger.machine_locks.add(ns, None);
            });
        }
        None => wait(),
    }
}
