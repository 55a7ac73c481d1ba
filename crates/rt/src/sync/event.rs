// SPDX-License-Identifier: Apache-2.0
//! [`Event`]: "something happened", said by any thread and taken by one.
//!
//! For wake-ups that have no holder and so nobody to lend to: a queue that is no longer empty, a
//! release. A waiter that needs a *certain* thread's answer uses `lend` instead, where that thread
//! inherits.
//!
//! The word: whether it is set, and above that how many wait. Who sets it wakes a waiter also if it
//! was set before: another who set it may have been preempted before its call, and may be less
//! urgent. Within that call the kernel leaves the same gap: it takes the sleeper off its queue,
//! gives back its lock, and then wakes it. An event that threads of different urgency set is an
//! eventfd's. Bounds: `set` is one atomic operation and, if somebody waits, one system call that
//! does not sleep; `try_take` is one atomic operation.

use crate::sync::Wake;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sys::futex::{Futex, FutexError, Private, Scope};

const SET: u32 = 1;
const WAITER: u32 = 2;

/// An event that resets itself when it is taken. Sets that nobody took in between count once.
/// All-zero when new, `repr(transparent)` over four aligned bytes: fit for shared memory.
#[repr(transparent)]
#[derive(Debug)]
pub struct Event<S: Scope = Private> {
    futex: Futex<S>,
}

impl<S: Scope> Event<S> {
    /// Not set.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            futex: Futex::new(0),
        }
    }

    /// Not set.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            futex: Futex::new(0),
        }
    }

    /// Says so. The most urgent sleeper wakes.
    pub fn set(&self) {
        if self.say() {
            self.futex.wake(1);
        }
    }

    /// The first half of [`Self::set`]: does somebody wait?
    pub(super) fn say(&self) -> bool {
        // Pairs with `try_take`: publishes what happened.
        self.futex.word().fetch_or(SET, AcqRel) >= WAITER
    }

    /// Takes the event if it is set. Does not wait.
    pub fn try_take(&self) -> bool {
        self.futex.word().fetch_and(!SET, Acquire) & SET != 0
    }

    /// Waits for the event and takes it. For callers that may wait for ever.
    pub fn wait(&self) {
        let _notified = self.wait_for(None);
    }

    /// Waits for the event and takes it, at most until `due_ns` of the monotonic clock.
    pub fn wait_until(&self, due_ns: u64) -> Wake {
        self.wait_for(Some(due_ns))
    }

    fn wait_for(&self, due_ns: Option<u64>) -> Wake {
        if self.try_take() {
            return Wake::Notified;
        }
        let word = self.futex.word();
        word.fetch_add(WAITER, Relaxed);
        let wake = loop {
            // Who comes or goes meanwhile changes the word, and the wait does not begin.
            let seen = word.load(Relaxed);
            if self.try_take() {
                break Wake::Notified;
            }
            if self.futex.wait_until(seen & !SET, due_ns) == Err(FutexError::TimedOut) {
                // A set at the last moment counts.
                break match self.try_take() {
                    true => Wake::Notified,
                    false => Wake::TimedOut,
                };
            }
        };
        word.fetch_sub(WAITER, Relaxed);
        wake
    }
}

impl<S: Scope> Default for Event<S> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::{Clock, Monotonic};
    use crate::thread::Builder;

    #[test]
    fn sets_count_once_and_waits_end() {
        let event = Event::<Private>::new();
        event.set();
        event.set();
        assert!(event.try_take());
        assert!(!event.try_take());
        let due_ns = Monotonic.now_ns() + 1_000_000;
        assert_eq!(event.wait_until(due_ns), Wake::TimedOut);
        assert!(Monotonic.now_ns() >= due_ns, "never early");
        event.set();
        assert_eq!(event.wait_until(0), Wake::Notified);
    }

    #[test]
    fn two_threads_take_turns() {
        let pair = Arc::new((Event::<Private>::new(), Event::<Private>::new()));
        let other = Arc::clone(&pair);
        let answer = move || {
            for _ in 0..5_000 {
                other.0.wait();
                other.1.set();
            }
        };
        let thread = Builder::new("answers").spawn(answer).unwrap();
        for _ in 0..5_000 {
            pair.0.set();
            pair.1.wait();
        }
        thread.join();
    }
}
