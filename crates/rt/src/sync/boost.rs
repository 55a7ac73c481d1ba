// SPDX-License-Identifier: Apache-2.0
//! [`Boost`]: a thread that runs at the priority of what it works on, raised by who brings it
//! something urgent.
//!
//! A lock lends its waiter's priority. Who leaves a message does not wait, so nothing is lent: the
//! sender sets the worker's priority itself, with one system call, and the worker lowers itself
//! when nothing urgent is left. Both write the same value in the kernel, which has no
//! compare-and-swap for it: a lowering that was decided before a message came must not land behind
//! the raise that the message brought.
//!
//! ```text
//! sender                                 worker
//! leave the message                      look = sequence
//! sequence += 1              (A)         search the messages: `priority` is what the most urgent has
//! level >= priority? done    (B)         lock turn; seen = look
//! lock turn                              lock call; level = priority, lowering       (C)
//! seen, or level >= priority? done       sequence != look? as before, unlock both, look again   (D)
//! lowering, and not in effect?           unlock turn
//!   lock call, unlock call               set the own priority
//! set the worker's priority; level       not lowering; unlock call; sequence != look? look again
//! unlock turn
//! ```
//!
//! A before B and C before D, in one order that all threads see: either the worker finds the
//! sequence changed and does not lower itself, or the sender finds the lower level and raises it,
//! behind the lowering: it has taken effect if the system says so, else the sender waits for the
//! end of the call. The holder of `turn` alone starts a call, so between that answer and the raise
//! nothing comes but the rest of a call that is in effect. A worker on the sender's processor that
//! has lowered itself is preempted within its call: to wait for its end would cost the sender two
//! switches of threads for nothing.
//!
//! `seen` is the sequence of the worker's last look: a sender that comes late does not raise it for
//! what is already done. If the message was found between its arrival and A, that cannot be known:
//! [`Announced::Raised`] is then the sender's to tell the worker, which looks once more.
//!
//! Bounds: [`Boost::announce`] is one atomic addition if the worker is urgent enough, else one
//! system call more, or two if the worker is lowering itself. It waits only while another sender is
//! within its own calls, or the worker within a call that is not in effect yet, and lends it its
//! priority for the rest of that. [`Boost::settle`] is at most one system call.

use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::atomic::{AtomicU32, seq_cst_for_loom};
use crate::sync::{PiMutex, PiMutexGuard};

/// How urgently a worker runs. Levels are the caller's: larger is more urgent.
#[derive(Debug)]
pub struct Boost {
    /// Counts announcements; wraps.
    sequence: AtomicU32,
    /// What the worker runs at, or is about to; and [`LOWERING`].
    level: AtomicU32,
    /// Who holds it may start to change what the worker runs at.
    turn: PiMutex<State>,
    /// The worker's, while it lowers itself. Lock order: turn, call.
    call: PiMutex<()>,
}

/// In `level`: the worker's call to lower itself has not ended.
const LOWERING: u32 = 1 << 8;
const LEVEL: u32 = LOWERING - 1;

/// What the system does with the worker's thread.
pub trait Scheduling {
    /// Gives it a level; false if the system refuses.
    fn set(&self, level: u8) -> bool;

    /// What it was given last, by anybody. What locks lend it does not count.
    fn get(&self) -> u8;
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
    /// Something was announced since it looked: it runs as before or at that level or as announced,
    /// and must look again.
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
            turn: PiMutex::new(State {
                seen: 0,
                is_open: true,
            }),
            call: PiMutex::new(()),
        }
    }

    /// Sender, after its message lies where the worker searches.
    pub fn announce(&self, level: u8, worker: &impl Scheduling) -> Announced {
        // Pairs with the store and the load in `lower`: see A to D above.
        let ticket = self.sequence.fetch_add(1, SeqCst);
        seq_cst_for_loom();
        let wanted = u32::from(level);
        if self.level.load(SeqCst) & LEVEL >= wanted {
            return Announced::Heard;
        }
        let state = self.turn.lock();
        // Signed: the sequence wraps.
        let is_seen = state.seen.wrapping_sub(ticket).cast_signed() > 0;
        let word = self.level.load(SeqCst);
        if is_seen || !state.is_open || word & LEVEL >= wanted {
            return Announced::Heard;
        }
        let is_in_effect = word & LOWERING == 0 || u32::from(worker.get()) == word & LEVEL;
        if !is_in_effect {
            drop(self.call.lock());
            if self.level.load(SeqCst) & LEVEL >= wanted {
                return Announced::Heard; // The system has refused to lower it.
            }
        }
        if !worker.set(level) {
            return Announced::Refused;
        }
        self.put(wanted);
        Announced::Raised
    }

    /// Changes the level alone: the worker's call may end meanwhile.
    fn put(&self, level: u32) {
        let mut found = self.level.load(Relaxed);
        while let Err(now) =
            self.level
                .compare_exchange(found, found & LOWERING | level, SeqCst, Relaxed)
        {
            found = now;
        }
    }

    /// Worker, before it searches for messages.
    pub fn look(&self) -> Look {
        let look = Look(self.sequence.load(SeqCst));
        seq_cst_for_loom();
        look
    }

    /// Worker, after a search that began with `look` and found that `level` is right.
    pub fn settle(&self, look: Look, level: u8, worker: &impl Scheduling) -> Settled {
        let mut state = self.turn.lock();
        state.seen = look.0;
        let before = self.level.load(Relaxed);
        if u32::from(level) < before {
            return self.lower(state, look, level, worker);
        }
        if u32::from(level) != before && !worker.set(level) {
            return Settled::Refused;
        }
        self.level.store(u32::from(level), SeqCst);
        Settled::Done
    }

    fn lower(
        &self,
        state: PiMutexGuard<'_, State>,
        look: Look,
        level: u8,
        worker: &impl Scheduling,
    ) -> Settled {
        let before = self.level.load(Relaxed);
        let call = self.call.lock();
        self.level.store(u32::from(level) | LOWERING, SeqCst);
        seq_cst_for_loom();
        if self.sequence.load(SeqCst) != look.0 {
            self.level.store(before, SeqCst);
            return Settled::LookAgain;
        }
        drop(state);
        let is_done = worker.set(level);
        if !is_done {
            // Nobody has raised it: to who asks the system, this call is not in effect.
            self.level.store(before, SeqCst);
            return Settled::Refused;
        }
        self.level.fetch_and(LEVEL, SeqCst);
        drop(call);
        match self.sequence.load(SeqCst) == look.0 {
            true => Settled::Done,
            false => Settled::LookAgain,
        }
    }

    /// The level last settled or raised to. For reports.
    pub fn level(&self) -> u8 {
        (self.level.load(Relaxed) & LEVEL) as u8
    }

    /// The worker ends: nobody sets the priority of its number from now on.
    pub fn close(&self) {
        self.turn.lock().is_open = false;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    use std::cell::Cell;

    /// A system that grants everything, or nothing; a change that must not be asked for is one too
    /// many.
    struct System {
        level: Cell<u8>,
        grants: bool,
        calls: Cell<u32>,
    }

    impl Scheduling for System {
        fn set(&self, level: u8) -> bool {
            self.calls.set(self.calls.get() + 1);
            if self.grants {
                self.level.set(level);
            }
            self.grants
        }

        fn get(&self) -> u8 {
            self.level.get()
        }
    }

    fn system(level: u8, grants: bool) -> System {
        let level = Cell::new(level);
        let calls = Cell::new(0);
        System {
            level,
            grants,
            calls,
        }
    }

    #[test]
    fn only_what_is_more_urgent_raises() {
        let (boost, system) = (Boost::new(5), system(5, true));
        assert_eq!(boost.announce(5, &system), Announced::Heard);
        assert_eq!(boost.announce(6, &system), Announced::Raised);
        assert_eq!(boost.announce(6, &system), Announced::Heard);
        assert_eq!((boost.level(), system.calls.get()), (6, 1));
    }

    #[test]
    fn an_announcement_after_the_look_forbids_to_lower_and_not_to_raise() {
        let (boost, system) = (Boost::new(9), system(9, true));
        let look = boost.look();
        assert_eq!(boost.announce(3, &system), Announced::Heard);
        assert_eq!(boost.settle(look, 0, &system), Settled::LookAgain);
        assert_eq!((boost.level(), system.calls.get()), (9, 0));
        assert_eq!(boost.settle(look, 10, &system), Settled::Done);
        assert_eq!(boost.settle(boost.look(), 0, &system), Settled::Done);
        assert_eq!((boost.level(), system.get()), (0, 0));
    }

    /// The worker's call to lower itself, and a sender that preempts it there, before or after it
    /// has taken effect.
    struct Preempted<'a> {
        boost: &'a Boost,
        system: System,
        announced: Cell<Option<Announced>>,
    }

    impl Scheduling for Preempted<'_> {
        fn set(&self, level: u8) -> bool {
            let is_set = self.system.set(level);
            if level == 0 {
                let announced = self.boost.announce(7, &self.system);
                self.announced.set(Some(announced));
            }
            is_set
        }

        fn get(&self) -> u8 {
            self.system.get()
        }
    }

    #[test]
    fn a_sender_does_not_wait_for_a_call_that_is_in_effect() {
        let boost = Boost::new(9);
        let worker = Preempted {
            boost: &boost,
            system: system(9, true),
            announced: Cell::new(None),
        };
        // It would wait for its own thread, which a lock refuses loudly.
        assert_eq!(boost.settle(boost.look(), 0, &worker), Settled::LookAgain);
        assert_eq!(worker.announced.get(), Some(Announced::Raised));
        assert_eq!((boost.level(), worker.get()), (7, 7));
        assert_eq!(boost.settle(boost.look(), 7, &worker), Settled::Done);
    }

    #[test]
    fn a_refusal_changes_nothing() {
        let (boost, system) = (Boost::new(2), system(2, false));
        assert_eq!(boost.announce(3, &system), Announced::Refused);
        assert_eq!(boost.settle(boost.look(), 0, &system), Settled::Refused);
        assert_eq!(boost.settle(boost.look(), 7, &system), Settled::Refused);
        assert_eq!(boost.level(), 2);
    }

    #[test]
    fn who_has_ended_is_not_raised() {
        let (boost, system) = (Boost::new(0), system(0, true));
        boost.close();
        assert_eq!(boost.announce(3, &system), Announced::Heard);
        assert_eq!(system.calls.get(), 0);
    }
}
