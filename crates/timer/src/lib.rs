// SPDX-License-Identifier: Apache-2.0
//! [`AlarmClock`]: `server`'s alarms at their time. A thread for each class waits in
//! [`AlarmClock::wait`]; setting or taking back an alarm wakes it if its next time has changed.
//!
//! The thread of the urgent class runs at the priority of the most urgent alarm that waits. It is
//! given more by who sets a more urgent one, and gives it back before it waits again. So an alarm
//! waits for nobody less urgent than the class's most urgent alarm: the rest of one delivery, and
//! the lock, which inherits and is held for O(log n).
//!
//! [`machine`] says what jobs wait for beside their time.
//!
//! Here is no Java, and nothing is delivered: who waits does that.
#![forbid(unsafe_code)]

pub mod machine;

use rt::clock::{Clock as _, ClockChanges, Monotonic, since_start_ns, wall_ns};
use rt::policy::{Policy, Priority, Tid};
use rt::sync::{PiCondvar, PiMutex, PiMutexGuard};
use server::Alarms;
use server::alarms::{Alarm, AlarmId, Class, Fired, TooMany};

/// The thread that waits for a class's alarms.
#[derive(Debug)]
struct Waiter {
    tid: Tid,
    /// Its real-time priority as last set here; 0 for an ordinary one.
    priority: u8,
}

#[derive(Debug)]
struct State {
    alarms: Alarms,
    urgent: Option<Waiter>,
    /// Times that the kernel refused a priority.
    refused: u64,
    is_closed: bool,
}

impl State {
    /// The calling thread is the urgent one from now on. What waits already, or is due, raises it
    /// at once.
    fn register_urgent(&mut self) {
        let tid = Tid::current();
        if self.urgent.as_ref().is_some_and(|it| it.tid == tid) {
            return;
        }
        let priority = Policy::of_current().ok().and_then(Policy::priority);
        let priority = priority.map_or(0, Priority::get);
        self.urgent = Some(Waiter { tid, priority });
        if priority < self.alarms.highest(Class::Urgent) {
            self.raise();
        }
    }

    /// Gives the urgent thread the priority of what waits: one system call, if it changes.
    fn raise(&mut self) {
        let highest = self.alarms.highest(Class::Urgent);
        let Some(waiter) = &mut self.urgent else {
            return;
        };
        let Some(priority) = Priority::new(highest).filter(|it| it.get() != waiter.priority) else {
            return;
        };
        match Policy::Fifo(priority).apply(waiter.tid) {
            Ok(()) => waiter.priority = highest,
            Err(_) => self.refused += 1,
        }
    }
}

/// Alarms, and who waits for them.
#[derive(Debug)]
pub struct AlarmClock {
    state: PiMutex<State>,
    urgent: PiCondvar,
    ordinary: PiCondvar,
}

impl Default for AlarmClock {
    fn default() -> Self {
        Self::new()
    }
}

impl AlarmClock {
    /// No alarm yet.
    pub fn new() -> Self {
        Self {
            state: PiMutex::new(State {
                alarms: Alarms::new(wall_at_start_ns()),
                urgent: None,
                refused: 0,
                is_closed: false,
            }),
            urgent: PiCondvar::new(),
            ordinary: PiCondvar::new(),
        }
    }

    /// Sets an alarm. Bound: O(log n), and two system calls if it is the next one.
    ///
    /// # Errors
    ///
    /// [`TooMany`]
    pub fn set(&self, alarm: Alarm) -> Result<AlarmId, TooMany> {
        let class = alarm.class();
        let mut state = self.state.lock();
        let before = state.alarms.due(class);
        let id = state.alarms.set(alarm)?;
        if class == Class::Urgent {
            let waiter = state.urgent.as_ref();
            if waiter.is_some_and(|it| it.priority < alarm.priority) {
                state.raise();
            }
        }
        if state.alarms.due(class) != before {
            self.condition(class).notify_one(&state);
        }
        Ok(id)
    }

    /// Takes an alarm back; what it was. None if it has come. O(log n).
    pub fn remove(&self, id: AlarmId) -> Option<Alarm> {
        self.state.lock().alarms.remove(id)
    }

    /// Takes all of a uid back. O(n log n).
    pub fn end_uid(&self, uid: u32) -> usize {
        self.state.lock().alarms.end_uid(uid).len()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.state.lock().alarms.len()
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Times that the kernel refused the urgent thread its priority: CAP_SYS_NICE is missing.
    pub fn refused(&self) -> u64 {
        self.state.lock().refused
    }

    /// Waits for the next alarm of a class. None once the clock is closed. One thread for each
    /// class: it is the one that gets the class's priority.
    pub fn wait(&self, class: Class) -> Option<Fired> {
        let mut state = self.state.lock();
        if class == Class::Urgent {
            state.register_urgent();
        }
        loop {
            if state.is_closed {
                return None;
            }
            let now_ns = since_start_ns();
            if let Some(fired) = state.alarms.take(class, now_ns) {
                return Some(fired);
            }
            if class == Class::Urgent {
                state.raise();
            }
            self.sleep(class, &mut state, now_ns);
        }
    }

    fn sleep(&self, class: Class, state: &mut PiMutexGuard<'_, State>, now_ns: u64) {
        let condition = self.condition(class);
        let Some(due_ns) = state.alarms.due(class) else {
            return condition.wait(state);
        };
        // Sleepers use the monotonic clock, which stands still while the machine sleeps: then
        // `watch` looks again.
        let due_ns = Monotonic.now_ns() + due_ns.saturating_sub(now_ns);
        // Why it is awake does not matter: the caller looks.
        let _ = condition.wait_until(state, due_ns);
    }

    fn condition(&self, class: Class) -> &PiCondvar {
        match class {
            Class::Urgent => &self.urgent,
            Class::Ordinary => &self.ordinary,
        }
    }

    /// Moves what is given by the wall clock whenever somebody sets it, and calls `changed` then;
    /// for a thread of its own. Returns if the kernel has no such timer, or the clock is closed at
    /// a change.
    pub fn watch(&self, mut changed: impl FnMut()) {
        let Ok(changes) = ClockChanges::new() else {
            return;
        };
        // What was set between the clock's making and the timer's.
        self.look_at_wall();
        while changes.wait().is_ok() && self.look_at_wall() {
            changed();
        }
    }

    fn look_at_wall(&self) -> bool {
        let mut state = self.state.lock();
        state.alarms.wall_changed(wall_at_start_ns());
        self.urgent.notify_one(&state);
        self.ordinary.notify_one(&state);
        !state.is_closed
    }

    /// Nobody waits any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        self.urgent.notify_all(&state);
        self.ordinary.notify_all(&state);
    }
}

/// The wall clock's time when the machine started, as far as one can say now.
fn wall_at_start_ns() -> u64 {
    wall_ns().saturating_sub(since_start_ns())
}
