// SPDX-License-Identifier: Apache-2.0
//! [`Heap::visit`]: one mutator is held for as long as somebody looks at its stack.
//!
//! As a stop of the world, for one mutator: the visitor holds its claim lock and claims it where it
//! is outside managed code, or it hands itself over at its next poll. It comes back when the claim
//! lock is free, and lends its priority to the visitor until then.

use abi::context::MutatorContext;
use rt::clock::{Clock, Monotonic};

use crate::collector::round::SPINS_BEFORE_WAIT;
use crate::heap::Heap;
use crate::limits::DEBT_WAIT_NS;
use crate::mutator::record::MutatorRecord;

/// Why nobody was visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VisitError {
    /// No such mutator, or it has ended.
    #[error("there is no such thread")]
    Gone,
    /// It reached no poll in time.
    #[error("the thread reached no safepoint in time")]
    TimedOut,
}

impl Heap {
    /// Runs `work` while the first mutator whose context `is_wanted` is held: it runs no managed
    /// code and its stack does not change. The caller is another thread, and no mutator in managed
    /// state. Waits for the mutator's next poll, at most until `due_ns` (for ever without); the
    /// mutator waits for `work`, which must neither touch objects that the mutator does not hold
    /// nor wait for any thread.
    pub fn visit<T>(
        &self,
        is_wanted: impl Fn(&MutatorContext) -> bool,
        due_ns: Option<u64>,
        work: impl FnOnce(&MutatorContext) -> T,
    ) -> Result<T, VisitError> {
        let record = {
            let registry = self.registry.lock();
            let mut records = registry.records.iter();
            records.find(|record| is_wanted(&record.context)).cloned()
        };
        let record = record.ok_or(VisitError::Gone)?;
        record.claim.lock();
        let outcome = if record.await_visit(due_ns) {
            let outcome = if record.has_ended.load(std::sync::atomic::Ordering::SeqCst) {
                Err(VisitError::Gone)
            } else {
                Ok(work(&record.context))
            };
            record.handshake.state.release();
            outcome
        } else {
            Err(VisitError::TimedOut)
        };
        record.claim.unlock();
        outcome
    }
}

impl MutatorRecord {
    /// Waits until the mutator is claimed; `false` if that takes longer than `due_ns`. The caller
    /// has the claim lock.
    fn await_visit(&self, due_ns: Option<u64>) -> bool {
        self.visit_debt.owe(self.tid());
        self.handshake.ask_visit(&self.context.poll);
        let mut spins = 0;
        while self.handshake.is_visit_open() || self.visit_debt.is_out() {
            let is_claimed = self.handshake.state.try_claim();
            let is_late = due_ns.is_some_and(|due_ns| Monotonic.now_ns() >= due_ns);
            if (is_claimed || is_late) && self.handshake.try_withdraw_visit() {
                self.visit_debt.forgive();
                return is_claimed;
            }
            if spins < SPINS_BEFORE_WAIT {
                spins += 1;
                std::hint::spin_loop();
            } else {
                // Every outcome is the same: look again.
                let _ = self.visit_debt.wait_for_debtor(DEBT_WAIT_NS);
            }
        }
        true
    }
}
