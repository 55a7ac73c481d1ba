// SPDX-License-Identifier: Apache-2.0
//! [`Lock`]: the machine's inner lock, a [`PiMutex`] that a thread of Java's waits for in its own
//! way.
//!
//! Its holder inherits the priority of who waits. Critical sections are short and never enter
//! Java.

use std::sync::OnceLock;

use rt::sync::{PiMutex, PiMutexGuard, PiWord};

/// A value behind a priority-inheritance lock; `Lock<()>` is four bytes wide.
#[derive(Default)]
pub(crate) struct Lock<T>(PiMutex<T>);

/// The calling thread's number, as locks hold it.
pub(crate) fn own_tid() -> u32 {
    rt::sys::tid::current()
}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(PiMutex::new(value))
    }

    /// Waits in native state, so that a holder may reach safepoints and the collector waits for
    /// nobody.
    pub(crate) fn lock(&self) -> PiMutexGuard<'_, T> {
        self.0.lock_within(waiting)
    }

    /// Waits in the state that the thread has: for locks whose holders reach no safepoint.
    pub(crate) fn lock_keeping_state(&self) -> PiMutexGuard<'_, T> {
        self.0.lock()
    }
}

/// Locks a bare word as [`Lock::lock`] does.
pub(crate) fn lock_word(word: &PiWord) {
    word.lock_within(waiting);
}

/// Runs a wait of a thread that may be one of Java's.
type Around = fn(&mut dyn FnMut());

static WAIT: OnceLock<Around> = OnceLock::new();

/// Threads wait for a lock of the machine by `around` from now on.
pub(crate) fn wait_by(around: Around) {
    let _ = WAIT.set(around);
}

fn waiting(wait: &mut dyn FnMut()) {
    match WAIT.get() {
        Some(around) => around(wait),
        None => wait(),
    }
}
