// SPDX-License-Identifier: Apache-2.0
//! [`Slots`]: places for the calls that a process has out over one link. Who finds none waits, the
//! most urgent first.
//!
//! Some are kept for real-time callers, who take others only where none of these is free. Taking
//! and giving one is a change of one word: an urgent caller waits for no other's, and wakes none of
//! the ordinary callers that wait.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use rt::clock::{Clock, Monotonic};
use rt::sync::{PiCondvar, PiMutex, Wake};

use crate::error::CallError;
use crate::lent::layout::{SLOTS, SLOTS_KEPT};

/// How often parked slots are looked at, while nothing else is free.
const LOOK_NS: u64 = 5_000_000;
/// Slots for real-time callers alone, a bit for each.
const KEPT: u64 = (1 << SLOTS_KEPT) - 1;
const ALL: u64 = (1 << SLOTS) - 1;

pub(crate) struct Slots {
    /// A bit for each.
    free: AtomicU64,
    /// Given up by their callers, and still with a looper.
    parked: AtomicU64,
    /// Callers that wait, or are about to: of both kinds.
    urgent: Queue,
    ordinary: Queue,
}

#[derive(Default)]
struct Queue {
    waiting: AtomicU64,
    lock: PiMutex<()>,
    freed: PiCondvar,
}

impl Queue {
    fn wake_one(&self) {
        if self.waiting.load(SeqCst) > 0 {
            self.freed.notify_one(&self.lock.lock());
        }
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            free: AtomicU64::new(ALL),
            parked: AtomicU64::new(0),
            urgent: Queue::default(),
            ordinary: Queue::default(),
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
        if is_dead() {
            return Err(CallError::DeadObject);
        }
        if let Some(slot) = self.try_take(is_real_time) {
            return Ok(slot);
        }
        let queue = match is_real_time {
            true => &self.urgent,
            false => &self.ordinary,
        };
        queue.waiting.fetch_add(1, SeqCst);
        let taken = self.wait(queue, is_real_time, due_ns, is_out, is_dead);
        queue.waiting.fetch_sub(1, SeqCst);
        if taken.is_err() {
            // It may have been woken for a slot that it did not take.
            queue.wake_one();
        }
        taken
    }

    fn wait(
        &self,
        queue: &Queue,
        is_real_time: bool,
        due_ns: Option<u64>,
        is_out: impl Fn(usize) -> bool,
        is_dead: impl Fn() -> bool,
    ) -> Result<usize, CallError> {
        let mut guard = queue.lock.lock();
        loop {
            if is_dead() {
                return Err(CallError::DeadObject);
            }
            self.unpark(&is_out);
            if let Some(slot) = self.try_take(is_real_time) {
                return Ok(slot);
            }
            let parked = self.parked.load(SeqCst);
            if parked.count_ones() as usize >= SLOTS - SLOTS_KEPT {
                return Err(CallError::QueueFull);
            }
            if due_ns.is_some_and(|due_ns| due_ns <= Monotonic.now_ns()) {
                return Err(CallError::TimedOut);
            }
            // A looper that gives a parked slot back tells nobody.
            let look_ns = (parked != 0).then(|| Monotonic.now_ns() + LOOK_NS);
            match due_ns.into_iter().chain(look_ns).min() {
                Some(until_ns) => {
                    let _: Wake = queue.freed.wait_until(&mut guard, until_ns);
                }
                None => queue.freed.wait(&mut guard),
            }
        }
    }

    /// O(slots) attempts at the most, each of them another's success.
    fn try_take(&self, is_real_time: bool) -> Option<usize> {
        let mut free = self.free.load(SeqCst);
        loop {
            let fit = match is_real_time {
                true if free & KEPT != 0 => free & KEPT,
                true => free,
                false => free & !KEPT,
            };
            if fit == 0 {
                return None;
            }
            let slot = fit.trailing_zeros() as usize;
            let taken = free & !(1 << slot);
            match self.free.compare_exchange(free, taken, SeqCst, SeqCst) {
                Ok(_) => return Some(slot),
                Err(now) => free = now,
            }
        }
    }

    /// The caller is done.
    pub(crate) fn give(&self, index: usize) {
        self.free.fetch_or(1 << index, SeqCst);
        self.urgent.wake_one();
        if 1 << index & KEPT == 0 {
            self.ordinary.wake_one();
        }
    }

    /// The caller has given up; the looper has not.
    pub(crate) fn park(&self, index: usize) {
        self.parked.fetch_or(1 << index, SeqCst);
    }

    /// The link is dead: its waiters look again.
    pub(crate) fn wake_all(&self) {
        for queue in [&self.urgent, &self.ordinary] {
            queue.freed.notify_all(&queue.lock.lock());
        }
    }

    fn unpark(&self, is_out: impl Fn(usize) -> bool) {
        let mut parked = self.parked.load(SeqCst);
        while parked != 0 {
            let index = parked.trailing_zeros() as usize;
            parked &= parked - 1;
            // The thread that takes the bit away gives the slot back: one of those that look.
            if !is_out(index) && self.parked.fetch_and(!(1 << index), SeqCst) & 1 << index != 0 {
                self.give_parked(index);
            }
        }
    }

    /// As [`Self::give`], of one who holds its queue's lock and looks anyway.
    fn give_parked(&self, index: usize) {
        self.free.fetch_or(1 << index, SeqCst);
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
