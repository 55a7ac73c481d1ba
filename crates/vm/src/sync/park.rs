// SPDX-License-Identifier: Apache-2.0
//! [`Parker`]: one thread's place to sleep until a permit comes.

use core::sync::atomic::Ordering;

use rt::clock::{Clock, Monotonic};
use rt::sys::futex::{Futex, FutexError, Private};

/// A permit or none; only its owner waits.
pub(crate) struct Parker {
    permit: Futex<Private>,
}

impl Parker {
    pub(crate) const fn new() -> Self {
        Self {
            permit: Futex::new(0),
        }
    }

    /// Gives the permit; several make one.
    pub(crate) fn unpark(&self) {
        if self.permit.word().swap(1, Ordering::Release) == 0 {
            self.permit.wake(1);
        }
    }

    /// Of the owner: gives back the permit that it took, and wakes nobody.
    pub(crate) fn put_back(&self) {
        self.permit.word().store(1, Ordering::Release);
    }

    /// Takes the permit if it is there.
    pub(crate) fn try_park(&self) -> bool {
        self.permit.word().swap(0, Ordering::Acquire) == 1
    }

    /// Waits for the permit, at most until `due_ns` on the monotonic clock. Says whether it came.
    pub(crate) fn park_until(&self, due_ns: Option<u64>) -> bool {
        loop {
            if self.try_park() {
                return true;
            }
            match self.permit.wait_until(0, due_ns) {
                Ok(()) | Err(FutexError::Changed | FutexError::Interrupted) => {}
                Err(_) => return self.try_park(),
            }
            if due_ns.is_some_and(|due| Monotonic.now_ns() >= due) {
                return self.try_park();
            }
        }
    }
}
