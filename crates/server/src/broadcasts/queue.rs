// SPDX-License-Identifier: Apache-2.0
//! Ordered broadcasts on their way from receiver to receiver.

use std::collections::VecDeque;

use intent::Component;

use super::{BroadcastError, Delivery, ORDERED_PER_USER_MAX, Ordered, Outcome, Place, Sender};
use super::{Broadcasts, Shout, Standing, Target, Turn};
use crate::packages::Kind;
use crate::processes::Question;
use crate::{BroadcastId, Effect, Payload, ProcessId, Server};

/// Ordered broadcasts at one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// Whose turn it is.
    pub(super) current: Option<BroadcastId>,
    /// In order; bounded by users and `ORDERED_PER_USER_MAX`.
    pub(super) waiting: VecDeque<BroadcastId>,
}

impl Turns {
    pub(super) fn all(&self) -> impl Iterator<Item = &BroadcastId> {
        self.current.iter().chain(&self.waiting)
    }
}

impl Broadcasts {
    /// An ordered broadcast waits for its turn at a process, behind those that go first. The search
    /// takes O(log n).
    fn wait_for(&mut self, process: ProcessId, id: BroadcastId) {
        let Some(standing) = self.ordered.get(&id).map(|it| it.standing) else {
            return;
        };
        let turns = self.at.entry(process).or_default();
        let goes_first = |it: &BroadcastId| {
            let other = self.ordered.get(it);
            other.is_some_and(|it| it.standing.rank >= standing.rank)
        };
        let place = turns.waiting.partition_point(goes_first);
        turns.waiting.insert(place, id);
        self.journal.note(standing, Place::Turns(process), true);
    }

    /// Takes the next that has its turn, if nobody has.
    fn next_turn(&mut self, process: ProcessId) -> Option<BroadcastId> {
        let turns = self.at.get_mut(&process)?;
        if turns.current.is_some() {
            return None;
        }
        turns.current = turns.waiting.pop_front();
        let next = turns.current;
        if next.is_none() {
            self.at.remove(&process);
        }
        next
    }
}

impl Server {
    /// The process that a turn is at, which is demanded. None if it cannot be had.
    fn place_of(&mut self, turn: &Turn, now: u64) -> Option<(ProcessId, Target)> {
        match turn {
            Turn::Registered(process, receiver) => {
                let key = (*process, *receiver);
                let is_there = self.broadcasts.filters.contains_key(&key);
                is_there.then_some((*process, Target::Registered(*receiver)))
            }
            Turn::Component(component, key) => {
                // Its package may have gone meanwhile.
                let package = self.packages.of_uid(key.uid)?.settings.name.clone();
                let target = Target::Component(component.clone());
                let effects = &mut self.effects;
                let process = self.processes.demand(key, &package, now, effects).ok()?;
                Some((process, target))
            }
        }
    }

    /// The process of a manifest's receiver, whose last one died before it had a broadcast. None if
    /// it cannot be had.
    pub fn receiver_again(&mut self, receiver: &Component, now: u64) -> Option<ProcessId> {
        let found = self.packages.named(Kind::Receiver, receiver)?;
        let key = found.package.process_of(found.component);
        let turn = Turn::Component(receiver.clone(), key);
        self.place_of(&turn, now).map(|(process, _)| process)
    }

    /// The intent of an ordered broadcast, as long as that is under way.
    pub fn payload_under_way(&self, id: BroadcastId) -> Option<Payload> {
        self.broadcasts.ordered.get(&id).map(|it| it.payload)
    }

    pub(super) fn deliver_to(
        &mut self,
        turn: &Turn,
        (uid, standing): (u32, Standing),
        shout: &Shout,
        now: u64,
    ) {
        if let Some((process, target)) = self.place_of(turn, now) {
            let delivery = Delivery {
                target,
                ordered: None,
                is_sticky: false,
                standing,
                uid,
                payload: shout.payload,
                outcome: shout.outcome.clone(),
            };
            self.effects.push(Effect::Broadcast { process, delivery });
        }
    }

    pub(super) fn begin_ordered(
        &mut self,
        (sender, standing): (Sender, Standing),
        shout: &Shout,
        turns: VecDeque<Turn>,
        now: u64,
    ) -> Result<(), BroadcastError> {
        let own = self.broadcasts.ordered.values();
        let own = own.filter(|it| it.sender.uid == sender.uid).count();
        if own >= ORDERED_PER_USER_MAX {
            return Err(BroadcastError::Ordered(sender.uid));
        }
        let id = BroadcastId(standing.number);
        let ordered = Ordered {
            sender,
            standing,
            payload: shout.payload,
            turns,
            outcome: shout.outcome.clone(),
            current: None,
        };
        self.broadcasts.ordered.insert(id, ordered);
        self.advance(id, now);
        Ok(())
    }

    /// Gives the next receiver its turn; without one the broadcast is over.
    fn advance(&mut self, id: BroadcastId, now: u64) {
        loop {
            let Some(ordered) = self.broadcasts.ordered.get_mut(&id) else {
                return;
            };
            let Some(turn) = ordered.turns.pop_front() else {
                self.finish_ordered(id);
                return;
            };
            let Some((process, target)) = self.place_of(&turn, now) else {
                continue;
            };
            if let Some(ordered) = self.broadcasts.ordered.get_mut(&id) {
                ordered.current = Some((process, target));
            }
            self.broadcasts.wait_for(process, id);
            self.give(process, now);
            return;
        }
    }

    fn finish_ordered(&mut self, id: BroadcastId) {
        let Some(over) = self.broadcasts.ordered.remove(&id) else {
            return;
        };
        if let Some((process, number)) = over.sender.result {
            self.effects.push(Effect::BroadcastResult {
                process,
                number,
                standing: over.standing,
                payload: over.payload,
                outcome: over.outcome,
            });
        }
    }

    /// The first of a process's broadcasts comes to it, if it has none. It has its time to start
    /// and twice the time of an answer: what is in front of it there has that time as well.
    fn give(&mut self, process: ProcessId, now: u64) {
        let Some(id) = self.broadcasts.next_turn(process) else {
            return;
        };
        let Some(ordered) = self.broadcasts.ordered.get(&id) else {
            return;
        };
        let Some((_, target)) = ordered.current.clone() else {
            return;
        };
        let delivery = Delivery {
            target,
            ordered: Some(id),
            is_sticky: false,
            standing: ordered.standing,
            uid: ordered.sender.uid,
            payload: ordered.payload,
            outcome: ordered.outcome.clone(),
        };
        let (journal, place) = (&mut self.broadcasts.journal, Place::Turns(process));
        journal.note(delivery.standing, place, false);
        let limits = self.processes.limits;
        let until = now + limits.start_ns + 2 * limits.answer_ns;
        self.processes
            .ask(process, Question::Broadcast(id.0), until);
        self.effects.push(Effect::WakeAt(until));
        self.effects.push(Effect::Broadcast { process, delivery });
    }

    /// A receiver is done with an ordered broadcast. What is not its turn is passed over.
    pub fn received(
        &mut self,
        process: ProcessId,
        id: BroadcastId,
        outcome: Outcome,
        is_aborted: bool,
        now: u64,
    ) {
        let turns = self.broadcasts.at.get_mut(&process);
        let Some(turns) = turns.filter(|it| it.current == Some(id)) else {
            return;
        };
        turns.current = None;
        self.processes.answered(process, Question::Broadcast(id.0));
        if let Some(ordered) = self.broadcasts.ordered.get_mut(&id) {
            ordered.current = None;
            ordered.outcome = outcome;
            if is_aborted {
                ordered.turns.clear();
            }
        }
        // Of equals, who waits for the process comes before this one's next receiver there.
        self.advance(id, now);
        self.give(process, now);
    }

    /// A package's receivers get no turn any more: it ends, and nothing starts it again.
    pub(crate) fn broadcasts_without_package(&mut self, uid: u32) {
        let is_other = |it: &Turn| !matches!(it, Turn::Component(_, key) if key.uid == uid);
        for ordered in self.broadcasts.ordered.values_mut() {
            ordered.turns.retain(is_other);
        }
    }

    /// A process is gone, with its receivers: what was at it goes on.
    pub(crate) fn broadcasts_without(&mut self, process: ProcessId, now: u64) {
        self.broadcasts.forget(process);
        for ordered in self.broadcasts.ordered.values_mut() {
            ordered.sender.result = ordered.sender.result.filter(|it| it.0 != process);
        }
        let turns = self.broadcasts.at.remove(&process).unwrap_or_default();
        let waiting: Vec<BroadcastId> = turns.all().copied().collect();
        for id in waiting {
            if let Some(ordered) = self.broadcasts.ordered.get_mut(&id) {
                ordered.current = None;
            }
            self.advance(id, now);
        }
    }
}
