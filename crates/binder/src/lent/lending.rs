// SPDX-License-Identifier: Apache-2.0
//! [`Lending`]: a thread that lends its priority and waits for an answer. It began before the other
//! end could answer; calls of its chain find it from then on.

use rt::sync::Recall;
use rt::sync::lend::{LendError, Offer};
use rt::sys::futex::Shared;

use crate::lent::chain::{Place, Sitting};
use crate::lent::looper::{self, Away};

/// How long a thread waits for an answer, what it is known by meanwhile, and whether it lends.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) place: Place,
    pub(super) due_ns: Option<u64>,
    pub(super) is_lent: bool,
}

/// See the module.
pub(super) struct Lending<'a> {
    offer: Offer<'a, Shared>,
    is_lent: bool,
    /// None where it cannot be found, and after [`Self::end`].
    sitting: Option<Sitting>,
    away: Option<Away>,
}

impl<'a> Lending<'a> {
    pub(super) fn begin(offer: Offer<'a, Shared>, wait: &Wait, home: u64) -> Self {
        Self {
            offer,
            is_lent: wait.is_lent,
            sitting: Sitting::begin(&wait.place, home),
            away: looper::leave(),
        }
    }

    /// The answer is there: nothing is brought any more.
    pub(super) fn end(&mut self) {
        self.sitting = None;
        self.away = None;
    }

    /// As [`Offer::spin_until`].
    pub(super) fn spin_until(&self, due_ns: u64) {
        self.offer.spin_until(due_ns);
    }

    /// As [`Offer::look_until`]; timed out as well where a call was brought.
    pub(super) fn look_until(&self, due_ns: u64) -> Result<(), LendError> {
        match self.sitting.as_ref().map(|it| it.due(due_ns)) {
            Some(Some(due)) if self.is_lent => self.offer.look_recallable(due),
            Some(Some(due)) => self.offer.look_apart(due),
            Some(None) => Err(LendError::TimedOut),
            None if self.is_lent => self.offer.look_until(due_ns),
            None => {
                let due = Recall::default();
                due.set(due_ns);
                self.offer.look_apart(&due)
            }
        }
    }

    /// Serves what was brought; whether there was something.
    pub(super) fn serve(&self) -> bool {
        self.sitting.as_ref().is_some_and(Sitting::serve)
    }
}
