// SPDX-License-Identifier: Apache-2.0
//! Activities in tasks, as Android stacks them.
//!
//! [`Activities`] holds every record. `start` decides where an activity goes, `finish` what goes,
//! `lifecycle` brings the one on top to the front: first the one in front is paused, then the next
//! is made or resumed, and what lies behind is stopped when the next is idle.
//!
//! What is not here: `allowTaskReparenting`, `clearTaskOnLaunch`, `finishOnTaskLaunch` and the
//! rest of a task's reset, `PREVIOUS_IS_TOP`, several windows side by side.

mod finish;
pub mod flags;
mod lifecycle;
mod record;
mod start;

use std::collections::BTreeMap;

pub use finish::FinishTask;
pub use record::{
    Declaration, DocumentMode, LaunchMode, Outcome, RESULT_CANCELED, Record, Start, State, Task,
    Then, Visit,
};
pub use start::{Refused, Started};

use crate::id::Numbers;
use crate::{ActivityId, Payload, TaskId};

/// Activities at once; two that start each other for ever end here.
pub const ACTIVITIES_MAX: usize = 512;
/// Tasks at once.
pub const TASKS_MAX: usize = 64;
/// Results, and intents, that wait for one activity; more are counted and dropped.
pub const WAITING_MAX: usize = 64;
/// How often a process may die before an activity is made in it.
pub const LAUNCHES_MAX: u8 = 3;
/// Activities that wait to be stopped until the one in front is idle; with more they do not wait.
pub const STOPPING_MAX: usize = 3;

/// Is there a home that tasks can lie on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A task that is always there, even if nothing is in it.
    There,
    /// None: `TASK_ON_HOME` has nothing to do.
    Nowhere,
}

/// All activities and their tasks.
#[derive(Clone, Debug)]
pub struct Activities {
    records: BTreeMap<ActivityId, Record>,
    /// From the back to the front.
    tasks: Vec<Task>,
    numbers: Numbers,
    /// Results and intents that found no room.
    dropped: u64,
    /// Home was asked for, and nothing is in front since.
    has_asked_for_home: bool,
}

impl Activities {
    /// Without any activity.
    pub fn new(home: Home) -> Self {
        let mut new = Self {
            records: BTreeMap::new(),
            tasks: Vec::new(),
            numbers: Numbers::default(),
            dropped: 0,
            has_asked_for_home: false,
        };
        if home == Home::There {
            let id = TaskId(new.numbers.next());
            new.tasks.push(Task {
                id,
                affinity: None,
                component: None,
                intent: intent::Intent::default(),
                is_document: false,
                is_home: true,
                activities: Vec::new(),
            });
        }
        new
    }

    /// One of them; also one that is to end.
    pub fn get(&self, id: ActivityId) -> Option<&Record> {
        self.records.get(&id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (ActivityId, &Record)> {
        self.records.iter().map(|(id, record)| (*id, record))
    }

    /// What is named by activities, and not gone.
    pub fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        self.records.values().flat_map(|it| {
            let results = it.results.iter().filter_map(|it| it.data);
            let intents = it.intents.iter().copied();
            let own = std::iter::once(it.payload).chain(it.saved);
            own.chain(results).chain(intents)
        })
    }

    /// All tasks, from the back to the front.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// How many activities there are, with those that are to end.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Results and intents that found no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The activity that is or comes to the front.
    pub fn top(&self) -> Option<ActivityId> {
        let task = self.tasks.iter().rev();
        let mut task = task.take_while(|it| !self.is_empty_home(it));
        task.find_map(|it| self.top_of(it))
    }

    fn is_empty_home(&self, task: &Task) -> bool {
        task.is_home && self.top_of(task).is_none()
    }

    /// Is it on top of its task?
    pub fn is_top_of_task(&self, id: ActivityId) -> bool {
        let task = self.records.get(&id).and_then(|it| self.task(it.task));
        task.and_then(|it| self.top_of(it)) == Some(id)
    }

    /// Is it the first of its task?
    pub fn is_root_of_task(&self, id: ActivityId) -> bool {
        let task = self.records.get(&id).and_then(|it| self.task(it.task));
        task.and_then(|it| self.root_of(it)) == Some(id)
    }

    /// Who waits for its result.
    pub fn caller(&self, id: ActivityId) -> Option<ActivityId> {
        let (caller, _) = self.records.get(&id)?.result_to?;
        self.records.contains_key(&caller).then_some(caller)
    }

    /// The first of its task that does not end.
    fn root_of(&self, task: &Task) -> Option<ActivityId> {
        self.lasting(task).next()
    }

    /// The last of its task that does not end.
    fn top_of(&self, task: &Task) -> Option<ActivityId> {
        self.lasting(task).next_back()
    }

    /// A task's activities that do not end, from the root.
    fn lasting<'a>(&'a self, task: &'a Task) -> impl DoubleEndedIterator<Item = ActivityId> + 'a {
        let all = task.activities.iter().copied();
        all.filter(|it| self.records.get(it).is_some_and(|it| !it.is_finishing))
    }

    fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.iter().find(|it| it.id == id)
    }

    fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|it| it.id == id)
    }

    fn move_to_front(&mut self, id: TaskId) {
        if let Some(at) = self.tasks.iter().position(|it| it.id == id) {
            let task = self.tasks.remove(at);
            self.tasks.push(task);
        }
    }

    /// Panics if a rule is broken: what property tests call after each step.
    pub fn assert_consistent(&self, processes: &crate::Processes) {
        assert!(self.records.len() <= ACTIVITIES_MAX && self.tasks.len() <= TASKS_MAX);
        let mut seen = 0;
        for task in &self.tasks {
            assert!(task.is_home || !task.activities.is_empty(), "{:?}", task.id);
            for id in &task.activities {
                let record = &self.records[id];
                assert_eq!(
                    record.task, task.id,
                    "{id:?} lies in the task that it names"
                );
                seen += 1;
            }
        }
        assert_eq!(
            seen,
            self.records.len(),
            "each record lies in one task, once"
        );
        let states = self.records.values().map(|it| it.state);
        let in_front = states.filter(|it| matches!(it, State::Resumed | State::Pausing));
        assert!(in_front.count() <= 1, "one is in front");
        for (id, record) in &self.records {
            let is_there = record.process.is_some_and(|it| processes.is_running(it));
            let is_absent = record.state == State::Absent;
            assert!(
                is_absent || is_there,
                "{id:?} lives in a process: {record:?}"
            );
            assert!(record.results.len() <= WAITING_MAX && record.intents.len() <= WAITING_MAX);
        }
    }
}
