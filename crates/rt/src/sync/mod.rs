// SPDX-License-Identifier: Apache-2.0
//! Waiting with a bound: locks, conditions and loans that lend priority; and queues that nobody
//! waits at.
//!
//! docs/internals/real-time.md says which of them inherits what, and for how long a caller may
//! wait. Each has two forms: for the threads of a process, and for memory that several processes
//! map.

pub mod atomic;
pub mod boost;
pub mod event;
pub mod lend;
#[cfg(all(test, loom))]
mod models;
pub mod mpsc;
pub mod pi_condvar;
pub mod pi_mutex;
pub mod pi_word;
pub mod recall;
pub mod shared_condvar;
pub mod shared_mutex;
pub mod spsc;

pub use boost::Boost;
pub use event::Event;
pub use lend::Loan;
pub use pi_condvar::PiCondvar;
pub use pi_mutex::{PiMutex, PiMutexGuard};
pub use pi_word::PiWord;
pub use recall::Recall;
pub use shared_condvar::SharedCondvar;
pub use shared_mutex::{SharedMutex, SharedMutexGuard};

/// A bounded wait reached its due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the due time passed")]
pub struct TimedOut;

/// A bounded queue had no room: the item comes back, and the caller counts it or keeps it.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full")]
pub struct Full<T>(pub T);

impl<T> std::fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Full")
    }
}

/// How a bounded wait ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// By a notification; for a condition, which may have passed again: check it.
    Notified,
    /// By the due time.
    TimedOut,
}
