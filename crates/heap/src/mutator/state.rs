// SPDX-License-Identifier: Apache-2.0
//! [`StateWord`]: who may touch a mutator's roots and buffers right now.
//!
//! ```text
//!            enter_native                    try_claim (collector)
//! Managed ─────────────────▶ Native ─────────────────────────▶ Claimed
//!    ▲                        │  ▲                                │
//!    └──── try_leave_native ──┘  └─────────── release ────────────┘
//!    └──────────────── hand_over (mutator, at a poll, to a stop) ─▶ Claimed
//! ```
//!
//! - `Managed`: the mutator alone. It answers handshakes at its polls.
//! - `Native`: nobody. The mutator runs native code, sleeps, waits or has ended; its roots do not
//!   change.
//! - `Claimed`: the collector, on the mutator's behalf.
//!
//! The winner of the exchange out of `Native` does the work. A mutator that loses waits for the
//! claim lock (`record`), a priority-inheritance lock that the collector holds while it holds a
//! claim: it waits at most for one scan of its own stack, done at its own priority.

use std::sync::atomic::Ordering;

use rt::sync::atomic::AtomicU32;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum State {
    /// Runs managed code.
    Managed = 0,
    /// Outside managed code.
    Native = 1,
    /// Held by the collector.
    Claimed = 2,
}

/// One mutator's state.
#[derive(Debug)]
pub(crate) struct StateWord(AtomicU32);

impl StateWord {
    pub(crate) fn new(state: State) -> Self {
        Self(AtomicU32::new(state as u32))
    }

    pub(crate) fn get(&self) -> State {
        match self.0.load(Ordering::SeqCst) {
            0 => State::Managed,
            1 => State::Native,
            _ => State::Claimed,
        }
    }

    /// Mutator: from now on the collector may claim. The caller then looks for a request once more:
    /// either it sees the request, or the collector sees `Native` (both sides sequentially
    /// consistent).
    pub(crate) fn enter_native(&self) {
        debug_assert_eq!(self.get(), State::Managed);
        self.0.store(State::Native as u32, Ordering::SeqCst);
    }

    /// Mutator: back to managed code, unless the collector holds a claim.
    pub(crate) fn try_leave_native(&self) -> bool {
        self.exchange(State::Native, State::Managed)
    }

    /// Collector: the mutator's roots and buffers are its own until [`Self::release`].
    pub(crate) fn try_claim(&self) -> bool {
        self.exchange(State::Native, State::Claimed)
    }

    /// Mutator at a poll: gives itself to a collector that stops the world.
    pub(crate) fn hand_over(&self) {
        debug_assert_eq!(self.get(), State::Managed);
        self.0.store(State::Claimed as u32, Ordering::SeqCst);
    }

    /// Collector: ends a claim.
    pub(crate) fn release(&self) {
        debug_assert_eq!(self.get(), State::Claimed);
        self.0.store(State::Native as u32, Ordering::SeqCst);
    }

    fn exchange(&self, from: State, to: State) -> bool {
        self.0
            .compare_exchange(from as u32, to as u32, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }
}
