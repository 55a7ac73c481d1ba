// SPDX-License-Identifier: Apache-2.0
//! The words that two processes share, and who moves them: a request is posted to a looper, a
//! looper falls asleep, a caller gives up.
//!
//! ```text
//! posted    caller: sets its slot's bit, then looks at `sleeping`      looper: takes all bits
//! sleeping  looper: 1, then looks at `posted`; 0 when awake            caller: reads alone
//! away      looper: 1, before its call, or the call that it brings to another thread, can be seen
//!           by anybody; 0 when it waits no more                        caller: reads alone
//! turn      OPEN: the caller waits for an answer
//!           OPEN → TAKEN      looper, before it calls back: the caller will listen
//!           OPEN → ABANDONED  caller, when its time is over: nobody calls back, and a looper that
//!                             has not begun does not begin
//! ```
//!
//! `posted` and `sleeping` are Dekker's pair: one of the two sides sees the other. The bell is
//! sticky, so a ring between a looper's last look and its sleep is heard. The locks of a slot are
//! `rt::sync::Loan`s. `models` plays all of it.

use rt::sync::atomic::Ordering::{Relaxed, SeqCst};
use rt::sync::atomic::{AtomicU32, AtomicU64, seq_cst_for_loom};

/// The caller waits.
const OPEN: u32 = 0;
/// The looper calls back.
const TAKEN: u32 = 1;
/// The caller has given up.
const ABANDONED: u32 = 2;

/// Caller: the request in `slot` is there.
pub(crate) fn post(
    posted: &AtomicU64,
    slot: usize,
    is_sleeping: impl Fn() -> bool,
    ring: impl Fn(),
) {
    // Pairs with `take`: publishes the request. Before the look at `sleeping`, see the module.
    posted.fetch_or(1 << slot, SeqCst);
    seq_cst_for_loom();
    if is_sleeping() {
        ring();
    }
}

/// What a process shows of its loopers.
pub(crate) trait Shown {
    /// Whether it is for real-time callers alone.
    fn is_kept(&self, looper: usize) -> bool;
    fn is_asleep(&self, looper: usize) -> bool;
    /// Whether it waits in a call of its own: what it is given meanwhile waits as well.
    fn is_away(&self, looper: usize) -> bool;
}

/// Caller: a looper, out of `count`: one that sleeps, or else one by turns of those that are not
/// away. Real-time callers have those that are kept, the others the others; where all that are kept
/// are away, real-time callers have the others as well: a call that comes home may be what the kept
/// ones wait for.
pub(crate) fn choose(
    loopers: &impl Shown,
    count: usize,
    is_real_time: bool,
    turn: usize,
) -> Option<usize> {
    let is_fit = |&looper: &usize| loopers.is_kept(looper) == is_real_time;
    let is_here = |&looper: &usize| !loopers.is_away(looper);
    let is_asleep = |&looper: &usize| loopers.is_asleep(looper);
    let fit = || (0..count).filter(is_fit);
    let others = || (0..count).filter(|it| is_real_time && !is_fit(it));
    fit()
        .find(is_asleep)
        .or_else(|| by_turns(fit().filter(is_here), turn))
        .or_else(|| others().find(is_asleep))
        .or_else(|| by_turns(others().filter(is_here), turn))
        .or_else(|| by_turns(fit(), turn))
}

fn by_turns(all: impl Iterator<Item = usize> + Clone, turn: usize) -> Option<usize> {
    let count = all.clone().count();
    let mut all = all;
    all.nth(turn % count.max(1))
}

/// Looper: the slots that were posted.
pub(crate) fn take(posted: &AtomicU64) -> u64 {
    // The common case writes nothing, so that the caller's line stays where it is.
    if posted.load(Relaxed) == 0 {
        return 0;
    }
    // Pairs with `post`.
    posted.swap(0, SeqCst)
}

/// Looper: says that it sleeps, and looks once more; `false` if there is something after all.
pub(crate) fn fall_asleep(sleeping: &AtomicU32, has_work: impl Fn() -> bool) -> bool {
    sleeping.swap(1, SeqCst);
    seq_cst_for_loom();
    if has_work() {
        wake_up(sleeping);
        return false;
    }
    true
}

/// Looper: is awake.
pub(crate) fn wake_up(sleeping: &AtomicU32) {
    sleeping.store(0, Relaxed);
}

/// Whether something is posted, for [`fall_asleep`].
pub(crate) fn is_posted(posted: &AtomicU64) -> bool {
    posted.load(SeqCst) != 0
}

/// Caller: listens, before it lends.
pub(crate) fn open(turn: &AtomicU32) {
    turn.store(OPEN, SeqCst);
}

/// Looper: will call back; `false` if the caller has given up.
pub(crate) fn take_turn(turn: &AtomicU32) -> bool {
    turn.compare_exchange(OPEN, TAKEN, SeqCst, SeqCst).is_ok()
}

/// Caller: gives up; `false` if the looper is about to call back.
pub(crate) fn abandon(turn: &AtomicU32) -> bool {
    turn.compare_exchange(OPEN, ABANDONED, SeqCst, SeqCst)
        .is_ok()
}

/// Looper: whether the caller has given up. One that has may still be served: it looked too early.
pub(crate) fn is_abandoned(turn: &AtomicU32) -> bool {
    turn.load(SeqCst) == ABANDONED
}
