// SPDX-License-Identifier: Apache-2.0
//! Alarms against a list that is looked through from end to end: random scripts, each with the
//! number that replays it. AOSP's own store is asked in `tests/e2e/tests/alarms.rs`.

use std::cmp::Reverse;

use fastrand::Rng;
use server::alarms::{
    ALARMS_MAX, ALARMS_PER_UID_MAX, Alarm, AlarmId, Class, Fired, TooMany, Trigger,
};
use server::{Alarms, Payload};

const SCRIPTS: u64 = 500;
const STEPS: usize = 400;
/// The whole is checked each so many steps.
const CHECKED: usize = 50;
const SEED: u64 = 23;
const WALL_NS: u64 = 1_000_000;

fn once(at: u64, priority: u8, payload: u64) -> Alarm {
    Alarm {
        uid: 10_000,
        trigger: Trigger::Elapsed(at),
        window_ns: 0,
        interval_ns: 0,
        priority,
        wakes: true,
        payload: Payload(payload),
    }
}

fn payloads(alarms: &mut Alarms, class: Class, now: u64) -> Vec<u64> {
    std::iter::from_fn(|| alarms.take(class, now))
        .map(|it| it.alarm.payload.0)
        .collect()
}

#[test]
fn a_thousand_of_one_instant_come_by_priority_and_then_as_they_were_set() {
    let mut alarms = Alarms::new(0);
    let mut rng = Rng::with_seed(SEED);
    let mut expected = Vec::new();
    for number in 0..1_000 {
        let priority = rng.u8(1..=99);
        alarms.set(once(500, priority, number)).unwrap();
        expected.push((Reverse(priority), number));
    }
    expected.sort();
    assert_eq!(payloads(&mut alarms, Class::Urgent, 499), Vec::<u64>::new());
    let came = payloads(&mut alarms, Class::Urgent, 500);
    let expected: Vec<u64> = expected.into_iter().map(|(_, number)| number).collect();
    assert_eq!(came, expected);
    assert!(alarms.is_empty());
}

#[test]
fn urgent_and_ordinary_ones_have_timers_of_their_own() {
    let mut alarms = Alarms::new(0);
    alarms.set(once(10, 0, 1)).unwrap();
    alarms.set(once(20, 50, 2)).unwrap();
    alarms.set(once(30, 90, 3)).unwrap();
    assert_eq!(alarms.due(Class::Ordinary), Some(10));
    assert_eq!(alarms.due(Class::Urgent), Some(20));
    assert_eq!(alarms.highest(Class::Urgent), 90);
    assert_eq!(payloads(&mut alarms, Class::Urgent, 100), [2, 3]);
    assert_eq!(alarms.highest(Class::Urgent), 0);
    assert_eq!(payloads(&mut alarms, Class::Ordinary, 100), [1]);
}

#[test]
fn a_window_lets_one_wait_for_the_next_that_must_come() {
    let mut alarms = Alarms::new(0);
    let window = |at, window_ns, payload| Alarm {
        window_ns,
        ..once(at, 0, payload)
    };
    alarms.set(window(100, 50, 1)).unwrap();
    alarms.set(window(120, 0, 2)).unwrap();
    alarms.set(window(121, 1_000, 3)).unwrap();
    // Not at 100, where the first might come.
    assert_eq!(alarms.due(Class::Ordinary), Some(120));
    assert_eq!(
        payloads(&mut alarms, Class::Ordinary, 119),
        Vec::<u64>::new()
    );
    assert_eq!(payloads(&mut alarms, Class::Ordinary, 120), [1, 2]);
    assert_eq!(alarms.due(Class::Ordinary), Some(1_121));
}

#[test]
fn one_that_is_repeated_keeps_its_rhythm_however_late_the_machine_is() {
    let mut alarms = Alarms::new(0);
    let every = Alarm {
        interval_ns: 10,
        ..once(100, 7, 1)
    };
    let id = alarms.set(every).unwrap();
    let fired = alarms.take(Class::Urgent, 135).unwrap();
    assert_eq!((fired.id, fired.due_ns, fired.count), (id, 100, 4));
    assert!(fired.is_repeated);
    assert_eq!(alarms.take(Class::Urgent, 135), None);
    assert_eq!(alarms.due(Class::Urgent), Some(140));
    assert!(alarms.remove(id).is_some());
    assert_eq!(alarms.due(Class::Urgent), None);
}

#[test]
fn who_sets_the_clock_moves_what_is_given_by_it_alone() {
    let mut alarms = Alarms::new(WALL_NS);
    let wall = Alarm {
        trigger: Trigger::Wall(WALL_NS + 100),
        ..once(0, 0, 1)
    };
    alarms.set(wall).unwrap();
    alarms.set(once(100, 0, 2)).unwrap();
    assert_eq!(alarms.due(Class::Ordinary), Some(100));
    // Back by 40: its time comes 40 later.
    alarms.wall_changed(WALL_NS - 40);
    assert_eq!(payloads(&mut alarms, Class::Ordinary, 139), [2]);
    assert_eq!(payloads(&mut alarms, Class::Ordinary, 140), [1]);
    alarms.set(wall).unwrap();
    // Forward beyond it: at once.
    alarms.wall_changed(WALL_NS + 1_000);
    assert_eq!(payloads(&mut alarms, Class::Ordinary, 0), [1]);
}

#[test]
fn a_uid_has_a_limit_and_takes_nothing_of_others() {
    let mut alarms = Alarms::new(0);
    for number in 0..10_000 {
        let set = alarms.set(once(number, 1, number));
        let is_in = number < u64::from(ALARMS_PER_UID_MAX);
        assert_eq!(set.is_ok(), is_in, "alarm {number}");
    }
    let refused = alarms.set(once(0, 1, 0));
    assert_eq!(refused, Err(TooMany::OfUid(10_000)));
    assert!(refused.unwrap_err().to_string().contains("10000"));
    let other = Alarm {
        uid: 10_001,
        ..once(5, 1, 77)
    };
    alarms.set(other).unwrap();
    assert_eq!(alarms.end_uid(10_000).len(), ALARMS_PER_UID_MAX as usize);
    assert_eq!(payloads(&mut alarms, Class::Urgent, 5), [77]);
    alarms.assert_consistent();
}

#[test]
fn all_uids_together_have_a_limit() {
    let mut alarms = Alarms::new(0);
    for number in 0..ALARMS_MAX as u64 {
        let uid = 10_000 + (number % 8) as u32;
        let it = Alarm {
            uid,
            ..once(number, 1, number)
        };
        alarms.set(it).unwrap();
    }
    let one_more = Alarm {
        uid: 20_000,
        ..once(0, 1, 0)
    };
    assert_eq!(alarms.set(one_more), Err(TooMany::OfAll));
    alarms.assert_consistent();
}

#[test]
fn a_number_that_is_gone_takes_no_other_alarm_back() {
    let mut alarms = Alarms::new(0);
    let first = alarms.set(once(1, 0, 1)).unwrap();
    assert_eq!(AlarmId::from_raw(first.to_raw()), first);
    assert!(alarms.remove(first).is_some());
    let second = alarms.set(once(2, 0, 2)).unwrap();
    assert_eq!(alarms.remove(first), None);
    assert_eq!(alarms.remove(AlarmId::from_raw(u64::MAX)), None);
    assert_eq!(alarms.len(), 1);
    assert!(alarms.remove(second).is_some());
}

/// What the heaps must do, by looking at every alarm.
#[derive(Default)]
struct List {
    all: Vec<(AlarmId, Alarm, u64)>,
    sequence: u64,
    wall_ns: u64,
    over: [u64; 2],
}

impl List {
    fn at(&self, alarm: &Alarm) -> u64 {
        match alarm.trigger {
            Trigger::Elapsed(at) => at,
            Trigger::Wall(at) => at.saturating_sub(self.wall_ns),
        }
    }

    fn add(&mut self, id: AlarmId, alarm: Alarm) {
        self.sequence += 1;
        self.all.push((id, alarm, self.sequence));
    }

    fn of(&self, class: Class) -> impl Iterator<Item = &(AlarmId, Alarm, u64)> {
        self.all.iter().filter(move |it| it.1.class() == class)
    }

    fn take(&mut self, class: Class, now: u64) -> Option<(AlarmId, Alarm, u64)> {
        let ends = self
            .of(class)
            .map(|it| self.at(&it.1).saturating_add(it.1.window_ns));
        let must = ends.min().is_some_and(|end| end <= now);
        let over = self.over[class as usize].max(if must { now } else { 0 });
        self.over[class as usize] = over;
        let may = self.of(class).filter(|it| self.at(&it.1) <= over);
        let first = may.min_by_key(|it| (self.at(&it.1), Reverse(it.1.priority), it.2));
        let (id, alarm, _) = *first?;
        let due = self.at(&alarm);
        self.all.retain(|it| it.0 != id);
        if let Some(late) = (now - due).checked_div(alarm.interval_ns) {
            let later = (late + 1) * alarm.interval_ns;
            let mut again = alarm;
            again.trigger = match alarm.trigger {
                Trigger::Elapsed(_) => Trigger::Elapsed(due + later),
                Trigger::Wall(at) => Trigger::Wall(at + later),
            };
            self.add(id, again);
        }
        Some((id, alarm, due))
    }
}

fn random(rng: &mut Rng, now: u64) -> Alarm {
    let at = now.saturating_sub(20) + rng.u64(..100);
    Alarm {
        uid: 10_000 + rng.u32(..3),
        trigger: match rng.u8(..3) {
            0 => Trigger::Wall(at + WALL_NS),
            _ => Trigger::Elapsed(at),
        },
        window_ns: if rng.bool() { 0 } else { rng.u64(..60) },
        interval_ns: if rng.u8(..4) > 0 { 0 } else { rng.u64(1..40) },
        priority: if rng.bool() { 0 } else { rng.u8(1..5) },
        wakes: rng.bool(),
        payload: Payload(rng.u64(..)),
    }
}

fn compare(fired: Option<Fired>, expected: Option<(AlarmId, Alarm, u64)>) {
    let fired = fired.map(|it| (it.id, it.alarm.payload, it.due_ns));
    let expected = expected.map(|(id, alarm, due)| (id, alarm.payload, due));
    assert_eq!(fired, expected);
}

fn play(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut alarms = Alarms::new(WALL_NS);
    let mut list = List {
        wall_ns: WALL_NS,
        ..List::default()
    };
    let mut now = 0;
    for step in 0..STEPS {
        match rng.u8(..10) {
            0..5 => {
                let it = random(&mut rng, now);
                list.add(alarms.set(it).unwrap(), it);
            }
            5 if !list.all.is_empty() => {
                let at = rng.usize(..list.all.len());
                let (id, alarm, _) = list.all.swap_remove(at);
                let removed = alarms.remove(id).unwrap();
                assert_eq!(removed.payload, alarm.payload);
            }
            6 if rng.u8(..8) == 0 => {
                list.wall_ns = WALL_NS - 500 + rng.u64(..1_000);
                list.over = [0; 2];
                alarms.wall_changed(list.wall_ns);
            }
            _ => {
                now += rng.u64(..30);
                let class = [Class::Urgent, Class::Ordinary][rng.usize(..2)];
                for _ in 0..rng.usize(..6) {
                    compare(alarms.take(class, now), list.take(class, now));
                }
            }
        }
        assert_eq!(alarms.len(), list.all.len());
        // It looks at all that there is room for.
        if step % CHECKED == 0 {
            alarms.assert_consistent();
        }
    }
    alarms.assert_consistent();
}

#[test]
fn random_scripts_go_as_with_a_list() {
    for script in 0..SCRIPTS {
        let seed = SEED + script;
        let played = std::panic::catch_unwind(|| play(seed));
        assert!(played.is_ok(), "the script of seed {seed}");
    }
}
