// SPDX-License-Identifier: Apache-2.0
//! [`Recall`]: the due time of a wait that another thread of the program may end.
//!
//! A wait that lends ends when the borrower gives back, and by its due time. Who is to end it from
//! outside puts the due time into the past and sends the waiting thread a signal, whose handler
//! does nothing: the kernel restarts the wait, reads the time anew, and finds that it has passed.
//!
//! ```text
//! waiting thread: sets the time, looks whether it is recalled, waits
//! another:        says so, recalls
//! ```
//!
//! Each says before it looks, or before it ends the wait: so a recall is never lost. A thread that
//! blocks the signal waits for as long as it had said. Bounds: two stores, and one system call of
//! who recalls.

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::seq_cst_for_loom;

#[cfg(not(loom))]
use std::sync::OnceLock;

use crate::policy::Tid;

/// See the module. As the kernel reads it: a `timespec`, of which [`Recall::recall`] changes the
/// seconds alone.
#[repr(C)]
#[derive(Debug)]
pub struct Recall {
    seconds: AtomicU64,
    nanoseconds: AtomicU64,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Recall>() == size_of::<libc::timespec>());

impl Default for Recall {
    fn default() -> Self {
        Self {
            seconds: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
        }
    }
}

impl Recall {
    /// The waiting thread: its next wait lasts at most until then. Before it looks whether it is
    /// recalled.
    pub fn set(&self, due_ns: u64) {
        self.nanoseconds.store(due_ns % 1_000_000_000, SeqCst);
        self.seconds.store(due_ns / 1_000_000_000, SeqCst);
        seq_cst_for_loom();
    }

    /// Another thread of the program: the wait of the thread `tid`, if it has this due time, ends
    /// now. The thread is there until this returns.
    pub fn recall(&self, tid: Tid) {
        self.seconds.store(0, SeqCst);
        seq_cst_for_loom();
        send(tid);
    }

    /// Whether the time has been put into the past, for the modelled kernel.
    #[cfg(loom)]
    pub(crate) fn is_past(&self) -> bool {
        self.seconds.load(SeqCst) == 0
    }

    /// The thread that was recalled: afterwards no signal is on its way.
    #[cfg(not(loom))]
    pub fn settle(&self) {
        // SAFETY: gettid has no preconditions. A signal that was sent is heard on its way back.
        unsafe { libc::syscall(libc::SYS_gettid) };
    }

    /// The thread that was recalled: afterwards no signal is on its way.
    #[cfg(loom)]
    pub fn settle(&self) {}
}

#[cfg(loom)]
fn send(tid: Tid) {
    crate::sys::model::interrupt(tid.raw().unsigned_abs());
}

#[cfg(not(loom))]
fn send(tid: Tid) {
    // SAFETY: tgkill takes numbers. The signal's handler does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid.raw(), signal()) };
}

#[cfg(not(loom))]
extern "C" fn on_signal(_: libc::c_int) {}

/// The signal, with its handler in place: none that C or Java libraries, or this program, use.
#[cfg(not(loom))]
fn signal() -> libc::c_int {
    static SIGNAL: OnceLock<libc::c_int> = OnceLock::new();
    *SIGNAL.get_or_init(|| {
        let signal = libc::SIGRTMAX() - 5;
        // SAFETY:
        // 1. All-zero is a valid sigaction; `on_signal` has the signature of a plain handler and
        //    does nothing.
        // 2. sigaction reads it.
        let refused = unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, core::ptr::null_mut())
        };
        assert_eq!(refused, 0, "a real-time signal may be handled");
        signal
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::clock::{Clock, Monotonic};
    use crate::sync::Loan;
    use crate::sync::lend::LendError;
    use crate::sys::futex::Private;
    use crate::thread::Builder;

    /// Longer than the test may take: a recall that is lost is seen by it.
    const LONG_NS: u64 = 60_000_000_000;

    #[test]
    fn a_wait_that_lends_ends_by_a_recall_and_goes_on() {
        let shared = Arc::new((Recall::default(), Loan::<Private>::new(), AtomicU32::new(0)));
        let rounds = 2_000;
        let (own, other) = (Arc::clone(&shared), Arc::clone(&shared));
        // Borrows for all of the test, and recalls its lender.
        let borrower = Builder::new("borrower").spawn(move || {
            let (recall, loan, turn) = &*other;
            let lender = loop {
                if let Some(tid) = Tid::new(turn.load(SeqCst).cast_signed()) {
                    break tid;
                }
                std::thread::yield_now();
            };
            for round in 1..=rounds {
                turn.store(round << 1, SeqCst);
                recall.recall(lender);
                while turn.load(SeqCst) != round << 1 | 1 {
                    std::thread::yield_now();
                }
            }
            loan.give_back()
        });
        let borrower = borrower.unwrap();
        let (recall, loan, turn) = &*own;
        let offer = loan.offer(borrower.tid()).unwrap();
        let end_ns = Monotonic.now_ns() + LONG_NS;
        turn.store(Tid::current().raw().unsigned_abs(), SeqCst);
        for round in 1..=rounds {
            loop {
                recall.set(end_ns);
                if turn.load(SeqCst) == round << 1 {
                    break;
                }
                assert_eq!(offer.look_recallable(recall), Err(LendError::TimedOut));
                assert!(Monotonic.now_ns() < end_ns, "a recall was lost");
            }
            recall.settle();
            turn.store(round << 1 | 1, SeqCst);
        }
        recall.set(end_ns);
        assert_eq!(offer.look_recallable(recall), Ok(()));
        assert!(borrower.join());
    }
}
