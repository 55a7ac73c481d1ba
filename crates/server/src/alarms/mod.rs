// SPDX-License-Identifier: Apache-2.0
//! `AlarmManager`: what is to be done at which time, in the order of time, priority and arrival.
//!
//! Two [`Class`]es, each with a timer of its own: what is urgent never waits behind what is not.
//! An alarm comes when it was asked for. Only one that gives a window may come later, with the next
//! one that must come, and at its window's end at the latest; no window has a least length.
//!
//! Memory for all alarms is there from the start: setting, taking back and firing allocate nothing
//! but a uid's first count, and take O(log n). Changes of the wall clock take O(n log n).
//!
//! Times are nanoseconds: of `SystemClock.elapsedRealtimeNanos`, or since 1970.

mod heap;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::Payload;
use heap::IndexHeap;

/// Alarms at once.
pub const ALARMS_MAX: usize = 8_192;
/// Of one uid; Android takes 500.
pub const ALARMS_PER_UID_MAX: u32 = 2_000;

/// One alarm, for as long as it waits. Numbers do not come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AlarmId {
    entry: u32,
    generation: u32,
}

impl AlarmId {
    /// As one number.
    pub fn to_raw(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.entry)
    }

    /// Of [`AlarmId::to_raw`]. What was never one is taken for one that is gone.
    pub fn from_raw(raw: u64) -> Self {
        Self {
            entry: raw as u32,
            generation: (raw >> 32) as u32,
        }
    }
}

/// Which timer an alarm has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Of a real-time thread.
    Urgent,
    /// Of all others.
    Ordinary,
}

/// By which clock an alarm's time is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// `ELAPSED_REALTIME`: since the machine's start.
    Elapsed(u64),
    /// `RTC`: since 1970; it moves when somebody sets the clock.
    Wall(u64),
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// Whose it is.
    pub uid: u32,
    /// When.
    pub trigger: Trigger,
    /// How much later it may come.
    pub window_ns: u64,
    /// How soon again; 0 for once.
    pub interval_ns: u64,
    /// Of the thread that set it: 1 to 99, or 0 for an ordinary one.
    pub priority: u8,
    /// `_WAKEUP`: it would wake a machine that sleeps.
    pub wakes: bool,
    /// What is to be done.
    pub payload: Payload,
}

impl Alarm {
    /// Which timer it has.
    pub fn class(&self) -> Class {
        match self.priority {
            0 => Class::Ordinary,
            _ => Class::Urgent,
        }
    }
}

/// An alarm whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Which.
    pub id: AlarmId,
    /// What was asked for.
    pub alarm: Alarm,
    /// When it was due.
    pub due_ns: u64,
    /// How often its time has come since the last time: more than once if the machine was late.
    pub count: u64,
    /// Does it come again?
    pub is_repeated: bool,
}

/// No room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// Of one uid.
    #[error("Maximum limit of concurrent alarms {ALARMS_PER_UID_MAX} reached for uid: {0}")]
    OfUid(u32),
    /// Of all.
    #[error("Maximum limit of concurrent alarms {ALARMS_MAX} of all applications reached")]
    OfAll,
}

/// When, how urgent, and which came first.
type Order = (u64, Reverse<u8>, u64);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    alarm: Alarm,
    order: Order,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    generation: u32,
    waiting: Option<Waiting>,
}

/// One class's order.
#[derive(Clone, Debug)]
struct Timer {
    /// By the time from which they may come.
    starts: IndexHeap<Order>,
    /// By the time at which they must have come.
    ends: IndexHeap<u64>,
    /// Whose time has come: all that may come by then.
    is_over_ns: u64,
    /// How many of each priority.
    priorities: [u32; 100],
}

impl Timer {
    fn new() -> Self {
        Self {
            starts: IndexHeap::new(ALARMS_MAX),
            ends: IndexHeap::new(ALARMS_MAX),
            is_over_ns: 0,
            priorities: [0; 100],
        }
    }

    fn push(&mut self, entry: u32, waiting: &Waiting) {
        let (at, Reverse(priority), _) = waiting.order;
        self.starts.push(waiting.order, entry);
        self.ends
            .push(at.saturating_add(waiting.alarm.window_ns), entry);
        self.priorities[usize::from(priority)] += 1;
    }

    fn remove(&mut self, entry: u32, waiting: &Waiting) {
        self.starts.remove(entry);
        self.ends.remove(entry);
        let (_, Reverse(priority), _) = waiting.order;
        self.priorities[usize::from(priority)] -= 1;
    }

    /// When something must come: at once if some that may come are left.
    fn due(&self) -> Option<u64> {
        let ((start, ..), _) = self.starts.first()?;
        let (end, _) = self.ends.first()?;
        Some(if start <= self.is_over_ns { start } else { end })
    }

    fn take(&mut self, now_ns: u64) -> Option<u32> {
        if self.ends.first().is_some_and(|(end, _)| end <= now_ns) {
            self.is_over_ns = self.is_over_ns.max(now_ns);
        }
        let ((start, ..), entry) = self.starts.first()?;
        (start <= self.is_over_ns).then_some(entry)
    }
}

/// All alarms that wait.
#[derive(Clone, Debug)]
pub struct Alarms {
    entries: Vec<Entry>,
    free: Vec<u32>,
    urgent: Timer,
    ordinary: Timer,
    counts: BTreeMap<u32, u32>,
    /// What the wall clock showed when the machine started.
    wall_at_start_ns: u64,
    last: u64,
}

impl Alarms {
    /// None yet. `wall_at_start_ns`: the wall clock's time less the time since the start.
    pub fn new(wall_at_start_ns: u64) -> Self {
        Self {
            entries: vec![Entry::default(); ALARMS_MAX],
            free: (0..ALARMS_MAX as u32).rev().collect(),
            urgent: Timer::new(),
            ordinary: Timer::new(),
            counts: BTreeMap::new(),
            wall_at_start_ns,
            last: 0,
        }
    }

    /// Sets one. A time that is over has come at once.
    ///
    /// # Errors
    ///
    /// [`TooMany`]
    pub fn set(&mut self, alarm: Alarm) -> Result<AlarmId, TooMany> {
        let own = self.counts.entry(alarm.uid).or_default();
        if *own >= ALARMS_PER_UID_MAX {
            return Err(TooMany::OfUid(alarm.uid));
        }
        let entry = self.free.pop().ok_or(TooMany::OfAll)?;
        *own += 1;
        let id = AlarmId {
            entry,
            generation: self.entries[entry as usize].generation,
        };
        let at = self.elapsed(alarm.trigger);
        self.wait(entry, alarm, at);
        Ok(id)
    }

    fn elapsed(&self, trigger: Trigger) -> u64 {
        match trigger {
            Trigger::Elapsed(at) => at,
            Trigger::Wall(at) => at.saturating_sub(self.wall_at_start_ns),
        }
    }

    fn of(&self, class: Class) -> &Timer {
        match class {
            Class::Urgent => &self.urgent,
            Class::Ordinary => &self.ordinary,
        }
    }

    fn timer(&mut self, class: Class) -> &mut Timer {
        match class {
            Class::Urgent => &mut self.urgent,
            Class::Ordinary => &mut self.ordinary,
        }
    }

    fn wait(&mut self, entry: u32, mut alarm: Alarm, at: u64) {
        alarm.priority = alarm.priority.min(99);
        self.last += 1;
        let order = (at, Reverse(alarm.priority), self.last);
        let waiting = Waiting { alarm, order };
        self.timer(alarm.class()).push(entry, &waiting);
        self.entries[entry as usize].waiting = Some(waiting);
    }

    /// Takes one back; what it was to do. None if it has come, or was taken back.
    pub fn remove(&mut self, id: AlarmId) -> Option<Alarm> {
        let waiting = self.waiting(id)?;
        self.take_out(id.entry, &waiting);
        self.end(id.entry, waiting.alarm.uid);
        Some(waiting.alarm)
    }

    fn waiting(&self, id: AlarmId) -> Option<Waiting> {
        let entry = self.entries.get(id.entry as usize)?;
        entry.waiting.filter(|_| entry.generation == id.generation)
    }

    fn take_out(&mut self, entry: u32, waiting: &Waiting) {
        self.timer(waiting.alarm.class()).remove(entry, waiting);
        self.entries[entry as usize].waiting = None;
    }

    fn end(&mut self, entry: u32, uid: u32) {
        let it = &mut self.entries[entry as usize];
        it.generation = it.generation.wrapping_add(1);
        self.free.push(entry);
        if let Some(count) = self.counts.get_mut(&uid) {
            *count -= 1;
        }
    }

    /// Takes all of a uid back. O(n).
    pub fn end_uid(&mut self, uid: u32) -> Vec<Payload> {
        let own: Vec<_> = self.iter().filter(|(_, it)| it.uid == uid).collect();
        for (id, _) in &own {
            self.remove(*id);
        }
        self.counts.remove(&uid);
        own.into_iter().map(|(_, it)| it.payload).collect()
    }

    /// When a class's timer must look next; in the past if something is due. None: nothing waits.
    pub fn due(&self, class: Class) -> Option<u64> {
        self.of(class).due()
    }

    /// The highest priority that waits in a class. At most 99 steps.
    pub fn highest(&self, class: Class) -> u8 {
        let highest = self
            .of(class)
            .priorities
            .iter()
            .rposition(|count| *count > 0);
        highest.unwrap_or_default() as u8
    }

    /// The next one of a class whose time has come. One that is repeated waits again, by its own
    /// rhythm.
    pub fn take(&mut self, class: Class, now_ns: u64) -> Option<Fired> {
        let entry = self.timer(class).take(now_ns)?;
        let it = self.entries[entry as usize];
        let waiting = it.waiting?;
        let id = AlarmId {
            entry,
            generation: it.generation,
        };
        self.take_out(entry, &waiting);
        let (due_ns, ..) = waiting.order;
        let alarm = waiting.alarm;
        let late = now_ns.saturating_sub(due_ns).checked_div(alarm.interval_ns);
        let count = late.map_or(1, |it| it + 1);
        match late {
            Some(_) => self.repeat(entry, alarm, due_ns, count),
            None => self.end(entry, alarm.uid),
        }
        Some(Fired {
            id,
            alarm,
            due_ns,
            count,
            is_repeated: late.is_some(),
        })
    }

    fn repeat(&mut self, entry: u32, mut alarm: Alarm, due_ns: u64, count: u64) {
        let later = alarm.interval_ns.saturating_mul(count);
        alarm.trigger = match alarm.trigger {
            Trigger::Elapsed(_) => Trigger::Elapsed(due_ns.saturating_add(later)),
            Trigger::Wall(at) => Trigger::Wall(at.saturating_add(later)),
        };
        let at = self.elapsed(alarm.trigger);
        self.wait(entry, alarm, at);
    }

    /// Somebody has set the wall clock: what is given by it moves. Among equals the order stays.
    pub fn wall_changed(&mut self, wall_at_start_ns: u64) {
        self.wall_at_start_ns = wall_at_start_ns;
        let by_wall = |it: &Waiting| matches!(it.alarm.trigger, Trigger::Wall(_));
        for entry in 0..ALARMS_MAX as u32 {
            let waiting = self.entries[entry as usize].waiting.filter(by_wall);
            let Some(mut waiting) = waiting else {
                continue;
            };
            self.take_out(entry, &waiting);
            waiting.order.0 = self.elapsed(waiting.alarm.trigger);
            self.timer(waiting.alarm.class()).push(entry, &waiting);
            self.entries[entry as usize].waiting = Some(waiting);
        }
        // What may come by a time that is over has to be found again.
        self.urgent.is_over_ns = 0;
        self.ordinary.is_over_ns = 0;
    }

    /// All that wait, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (AlarmId, Alarm)> {
        self.entries.iter().enumerate().filter_map(|(at, it)| {
            let id = AlarmId {
                entry: at as u32,
                generation: it.generation,
            };
            it.waiting.map(|waiting| (id, waiting.alarm))
        })
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        ALARMS_MAX - self.free.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self) {
        let mut counts = BTreeMap::new();
        for (_, it) in self.iter() {
            *counts.entry(it.uid).or_insert(0) += 1;
        }
        let own = self.counts.iter().filter(|(_, count)| **count > 0);
        assert!(own.eq(counts.iter()), "as many as the uids have");
        let mut waiting = 0;
        for timer in [&self.urgent, &self.ordinary] {
            timer.starts.assert_consistent();
            timer.ends.assert_consistent();
            assert_eq!(timer.starts.len(), timer.ends.len());
            let of_all: u32 = timer.priorities.iter().sum();
            assert_eq!(timer.starts.len(), of_all as usize);
            waiting += timer.starts.len();
        }
        assert_eq!(waiting, self.len());
    }
}
