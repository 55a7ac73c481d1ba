// SPDX-License-Identifier: Apache-2.0
//! Alarms: what processes ask for, and what is sent when one has come.

use binder::Binder;
use binder::stub::{Answer, Exception};
use server::alarms::{Alarm, Fired, Trigger};
use server::broadcasts::{Sender, Shout};
use server::packages::SYSTEM_UID;
use server::{Payload, ProcessId};

use super::{Event, Timed, Wish, callers_priority, full};
use crate::alarms::AlarmClock;
use crate::state::{NotSent, State};

const NANOS_PER_MILLI: u64 = 1_000_000;
/// `Intent.ACTION_TIME_CHANGED`, which only the system sends.
const TIME_CHANGED: &str = "android.intent.action.TIME_SET";
/// `Intent.FLAG_RECEIVER_REPLACE_PENDING`.
const REPLACE_PENDING: i32 = 0x2000_0000;

/// Negative times are over.
pub(super) fn nanos(millis: i64) -> u64 {
    let millis = millis.max(0).cast_unsigned();
    millis.saturating_mul(NANOS_PER_MILLI)
}

impl Event<'_> {
    /// As urgent as the thread that calls.
    pub(super) fn set_alarm(&mut self, operation: &Binder, timed: &Timed) -> Answer<()> {
        if !self.state.alarms.has_clock() {
            let text = "this server has no clock: alarms are its process's own";
            return Err(Exception::new(Exception::UNSUPPORTED_OPERATION, text).into());
        }
        let Some(pending) = self.state.senders.find(operation) else {
            // One that has ended is sent to nobody.
            return Ok(());
        };
        let trigger = if timed.is_wall {
            Trigger::Wall
        } else {
            Trigger::Elapsed
        };
        let alarm = Alarm {
            uid: self.uid,
            trigger: trigger(nanos(timed.at)),
            window_ns: nanos(timed.window),
            interval_ns: nanos(timed.interval),
            priority: callers_priority(),
            wakes: timed.wakes,
            payload: Payload(pending.0),
        };
        let show = timed.show.as_ref();
        let clock = timed.is_clock.then(|| AlarmClock {
            at: timed.at,
            show: show.and_then(|it| self.state.senders.find(it)),
        });
        let set = self.state.alarms.set(pending, alarm, clock);
        set.map_err(|it| full(&it))
    }

    pub(super) fn remove_alarm(&mut self, operation: &Binder) {
        if let Some(pending) = self.state.senders.find(operation) {
            self.state.alarms.remove(pending);
        }
    }

    pub(super) fn remove_alarms(&mut self) {
        self.state.alarms.end_user(self.uid);
    }

    /// The alarm clock that rings first.
    pub(super) fn next_clock(&mut self, make: impl FnOnce() -> Binder) -> Option<Timed> {
        let AlarmClock { at, show } = self.state.alarms.next_clock()?;
        Some(Timed {
            is_wall: true,
            at,
            is_clock: true,
            show: show.map(|it| self.state.senders.of(it, make)),
            ..Timed::default()
        })
    }
}

impl State {
    /// An alarm has come: what it is for is sent, as urgently as it was set.
    pub fn fire(&mut self, fired: &Fired, now: u64) {
        let Some(pending) = self.alarms.taken(fired) else {
            return;
        };
        let mut event = Event {
            state: self,
            process: ProcessId::default(),
            uid: SYSTEM_UID,
            now,
        };
        let how = super::pending::Sending {
            priority: fired.alarm.priority,
            alarm_count: i32::try_from(fired.count).unwrap_or(i32::MAX),
            ..Default::default()
        };
        // Nobody is there to be told of what takes it not, or is not there any more.
        let _ = event.send(pending, &Wish::default(), &how);
    }

    /// Somebody has set the clock.
    ///
    /// # Errors
    ///
    /// [`NotSent`]
    pub fn time_changed(&mut self, now: u64) -> Result<(), NotSent> {
        let wish = Wish {
            action: Some(TIME_CHANGED.to_owned()),
            flags: REPLACE_PENDING,
            ..Wish::default()
        };
        let sender = Sender {
            uid: SYSTEM_UID,
            ..Sender::default()
        };
        self.broadcast(sender, wish, Shout::default(), now)
            .map(drop)
    }
}
