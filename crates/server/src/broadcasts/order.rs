// SPDX-License-Identifier: Apache-2.0
//! Which broadcast comes before which other: [`Order`], a broadcast's [`Standing`] in it, and the
//! [`Journal`] by which that can be checked.

use crate::ProcessId;

/// The most urgent priority of a broadcast, as SCHED_FIFO has it.
pub const PRIORITY_MAX: u8 = 99;

/// In which order broadcasts of different senders go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By their priority; equals as they came. Receivers run at it.
    #[default]
    Priority,
    /// As they came, those with `FLAG_RECEIVER_FOREGROUND` before the others: Android's two queues.
    /// Receivers inherit nothing. For comparisons alone.
    FirstCome,
}

/// What a broadcast's place goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The broadcast's own number: later ones have higher ones.
    pub number: u64,
    /// 1 to 99, at most its sender's; 0 for an ordinary one.
    pub priority: u8,
    /// Higher ones go first; equals as they came.
    pub rank: u8,
}

impl Standing {
    /// Of an intent with a priority of its own, or without, from a sender of this urgency.
    pub(super) fn new(
        order: Order,
        number: u64,
        (own, sender): (Option<u8>, u8),
        is_foreground: bool,
    ) -> Self {
        let priority = own.unwrap_or(PRIORITY_MAX).min(sender).min(PRIORITY_MAX);
        let rank = match order {
            Order::Priority => priority,
            Order::FirstCome => is_foreground.into(),
        };
        Self {
            number,
            priority,
            rank,
        }
    }

    /// What receivers run at.
    pub fn inherited(&self, order: Order) -> u8 {
        match order {
            Order::Priority => self.priority,
            Order::FirstCome => 0,
        }
    }
}

/// Where broadcasts wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Ordered ones, for their turn at a process.
    Turns(ProcessId),
    /// All, for a process to fetch them.
    Steps(ProcessId),
}

/// A broadcast begins to wait, or does so no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// Which one.
    pub standing: Standing,
    /// Where.
    pub place: Place,
    /// Whether it comes; else it leaves.
    pub comes: bool,
}

/// What came and left, in the order in which it did: the server's own sequence. Nothing is written
/// unless somebody asked for it.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    notes: Vec<Note>,
    room: usize,
}

impl Journal {
    /// Writes so much at most; its memory is there from now on.
    pub fn open(&mut self, room: usize) {
        self.notes.reserve_exact(room);
        self.room = room;
    }

    /// Writes it down, if there is room. No allocation.
    pub fn note(&mut self, standing: Standing, place: Place, comes: bool) {
        if self.notes.len() < self.room {
            self.notes.push(Note {
                standing,
                place,
                comes,
            });
        }
    }

    /// What was written.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Whether more may have happened than was written.
    pub fn is_full(&self) -> bool {
        self.notes.len() >= self.room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_is_at_most_as_urgent_as_its_sender() {
        let priority = |own, sender| {
            let standing = Standing::new(Order::Priority, 1, (own, sender), false);
            (standing.priority, standing.rank)
        };
        assert_eq!(priority(None, 80), (80, 80));
        assert_eq!(priority(Some(5), 80), (5, 5));
        assert_eq!(priority(Some(99), 80), (80, 80));
        assert_eq!(priority(Some(99), 0), (0, 0));
        // One with a reservation.
        assert_eq!(priority(None, 100), (99, 99));
    }

    #[test]
    fn in_first_come_order_the_flag_alone_counts() {
        let standing = Standing::new(Order::FirstCome, 1, (None, 80), false);
        assert_eq!((standing.priority, standing.rank), (80, 0));
        assert_eq!(standing.inherited(Order::FirstCome), 0);
        let flagged = Standing::new(Order::FirstCome, 2, (None, 0), true);
        assert_eq!(flagged.rank, 1);
    }

    #[test]
    fn a_journal_is_bounded_and_silent_unless_it_is_opened() {
        let mut journal = Journal::default();
        let place = Place::Steps(ProcessId(1));
        journal.note(Standing::default(), place, true);
        assert!(journal.notes().is_empty());
        journal.open(2);
        (0..3).for_each(|_| journal.note(Standing::default(), place, true));
        assert_eq!(journal.notes().len(), 2);
        assert!(journal.is_full());
    }
}
