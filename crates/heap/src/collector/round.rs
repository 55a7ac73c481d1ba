// SPDX-License-Identifier: Apache-2.0
//! Handshakes, the collector's side: every mutator answers one question, each at its own time.
//!
//! A mutator in managed code answers at its next poll. One outside managed code is claimed and
//! answered for. One that owes an answer and does not run is waited for at a word that holds its
//! thread's number, so the collector's priority, and that of those who lend to the collector, lifts
//! it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use abi::barrier::epoch_after;
use rt::clock::{Clock, Monotonic};

use crate::events::EventKind;
use crate::heap::Heap;
use crate::limits::{AFTER_WORK_NS, BEFORE_WORK_NS, DEBT_WAIT_NS, SLACK_WAIT_NS_MAX};
use crate::mutator::answer::answer;
use crate::mutator::handshake::Round;
use crate::mutator::record::{Handed, MutatorRecord};
use crate::mutator::state::State;
use crate::sys::debt::DebtWait;

/// Looks at an answer this often before waiting in the kernel: about as long as an answer takes.
pub(crate) const SPINS_BEFORE_WAIT: u32 = 200;

/// As [`SPINS_BEFORE_WAIT`] for a real-time mutator, which runs and will answer, because nothing
/// less urgent than it keeps it from a processor: for whom the collector waits in the kernel, that
/// one pays for waking it, with a system call and a message to another processor. Longer than the
/// slowest answer seen.
const SPINS_BEFORE_WAIT_FOR_REAL_TIME: u32 = 4000;

impl Heap {
    /// Asks every mutator and returns when all have answered. `taken` sees each record after its
    /// answer.
    pub(crate) fn round(&self, round: Round, mut taken: impl FnMut(&MutatorRecord)) {
        self.wait_for_slack();
        let start_ns = Monotonic.now_ns();
        let records = self.ask(round);
        // Real-time mutators first: they wait, and are not about to wake.
        let is_real_time = |it: &&Arc<MutatorRecord>| it.is_real_time.load(Ordering::Relaxed);
        let (urgent, others): (Vec<_>, Vec<_>) = records.iter().partition(is_real_time);
        for record in urgent.into_iter().chain(others) {
            self.await_answer(record, round);
            taken(record);
        }
        let kind = match round {
            Round::Snoop => EventKind::Snoop,
            Round::Switch => EventKind::Switch,
            Round::Scan | Round::Stop => EventKind::Scan,
        };
        self.events.add(kind, start_ns, records.len() as u64);
    }

    /// Waits while a real-time mutator is about to have work or has just begun it
    /// ([`crate::Mutator::expect_work`]). Asked then, it would answer first, or wait for the
    /// collector that answers for it. No promise: who wakes early, works long or does not say when
    /// is asked at any time, and so is everybody while somebody waits for the collector.
    fn wait_for_slack(&self) {
        let limit_ns = Monotonic.now_ns() + SLACK_WAIT_NS_MAX;
        loop {
            let now_ns = Monotonic.now_ns();
            if now_ns >= limit_ns || self.pace.is_waited_for() {
                return;
            }
            let busy_until_ns = {
                let registry = self.registry.lock();
                let busy = registry.records.iter().map(|it| it.busy_until_ns(now_ns));
                busy.max().unwrap_or(0)
            };
            if busy_until_ns == 0 {
                return;
            }
            Monotonic.sleep_until(busy_until_ns.min(limit_ns));
        }
    }

    /// Sends the question. Mutators that join from here on find themselves past it.
    fn ask(&self, round: Round) -> Vec<Arc<MutatorRecord>> {
        let mut registry = self.registry.lock();
        let joining = &mut registry.joining;
        match round {
            Round::Snoop => (joining.is_snooping, joining.is_weak_guarded) = (true, true),
            Round::Switch => joining.epoch = epoch_after(joining.epoch),
            Round::Scan => joining.is_snooping = false,
            Round::Stop => unreachable!("a stop has its own way: `stop_world`"),
        }
        registry.records.iter().for_each(|record| record.ask(round));
        registry.records.clone()
    }

    fn await_answer(&self, record: &MutatorRecord, round: Round) {
        let mut spins = 0;
        let spins_max = if record.is_real_time.load(Ordering::Relaxed) {
            SPINS_BEFORE_WAIT_FOR_REAL_TIME
        } else {
            SPINS_BEFORE_WAIT
        };
        // Pairs with the Release in `settle_debt`: what the answer wrote is seen.
        while record.is_owing() {
            if record.handshake.state.get() == State::Native {
                self.answer_on_behalf(record, round);
            } else if spins < spins_max {
                spins += 1;
                std::hint::spin_loop();
            } else {
                self.wait_for_debt(record);
            }
        }
    }

    fn wait_for_debt(&self, record: &MutatorRecord) {
        self.counters.debts_waited_for.add(1);
        if record.debt.wait_for_debtor(DEBT_WAIT_NS) == DebtWait::DebtorGone {
            // `Mutator` is not `Send` and detaches when dropped: its thread ends in native state or
            // not at all.
            debug_assert_eq!(
                record.handshake.state.get(),
                State::Native,
                "a thread ended in managed code"
            );
            std::thread::yield_now();
        }
    }

    /// The mutator is outside managed code: its claimer does the work.
    fn answer_on_behalf(&self, record: &MutatorRecord, round: Round) {
        record.claim.lock();
        if record.handshake.state.try_claim() {
            if record.handshake.is_asked() {
                // SAFETY: 1. The claim makes the buffers the collector's until `release`. 2. One
                // borrow, here.
                let own = unsafe { record.own() };
                answer(self, record, own, round);
                record.withdraw();
                self.counters.answers_on_behalf.add(1);
            }
            record.handshake.state.release();
        }
        record.claim.unlock();
    }

    /// What a mutator handed over. Once per `Round::Switch`, after its answer.
    pub(crate) fn take_handed(record: &MutatorRecord) -> Handed {
        // SAFETY: 1. After its answer to H2 a mutator does not touch `handed` before the next H2,
        // which this thread asks for later. 2. The answer was acquired. 3. Only that field is read
        // and written: a raw place, no reference to the rest of `Own`.
        unsafe { std::mem::take(&mut (*record.own_ptr()).handed) }
    }

    /// Holds every mutator: on return none runs managed code and all their buffers are the
    /// caller's. No thread becomes a mutator before [`Self::resume_world`].
    pub(crate) fn stop_world(&self) -> Vec<Arc<MutatorRecord>> {
        self.pause.lock();
        // None joins before the pause ends. The registry's lock is free meanwhile: a visitor may
        // hold the claim of a mutator that waits for that lock in managed code.
        let records = self.registry.lock().records.clone();
        for record in &records {
            record.claim.lock();
            record.ask(Round::Stop);
        }
        for record in &records {
            let mut spins = 0;
            // A mutator hands itself over and then says so by clearing the request.
            while record.is_owing() {
                if record.handshake.state.try_claim() {
                    record.withdraw();
                } else if spins < SPINS_BEFORE_WAIT {
                    spins += 1;
                    std::hint::spin_loop();
                } else {
                    self.wait_for_debt(record);
                }
            }
            debug_assert_eq!(record.handshake.state.get(), State::Claimed);
        }
        records
    }

    /// Ends a stop.
    pub(crate) fn resume_world(&self, records: &[Arc<MutatorRecord>]) {
        for record in records {
            record.handshake.state.release();
            record.claim.unlock();
        }
        self.pause.unlock();
    }
}

impl MutatorRecord {
    fn ask(&self, round: Round) {
        self.debt.owe(self.tid());
        self.handshake.ask(round, &self.context.poll);
    }

    /// Until when the work of a real-time mutator keeps the collector from asking; 0: it does not.
    fn busy_until_ns(&self, now_ns: u64) -> u64 {
        let due_ns = self.next_work_ns.load(Ordering::Relaxed);
        let end_ns = due_ns.saturating_add(AFTER_WORK_NS);
        let is_near = due_ns != 0 && due_ns <= now_ns + BEFORE_WORK_NS && now_ns < end_ns;
        let is_busy = is_near && self.is_real_time.load(Ordering::Relaxed);
        if is_busy { end_ns } else { 0 }
    }

    /// Whether the answer, or the word that says who gives it, is still out.
    fn is_owing(&self) -> bool {
        self.handshake.is_asked() || self.debt.is_out()
    }

    /// Collector: the question is settled without the mutator.
    fn withdraw(&self) {
        // Before the question is closed: nobody waits for it.
        self.debt.forgive();
        self.handshake.withdraw(&self.context.poll);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::mutator::record::Joining;

    #[test]
    fn the_work_of_a_real_time_mutator_keeps_questions_away_for_a_while() {
        const DUE_NS: u64 = 1_000_000_000;
        let joining = Joining {
            epoch: 1,
            is_snooping: false,
            is_weak_guarded: false,
            is_counting: true,
        };
        let record = |is_real_time| {
            let record = MutatorRecord::new(1, joining, is_real_time);
            assert_eq!(record.busy_until_ns(DUE_NS), 0, "it did not say when");
            record.next_work_ns.store(DUE_NS, Ordering::Relaxed);
            record
        };
        let (ordinary, urgent) = (record(false), record(true));
        assert_eq!(ordinary.busy_until_ns(DUE_NS), 0);
        let (from_ns, end_ns) = (DUE_NS - BEFORE_WORK_NS, DUE_NS + AFTER_WORK_NS);
        assert_eq!(urgent.busy_until_ns(from_ns - 1), 0);
        assert_eq!(urgent.busy_until_ns(from_ns), end_ns);
        assert_eq!(urgent.busy_until_ns(end_ns - 1), end_ns);
        assert_eq!(urgent.busy_until_ns(end_ns), 0, "it works long");
    }
}
