// SPDX-License-Identifier: Apache-2.0
//! [`Bell`]: somebody sleeps until it rings; ringing is cheap when nobody does.

use std::sync::atomic::{AtomicU32, Ordering};

use rt::clock::{Clock, Monotonic};
use rt::sys::futex::{Futex, Private};

/// Counts rings; sleepers wait for the count to change.
#[derive(Debug)]
pub(crate) struct Bell {
    rings: Futex<Private>,
    sleepers: AtomicU32,
}

impl Default for Bell {
    fn default() -> Self {
        Self {
            rings: Futex::new(0),
            sleepers: AtomicU32::new(0),
        }
    }
}

impl Bell {
    /// The count to hand to [`Self::wait`], read before looking at what the bell announces.
    pub(crate) fn rings(&self) -> u32 {
        self.rings.word().load(Ordering::SeqCst)
    }

    /// Sleeps until a ring after `seen`, or for `timeout_ns`. May wake early.
    pub(crate) fn wait(&self, seen: u32, timeout_ns: u64) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Every outcome is the same to the caller: it looks again.
        let _ = self
            .rings
            .wait_until(seen, Some(Monotonic.now_ns().saturating_add(timeout_ns)));
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes all sleepers. One system call, and none if nobody sleeps.
    pub(crate) fn ring(&self) {
        self.rings.word().fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.rings.wake(u32::MAX);
        }
    }
}
