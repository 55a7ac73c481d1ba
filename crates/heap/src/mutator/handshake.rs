// SPDX-License-Identifier: Apache-2.0
//! [`Handshake`]: one question at a time, answered once, by the mutator at a poll or by its
//! claimer.
//!
//! Both sides store and then look, sequentially consistent. The collector asks and then looks at
//! the state; a mutator that leaves managed code says so and then looks for a question: one of them
//! sees the other. The poll byte only points to the question; a mutator that clears the byte
//! because nobody asked looks once more afterwards, since the question may have come between the
//! two (`models` has each of these races).

use std::sync::atomic::{AtomicU8, Ordering};

use abi::poll::{POLL_ASKED, POLL_IDLE};
use rt::sync::atomic::{AtomicU32, seq_cst_for_loom};

use crate::mutator::state::{State, StateWord};

/// What the collector asks of a mutator at a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Round {
    /// H1: stored references are roots from now on; every store takes the slow path.
    Snoop = 1,
    /// H2: the next epoch begins; give what this one recorded.
    Switch = 2,
    /// H3: scan own roots; stop snooping.
    Scan = 3,
    /// Wait until the collector lets go (`stw` and the verifier).
    Stop = 4,
}

impl Round {
    pub(crate) fn from_request(request: u32) -> Option<Self> {
        match request {
            0 => None,
            1 => Some(Self::Snoop),
            2 => Some(Self::Switch),
            3 => Some(Self::Scan),
            _ => Some(Self::Stop),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) state: StateWord,
    /// A [`Round`], or 0.
    request: AtomicU32,
    /// See [`Visit`].
    visit: AtomicU32,
}

/// What a visitor, who wants to look at one mutator, and that mutator agree on. A visitor holds the
/// mutator's claim lock throughout, so there is one at a time, and nobody else clears the poll byte
/// of a mutator that is outside managed code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum Visit {
    None = 0,
    /// A visitor waits.
    Wanted = 1,
    /// The mutator has seen it and is about to hand itself over.
    Taken = 2,
}

impl Handshake {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state: StateWord::new(state),
            request: AtomicU32::new(0),
            visit: AtomicU32::new(Visit::None as u32),
        }
    }

    /// Whether a question is open. Acquire: what the answer wrote is seen once it is not.
    pub(crate) fn is_asked(&self) -> bool {
        self.request.load(Ordering::Acquire) != 0
    }

    // --- collector ---

    /// Puts a question. The last one was answered.
    pub(crate) fn ask(&self, round: Round, poll: &impl PollByte) {
        debug_assert!(!self.is_asked(), "one question at a time");
        self.request.store(round as u32, Ordering::SeqCst);
        seq_cst_for_loom();
        poll.set(POLL_ASKED);
    }

    /// The question is settled without the mutator, which is claimed.
    pub(crate) fn withdraw(&self, poll: &impl PollByte) {
        poll.set(POLL_IDLE);
        self.request.store(0, Ordering::SeqCst);
    }

    // --- visitor, which holds the claim lock ---

    /// Asks the mutator to hand itself over.
    pub(crate) fn ask_visit(&self, poll: &impl PollByte) {
        debug_assert!(!self.is_visit_open(), "one visitor at a time");
        self.visit.store(Visit::Wanted as u32, Ordering::SeqCst);
        seq_cst_for_loom();
        poll.set(POLL_ASKED);
    }

    /// Whether the mutator has not handed itself over yet. Acquire: its stack is seen as it left
    /// it.
    pub(crate) fn is_visit_open(&self) -> bool {
        self.visit.load(Ordering::Acquire) != Visit::None as u32
    }

    /// No longer asks; `false` if the mutator is about to hand itself over already. A poll byte
    /// that stays set finds nothing and is cleared.
    pub(crate) fn try_withdraw_visit(&self) -> bool {
        let (from, to) = (Visit::Wanted as u32, Visit::None as u32);
        let visit = &self.visit;
        visit
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    // --- mutator ---

    /// Whether a visitor waits. After the poll byte was cleared and after coming back to managed
    /// code: the visitor asks before it sets the byte and before it looks at the state.
    pub(crate) fn is_visit_wanted(&self) -> bool {
        self.visit.load(Ordering::SeqCst) == Visit::Wanted as u32
    }

    /// Hands the mutator over to a visitor that waits; `false` if none does any more. Comes back as
    /// from native code.
    pub(crate) fn try_hand_over_to_visitor(&self) -> bool {
        let (from, to) = (Visit::Wanted as u32, Visit::Taken as u32);
        let visit = &self.visit;
        if visit
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
        {
            return false;
        }
        self.state.hand_over();
        // Pairs with the Acquire in `is_visit_open`.
        visit.store(Visit::None as u32, Ordering::Release);
        true
    }

    /// The open question. If there is none, the poll byte is cleared: it was set for another
    /// reason.
    pub(crate) fn question(&self, poll: &impl PollByte) -> Option<Round> {
        let question = || Round::from_request(self.request.load(Ordering::SeqCst));
        question().or_else(|| {
            poll.set(POLL_IDLE);
            seq_cst_for_loom();
            question()
        })
    }

    /// The answer is given. The poll byte goes first: the next question may come as soon as this
    /// one is closed.
    pub(crate) fn answered(&self, poll: &impl PollByte) {
        poll.set(POLL_IDLE);
        // Pairs with the Acquire in `is_asked`: publishes what the answer wrote.
        self.request.store(0, Ordering::Release);
    }

    /// From managed code to native code; `false` if there is a question to answer first. On `true`
    /// the collector acts for the mutator, or already does.
    pub(crate) fn try_enter_native(&self) -> bool {
        self.state.enter_native();
        seq_cst_for_loom();
        let is_asked = self.request.load(Ordering::SeqCst) != 0;
        !is_asked || !self.state.try_leave_native()
    }
}

/// The poll byte of a context; a model checker brings its own. Sequentially consistent.
pub(crate) trait PollByte {
    fn set(&self, value: u8);
}

impl PollByte for AtomicU8 {
    fn set(&self, value: u8) {
        self.store(value, Ordering::SeqCst);
    }
}
