// SPDX-License-Identifier: Apache-2.0
//! [`Events`]: what the collector did last, and when, readable while it runs.
//!
//! A ring that the collector thread alone writes. Readers copy it without a lock: an entry that is
//! overwritten meanwhile shows by its number and is left out. Sums are in [`crate::Counters`].

use std::sync::atomic::{AtomicU64, Ordering, fence};

use rt::clock::{Clock, Monotonic};

/// Entries of the ring: some seconds of an ordinary load, where an epoch leaves five.
pub const EVENTS_MAX: usize = 1024;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// The round of handshakes H1; amount: mutators asked.
    Snoop = 0,
    /// H2.
    Switch = 1,
    /// H3.
    Scan = 2,
    /// An epoch, its rounds and its trace included; amount: bytes freed.
    Epoch = 3,
    /// A cycle trace; amount: objects freed.
    Trace = 4,
    /// A pause of `stw`; amount: mutators stopped.
    Pause = 5,
    /// The collector slept; amount: the nanoseconds that it had planned to.
    Sleep = 6,
}

impl EventKind {
    const ALL: [Self; 7] = [
        Self::Snoop,
        Self::Switch,
        Self::Scan,
        Self::Epoch,
        Self::Trace,
        Self::Pause,
        Self::Sleep,
    ];
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Counts from 1 on.
    pub number: u64,
    /// What.
    pub kind: EventKind,
    /// From.
    pub start_ns: u64,
    /// Until.
    pub end_ns: u64,
    /// How much: see the kind.
    pub amount: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Events {
    ring: Box<[Entry]>,
    /// Of the last event.
    last: AtomicU64,
}

/// Number (0 while it is written), kind, start, end, amount.
type Entry = [AtomicU64; 5];

impl Default for Events {
    fn default() -> Self {
        Self {
            ring: (0..EVENTS_MAX).map(|_| Entry::default()).collect(),
            last: AtomicU64::new(0),
        }
    }
}

impl Events {
    /// The collector thread: something ended that began at `start_ns`.
    pub(crate) fn add(&self, kind: EventKind, start_ns: u64, amount: u64) {
        let number = self.last.load(Ordering::Relaxed) + 1;
        let [published, fields @ ..] = &self.ring[number as usize % EVENTS_MAX];
        published.store(0, Ordering::Relaxed);
        // Pairs with the fence in `read`: who sees a new field sees that the entry is being
        // written.
        fence(Ordering::Release);
        let values = [kind as u64, start_ns, Monotonic.now_ns(), amount];
        for (field, value) in fields.iter().zip(values) {
            field.store(value, Ordering::Relaxed);
        }
        // Pairs with the Acquire in `read`.
        published.store(number, Ordering::Release);
        self.last.store(number, Ordering::Release);
    }

    /// The last events after number `seen`, oldest first. Never waits; allocates.
    pub fn since(&self, seen: u64) -> Vec<Event> {
        let last = self.last.load(Ordering::Acquire);
        let first = (seen + 1).max((last + 1).saturating_sub(EVENTS_MAX as u64));
        (first..=last).filter_map(|it| self.read(it)).collect()
    }

    fn read(&self, number: u64) -> Option<Event> {
        let [published, fields @ ..] = &self.ring[number as usize % EVENTS_MAX];
        let is_it = published.load(Ordering::Acquire) == number;
        let [kind, start_ns, end_ns, amount] =
            std::array::from_fn(|it| fields[it].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let is_still = published.load(Ordering::Relaxed) == number;
        (is_it && is_still).then(|| Event {
            number,
            kind: EventKind::ALL[kind as usize],
            start_ns,
            end_ns,
            amount,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_what_was_not_overwritten() {
        let events = Events::default();
        assert_eq!(events.since(0), []);
        let count = EVENTS_MAX as u64 + 10;
        (1..=count).for_each(|it| events.add(EventKind::Sleep, it, 2 * it));
        let all = events.since(0);
        assert_eq!(all.len(), EVENTS_MAX);
        assert!(
            all.iter().zip(11..).all(|(it, number)| it.number == number
                && (it.start_ns, it.amount) == (number, 2 * number))
        );
        assert_eq!(events.since(count - 1).len(), 1);
        assert_eq!(events.since(count), []);
    }
}
