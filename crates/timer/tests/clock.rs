// SPDX-License-Identifier: Apache-2.0
//! Alarms on threads: order, who is raised, and what wakes a thread that sleeps for another alarm.
//! No test says how late one is: `takt bench alarms` does.

use std::sync::Arc;
use std::sync::mpsc;

use rt::clock::{since_start_ns, wall_ns};
use rt::policy::{Policy, Tid};
use rt::thread::Builder;
use server::Payload;
use server::alarms::{Alarm, Class, Trigger};
use timer::AlarmClock;

const SECOND_NS: u64 = 1_000_000_000;

fn at(after_ns: u64, priority: u8, payload: u64) -> Alarm {
    Alarm {
        uid: 10_000,
        trigger: Trigger::Elapsed(since_start_ns() + after_ns),
        window_ns: 0,
        interval_ns: 0,
        priority,
        wakes: true,
        payload: Payload(payload),
    }
}

/// What a class's thread says of each alarm that comes: which, and the thread's own priority then.
fn start(clock: &Arc<AlarmClock>, class: Class) -> mpsc::Receiver<(u64, u8)> {
    let (say, heard) = mpsc::sync_channel(64);
    let clock = Arc::clone(clock);
    let body = move || {
        while let Some(fired) = clock.wait(class) {
            assert!(since_start_ns() >= fired.due_ns, "never early");
            let own = Policy::of(Tid::current()).ok().and_then(Policy::priority);
            let own = own.map_or(0, |it| it.get());
            if say.send((fired.alarm.payload.0, own)).is_err() {
                return;
            }
        }
    };
    let thread = Builder::new("alarms").spawn(body);
    assert!(thread.is_ok(), "a thread");
    heard
}

#[test]
fn one_that_is_set_later_and_comes_earlier_wakes_the_sleeper() {
    let clock = Arc::new(AlarmClock::new());
    let heard = start(&clock, Class::Ordinary);
    let far = clock.set(at(3_600 * SECOND_NS, 0, 1)).unwrap();
    clock.set(at(1_000_000, 0, 2)).unwrap();
    assert_eq!(heard.recv(), Ok((2, 0)));
    assert!(clock.remove(far).is_some());
    assert!(clock.is_empty());
    clock.close();
    assert!(heard.recv().is_err(), "the thread has ended");
}

#[test]
fn the_urgent_thread_runs_at_the_most_urgent_alarms_priority() {
    let clock = Arc::new(AlarmClock::new());
    let heard = start(&clock, Class::Urgent);
    let due = since_start_ns() + SECOND_NS / 20;
    let mut expected = Vec::new();
    for priority in 1..=20 {
        let it = Alarm {
            trigger: Trigger::Elapsed(due),
            ..at(0, priority, priority.into())
        };
        clock.set(it).unwrap();
        expected.insert(0, u64::from(priority));
    }
    let came: Vec<(u64, u8)> = heard.iter().take(20).collect();
    let order: Vec<u64> = came.iter().map(|(payload, _)| *payload).collect();
    assert_eq!(order, expected);
    assert_eq!(clock.refused(), 0, "this test needs CAP_SYS_NICE");
    assert_eq!(came[0], (20, 20));
    // Back at the next one's priority before it sleeps again.
    clock.set(at(SECOND_NS / 100, 3, 3)).unwrap();
    assert_eq!(heard.recv(), Ok((3, 3)));
    clock.close();
}

#[test]
fn the_urgent_thread_that_comes_late_is_raised_for_what_is_due() {
    let clock = Arc::new(AlarmClock::new());
    clock.set(at(0, 40, 7)).unwrap();
    let urgent = start(&clock, Class::Urgent);
    assert_eq!(urgent.recv(), Ok((7, 40)));
    clock.close();
}

#[test]
fn an_ordinary_storm_is_another_threads() {
    let clock = Arc::new(AlarmClock::new());
    let urgent = start(&clock, Class::Urgent);
    for number in 0..1_500 {
        clock.set(at(0, 0, number)).unwrap();
    }
    clock.set(at(1_000_000, 40, 7)).unwrap();
    // Nobody takes the ordinary ones.
    assert_eq!(urgent.recv(), Ok((7, 40)));
    assert_eq!(clock.len(), 1_500);
    assert_eq!(clock.end_uid(10_000), 1_500);
    clock.close();
}

#[test]
fn an_alarm_of_the_wall_clock_comes_by_it() {
    let clock = Arc::new(AlarmClock::new());
    let heard = start(&clock, Class::Ordinary);
    let it = Alarm {
        trigger: Trigger::Wall(wall_ns() + 2_000_000),
        ..at(0, 0, 5)
    };
    clock.set(it).unwrap();
    assert_eq!(heard.recv(), Ok((5, 0)));
    clock.close();
}

fn set_wall_clock(ns: u64) {
    let time = rustix::time::Timespec {
        tv_sec: (ns / SECOND_NS).cast_signed(),
        tv_nsec: (ns % SECOND_NS).cast_signed(),
    };
    let set = rustix::time::clock_settime(rustix::time::ClockId::Realtime, time);
    set.expect("a guest of its own, and root");
}

/// Forwards over an alarm, then back before another: neither moves one that counts from the start.
#[test]
#[ignore = "sets the machine's clock: `make test` runs it in a guest"]
fn alarms_of_the_wall_clock_follow_it_when_it_jumps() {
    const HOUR_NS: u64 = 3_600 * SECOND_NS;
    let clock = Arc::new(AlarmClock::new());
    let heard = start(&clock, Class::Ordinary);
    let (say, told) = mpsc::sync_channel(8);
    let watched = Arc::clone(&clock);
    let watcher = Builder::new("watcher").spawn(move || {
        watched.watch(|| {
            let _ = say.try_send(());
        });
    });
    assert!(watcher.is_ok(), "a thread");
    let by_wall = |after_ns: u64, payload| Alarm {
        trigger: Trigger::Wall(wall_ns() + after_ns),
        ..at(0, 0, payload)
    };
    clock.set(by_wall(HOUR_NS, 1)).unwrap();
    clock.set(by_wall(3 * HOUR_NS, 2)).unwrap();
    let steady = clock.set(at(HOUR_NS, 0, 3)).unwrap();
    // Two changes: the watcher may not wait yet when the first comes.
    set_wall_clock(wall_ns() + 2 * HOUR_NS);
    set_wall_clock(wall_ns());
    assert_eq!(heard.recv(), Ok((1, 0)));
    assert_eq!(told.recv(), Ok(()));
    // An hour before it is two hours again.
    set_wall_clock(wall_ns() - HOUR_NS);
    assert_eq!(told.recv(), Ok(()));
    clock.set(at(SECOND_NS / 100, 0, 4)).unwrap();
    assert_eq!(heard.recv(), Ok((4, 0)), "not what is two hours away");
    set_wall_clock(wall_ns() + 2 * HOUR_NS);
    assert_eq!(heard.recv(), Ok((2, 0)));
    assert!(clock.remove(steady).is_some(), "its hour has not passed");
    clock.close();
}
