// SPDX-License-Identifier: Apache-2.0
//! What is kept of an activity, of a task, and of a wish to start one.

use intent::{Component, Intent};

use crate::{ActivityId, Payload, ProcessId, ProcessKey, TaskId};

/// `android:launchMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchMode {
    /// A new one each time.
    #[default]
    Standard,
    /// One that is on top gets the intent.
    SingleTop,
    /// One in its task, which it shares.
    SingleTask,
    /// One, alone in its task.
    SingleInstance,
    /// One in each task, at its root.
    SingleInstancePerTask,
}

impl LaunchMode {
    /// By Android's number.
    pub fn of(number: i32) -> Self {
        match number {
            1 => Self::SingleTop,
            2 => Self::SingleTask,
            3 => Self::SingleInstance,
            4 => Self::SingleInstancePerTask,
            _ => Self::Standard,
        }
    }
}

/// `android:documentLaunchMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentMode {
    /// As the intent says.
    #[default]
    None,
    /// One task for each document.
    IntoExisting,
    /// A task for each start.
    Always,
    /// No task for itself, whatever the intent says.
    Never,
}

impl DocumentMode {
    /// By Android's number.
    pub fn of(number: i32) -> Self {
        match number {
            1 => Self::IntoExisting,
            2 => Self::Always,
            3 => Self::Never,
            _ => Self::None,
        }
    }
}

/// What the manifest says of an activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its package and class.
    pub component: Component,
    /// The process that it lives in.
    pub process: ProcessKey,
    /// How it is started.
    pub launch_mode: LaunchMode,
    /// What documents it opens in.
    pub document_mode: DocumentMode,
    /// The tasks that it belongs to; none if to no other.
    pub affinity: Option<String>,
    /// It is finished as soon as another one is in front.
    pub has_no_history: bool,
    /// It is a part of home.
    pub is_home: bool,
}

/// A wish to start an activity.
#[derive(Clone, Debug)]
pub struct Start {
    /// Which one.
    pub declaration: Declaration,
    /// By what.
    pub intent: Intent,
    /// The intent's flags.
    pub flags: u32,
    /// The rest of the intent, as its sender keeps it.
    pub payload: Payload,
    /// The activity that starts it.
    pub source: Option<ActivityId>,
    /// What the source calls the result that it wants; none if it wants none.
    pub request: Option<i32>,
}

/// A result on its way to who asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the receiver calls it.
    pub request: i32,
    /// `Activity.RESULT_OK`, `RESULT_CANCELED` or the application's own.
    pub code: i32,
    /// Its data.
    pub data: Option<Payload>,
}

/// `Activity.RESULT_CANCELED`.
pub const RESULT_CANCELED: i32 = 0;

/// One transaction: what an activity goes through, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// It is made, by this intent.
    pub create: Option<Payload>,
    /// What it has saved, where it was made before in a process that is gone.
    pub saved: Option<Payload>,
    /// It is made anew where it is.
    pub is_relaunch: bool,
    /// It is to end.
    pub is_finishing: bool,
    /// Results for it.
    pub results: Vec<Outcome>,
    /// Intents for its `onNewIntent`.
    pub intents: Vec<Payload>,
    /// Where it goes.
    pub then: Then,
}

impl Visit {
    /// As an application's process reads it: which, made by what, with what saved, made anew, to
    /// end, where to; then results and intents, each behind their count.
    pub fn numbers(&self, activity: ActivityId) -> Vec<i64> {
        let number = |it: Option<Payload>| it.map_or(0, |it| it.0.cast_signed());
        let mut numbers = vec![
            activity.0.cast_signed(),
            number(self.create),
            number(self.saved),
            self.is_relaunch.into(),
            self.is_finishing.into(),
            self.then as i64,
            self.results.len() as i64,
        ];
        for it in &self.results {
            numbers.extend([it.request.into(), it.code.into(), number(it.data)]);
        }
        numbers.push(self.intents.len() as i64);
        numbers.extend(self.intents.iter().map(|it| it.0.cast_signed()));
        numbers
    }

    /// What its numbers name.
    pub fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        let results = self.results.iter().filter_map(|it| it.data);
        let intents = self.intents.iter().copied();
        let made = self.create.into_iter().chain(self.saved);
        made.chain(results).chain(intents)
    }
}

/// Where a visit ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// It stays as it is.
    #[default]
    Stay,
    /// In front.
    Resume,
    /// Behind another; it answers by `paused`.
    Pause,
    /// Not seen.
    Stop,
    /// Gone.
    Destroy,
}

/// What an activity's process was last asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was not made, or its process died.
    Absent,
    /// In front.
    Resumed,
    /// Asked to pause, without an answer.
    Pausing,
    /// Paused.
    Paused,
    /// Stopped.
    Stopped,
}

/// An activity.
#[derive(Clone, Debug)]
pub struct Record {
    /// The task that it lies in.
    pub task: TaskId,
    /// As the manifest says.
    pub declaration: Declaration,
    /// By what it was started.
    pub intent: Intent,
    /// The rest of that intent.
    pub payload: Payload,
    /// Its process, while it is made there.
    pub process: Option<ProcessId>,
    /// What the process was last asked for.
    pub state: State,
    /// What it saved when it stopped, until it is in front again.
    pub saved: Option<Payload>,
    /// It is to end.
    pub is_finishing: bool,
    /// It is finished as soon as another one is in front.
    pub has_no_history: bool,
    /// Who waits for its result, and what that one calls it.
    pub result_to: Option<(ActivityId, i32)>,
    /// Results for it that are not delivered yet.
    pub results: Vec<Outcome>,
    /// Intents for it that are not delivered yet.
    pub intents: Vec<Payload>,
    /// How often a process died before it was made.
    pub failed_launches: u8,
}

/// A stack of activities.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// Whom it takes: a user's number and an affinity.
    pub affinity: Option<(u32, String)>,
    /// What its root was when it was made.
    pub component: Option<Component>,
    /// By what its root was started.
    pub intent: Intent,
    /// It is that of one document.
    pub is_document: bool,
    /// It is home's.
    pub is_home: bool,
    /// From the root to the top.
    pub activities: Vec<ActivityId>,
}
