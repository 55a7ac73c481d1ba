// SPDX-License-Identifier: Apache-2.0
//! [`Seat`]: where a thread waits for an answer, and where another thread of the process may bring
//! it a call meanwhile.
//!
//! ```text
//! word   0         nobody waits
//!        a token   the thread waits; who knows the token may bring one call
//!        BROUGHT   a call lies there, and the wait is recalled
//!        0 → token      the thread, when its wait begins
//!        token → BROUGHT  who brings, under the lock: one that sees BROUGHT and takes the lock has
//!                       the call, and the signal that recalls it has been sent
//!        token → 0      the thread, when its wait is over
//!        BROUGHT → 0    the thread: it takes the call, whether to serve it or to send it back
//! ```
//!
//! `models` plays it.

use rt::policy::Tid;
use rt::sync::atomic::AtomicU64;
use rt::sync::atomic::Ordering::SeqCst;
use rt::sync::atomic::seq_cst_for_loom;
use rt::sync::{PiMutex, Recall};

const NOBODY: u64 = 0;
const BROUGHT: u64 = 1;

/// Tokens are above this.
pub(crate) const TOKEN_MIN: u64 = 2;

/// See the module.
pub(crate) struct Seat<T> {
    word: AtomicU64,
    due: Recall,
    brought: PiMutex<Option<T>>,
}

impl<T> Default for Seat<T> {
    fn default() -> Self {
        Self {
            word: AtomicU64::new(NOBODY),
            due: Recall::default(),
            brought: PiMutex::new(None),
        }
    }
}

impl<T> Seat<T> {
    /// The thread: waits from now on.
    pub(crate) fn open(&self, token: u64) {
        self.word.store(token, SeqCst);
    }

    /// The thread: the due time of its next look; none if a call was brought.
    pub(crate) fn due(&self, due_ns: u64) -> Option<&Recall> {
        self.due.set(due_ns);
        (self.word.load(SeqCst) != BROUGHT).then_some(&self.due)
    }

    /// The thread: the call that was brought. Waits no more if there is one.
    pub(crate) fn take(&self) -> Option<T> {
        if self.word.load(SeqCst) != BROUGHT {
            return None;
        }
        // Its bringer has the lock until the signal is sent.
        let brought = self.brought.lock().take();
        self.due.settle();
        self.word.store(NOBODY, SeqCst);
        brought
    }

    /// The thread: waits no more. A call that was brought too late comes back.
    pub(crate) fn close(&self, token: u64) -> Option<T> {
        let left = self.word.compare_exchange(token, NOBODY, SeqCst, SeqCst);
        left.err().and_then(|_| self.take())
    }

    /// Another thread: whether a call with this token can be brought now.
    pub(crate) fn is_open(&self, token: u64) -> bool {
        token >= TOKEN_MIN && self.word.load(SeqCst) == token
    }

    /// Another thread: brings a call, and ends the wait of the thread, which is `tid`. None if it
    /// does not wait under this token: then nothing was brought.
    ///
    /// `leave` is first: from the moment when the thread can see the call, calls that it leads to
    /// must not be given to its bringer, which waits for it. What `leave` gives lasts as long.
    pub(crate) fn bring<A>(
        &self,
        token: u64,
        tid: Tid,
        call: T,
        leave: impl FnOnce() -> A,
    ) -> Option<A> {
        if !self.is_open(token) {
            return None;
        }
        let away = leave();
        let mut brought = self.brought.lock();
        let is_there = self
            .word
            .compare_exchange(token, BROUGHT, SeqCst, SeqCst)
            .is_ok();
        if is_there {
            seq_cst_for_loom();
            *brought = Some(call);
            self.due.recall(tid);
        }
        is_there.then_some(away)
    }
}
