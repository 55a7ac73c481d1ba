// SPDX-License-Identifier: Apache-2.0
//! [`Alarms`]: which PendingIntent is sent when. The keeper of the state has the clock ([`Times`]),
//! and says what is due.

use std::collections::BTreeMap;
use std::sync::Arc;

use server::PendingId;
use server::alarms::{Alarm, AlarmId, Fired, TooMany};

/// A clock of alarms. Neither call waits for a delivery: O(log n).
pub trait Times: Send + Sync + 'static {
    /// Sets one.
    ///
    /// # Errors
    ///
    /// [`TooMany`]
    fn set(&self, alarm: Alarm) -> Result<AlarmId, TooMany>;

    /// Takes one back, if it has not come.
    fn remove(&self, id: AlarmId);
}

/// What a person is told of the next alarm clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AlarmClock {
    /// In ms since 1970.
    pub(crate) at: i64,
    /// What shows it.
    pub(crate) show: Option<PendingId>,
}

struct Waiting {
    id: AlarmId,
    uid: u32,
    clock: Option<AlarmClock>,
}

/// See the module. At most one for each PendingIntent, as on Android.
#[derive(Default)]
pub struct Alarms {
    times: Option<Arc<dyn Times>>,
    all: BTreeMap<PendingId, Waiting>,
}

impl Alarms {
    /// Alarms come by this clock.
    pub fn begin(&mut self, times: Arc<dyn Times>) {
        self.times = Some(times);
    }

    /// Is there a clock?
    pub(crate) fn has_clock(&self) -> bool {
        self.times.is_some()
    }

    /// Sets one in the place of another of the same PendingIntent.
    pub(crate) fn set(
        &mut self,
        pending: PendingId,
        alarm: Alarm,
        clock: Option<AlarmClock>,
    ) -> Result<(), TooMany> {
        self.remove(pending);
        let Some(times) = &self.times else {
            return Ok(());
        };
        let (id, uid) = (times.set(alarm)?, alarm.uid);
        self.all.insert(pending, Waiting { id, uid, clock });
        Ok(())
    }

    /// Takes one back.
    pub(crate) fn remove(&mut self, pending: PendingId) {
        if let Some((times, it)) = self.times.as_ref().zip(self.all.remove(&pending)) {
            times.remove(it.id);
        }
    }

    /// Takes all of a user back. O(n).
    pub fn end_user(&mut self, uid: u32) {
        self.retain(|_, it| it.uid != uid);
    }

    /// Takes those back whose PendingIntent is not there any more. O(n).
    pub(crate) fn keep(&mut self, is_there: impl Fn(PendingId) -> bool) {
        self.retain(|id, _| is_there(id));
    }

    fn retain(&mut self, stays: impl Fn(PendingId, &Waiting) -> bool) {
        let times = &self.times;
        self.all.retain(|id, it| {
            let stays = stays(*id, it);
            if let Some(times) = times.as_ref().filter(|_| !stays) {
                times.remove(it.id);
            }
            stays
        });
    }

    /// What one that has come is to send; none if it was taken back meanwhile.
    pub(crate) fn taken(&mut self, fired: &Fired) -> Option<PendingId> {
        let pending = PendingId(fired.alarm.payload.0);
        self.all.get(&pending).filter(|it| it.id == fired.id)?;
        if !fired.is_repeated {
            self.all.remove(&pending);
        }
        Some(pending)
    }

    /// The alarm clock that rings first.
    pub(crate) fn next_clock(&self) -> Option<AlarmClock> {
        let all = self.all.values().filter_map(|it| it.clock);
        all.min_by_key(|it| it.at)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use rt::sync::PiMutex;
    use server::Payload;
    use server::alarms::{Class, Trigger};

    use super::*;

    struct Clock(PiMutex<server::Alarms>);

    impl Times for Clock {
        fn set(&self, alarm: Alarm) -> Result<AlarmId, TooMany> {
            self.0.lock().set(alarm)
        }

        fn remove(&self, id: AlarmId) {
            self.0.lock().remove(id);
        }
    }

    fn at(at: u64, uid: u32, pending: u64) -> Alarm {
        Alarm {
            uid,
            trigger: Trigger::Elapsed(at),
            window_ns: 0,
            interval_ns: 0,
            priority: 0,
            wakes: true,
            payload: Payload(pending),
        }
    }

    #[test]
    fn one_of_a_pending_intent_gives_way_to_the_next() {
        let clock = Arc::new(Clock(PiMutex::new(server::Alarms::new(0))));
        let mut alarms = Alarms::default();
        alarms.begin(clock.clone());
        let ring = |at| Some(AlarmClock { at, show: None });
        alarms.set(PendingId(1), at(10, 5, 1), ring(70)).unwrap();
        alarms.set(PendingId(1), at(30, 5, 1), ring(90)).unwrap();
        alarms.set(PendingId(2), at(20, 6, 2), ring(80)).unwrap();
        alarms.set(PendingId(3), at(20, 6, 3), None).unwrap();
        assert_eq!(alarms.next_clock().map(|it| it.at), Some(80));
        let take = || clock.0.lock().take(Class::Ordinary, 20);
        let fired = take().expect("one is due");
        assert_eq!(alarms.taken(&fired), Some(PendingId(2)));
        // It was taken back between its time and its taking.
        let fired = take().expect("another is due");
        alarms.end_user(6);
        assert_eq!(alarms.taken(&fired), None);
        assert!(take().is_none());
        alarms.keep(|it| it != PendingId(1));
        assert!(alarms.is_empty() && clock.0.lock().is_empty());
    }
}
