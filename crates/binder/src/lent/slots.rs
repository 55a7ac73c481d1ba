// SPDX-License-Identifier: Apache-2.0
//! [`Slots`]: places for the calls that a process has out over one link. Who finds none waits, the
//! most urgent first; some are kept for real-time callers.

use rt::clock::{Clock, Monotonic};
use rt::sync::{PiCondvar, PiMutex, Wake};

use crate::error::CallError;
use crate::lent::layout::{SLOTS, SLOTS_KEPT};

/// How often parked slots are looked at, while nothing else is free.
const LOOK_NS: u64 = 5_000_000;

#[derive(Default)]
pub(crate) struct Slots {
    state: PiMutex<State>,
    freed: PiCondvar,
}

struct State {
    /// A bit for each.
    free: u64,
    /// Given up by their callers, and still with a looper.
    parked: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            free: (1 << SLOTS) - 1,
            parked: 0,
        }
    }
}

impl Slots {
    /// A slot of the caller's own. `is_out` says whether a looper still has one that was parked.
    pub(crate) fn take(
        &self,
        is_real_time: bool,
        due_ns: Option<u64>,
        is_out: impl Fn(usize) -> bool,
        is_dead: impl Fn() -> bool,
    ) -> Result<usize, CallError> {
        let kept = if is_real_time { 0 } else { SLOTS_KEPT as u32 };
        let mut state = self.state.lock();
        loop {
            if is_dead() {
                return Err(CallError::DeadObject);
            }
            state.unpark(&is_out);
            if state.free.count_ones() > kept {
                let index = state.free.trailing_zeros() as usize;
                state.free &= !(1 << index);
                return Ok(index);
            }
            if state.parked.count_ones() as usize >= SLOTS - SLOTS_KEPT {
                return Err(CallError::QueueFull);
            }
            if due_ns.is_some_and(|due_ns| due_ns <= Monotonic.now_ns()) {
                return Err(CallError::TimedOut);
            }
            // A looper that gives a parked slot back tells nobody.
            let look_ns = (state.parked != 0).then(|| Monotonic.now_ns() + LOOK_NS);
            match due_ns.into_iter().chain(look_ns).min() {
                Some(until_ns) => {
                    let _: Wake = self.freed.wait_until(&mut state, until_ns);
                }
                None => self.freed.wait(&mut state),
            }
        }
    }

    /// The caller is done.
    pub(crate) fn give(&self, index: usize) {
        let mut state = self.state.lock();
        state.free |= 1 << index;
        self.freed.notify_all(&state);
    }

    /// The caller has given up; the looper has not.
    pub(crate) fn park(&self, index: usize) {
        self.state.lock().parked |= 1 << index;
    }

    /// The link is dead: whoever waits looks again.
    pub(crate) fn wake_all(&self) {
        self.freed.notify_all(&self.state.lock());
    }
}

impl State {
    fn unpark(&mut self, is_out: impl Fn(usize) -> bool) {
        let mut parked = self.parked;
        while parked != 0 {
            let index = parked.trailing_zeros() as usize;
            parked &= parked - 1;
            if !is_out(index) {
                self.parked &= !(1 << index);
                self.free |= 1 << index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_kept_and_parked_ones_come_back() {
        let slots = Slots::default();
        let take = |is_real_time| slots.take(is_real_time, Some(0), |_| false, || false);
        for _ in 0..SLOTS - SLOTS_KEPT {
            take(false).unwrap();
        }
        assert_eq!(take(false), Err(CallError::TimedOut));
        for _ in 0..SLOTS_KEPT {
            take(true).unwrap();
        }
        assert_eq!(take(true), Err(CallError::TimedOut));
        slots.park(3);
        let taken = slots.take(true, Some(0), |_| true, || false);
        assert_eq!(taken, Err(CallError::TimedOut), "its looper has it still");
        assert_eq!(take(true), Ok(3));
    }
}
