// SPDX-License-Identifier: Apache-2.0
//! [`Watch`]: frees a thread whose reservation ends in mid-burst.
//!
//! A thread that the kernel holds back runs no code, so another one looks: under FIFO, at the
//! time when the budget of the present call ends. If the call still runs then, the watcher gives
//! the thread FIFO. On a machine of one processor the watcher itself runs at the moment when the
//! kernel has taken the thread away; on others a little before. The kernel's own overrun signal
//! comes with a tick, milliseconds late.
//!
//! One word says whose turn it is: a call's number and what became of it. The thread that calls
//! back writes at its begin and end, the watcher where it frees. Nobody waits. Bounds: the watcher
//! wakes once a period, and each [`LOOK_NS_MIN`] at most while a call is held up.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use rt::clock::{Clock as _, Monotonic, thread_time_ns_of};
use rt::policy::{Policy, Tid};
use rt::thread::{Builder, SpawnError, Thread};

use crate::governor::Rush;

/// Before the budget's end, so that the kernel has not held the thread back yet.
const MARGIN_NS: u64 = 8_000;
/// A call that waits for something uses no budget; it is looked at this often.
const LOOK_NS_MIN: u64 = 50_000;

const PHASES: u64 = 4;
const IDLE: u64 = 0;
const WATCHED: u64 = 1;
const TAKEN: u64 = 2;
const FREED: u64 = 3;
/// In place of a number: the watcher is to end.
const END: u64 = u64::MAX;

/// Between a callback's thread and its watcher.
#[derive(Debug)]
struct Word {
    /// A call's number and its phase.
    call: AtomicU64,
    /// The processor time of the thread at which its budget ends.
    end_ns: AtomicU64,
    /// When that is at the earliest.
    due_ns: AtomicU64,
    /// The thread's processor time when it was freed.
    freed_ns: AtomicU64,
}

/// What a call that was watched met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// It ended within its budget.
    Nothing,
    /// It has FIFO, since this processor time of its thread.
    Freed { spent_ns: u64 },
    /// The watcher is about to give it FIFO.
    Taken,
}

/// The side of the callback's thread. Ends the watcher when it is dropped.
pub(super) struct Watch {
    word: Arc<Word>,
    period_ns: u64,
    thread: Option<Thread<()>>,
}

impl Watch {
    /// A watcher of the calling thread, which gives it `rescue` when its budget ends.
    /// The processors where that may run get their largest speed then.
    pub(super) fn start(
        own: Policy,
        rescue: Policy,
        period_ns: u64,
        rush: Option<Rush>,
    ) -> Result<Self, SpawnError> {
        let word = Arc::new(Word {
            call: AtomicU64::new(IDLE),
            end_ns: AtomicU64::new(0),
            due_ns: AtomicU64::new(Monotonic.now_ns() + period_ns),
            freed_ns: AtomicU64::new(0),
        });
        let (shared, watched) = (Arc::clone(&word), Tid::current());
        let thread = Builder::new("sound-watch").policy(own).spawn(move || {
            let free = || {
                if let Some(rush) = &rush {
                    rush.begin();
                }
                // Refused, the thread goes on with its next period, as without a watcher.
                let _ = rescue.apply(watched);
            };
            look(&shared, watched, period_ns, free);
        })?;
        Ok(Self {
            word,
            period_ns,
            thread: Some(thread),
        })
    }

    /// A call begins, at `now_ns` and `spent_ns` of processor time; its budget ends at `end_ns`.
    pub(super) fn begin(&self, now_ns: u64, spent_ns: u64, end_ns: u64) {
        self.word.end_ns.store(end_ns, Relaxed);
        let due_ns = now_ns + end_ns.saturating_sub(spent_ns);
        self.word.due_ns.store(due_ns, Relaxed);
        let call = self.word.call.load(Relaxed) / PHASES + 1;
        // Pairs with Acquire in `look`: publishes the budget's end.
        self.word.call.store(call * PHASES + WATCHED, Release);
    }

    /// It ended.
    pub(super) fn end(&self) -> Met {
        let seen = self.word.call.load(Relaxed);
        let number = seen - seen % PHASES;
        // Pairs with the exchange in `look`: one of the two has the call.
        let ended =
            self.word
                .call
                .compare_exchange(number + WATCHED, number + IDLE, AcqRel, Acquire);
        match ended.map_err(|now| now % PHASES) {
            Err(FREED) => {
                // Said once.
                self.word.call.store(number + IDLE, Relaxed);
                Met::Freed {
                    spent_ns: self.word.freed_ns.load(Relaxed),
                }
            }
            Err(TAKEN) => Met::Taken,
            _ => Met::Nothing,
        }
    }

    /// The next call is likely to begin a period after `woken_ns`, with this runtime.
    pub(super) fn expect(&self, woken_ns: u64, runtime_ns: u64) {
        let due_ns = woken_ns + self.period_ns + runtime_ns;
        self.word.due_ns.store(due_ns, Relaxed);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The watcher exchanges what it has seen, so it does not write over this.
        self.word.call.store(END, Release);
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

/// The watcher. Returns when it is told to.
fn look(word: &Word, watched: Tid, period_ns: u64, free: impl Fn()) {
    loop {
        let (due_ns, now_ns) = (word.due_ns.load(Relaxed), Monotonic.now_ns());
        // A thread that does not come is looked for once a period.
        let due_ns = if due_ns <= now_ns {
            now_ns + period_ns
        } else {
            due_ns
        };
        Monotonic.sleep_until(due_ns.saturating_sub(MARGIN_NS));
        loop {
            // Pairs with Release in `begin`.
            let call = word.call.load(Acquire);
            if call == END {
                return;
            }
            if call % PHASES != WATCHED {
                break;
            }
            let Some(spent_ns) = thread_time_ns_of(watched) else {
                return;
            };
            let left_ns = word.end_ns.load(Relaxed).saturating_sub(spent_ns);
            if left_ns > MARGIN_NS + MARGIN_NS / 2 {
                let look_ns = (left_ns - MARGIN_NS).max(LOOK_NS_MIN);
                Monotonic.sleep_until(Monotonic.now_ns() + look_ns);
                continue;
            }
            let taken = call - WATCHED + TAKEN;
            if word
                .call
                .compare_exchange(call, taken, AcqRel, Relaxed)
                .is_ok()
            {
                free();
                word.freed_ns.store(spent_ns, Relaxed);
                let freed = call - WATCHED + FREED;
                // Pairs with Acquire in `end`. Not where it is to end.
                let _ = word.call.compare_exchange(taken, freed, Release, Relaxed);
            }
            break;
        }
    }
}
