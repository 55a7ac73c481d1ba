// SPDX-License-Identifier: Apache-2.0
//! [`Boost`]: a thread that runs at the priority of what it works on, raised by whoever brings it something urgent.
//!
//! A lock lends its waiter's priority. Who leaves a message does not wait, so nothing is lent: the sender sets the
//! worker's priority itself, with one system call, and the worker lowers itself when nothing urgent is left. Both write
//! the same value in the kernel, which has no compare-and-swap for it: a lowering that was decided before a message came
//! must not land behind the raise that the message brought.
//!
//! ```text
//! sender                                 worker
//! leave the message                      look = sequence
//! sequence += 1              (A)         search the messages: `priority` is what the most urgent has
//! level >= priority? done    (B)         lock
//! lock                                   level = priority           (C)
//! seen, or level >= priority? done       sequence != look? level = as before, unlock, look again   (D)
//! set the worker's priority; level       set the own priority
//! unlock                                 unlock
//! ```
//!
//! A before B and C before D, in one order that all threads see: either the worker finds the sequence changed and does not
//! lower itself, or the sender finds the lower level and raises it, behind the lowering, which holds the lock. `seen` is
//! the sequence of the worker's last look: a sender that comes late does not raise it for what is already done. If the
//! message was found between its arrival and A, that cannot be known: [`Announced::Raised`] is then the sender's to tell the
//! worker, which looks once more.
//!
//! Bounds: [`Boost::announce`] is one atomic addition if the worker is urgent enough, else one system call more. It waits
//! for the lock only while the worker is within its own system call (or another sender is within its own), and lends it
//! its priority for the rest of that. [`Boost::settle`] is at most one system call.

use crate::sync::PiMutex;
use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::atomic::{AtomicU32, seq_cst_for_loom};

/// How urgently a worker runs. Levels are the caller's: larger is more urgent.
#[derive(Debug)]
pub struct Boost {
    /// Counts announcements; wraps.
    sequence: AtomicU32,
    /// What the worker runs at, or is about to.
    level: AtomicU32,
    state: PiMutex<State>,
}

#[derive(Debug)]
struct State {
    /// What was announced before this sequence, the worker has found.
    seen: u32,
    /// The worker has not ended: its number is its own.
    is_open: bool,
}

/// What an announcement did.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// The worker runs urgently enough, or has seen it, or has ended.
    Heard,
    /// It was raised.
    Raised,
    /// It was to be raised, and the system refused.
    Refused,
}

/// Where the sequence stood when the worker began to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look(u32);

/// How the worker's wish to run at a level ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It runs at that level.
    Done,
    /// Something was announced since it looked: it runs as before, and must look again.
    LookAgain,
    /// The system refused; it runs as before.
    Refused,
}

impl Look {
    /// As a number, to be kept elsewhere.
    pub fn raw(self) -> u32 {
        self.0
    }

    /// As it was kept.
    pub fn from_raw(raw: u32) -> Self {
        Self(raw)
    }
}

impl Boost {
    /// For a worker that runs at `level` now.
    pub fn new(level: u8) -> Self {
        Self {
            sequence: AtomicU32::new(0),
            level: AtomicU32::new(u32::from(level)),
            state: PiMutex::new(State {
                seen: 0,
                is_open: true,
            }),
        }
    }

    /// Sender, after its message lies where the worker searches. `set` gives the worker a level, and says whether the
    /// system did so.
    pub fn announce(&self, level: u8, set: impl FnOnce(u8) -> bool) -> Announced {
        // Pairs with the store and the load in `settle`: see A to D above.
        let ticket = self.sequence.fetch_add(1, SeqCst);
        seq_cst_for_loom();
        if self.level.load(SeqCst) >= u32::from(level) {
            return Announced::Heard;
        }
        let state = self.state.lock();
        // Signed: the sequence wraps.
        let is_seen = state.seen.wrapping_sub(ticket).cast_signed() > 0;
        if is_seen || !state.is_open || self.level.load(Relaxed) >= u32::from(level) {
            return Announced::Heard;
        }
        if !set(level) {
            return Announced::Refused;
        }
        self.level.store(u32::from(level), SeqCst);
        Announced::Raised
    }

    /// Worker, before it searches for messages.
    pub fn look(&self) -> Look {
        let look = Look(self.sequence.load(SeqCst));
        seq_cst_for_loom();
        look
    }

    /// Worker, after a search that began with `look` and found that `level` is right. `set` as in
    /// [`Self::announce`].
    pub fn settle(&self, look: Look, level: u8, set: impl FnOnce(u8) -> bool) -> Settled {
        let mut state = self.state.lock();
        state.seen = look.0;
        let level = u32::from(level);
        let before = self.level.load(Relaxed);
        if level < before {
            self.level.store(level, SeqCst);
            seq_cst_for_loom();
            if self.sequence.load(SeqCst) != look.0 {
                self.level.store(before, SeqCst);
                return Settled::LookAgain;
            }
        }
        if level != before && !set(level as u8) {
            self.level.store(before, SeqCst);
            return Settled::Refused;
        }
        self.level.store(level, SeqCst);
        Settled::Done
    }

    /// The level last settled or raised to. For reports.
    pub fn level(&self) -> u8 {
        self.level.load(Relaxed) as u8
    }

    /// The worker ends: nobody sets the priority of its number from now on.
    pub fn close(&self) {
        self.state.lock().is_open = false;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn granted(_: u8) -> bool {
        true
    }

    #[test]
    fn only_what_is_more_urgent_raises() {
        let boost = Boost::new(5);
        let never = |_| panic!("set");
        assert_eq!(boost.announce(5, never), Announced::Heard);
        assert_eq!(boost.announce(6, granted), Announced::Raised);
        assert_eq!(
            (boost.announce(6, never), boost.level()),
            (Announced::Heard, 6)
        );
    }

    #[test]
    fn an_announcement_after_the_look_forbids_to_lower_and_not_to_raise() {
        let boost = Boost::new(9);
        let look = boost.look();
        assert_eq!(boost.announce(3, granted), Announced::Heard);
        assert_eq!(boost.settle(look, 0, |_| panic!("set")), Settled::LookAgain);
        assert_eq!(boost.level(), 9);
        assert_eq!(boost.settle(look, 10, granted), Settled::Done);
        assert_eq!(boost.settle(boost.look(), 0, granted), Settled::Done);
        assert_eq!(boost.level(), 0);
    }

    #[test]
    fn a_refusal_changes_nothing() {
        let boost = Boost::new(2);
        assert_eq!(boost.announce(3, |_| false), Announced::Refused);
        assert_eq!(boost.settle(boost.look(), 0, |_| false), Settled::Refused);
        assert_eq!(boost.settle(boost.look(), 7, |_| false), Settled::Refused);
        assert_eq!(boost.level(), 2);
    }

    #[test]
    fn who_has_ended_is_not_raised() {
        let boost = Boost::new(0);
        boost.close();
        assert_eq!(boost.announce(3, |_| panic!("set")), Announced::Heard);
    }
}
