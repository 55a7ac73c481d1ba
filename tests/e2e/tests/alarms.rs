// SPDX-License-Identifier: Apache-2.0
//! Alarms and PendingIntents: an application's, by AOSP's own AlarmManager; and the store against
//! AOSP's, on random scripts without windows.

use e2e::apps::{WAYS, ask_class, run, said};
use e2e::world::World;
use fastrand::Rng;
use server::alarms::{Alarm, AlarmId, Class, Trigger};
use server::{Alarms, Payload};

const SCRIPTS: u64 = 10_000;
const STEPS: usize = 12;
const SEED: u64 = 23;
const WALL_MS: u64 = 1_000_000;

const SAID: [&str; 18] = [
    "listeners first second third fourth",
    "not early true",
    "taken back moved behind",
    "before null",
    "the same true of org.example.alarms, broadcast true, immutable true",
    "alarm ring with one",
    "immutable ring with three",
    "mutable open with own and more",
    "service with five",
    "once once with six, again false",
    "cancelled told of its end, sent false",
    "repeated tick with seven, tick with seven, tick with seven",
    "cancelled, then after",
    "no clock null",
    "next clock true",
    "exact true, no clock null",
    "limit 2000 Maximum limit of concurrent alarms 2000 reached for uid",
    "then room",
];

#[test]
fn alarms_come_as_they_were_asked_for() {
    for way in WAYS {
        let run = run(way, "alarms", &["--service", ".Sleeper"]);
        let said = said(&run.stderr, "Alarms");
        assert_eq!(
            said.split_last().map(|it| it.0.as_str()),
            Some("done"),
            "{run:#?}"
        );
        assert_eq!(said[..said.len() - 1], SAID, "{way:?}");
        assert_eq!(run.code, 0, "{way:?}");
    }
}

const ALARMS: &str = "org.example.alarms";

/// Under the server an alarm comes to a new process where the old one was killed, and ends with its
/// package.
#[test]
fn an_alarm_outlives_its_process() {
    let world = World::begin();
    world.install("alarms");
    world.said(&["am", "startservice", "-n", "org.example.alarms/.Sleeper"]);
    world.await_line(ALARMS, "Alarms", "done");
    let said = world.log(ALARMS, "Alarms");
    assert_eq!(said[..said.len() - 1], SAID);
    let late = ["am", "startservice", "-n", "org.example.alarms/.Late"];
    world.said(&late);
    world.await_line(ALARMS, "Late", "set, next true true");
    let pid = world.pid(ALARMS);
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(killed.expect("kill is there").success());
    world.await_line(ALARMS, "Bell", "late 1");
    assert_ne!(world.pid(ALARMS), pid);
    let has = |count: usize| {
        world
            .said(&["dumpsys"])
            .contains(&format!("\nalarms: {count}\n"))
    };
    assert!(has(1), "the alarm clock");
    world.said(&["am", "force-stop", ALARMS]);
    assert!(has(0));
}

/// A script as AOSP's side reads it, and what ours answers.
#[derive(Default)]
struct Script {
    lines: Vec<String>,
    answers: Vec<String>,
}

/// Ours, as AOSP's store is: one class, times in milliseconds.
struct Ours {
    alarms: Alarms,
    ids: Vec<(u64, AlarmId)>,
    now: u64,
}

impl Ours {
    fn pending(&mut self) -> String {
        let fired = std::iter::from_fn(|| self.alarms.take(Class::Ordinary, self.now));
        let mut numbers: Vec<u64> = fired.map(|it| it.alarm.payload.0).collect();
        // AOSP's own order is none within an instant, and its caller sorts.
        numbers.sort_unstable();
        self.ids.retain(|(number, _)| !numbers.contains(number));
        format!("{numbers:?}")
    }

    fn state(&self) -> String {
        let due = self.alarms.due(Class::Ordinary).unwrap_or(0);
        format!("{due} {}", self.alarms.len())
    }
}

fn step(all: &mut Script, ours: &mut Ours, rng: &mut Rng, number: u64) {
    match rng.u8(..10) {
        0..5 => {
            let at = ours.now.saturating_sub(10) + rng.u64(1..60);
            let is_wall = rng.bool();
            let (kind, trigger, at) = match is_wall {
                true => (1, Trigger::Wall(at + WALL_MS), at + WALL_MS),
                false => (3, Trigger::Elapsed(at), at),
            };
            let alarm = Alarm {
                uid: 1,
                trigger,
                window_ns: 0,
                interval_ns: 0,
                priority: 0,
                wakes: false,
                payload: Payload(number),
            };
            let id = ours.alarms.set(alarm).expect("there is room");
            ours.ids.push((number, id));
            all.lines.push(format!("add {number} {kind} {at}"));
        }
        5 if !ours.ids.is_empty() => {
            let at = rng.usize(..ours.ids.len());
            let (number, id) = ours.ids.swap_remove(at);
            assert!(ours.alarms.remove(id).is_some());
            all.lines.push(format!("remove {number}"));
        }
        6 if rng.u8(..4) == 0 => {
            let wall = WALL_MS - 20 + rng.u64(..40);
            ours.alarms.wall_changed(wall);
            all.lines.push(format!("wall {wall}"));
        }
        _ => {
            ours.now += rng.u64(1..25);
            all.lines.push(format!("pending {}", ours.now));
            all.answers.push(ours.pending());
        }
    }
    all.lines.push("state".to_owned());
    all.answers.push(ours.state());
}

#[test]
fn aosps_store_answers_as_ours() {
    let mut rng = Rng::with_seed(SEED);
    let mut all = Script::default();
    let mut ours = Ours {
        alarms: Alarms::new(0),
        ids: Vec::new(),
        now: 0,
    };
    let mut number = 0;
    for _ in 0..SCRIPTS {
        // The store is large: it is emptied, not made anew.
        for (_, id) in ours.ids.drain(..) {
            ours.alarms.remove(id);
        }
        ours.now = 0;
        ours.alarms.wall_changed(WALL_MS);
        all.lines.push(format!("new {WALL_MS}"));
        for _ in 0..rng.usize(1..=STEPS) {
            number += 1;
            step(&mut all, &mut ours, &mut rng, number);
        }
    }
    let theirs = ask_class("com.android.server.alarm.AlarmScript", &all.lines);
    assert_eq!(theirs.len(), all.answers.len());
    let asked = |it: &&String| it.starts_with("pending") || *it == "state";
    let questions = all.lines.iter().filter(asked);
    for ((question, ours), theirs) in questions.zip(&all.answers).zip(&theirs) {
        assert_eq!(ours, theirs, "{question}");
    }
    let fired = all
        .answers
        .iter()
        .filter(|it| it.starts_with("[") && *it != "[]");
    let fired = fired.count();
    assert!(fired > 5_000, "only {fired} looks find an alarm");
}
