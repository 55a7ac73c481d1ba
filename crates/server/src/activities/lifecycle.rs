// SPDX-License-Identifier: Apache-2.0
//! What activities go through: `settle` after each event, and what their processes report.
//!
//! One transaction follows another only where an order must hold: nobody comes to the front before
//! the one that was there has paused, or is late with it.

use super::record::{RESULT_CANCELED, Record, State, Then, Visit};
use super::{Activities, LAUNCHES_MAX, STOPPING_MAX};
use crate::{ActivityId, Cx, Effect, Payload, ProcessId, Question, TaskId};

impl Activities {
    /// `onPause` has returned, or did not in time.
    pub fn paused(&mut self, id: ActivityId, cx: &mut Cx<'_>) {
        if let Some(record) = self.records.get_mut(&id)
            && record.state == State::Pausing
        {
            record.state = State::Paused;
            answered(id, record, cx);
        }
        self.settle(cx);
    }

    /// `onResume` has returned.
    pub fn resumed(&mut self, id: ActivityId, cx: &mut Cx<'_>) {
        if let Some(record) = self.records.get_mut(&id) {
            record.failed_launches = 0;
            record.saved = None;
            answered(id, record, cx);
        }
        if self.waiting_to_stop().len() > STOPPING_MAX {
            self.stop_waiting(cx);
        }
    }

    /// `onStop` has returned, and this was saved.
    pub fn stopped(&mut self, id: ActivityId, saved: Option<Payload>, cx: &mut Cx<'_>) {
        if let Some(record) = self.records.get_mut(&id) {
            record.saved = saved.filter(|_| record.state == State::Stopped);
            answered(id, record, cx);
        }
    }

    /// The looper in front has nothing more to do: what lies behind is stopped now.
    pub fn idle(&mut self, cx: &mut Cx<'_>) {
        self.stop_waiting(cx);
    }

    /// It is made anew where it is. False if it is not there.
    pub fn relaunch(&mut self, id: ActivityId, cx: &mut Cx<'_>) -> bool {
        let Some(record) = self.records.get_mut(&id) else {
            return false;
        };
        let then = match record.state {
            _ if record.is_finishing => return false,
            State::Absent => return false,
            State::Resumed => Then::Resume,
            State::Pausing | State::Paused => Then::Pause,
            State::Stopped => Then::Stop,
        };
        let visit = Visit {
            is_relaunch: true,
            results: std::mem::take(&mut record.results),
            intents: std::mem::take(&mut record.intents),
            then,
            ..Visit::default()
        };
        send(id, record, visit, cx);
        true
    }

    /// A task comes to the front. False if it is not there.
    pub fn move_task_to_front(&mut self, task: TaskId, cx: &mut Cx<'_>) -> bool {
        let is_there = self.task(task).is_some();
        self.move_to_front(task);
        self.settle(cx);
        is_there
    }

    /// The task of an activity goes behind all others. False if it is not there.
    pub fn move_task_to_back(&mut self, id: ActivityId, cx: &mut Cx<'_>) -> bool {
        let Some(task) = self.records.get(&id).map(|it| it.task) else {
            return false;
        };
        if let Some(at) = self.tasks.iter().position(|it| it.id == task) {
            let task = self.tasks.remove(at);
            self.tasks.insert(0, task);
        }
        self.settle(cx);
        true
    }

    /// A process that was started is there.
    pub fn process_attached(&mut self, cx: &mut Cx<'_>) {
        self.settle(cx);
    }

    /// A process is gone: what was stopped in it is made anew when it comes to the front, as its
    /// state was saved. The rest is gone too.
    pub fn process_died(&mut self, process: ProcessId, cx: &mut Cx<'_>) {
        let own = self
            .records
            .iter()
            .filter(|(_, it)| it.process == Some(process));
        let own: Vec<_> = own.map(|(id, _)| *id).collect();
        for id in own {
            let Some(record) = self.records.get_mut(&id) else {
                continue;
            };
            let was = std::mem::replace(&mut record.state, State::Absent);
            record.process = None;
            let is_lost = match was {
                State::Stopped => false,
                State::Absent => {
                    record.failed_launches += 1;
                    record.failed_launches >= LAUNCHES_MAX
                }
                State::Resumed | State::Pausing | State::Paused => true,
            };
            if is_lost {
                self.mark_finishing(id, RESULT_CANCELED, None);
            }
        }
        self.settle(cx);
    }

    /// Brings what is on top to the front, and takes away what has ended. Each turn of the loop
    /// takes a record away, or is the last.
    pub(super) fn settle(&mut self, cx: &mut Cx<'_>) {
        loop {
            self.sweep(cx);
            if self.with_state(State::Pausing).is_some() {
                return;
            }
            let top = self.top();
            if let Some(front) = self.with_state(State::Resumed) {
                if Some(front) == top {
                    self.tell(front, cx);
                } else {
                    self.pause(front, cx);
                }
                return;
            }
            let Some(top) = top else {
                self.nothing_in_front(cx);
                return;
            };
            self.has_asked_for_home = false;
            if self.bring_up(top, cx) {
                return;
            }
            self.mark_finishing(top, RESULT_CANCELED, None);
        }
    }

    fn with_state(&self, state: State) -> Option<ActivityId> {
        let mut records = self.records.iter();
        records.find(|(_, it)| it.state == state).map(|(id, _)| *id)
    }

    /// Takes away what ends and is neither in front nor waits for the next one's coming.
    fn sweep(&mut self, cx: &mut Cx<'_>) {
        let has_next = self.top().is_some();
        let going = self.records.iter().filter(|(_, it)| {
            let waits = matches!(it.state, State::Resumed | State::Pausing);
            let waits = waits || (it.state == State::Paused && has_next);
            it.is_finishing && !waits
        });
        let going: Vec<_> = going.map(|(id, _)| *id).collect();
        for id in going {
            self.destroy(id, cx);
        }
    }

    fn nothing_in_front(&mut self, cx: &mut Cx<'_>) {
        self.stop_waiting(cx);
        let has_home = self.tasks.iter().any(|it| it.is_home);
        if has_home && !std::mem::replace(&mut self.has_asked_for_home, true) {
            cx.effects.push(Effect::Home);
        }
    }

    /// What came for the one in front.
    fn tell(&mut self, id: ActivityId, cx: &mut Cx<'_>) {
        let Some(record) = self.records.get_mut(&id) else {
            return;
        };
        if record.results.is_empty() && record.intents.is_empty() {
            return;
        }
        let visit = Visit {
            results: std::mem::take(&mut record.results),
            intents: std::mem::take(&mut record.intents),
            ..Visit::default()
        };
        send(id, record, visit, cx);
    }

    fn pause(&mut self, id: ActivityId, cx: &mut Cx<'_>) {
        self.send_to(id, State::Pausing, Then::Pause, cx);
    }

    /// Asks for one step and no more.
    fn send_to(&mut self, id: ActivityId, state: State, then: Then, cx: &mut Cx<'_>) {
        if let Some(record) = self.records.get_mut(&id) {
            record.state = state;
            let visit = Visit {
                then,
                ..Visit::default()
            };
            send(id, record, visit, cx);
        }
    }

    /// Makes or resumes what is on top. False if no process can be had for it.
    fn bring_up(&mut self, id: ActivityId, cx: &mut Cx<'_>) -> bool {
        let Some(record) = self.records.get_mut(&id) else {
            return false;
        };
        let mut visit = Visit {
            then: Then::Resume,
            ..Visit::default()
        };
        if record.state == State::Absent {
            let package = &record.declaration.component.package;
            let Ok((process, is_running)) = cx.running(&record.declaration.process, package) else {
                return false;
            };
            record.process = Some(process);
            if !is_running {
                return true;
            }
            visit.create = Some(record.payload);
            // It stays until it is resumed: this process may die sooner.
            visit.saved = record.saved;
        }
        visit.results = std::mem::take(&mut record.results);
        visit.intents = std::mem::take(&mut record.intents);
        record.state = State::Resumed;
        send(id, record, visit, cx);
        true
    }

    fn waiting_to_stop(&self) -> Vec<ActivityId> {
        let waiting = self.records.iter();
        let waiting = waiting.filter(|(_, it)| it.state == State::Paused);
        waiting.map(|(id, _)| *id).collect()
    }

    /// Stops or ends what lies behind.
    fn stop_waiting(&mut self, cx: &mut Cx<'_>) {
        for id in self.waiting_to_stop() {
            let has_no_history = self.records[&id].has_no_history;
            if has_no_history {
                self.mark_finishing(id, RESULT_CANCELED, None);
            }
            if self.records[&id].is_finishing {
                self.destroy(id, cx);
            } else {
                self.send_to(id, State::Stopped, Then::Stop, cx);
            }
        }
    }

    /// The record goes, and its task if it was the last.
    pub(super) fn destroy(&mut self, id: ActivityId, cx: &mut Cx<'_>) {
        let Some(record) = self.records.remove(&id) else {
            return;
        };
        if let Some(task) = self.task_mut(record.task) {
            task.activities.retain(|it| *it != id);
        }
        self.tasks
            .retain(|it| it.is_home || !it.activities.is_empty());
        if record.state != State::Absent {
            let then = Then::Destroy;
            send(
                id,
                &record,
                Visit {
                    then,
                    ..Visit::default()
                },
                cx,
            );
            // Nobody waits for it: that it is gone is decided.
            answered(id, &record, cx);
        }
    }
}

fn send(id: ActivityId, record: &Record, visit: Visit, cx: &mut Cx<'_>) {
    let Some(process) = record.process else {
        return;
    };
    let until = cx.now + cx.processes.limits.answer_ns;
    if visit.then != Then::Stay && cx.processes.ask(process, Question::Activity(id.0), until) {
        cx.effects.push(Effect::WakeAt(until));
    }
    let is_finishing = record.is_finishing;
    cx.effects.push(Effect::Activity {
        process,
        activity: id,
        visit: Visit {
            is_finishing,
            ..visit
        },
    });
}

fn answered(id: ActivityId, record: &Record, cx: &mut Cx<'_>) {
    if let Some(process) = record.process {
        cx.processes.answered(process, Question::Activity(id.0));
    }
}
