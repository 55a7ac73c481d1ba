// SPDX-License-Identifier: Apache-2.0
//! [`Reserving`]: a callback's thread under SCHED_DEADLINE, with a runtime that follows its work.
//!
//! Before each call a predictor says what the call will want; after it, what it took is learned:
//! all processor time of the thread since the call before. A change is one system call, made before
//! the work begins. When the kernel refuses, the thread goes back to the policy that it started
//! with, for good, and the grant says why.

use rt::clock::thread_time_ns;
use rt::policy::{Policy, PolicyError, Reservation, Tid};
use rt::sync::PiMutex;

use crate::predict::{Envelope, Predictor, Smoothed};
use crate::stream::Grant;

/// Who predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// [`Smoothed`]: the paper's.
    Paper,
    /// [`Envelope`]: ours.
    Ours,
}

/// A runtime is given back when it is too large by a sixteenth: less is not worth the call.
const SLACK_SHARE: u64 = 16;

pub(super) struct Reserving {
    predictor: Box<dyn Predictor + Send>,
    period_ns: u64,
    /// The runtime in force; zero before the first.
    runtime_ns: u64,
    /// The thread's processor time at the end of the last call.
    spent_ns: Option<u64>,
    is_refused: bool,
}

impl Reserving {
    pub(super) fn new(model: Model, period_ns: u64) -> Self {
        Self {
            predictor: match model {
                Model::Paper => Box::new(Smoothed::new(period_ns)),
                Model::Ours => Box::new(Envelope::new(period_ns)),
            },
            period_ns,
            runtime_ns: 0,
            spent_ns: None,
            is_refused: false,
        }
    }

    /// A new thread begins; what is learned stays.
    pub(super) fn begin(&mut self) {
        (self.runtime_ns, self.spent_ns, self.is_refused) = (0, None, false);
    }

    /// Reserves for a call that is about to begin: at once what is missing, and less if there is
    /// much too much.
    pub(super) fn before(&mut self, units: u32, grant: &PiMutex<Grant>) {
        let wanted_ns = self.predictor.reserve_ns(units);
        let is_fit =
            wanted_ns <= self.runtime_ns && self.runtime_ns <= wanted_ns + wanted_ns / SLACK_SHARE;
        if is_fit || self.is_refused {
            return;
        }
        let policy = Policy::Deadline(Reservation {
            runtime_ns: wanted_ns,
            deadline_ns: self.period_ns,
            period_ns: self.period_ns,
        });
        match policy.apply(Tid::current()) {
            Ok(()) => {
                self.runtime_ns = wanted_ns;
                grant.lock().granted = Some(policy);
            }
            Err(error) => self.fall_back(&error, grant),
        }
    }

    /// Learns what the call and the wait before it took.
    pub(super) fn after(&mut self, units: u32) {
        let spent_ns = thread_time_ns();
        if let Some(before_ns) = self.spent_ns.replace(spent_ns) {
            self.predictor.learn(units, spent_ns - before_ns);
        }
    }

    /// Off the path: the stream may run dry here, and takes memory for the reason.
    #[cold]
    fn fall_back(&mut self, error: &PolicyError, grant: &PiMutex<Grant>) {
        self.is_refused = true;
        let reason = error.to_string();
        let mut grant = grant.lock();
        let first = grant.started;
        if self.runtime_ns > 0
            && let Some(policy) = first
        {
            // Refused as well, it keeps the reservation that it has.
            let _ = policy.apply(Tid::current());
        }
        grant.granted = Policy::of_current().ok();
        grant.refusal = Some(reason);
    }
}
