// SPDX-License-Identifier: Apache-2.0
//! [`Published`]: what a stream's driver says to everybody, without a lock.
//!
//! One thread at a time writes: the one that holds the drive of `stream`. Anybody reads, a callback
//! of the same stream too. A write is a handful of stores; a read of a timestamp tries
//! [`TRIES_MAX`] times.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

/// A writer that is preempted in its three stores makes a reader fail, not wait.
const TRIES_MAX: usize = 16;

/// A frame and the monotonic time at which the device passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Frames since the stream was opened.
    pub frames: u64,
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) written: AtomicU64,
    pub(crate) read: AtomicU64,
    pub(crate) xruns: AtomicU32,
    /// Odd while the two below change; zero before the first time.
    sequence: AtomicU64,
    frames: AtomicU64,
    time_ns: AtomicU64,
}

impl Published {
    /// Says when the device was where.
    pub(crate) fn stamp(&self, at: Timestamp) {
        let sequence = self.sequence.load(Relaxed);
        self.sequence.store(sequence + 1, Relaxed);
        // Pairs with the fence in `timestamp`: who sees a new half sees an odd number.
        fence(Release);
        self.frames.store(at.frames, Relaxed);
        self.time_ns.store(at.time_ns, Relaxed);
        // Pairs with the first load in `timestamp`: publishes both halves.
        self.sequence.store(sequence + 2, Release);
    }

    /// The last such word; `None` before the first, or if writers come too fast.
    pub(crate) fn timestamp(&self) -> Option<Timestamp> {
        for _ in 0..TRIES_MAX {
            let before = self.sequence.load(Acquire);
            if before == 0 {
                return None;
            }
            let at = Timestamp {
                frames: self.frames.load(Relaxed),
                time_ns: self.time_ns.load(Relaxed),
            };
            fence(Acquire);
            if before.is_multiple_of(2) && self.sequence.load(Relaxed) == before {
                return Some(at);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn halves_of_two_timestamps_never_meet() {
        let published = Arc::new(Published::default());
        assert_eq!(published.timestamp(), None);
        let writer = Arc::clone(&published);
        let thread = rt::thread::Builder::new("writes").spawn(move || {
            for number in 1..50_000 {
                writer.stamp(Timestamp {
                    frames: number,
                    time_ns: number * 3,
                });
            }
        });
        let thread = thread.unwrap();
        let mut last = 0;
        while last < 49_999 {
            let Some(at) = published.timestamp() else {
                continue;
            };
            assert_eq!(at.time_ns, at.frames * 3);
            assert!(last <= at.frames, "never back");
            last = at.frames;
        }
        thread.join();
    }
}
