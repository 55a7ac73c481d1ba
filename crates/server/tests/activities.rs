// SPDX-License-Identifier: Apache-2.0
//! Launch modes, flags, results and the order of the life cycle, each as Android's documentation
//! has it. A stack is written from its root: `A B` has B in front; tasks from the back, by `|`.

use std::collections::BTreeMap;

use intent::{Component, Intent, Uri};
use server::activities::{
    ACTIVITIES_MAX, Declaration, DocumentMode, FinishTask, Home, LaunchMode, Refused, Start,
    Started, Then, flags,
};
use server::{Activities, ActivityId, Cx, Effect, Payload, ProcessId, ProcessKey, Processes};

/// `Activity.RESULT_OK`.
const OK: i32 = -1;
/// What each saves.
const SAVED: u64 = 9_999;

struct Screen {
    activities: Activities,
    processes: Processes,
    process: ProcessId,
    effects: Vec<Effect>,
    modes: BTreeMap<&'static str, LaunchMode>,
    affinities: BTreeMap<&'static str, &'static str>,
    document: Option<&'static str>,
    document_mode: DocumentMode,
    payloads: u64,
    log: Vec<String>,
}

impl Screen {
    fn new(home: Home) -> Self {
        let mut processes = Processes::default();
        let key = key();
        let process = processes.adopt(&key, "p", 1).expect("the first");
        Self {
            activities: Activities::new(home),
            processes,
            process,
            effects: Vec::new(),
            modes: BTreeMap::new(),
            affinities: BTreeMap::new(),
            document: None,
            document_mode: DocumentMode::None,
            payloads: 0,
            log: Vec::new(),
        }
    }

    /// With A in front.
    fn with_a() -> Self {
        let mut screen = Self::new(Home::Nowhere);
        screen.start("A", 0).expect("it starts");
        screen.log.clear();
        screen
    }

    fn mode(mut self, name: &'static str, mode: LaunchMode) -> Self {
        self.modes.insert(name, mode);
        self
    }

    fn affinity(mut self, name: &'static str, affinity: &'static str) -> Self {
        self.affinities.insert(name, affinity);
        self
    }

    fn ask<T>(&mut self, ask: impl FnOnce(&mut Activities, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx {
            processes: &mut self.processes,
            effects: &mut self.effects,
            now: 0,
        };
        let answer = ask(&mut self.activities, &mut cx);
        self.play();
        answer
    }

    /// The process does what it is asked, until nothing is left to do.
    fn play(&mut self) {
        for _ in 0..10_000 {
            let effects = std::mem::take(&mut self.effects);
            if effects.is_empty() {
                let before = self.effects.len();
                let (activities, mut cx) = self.parts();
                activities.idle(&mut cx);
                if self.effects.len() == before {
                    self.activities.assert_consistent(&self.processes);
                    return;
                }
                continue;
            }
            for effect in effects {
                self.carry_out(effect);
            }
            self.activities.assert_consistent(&self.processes);
        }
        panic!(
            "it has no end: {:?}",
            self.log.iter().rev().take(20).collect::<Vec<_>>()
        );
    }

    fn parts(&mut self) -> (&mut Activities, Cx<'_>) {
        let cx = Cx {
            processes: &mut self.processes,
            effects: &mut self.effects,
            now: 0,
        };
        (&mut self.activities, cx)
    }

    fn carry_out(&mut self, effect: Effect) {
        let Effect::Activity {
            activity, visit, ..
        } = effect
        else {
            if effect == Effect::Home {
                self.log.push("home".to_owned());
            }
            return;
        };
        let name = self.activities.get(activity);
        let name = name.map_or_else(
            || "?".to_owned(),
            |it| it.declaration.component.class.clone(),
        );
        if visit.create.is_some() {
            let with = visit.saved.map(|_| " with what it saved");
            let with = with.unwrap_or_default();
            self.log.push(format!("{name} created{with}"));
        }
        for it in &visit.results {
            let (request, code) = (it.request, it.code);
            self.log.push(format!("{name} result {request}={code}"));
        }
        for it in &visit.intents {
            self.log.push(format!("{name} intent {}", it.0));
        }
        let (activities, mut cx) = self.parts();
        match visit.then {
            Then::Resume => activities.resumed(activity, &mut cx),
            Then::Pause => activities.paused(activity, &mut cx),
            Then::Stop => activities.stopped(activity, Some(Payload(SAVED)), &mut cx),
            Then::Stay | Then::Destroy => {}
        }
        let word = match visit.then {
            Then::Stay => return,
            Then::Resume => "resumed",
            Then::Pause => "paused",
            Then::Stop => "stopped",
            Then::Destroy => "destroyed",
        };
        self.log.push(format!("{name} {word}"));
    }

    fn wish(&mut self, name: &'static str, flags: u32) -> Start {
        self.payloads += 1;
        let component = Component {
            package: "p".to_owned(),
            class: name.to_owned(),
        };
        let affinity = self.affinities.get(name).copied().unwrap_or("p");
        Start {
            intent: Intent {
                component: Some(component.clone()),
                data: self.document.map(Uri::new),
                ..Intent::default()
            },
            declaration: Declaration {
                component,
                process: key(),
                launch_mode: self.modes.get(name).copied().unwrap_or_default(),
                document_mode: self.document_mode,
                affinity: Some(affinity.to_owned()).filter(|it| !it.is_empty()),
                has_no_history: false,
                is_home: false,
            },
            flags,
            payload: Payload(self.payloads),
            source: self.activities.top(),
            request: None,
        }
    }

    fn start(&mut self, name: &'static str, flags: u32) -> Result<Started, Refused> {
        let start = self.wish(name, flags);
        self.ask(|it, cx| it.start(start, cx))
    }

    fn start_for_result(
        &mut self,
        name: &'static str,
        request: i32,
        flags: u32,
    ) -> Result<Started, Refused> {
        let start = Start {
            request: Some(request),
            ..self.wish(name, flags)
        };
        self.ask(|it, cx| it.start(start, cx))
    }

    fn all(&mut self, names: &[&'static str]) {
        for name in names {
            self.start(name, 0).expect("it starts");
        }
        self.log.clear();
    }

    fn find(&self, name: &str) -> ActivityId {
        let mut all = self.activities.iter();
        let found = all.find(|(_, it)| it.declaration.component.class == name);
        found
            .map(|(id, _)| id)
            .unwrap_or_else(|| panic!("no {name}"))
    }

    fn finish(&mut self, name: &str, code: i32, with: FinishTask) {
        let id = self.find(name);
        assert!(self.ask(|it, cx| it.finish(id, code, None, with, cx)));
    }

    fn back(&mut self) {
        let top = self.activities.top().expect("one in front");
        self.ask(|it, cx| it.finish(top, 0, None, FinishTask::No, cx));
    }

    fn stacks(&self) -> String {
        let name = |id: &ActivityId| {
            let record = self.activities.get(*id).expect("it lies in a task");
            record.declaration.component.class.clone()
        };
        let tasks = self.activities.tasks().iter().map(|task| {
            let all: Vec<_> = task.activities.iter().map(name).collect();
            if task.is_home && all.is_empty() {
                "home".to_owned()
            } else {
                all.join(" ")
            }
        });
        tasks.collect::<Vec<_>>().join(" | ")
    }

    #[track_caller]
    fn has(&self, stacks: &str, log: &[&str]) {
        assert_eq!(self.stacks(), stacks);
        assert_eq!(self.log, log);
    }
}

fn key() -> ProcessKey {
    ProcessKey {
        uid: 10_000,
        name: "p".to_owned(),
    }
}

#[test]
fn standard_makes_a_new_one_each_time() {
    let mut screen = Screen::with_a();
    screen.all(&["B", "B"]);
    screen.has("A B B", &[]);
}

#[test]
fn one_comes_to_the_front_after_the_other_has_paused() {
    let mut screen = Screen::with_a();
    screen.start("B", 0).expect("it starts");
    screen.has("A B", &["A paused", "B created", "B resumed", "A stopped"]);
    screen.log.clear();
    screen.back();
    screen.has("A", &["B paused", "A resumed", "? destroyed"]);
}

#[test]
fn single_top_on_top_gets_the_intent() {
    let mut screen = Screen::with_a().mode("B", LaunchMode::SingleTop);
    screen.all(&["B"]);
    let started = screen.start("B", 0).expect("it starts");
    assert_eq!(started, Started::Delivered(screen.find("B")));
    screen.has("A B", &["B intent 3"]);
    screen.all(&["C", "B"]);
    screen.has("A B C B", &[]);
}

#[test]
fn the_flag_single_top_does_the_same() {
    let mut screen = Screen::with_a();
    screen.start("A", flags::SINGLE_TOP).expect("it starts");
    screen.has("A", &["A intent 2"]);
}

#[test]
fn single_top_for_a_result_is_a_new_one() {
    let mut screen = Screen::with_a().mode("A", LaunchMode::SingleTop);
    screen.start_for_result("A", 1, 0).expect("it starts");
    assert_eq!(screen.stacks(), "A A");
}

#[test]
fn single_task_clears_what_lies_above_it() {
    let mut screen = Screen::new(Home::Nowhere).mode("A", LaunchMode::SingleTask);
    screen.all(&["A", "B", "C"]);
    screen.start("A", 0).expect("it starts");
    assert_eq!(screen.stacks(), "A");
    assert!(
        screen.log.contains(&"A intent 4".to_owned()),
        "{:?}",
        screen.log
    );
    assert!(
        !screen.log.contains(&"A created".to_owned()),
        "{:?}",
        screen.log
    );
}

#[test]
fn single_task_of_the_same_affinity_stays_in_the_task() {
    let mut screen = Screen::with_a().mode("B", LaunchMode::SingleTask);
    screen.all(&["B"]);
    screen.has("A B", &[]);
}

#[test]
fn single_task_of_another_affinity_has_a_task() {
    let mut screen = Screen::with_a()
        .mode("B", LaunchMode::SingleTask)
        .affinity("B", "q");
    screen.all(&["B", "C"]);
    screen.has("A | B C", &[]);
    screen.start("A", flags::NEW_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "B C | A");
    screen.start("B", 0).expect("it starts");
    assert_eq!(screen.stacks(), "A | B");
}

#[test]
fn single_instance_is_alone_in_its_task() {
    let mut screen = Screen::with_a().mode("B", LaunchMode::SingleInstance);
    screen.all(&["B"]);
    screen.has("A | B", &[]);
    // What it starts goes to the other task of its affinity.
    screen.all(&["C"]);
    screen.has("B | A C", &[]);
    screen.start("B", 0).expect("it starts");
    screen.has(
        "A C | B",
        &["C paused", "B intent 4", "B resumed", "C stopped"],
    );
}

#[test]
fn single_instance_per_task_is_a_root() {
    let mode = LaunchMode::SingleInstancePerTask;
    let mut screen = Screen::with_a().mode("B", mode);
    screen.all(&["B", "C"]);
    screen.has("A | B C", &[]);
    // Another start clears its own task.
    screen.start("B", 0).expect("it starts");
    assert_eq!(screen.stacks(), "A | B");
    // With MULTIPLE_TASK there is another one.
    screen.start("B", flags::MULTIPLE_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "A | B | B");
}

#[test]
fn clear_top_makes_a_standard_one_anew() {
    let mut screen = Screen::with_a();
    screen.all(&["B", "C", "D"]);
    screen.start("B", flags::CLEAR_TOP).expect("it starts");
    assert_eq!(screen.stacks(), "A B");
    assert!(
        screen.log.contains(&"B created".to_owned()),
        "{:?}",
        screen.log
    );
}

#[test]
fn clear_top_with_single_top_keeps_it() {
    let mut screen = Screen::with_a();
    screen.all(&["B", "C", "D"]);
    screen
        .start("B", flags::CLEAR_TOP | flags::SINGLE_TOP)
        .expect("it starts");
    assert_eq!(screen.stacks(), "A B");
    let log = &screen.log;
    assert!(log.contains(&"B intent 5".to_owned()), "{log:?}");
    assert!(!log.contains(&"B created".to_owned()), "{log:?}");
}

#[test]
fn clear_top_without_one_adds_one() {
    let mut screen = Screen::with_a();
    screen.all(&["B"]);
    screen.start("C", flags::CLEAR_TOP).expect("it starts");
    assert_eq!(screen.stacks(), "A B C");
}

#[test]
fn what_clear_top_ends_gives_canceled() {
    let mut screen = Screen::with_a();
    screen.start_for_result("B", 7, 0).expect("it starts");
    screen.log.clear();
    screen
        .start("A", flags::CLEAR_TOP | flags::SINGLE_TOP)
        .expect("it starts");
    screen.has(
        "A",
        &[
            "B paused",
            "A result 7=0",
            "A intent 3",
            "A resumed",
            "? destroyed",
        ],
    );
}

#[test]
fn new_task_finds_the_task_of_its_affinity() {
    let mut screen = Screen::with_a().affinity("B", "q");
    screen.start("C", flags::NEW_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "A C");
    screen.start("B", flags::NEW_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "A C | B");
    // The root's own class and intent: the task comes to the front as it is.
    let started = screen.start("A", flags::NEW_TASK).expect("it starts");
    assert!(matches!(started, Started::Front(_)), "{started:?}");
    assert_eq!(screen.stacks(), "B | A C");
}

#[test]
fn without_an_affinity_each_new_task_is_its_own() {
    let mut screen = Screen::with_a().affinity("B", "").affinity("C", "");
    screen.start("B", flags::NEW_TASK).expect("it starts");
    screen.start("C", flags::NEW_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "A | B | C");
}

#[test]
fn multiple_task_always_makes_one() {
    let mut screen = Screen::with_a();
    let both = flags::NEW_TASK | flags::MULTIPLE_TASK;
    screen.start("A", both).expect("it starts");
    screen.start("A", both).expect("it starts");
    assert_eq!(screen.stacks(), "A | A | A");
    // Alone it means nothing.
    screen.start("B", flags::MULTIPLE_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "A | A | A B");
}

#[test]
fn clear_task_ends_what_is_in_it() {
    let mut screen = Screen::with_a();
    screen.all(&["B", "C"]);
    screen
        .start("D", flags::NEW_TASK | flags::CLEAR_TASK)
        .expect("it starts");
    assert_eq!(screen.stacks(), "D");
    // Alone it means nothing.
    screen.start("A", flags::CLEAR_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "D A");
}

#[test]
fn no_history_ends_behind_another() {
    let mut screen = Screen::with_a();
    screen.start("B", flags::NO_HISTORY).expect("it starts");
    assert_eq!(screen.stacks(), "A B");
    screen.start("C", 0).expect("it starts");
    assert_eq!(screen.stacks(), "A C");
    assert_eq!(screen.log.last().map(String::as_str), Some("? destroyed"));
}

#[test]
fn no_history_gets_no_result() {
    let mut screen = Screen::with_a();
    screen.start("B", flags::NO_HISTORY).expect("it starts");
    screen.start_for_result("C", 1, 0).expect("it starts");
    screen.finish("C", OK, FinishTask::No);
    assert_eq!(screen.stacks(), "A");
    assert!(
        !screen.log.iter().any(|it| it.contains("result")),
        "{:?}",
        screen.log
    );
}

#[test]
fn reorder_to_front_moves_one_within_its_task() {
    let mut screen = Screen::with_a();
    screen.all(&["B", "C", "D"]);
    screen
        .start("B", flags::REORDER_TO_FRONT)
        .expect("it starts");
    screen.has(
        "A C D B",
        &["D paused", "B intent 5", "B resumed", "D stopped"],
    );
}

#[test]
fn clear_top_wins_over_reorder_to_front() {
    let mut screen = Screen::with_a();
    screen.all(&["B", "C", "D"]);
    let both = flags::CLEAR_TOP | flags::REORDER_TO_FRONT;
    screen.start("B", both).expect("it starts");
    assert_eq!(screen.stacks(), "A B");
}

#[test]
fn forward_result_goes_to_who_asked_first() {
    let mut screen = Screen::with_a();
    screen.start_for_result("B", 5, 0).expect("it starts");
    screen.start("C", flags::FORWARD_RESULT).expect("it starts");
    screen.log.clear();
    screen.finish("B", OK, FinishTask::No);
    // B has given its place away.
    screen.has("A C", &["? destroyed"]);
    screen.log.clear();
    screen.finish("C", 42, FinishTask::No);
    screen.has(
        "A",
        &["C paused", "A result 5=42", "A resumed", "? destroyed"],
    );
}

#[test]
fn forward_result_and_a_request_is_refused() {
    let mut screen = Screen::with_a();
    let refused = screen.start_for_result("B", 1, flags::FORWARD_RESULT);
    assert_eq!(refused, Err(Refused::ForwardAndRequest));
    screen.has("A", &[]);
}

#[test]
fn a_result_from_another_task_is_canceled_at_once() {
    let mut screen = Screen::with_a().affinity("B", "q");
    screen
        .start_for_result("B", 3, flags::NEW_TASK)
        .expect("it starts");
    assert_eq!(screen.stacks(), "A | B");
    screen.back();
    assert!(
        screen.log.contains(&"A result 3=0".to_owned()),
        "{:?}",
        screen.log
    );
}

#[test]
fn task_on_home_goes_back_to_home() {
    let mut screen = Screen::new(Home::There)
        .affinity("B", "q")
        .affinity("C", "r");
    screen.all(&["A"]);
    screen.start("B", flags::NEW_TASK).expect("it starts");
    assert_eq!(screen.stacks(), "home | A | B");
    screen.back();
    assert_eq!(screen.stacks(), "home | A");
    screen
        .start("C", flags::NEW_TASK | flags::TASK_ON_HOME)
        .expect("it starts");
    assert_eq!(screen.stacks(), "A | home | C");
    screen.log.clear();
    screen.back();
    screen.has("A | home", &["C paused", "? destroyed", "home"]);
}

#[test]
fn finish_affinity_ends_down_to_another_one() {
    let mut screen = Screen::with_a().affinity("B", "q");
    screen.all(&["B", "C", "D"]);
    let top = screen.find("D");
    assert!(screen.ask(|it, cx| it.finish_affinity(top, cx)));
    assert_eq!(screen.stacks(), "A B");
}

#[test]
fn finish_and_remove_task_ends_the_task_of_a_root() {
    let mut screen = Screen::with_a().affinity("B", "q");
    screen.start("B", flags::NEW_TASK).expect("it starts");
    screen.all(&["C"]);
    assert_eq!(screen.stacks(), "A | B C");
    screen.finish("C", 0, FinishTask::WithRoot);
    assert_eq!(screen.stacks(), "A | B");
    screen.all(&["C"]);
    screen.finish("B", 0, FinishTask::WithRoot);
    assert_eq!(screen.stacks(), "A");
    screen.all(&["B", "C"]);
    screen.finish("C", 0, FinishTask::Always);
    assert_eq!(screen.stacks(), "");
}

#[test]
fn finish_activity_ends_what_was_started_by_a_request() {
    let mut screen = Screen::with_a();
    screen.start_for_result("B", 1, 0).expect("it starts");
    let a = screen.find("A");
    screen.ask(|it, cx| it.finish_started(a, 2, cx));
    assert_eq!(screen.stacks(), "A B");
    screen.log.clear();
    screen.ask(|it, cx| it.finish_started(a, 1, cx));
    screen.has(
        "A",
        &["B paused", "A result 1=0", "A resumed", "? destroyed"],
    );
}

#[test]
fn a_document_has_a_task() {
    let mut screen = Screen::with_a();
    screen.document = Some("content://one");
    screen.start("D", flags::NEW_DOCUMENT).expect("it starts");
    screen.document = Some("content://two");
    screen.start("D", flags::NEW_DOCUMENT).expect("it starts");
    assert_eq!(screen.stacks(), "A | D | D");
    screen.document = Some("content://one");
    screen.log.clear();
    screen.start("D", flags::NEW_DOCUMENT).expect("it starts");
    screen.has(
        "A | D | D",
        &["D paused", "D intent 4", "D resumed", "D stopped"],
    );
    screen.document_mode = DocumentMode::Always;
    screen.start("D", 0).expect("it starts");
    assert_eq!(screen.stacks(), "A | D | D | D");
    screen.document_mode = DocumentMode::Never;
    screen.start("D", flags::NEW_DOCUMENT).expect("it starts");
    assert_eq!(screen.stacks(), "A | D | D | D D");
}

#[test]
fn a_task_goes_behind_the_others() {
    let mut screen = Screen::with_a().affinity("B", "q");
    screen.start("B", flags::NEW_TASK).expect("it starts");
    let b = screen.find("B");
    screen.log.clear();
    assert!(screen.ask(|it, cx| it.move_task_to_back(b, cx)));
    screen.has("B | A", &["B paused", "A resumed", "B stopped"]);
}

#[test]
fn recreate_makes_it_anew_where_it_is() {
    let mut screen = Screen::with_a();
    let a = screen.find("A");
    let (activities, mut cx) = screen.parts();
    assert!(activities.relaunch(a, &mut cx));
    let visits = screen.effects.iter().filter_map(|it| match it {
        Effect::Activity { visit, .. } => Some((visit.is_relaunch, visit.then)),
        _ => None,
    });
    assert_eq!(visits.collect::<Vec<_>>(), [(true, Then::Resume)]);
}

#[test]
fn what_was_stopped_outlives_its_process() {
    let mut screen = Screen::with_a();
    screen.all(&["B"]);
    let (process, now) = (screen.process, 0);
    screen.processes.died(process, server::Death::Fault, now);
    screen.ask(|it, cx| it.process_died(process, cx));
    // B was in front, so it is lost; A starts again in a new process, when that is there.
    assert_eq!(screen.stacks(), "A");
    let new = screen.processes.find(&key()).expect("one is wished for");
    assert_ne!(new, process);
    let named: Vec<_> = screen.activities.payloads().collect();
    assert!(named.contains(&Payload(SAVED)));
    screen.processes.tick(1 << 40, &mut Vec::new());
    assert!(screen.processes.attached(new, 2));
    screen.ask(|it, cx| it.process_attached(cx));
    screen.has("A", &["A created with what it saved", "A resumed"]);
    // In front it has what it makes of that.
    let mut named = screen.activities.payloads();
    assert!(named.all(|it| it != Payload(SAVED)));
}

#[test]
fn two_that_start_each_other_for_ever_end_at_the_bound() {
    let mut screen = Screen::with_a();
    for at in 1..ACTIVITIES_MAX {
        let name = if at % 2 == 0 { "A" } else { "B" };
        screen.start(name, 0).expect("it starts");
    }
    assert_eq!(screen.start("A", 0), Err(Refused::TooManyActivities));
    assert_eq!(screen.activities.len(), ACTIVITIES_MAX);
}

#[test]
fn results_that_nobody_takes_are_bounded() {
    let mut screen = Screen::with_a().mode("A", LaunchMode::SingleTop);
    screen.all(&["B"]);
    let a = screen.find("A");
    for _ in 0..200 {
        let start = Start {
            source: Some(a),
            request: Some(1),
            ..screen.wish("B", flags::NEW_TASK)
        };
        // A stays behind B, so that it is told nothing.
        screen.ask(|it, cx| it.start(start, cx)).expect("it starts");
    }
    let waiting = screen.activities.get(a).expect("it stays").results.len();
    assert_eq!(waiting, server::activities::WAITING_MAX);
    assert_eq!(screen.activities.dropped(), 200 - waiting as u64);
}
