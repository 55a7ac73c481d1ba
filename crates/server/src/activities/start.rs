// SPDX-License-Identifier: Apache-2.0
//! Where an activity goes that somebody starts: a new task, one that is there, or to one that is
//! on top already. The order of questions is Android's.

use intent::{Component, Intent};

use super::record::{Outcome, RESULT_CANCELED, Record, Start, State, Task};
use super::{ACTIVITIES_MAX, Activities, DocumentMode, LaunchMode, TASKS_MAX, flags};
use crate::{ActivityId, Cx, TaskId};

/// What came of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// A new activity.
    New(ActivityId),
    /// One that was there gets the intent.
    Delivered(ActivityId),
    /// Its task comes to the front as it is.
    Front(TaskId),
}

/// Why an activity is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The intent forwards a result, and its starter wants one.
    #[error("FLAG_ACTIVITY_FORWARD_RESULT, and a result is asked for")]
    ForwardAndRequest,
    /// The bound is reached.
    #[error("{ACTIVITIES_MAX} activities are there already")]
    TooManyActivities,
    /// The bound is reached.
    #[error("{TASKS_MAX} tasks are there already")]
    TooManyTasks,
}

/// A start whose flags say what they mean.
struct Launch {
    start: Start,
    flags: u32,
    result_to: Option<(ActivityId, i32)>,
}

impl Launch {
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn mode(&self) -> LaunchMode {
        self.start.declaration.launch_mode
    }

    fn component(&self) -> &Component {
        &self.start.declaration.component
    }

    fn is_single_top(&self) -> bool {
        self.has(flags::SINGLE_TOP) || self.mode() == LaunchMode::SingleTop
    }

    fn affinity(&self) -> Option<(u32, String)> {
        let declaration = &self.start.declaration;
        let name = declaration.affinity.clone()?;
        Some((declaration.process.uid, name))
    }

    /// What lies above one that is there must go.
    fn clears_top(&self) -> bool {
        let is_document = self.has(flags::NEW_DOCUMENT) && !self.has(flags::MULTIPLE_TASK);
        let is_single = matches!(
            self.mode(),
            LaunchMode::SingleTask | LaunchMode::SingleInstance | LaunchMode::SingleInstancePerTask
        );
        self.has(flags::CLEAR_TOP) || is_document || is_single
    }
}

/// What a task that is there has to do with a start.
enum Meeting {
    /// The new one is added on top.
    Add,
    /// This one gets the intent.
    Deliver(ActivityId),
    /// Nothing but to come to the front.
    Front,
}

impl Activities {
    /// Starts an activity.
    ///
    /// # Errors
    ///
    /// [`Refused`]; then nothing has changed.
    pub fn start(&mut self, start: Start, cx: &mut Cx<'_>) -> Result<Started, Refused> {
        if self.records.len() >= ACTIVITIES_MAX {
            return Err(Refused::TooManyActivities);
        }
        let forwards = start.flags & flags::FORWARD_RESULT != 0;
        if forwards && start.source.is_some() && start.request.is_some() {
            return Err(Refused::ForwardAndRequest);
        }
        if self.tasks.len() >= TASKS_MAX {
            return Err(Refused::TooManyTasks);
        }
        let launch = self.prepare(start);
        let reused = self.reusable_task(&launch);
        let target = reused.or_else(|| self.given_task(&launch));
        let started = match target {
            Some(task) => self.join(task, reused.is_some(), launch),
            None => {
                let task = self.new_task(&launch);
                Started::New(self.add(task, launch))
            }
        };
        self.settle(cx);
        Ok(started)
    }

    /// Says what the flags mean, and who gets the result.
    fn prepare(&mut self, start: Start) -> Launch {
        let source = start.source.filter(|it| self.records.contains_key(it));
        let mut result_to = source.zip(start.request);
        if start.flags & flags::FORWARD_RESULT != 0
            && let Some(source) = source.and_then(|it| self.records.get_mut(&it))
        {
            result_to = source.result_to.take();
        }
        let mut flags = document_flags(&start);
        let is_elsewhere = flags & flags::NEW_TASK != 0;
        if let Some((to, request)) = result_to.filter(|_| is_elsewhere) {
            // What lies in another task gives no result: its starter hears so at once.
            let (code, data) = (RESULT_CANCELED, None);
            self.hand_result(
                to,
                Outcome {
                    request,
                    code,
                    data,
                },
            );
            result_to = None;
        }
        if flags & flags::NEW_DOCUMENT != 0 && result_to.is_none() {
            flags |= flags::NEW_TASK;
        }
        let source_record = source.and_then(|it| self.records.get(&it));
        let needs_task = source_record.is_none_or(|it| {
            it.declaration.launch_mode == LaunchMode::SingleInstance || it.is_finishing
        });
        let mode = start.declaration.launch_mode;
        if needs_task || matches!(mode, LaunchMode::SingleInstance | LaunchMode::SingleTask) {
            flags |= flags::NEW_TASK;
        }
        let start = Start { source, ..start };
        Launch {
            start,
            flags,
            result_to,
        }
    }

    /// A task that is there and that the start looks for.
    fn reusable_task(&self, launch: &Launch) -> Option<TaskId> {
        if launch.start.declaration.is_home
            && let Some(home) = self.tasks.iter().find(|it| it.is_home)
        {
            return Some(home.id);
        }
        let mode = launch.mode();
        let is_single = matches!(mode, LaunchMode::SingleInstance | LaunchMode::SingleTask);
        let joins = launch.has(flags::NEW_TASK) && !launch.has(flags::MULTIPLE_TASK);
        if launch.result_to.is_some() || !(joins || is_single) {
            return None;
        }
        if mode == LaunchMode::SingleInstance {
            let is_it =
                |it: &Record| !it.is_finishing && it.declaration.component == *launch.component();
            return self.records.values().find(|it| is_it(it)).map(|it| it.task);
        }
        let found = self.matching_task(launch)?;
        let root = self.root_of(found).and_then(|it| self.records.get(&it));
        let is_root = root.is_some_and(|it| it.declaration.component == *launch.component());
        let must_be_root = mode == LaunchMode::SingleInstancePerTask;
        (is_root || !must_be_root).then_some(found.id)
    }

    /// One whose root is the activity itself; else the first of its affinity.
    fn matching_task(&self, launch: &Launch) -> Option<&Task> {
        let is_document = launch.has(flags::NEW_DOCUMENT);
        let document = is_document.then_some(launch.start.intent.data.as_ref());
        let affinity = launch.affinity();
        let mut candidate = None;
        for task in self.tasks.iter().rev().filter(|it| !it.is_home) {
            let Some(top) = self.top_of(task) else {
                continue;
            };
            if self.records[&top].declaration.launch_mode == LaunchMode::SingleInstance {
                continue;
            }
            let own = task.is_document.then_some(task.intent.data.as_ref());
            if task.component.as_ref() == Some(launch.component()) && own == document {
                return Some(task);
            }
            let is_kin = affinity.is_some() && task.affinity == affinity;
            if is_kin && !is_document && !task.is_document && candidate.is_none() {
                candidate = Some(task);
            }
        }
        candidate
    }

    /// The starter's task, unless the start goes elsewhere.
    fn given_task(&self, launch: &Launch) -> Option<TaskId> {
        let is_elsewhere = launch.result_to.is_none() && launch.has(flags::NEW_TASK);
        if is_elsewhere {
            return None;
        }
        // A result that is forwarded may come from one that has gone meanwhile.
        let near = launch.start.source.or(launch.result_to.map(|it| it.0));
        near.and_then(|it| self.records.get(&it)).map(|it| it.task)
    }

    fn new_task(&mut self, launch: &Launch) -> TaskId {
        if launch.has(flags::TASK_ON_HOME)
            && let Some(home) = self.tasks.iter().find(|it| it.is_home)
        {
            self.move_to_front(home.id);
        }
        let id = TaskId(self.numbers.next());
        self.tasks.push(Task {
            id,
            affinity: None,
            component: None,
            intent: Intent::default(),
            is_document: false,
            is_home: false,
            activities: Vec::new(),
        });
        id
    }

    fn join(&mut self, task: TaskId, is_reused: bool, launch: Launch) -> Started {
        if launch.has(flags::TASK_ON_HOME)
            && let Some(home) = self.tasks.iter().find(|it| it.is_home)
        {
            self.move_to_front(home.id);
        }
        self.move_to_front(task);
        match self.meet(task, is_reused, &launch) {
            Meeting::Front => Started::Front(task),
            Meeting::Deliver(id) => {
                self.deliver(id, &launch);
                Started::Delivered(id)
            }
            Meeting::Add => match self.same_on_top(task, &launch) {
                Some(id) => {
                    self.deliver(id, &launch);
                    Started::Delivered(id)
                }
                None => Started::New(self.add(task, launch)),
            },
        }
    }

    fn meet(&mut self, task: TaskId, is_reused: bool, launch: &Launch) -> Meeting {
        let Some(found) = self.task(task) else {
            return Meeting::Add;
        };
        let Some(top) = self.top_of(found) else {
            return Meeting::Add;
        };
        if launch.has(flags::NEW_TASK) && launch.has(flags::CLEAR_TASK) {
            self.clear_task(task);
            return Meeting::Add;
        }
        if launch.clears_top() {
            let found = self.clear_top(task, launch);
            return found.map_or(Meeting::Add, Meeting::Deliver);
        }
        if launch.has(flags::REORDER_TO_FRONT) {
            if let Some(id) = self.topmost(found, launch.component()) {
                self.reorder(task, id);
                return Meeting::Deliver(id);
            }
            return Meeting::Add;
        }
        if found.component.as_ref() != Some(launch.component()) {
            let is_reset = is_reused && launch.has(flags::RESET_TASK_IF_NEEDED);
            return if is_reset {
                Meeting::Front
            } else {
                Meeting::Add
            };
        }
        let top_component = &self.records[&top].declaration.component;
        let is_on_top = top_component == launch.component() && launch.result_to.is_none();
        if launch.is_single_top() && is_on_top {
            return Meeting::Deliver(top);
        }
        let is_same = is_same_filter(&found.intent, &launch.start.intent);
        if is_same && is_reused {
            Meeting::Front
        } else {
            Meeting::Add
        }
    }

    /// The top of a task, if it is what is started and wants to be one only.
    fn same_on_top(&self, task: TaskId, launch: &Launch) -> Option<ActivityId> {
        let top = self.top_of(self.task(task)?)?;
        let record = &self.records[&top];
        let wants = launch.is_single_top() || launch.mode() == LaunchMode::SingleTask;
        let is_same = record.declaration.component == *launch.component();
        (wants && is_same && record.state != State::Absent && launch.result_to.is_none())
            .then_some(top)
    }

    /// The one nearest to the top of this class.
    fn topmost(&self, task: &Task, component: &Component) -> Option<ActivityId> {
        self.lasting(task)
            .rev()
            .find(|it| self.records[it].declaration.component == *component)
    }

    /// Ends what lies above one of the same class; also that one, if it wants to be made anew.
    fn clear_top(&mut self, task: TaskId, launch: &Launch) -> Option<ActivityId> {
        let found = self.task(task)?;
        let id = self.topmost(found, launch.component())?;
        let above = found.activities.iter().rev().copied();
        let mut going: Vec<_> = above.take_while(|it| *it != id).collect();
        let is_document = launch.has(flags::NEW_DOCUMENT) && !launch.has(flags::MULTIPLE_TASK);
        let stays =
            launch.mode() != LaunchMode::Standard || launch.has(flags::SINGLE_TOP) || is_document;
        if !stays {
            going.push(id);
        }
        for it in going {
            self.mark_finishing(it, RESULT_CANCELED, None);
        }
        stays.then_some(id)
    }

    fn clear_task(&mut self, task: TaskId) {
        let all = self.task(task).map(|it| it.activities.clone());
        for id in all.unwrap_or_default().into_iter().rev() {
            self.mark_finishing(id, RESULT_CANCELED, None);
        }
    }

    fn reorder(&mut self, task: TaskId, id: ActivityId) {
        if let Some(task) = self.task_mut(task) {
            task.activities.retain(|it| *it != id);
            task.activities.push(id);
        }
    }

    fn deliver(&mut self, id: ActivityId, launch: &Launch) {
        if self.is_root_of_task(id) {
            let task = self.records[&id].task;
            let intent = launch.start.intent.clone();
            if let Some(task) = self.task_mut(task) {
                task.intent = intent;
            }
        }
        self.hand_intent(id, launch.start.payload);
    }

    /// A new record on top of a task; its root gives the task what it is known by.
    fn add(&mut self, task: TaskId, launch: Launch) -> ActivityId {
        let id = ActivityId(self.numbers.next());
        let affinity = launch.affinity();
        let is_root = self.task(task).is_some_and(|it| self.top_of(it).is_none());
        let is_document = launch.has(flags::NEW_DOCUMENT);
        let has_no_history = launch.has(flags::NO_HISTORY);
        let Start {
            declaration,
            intent,
            payload,
            ..
        } = launch.start;
        if let Some(task) = self.task_mut(task) {
            task.activities.push(id);
            if is_root && !task.is_home {
                task.affinity = affinity;
                task.component = Some(declaration.component.clone());
                task.intent = intent.clone();
                task.is_document = is_document;
            }
        }
        let record = Record {
            task,
            has_no_history: has_no_history || declaration.has_no_history,
            declaration,
            intent,
            payload,
            process: None,
            state: State::Absent,
            saved: None,
            is_finishing: false,
            result_to: launch.result_to,
            results: Vec::new(),
            intents: Vec::new(),
            failed_launches: 0,
        };
        self.records.insert(id, record);
        id
    }
}

/// The intent's flags with what the manifest says of documents.
fn document_flags(start: &Start) -> u32 {
    let declaration = &start.declaration;
    let both = flags::NEW_DOCUMENT | flags::MULTIPLE_TASK;
    let mode = declaration.launch_mode;
    let is_single = matches!(mode, LaunchMode::SingleInstance | LaunchMode::SingleTask);
    if start.flags & flags::NEW_DOCUMENT != 0 && is_single {
        return start.flags & !both;
    }
    let flags = match declaration.document_mode {
        DocumentMode::IntoExisting => start.flags | flags::NEW_DOCUMENT,
        DocumentMode::Always => start.flags | both,
        DocumentMode::Never => start.flags & !flags::MULTIPLE_TASK & !flags::NEW_DOCUMENT,
        DocumentMode::None => start.flags,
    };
    match mode {
        LaunchMode::SingleInstancePerTask => flags | flags::NEW_TASK,
        _ => flags,
    }
}

/// `Intent.filterEquals`.
pub(crate) fn is_same_filter(left: &Intent, right: &Intent) -> bool {
    left == right
}
