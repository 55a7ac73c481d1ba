// SPDX-License-Identifier: Apache-2.0
//! What ends: an activity, those of its affinity, those that it started, a whole task; and the
//! results that go to who asked for them.

use super::record::{Outcome, RESULT_CANCELED};
use super::{Activities, WAITING_MAX};
use crate::{ActivityId, Cx, Payload, TaskId};

/// What ends with an activity. The numbers are Android's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishTask {
    /// It alone.
    No,
    /// Its task, if it is the root.
    WithRoot,
    /// Its task.
    Always,
}

impl FinishTask {
    /// By Android's number.
    pub fn of(number: i32) -> Self {
        match number {
            1 => Self::WithRoot,
            2 => Self::Always,
            _ => Self::No,
        }
    }
}

impl Activities {
    /// Ends an activity with a result. False if it is not there.
    pub fn finish(
        &mut self,
        id: ActivityId,
        code: i32,
        data: Option<Payload>,
        with: FinishTask,
        cx: &mut Cx<'_>,
    ) -> bool {
        let Some(record) = self.records.get(&id) else {
            return false;
        };
        let task = record.task;
        let is_root = self.is_root_of_task(id);
        self.mark_finishing(id, code, data);
        if with == FinishTask::Always || (with == FinishTask::WithRoot && is_root) {
            self.mark_task(task);
        }
        self.settle(cx);
        true
    }

    /// Ends it, and those below it of the same affinity, down to the first of another.
    pub fn finish_affinity(&mut self, id: ActivityId, cx: &mut Cx<'_>) -> bool {
        let Some(record) = self.records.get(&id) else {
            return false;
        };
        let affinity = record.declaration.affinity.clone();
        let uid = record.declaration.process.uid;
        let task = self.task(record.task);
        let all = task.map(|it| it.activities.clone()).unwrap_or_default();
        let from_it = all.into_iter().rev().skip_while(|it| *it != id);
        for it in from_it {
            let declaration = &self.records[&it].declaration;
            if declaration.affinity != affinity || declaration.process.uid != uid {
                break;
            }
            self.mark_finishing(it, RESULT_CANCELED, None);
        }
        self.settle(cx);
        true
    }

    /// Ends what it has started by this request.
    pub fn finish_started(&mut self, id: ActivityId, request: i32, cx: &mut Cx<'_>) {
        let is_it = |to: Option<(ActivityId, i32)>| to == Some((id, request));
        let started = self.records.iter().filter(|(_, it)| is_it(it.result_to));
        let started: Vec<_> = started.map(|(id, _)| *id).collect();
        for it in started {
            self.mark_finishing(it, RESULT_CANCELED, None);
        }
        self.settle(cx);
    }

    /// Ends a task with all that is in it.
    pub fn finish_task(&mut self, task: TaskId, cx: &mut Cx<'_>) {
        self.mark_task(task);
        self.settle(cx);
    }

    /// Ends all of a package.
    pub fn finish_package(&mut self, package: &str, cx: &mut Cx<'_>) {
        let own = self.records.iter();
        let own = own.filter(|(_, it)| it.declaration.component.package == package);
        let own: Vec<_> = own.map(|(id, _)| *id).collect();
        for it in own {
            self.mark_finishing(it, RESULT_CANCELED, None);
        }
        self.settle(cx);
    }

    /// Ends all, from the front, at once: nobody waits for a pause.
    pub fn end_all(&mut self, cx: &mut Cx<'_>) {
        let tasks = self.tasks.iter().rev();
        let all = tasks.flat_map(|it| it.activities.iter().rev().copied());
        for it in all.collect::<Vec<_>>() {
            self.mark_finishing(it, RESULT_CANCELED, None);
            self.destroy(it, cx);
        }
        self.settle(cx);
    }

    fn mark_task(&mut self, task: TaskId) {
        let all = self.task(task).map(|it| it.activities.clone());
        for it in all.unwrap_or_default().into_iter().rev() {
            self.mark_finishing(it, RESULT_CANCELED, None);
        }
    }

    /// It is to end; its result is on its way. Twice is as good as once.
    pub(super) fn mark_finishing(&mut self, id: ActivityId, code: i32, data: Option<Payload>) {
        let Some(record) = self.records.get_mut(&id).filter(|it| !it.is_finishing) else {
            return;
        };
        record.is_finishing = true;
        record.results.clear();
        record.intents.clear();
        if let Some((to, request)) = record.result_to.take() {
            self.hand_result(
                to,
                Outcome {
                    request,
                    code,
                    data,
                },
            );
        }
    }

    /// Keeps a result until its receiver is in front. One that is gone gets none.
    pub(super) fn hand_result(&mut self, to: ActivityId, outcome: Outcome) {
        let Some(record) = self.records.get_mut(&to).filter(|it| !it.is_finishing) else {
            return;
        };
        if record.results.len() < WAITING_MAX {
            record.results.push(outcome);
        } else {
            self.dropped += 1;
        }
    }

    /// Keeps an intent until its receiver is in front.
    pub(super) fn hand_intent(&mut self, to: ActivityId, intent: Payload) {
        let Some(record) = self.records.get_mut(&to) else {
            return;
        };
        if record.intents.len() < WAITING_MAX {
            record.intents.push(intent);
        } else {
            self.dropped += 1;
        }
    }
}
