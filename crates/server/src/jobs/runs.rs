// SPDX-License-Identifier: Apache-2.0
//! What runs: from the wish for a process to the word that a job has ended.

use std::collections::{BTreeMap, BTreeSet};

use intent::Component;

use super::{Conditions, JobKey, Jobs, Timer, Work};
use crate::{Cx, Effect, Payload, ProcessId, Question, RunId};

/// Of all packages at once.
pub const RUNNING_MAX: usize = 64;
/// Of one user at once: one that hangs or fails holds up nobody else's.
pub const RUNNING_PER_UID_MAX: usize = 4;
/// A run is asked to stop then, as on Android.
pub const RUN_NS_MAX: u64 = 600_000_000_000;

/// Why a run is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its package has taken it back, or has scheduled it anew.
    Cancelled,
    /// It takes too long.
    Timeout,
    /// These conditions do not hold any more.
    Conditions(Conditions),
}

impl StopReason {
    /// `JobParameters.STOP_REASON_*`, and what Android itself tells apart.
    pub fn numbers(self) -> (i32, i32) {
        match self {
            Self::Cancelled => (1, 0),
            Self::Timeout => (3, 3),
            Self::Conditions(lacks) => {
                let reasons = [
                    (Conditions::BATTERY_NOT_LOW, 5),
                    (Conditions::CHARGING, 6),
                    (Conditions::STORAGE_NOT_LOW, 9),
                ];
                let found = reasons.iter().find(|(it, _)| lacks.has(*it));
                // The rest is about networks.
                (found.map_or(7, |(_, number)| *number), 1)
            }
        }
    }
}

/// What is asked of a run's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// `onStartJob`.
    Start {
        /// Of which service.
        service: Component,
        /// The job, as its package has it.
        payload: Payload,
        /// Its deadline is over.
        is_overdue: bool,
    },
    /// `onStopJob`.
    Stop(StopReason),
}

/// What a process says of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// `onStartJob` has returned: it goes on, or was all.
    Started {
        /// It goes on.
        goes_on: bool,
    },
    /// `onStopJob` has returned.
    Stopped {
        /// It is to come again.
        again: bool,
    },
    /// `jobFinished`.
    Finished {
        /// It has failed, and is to come again.
        again: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunState {
    /// Its process is not there yet.
    Awaiting,
    /// `onStartJob` was asked for.
    Starting,
    /// That has returned.
    Running,
    /// `onStopJob` was asked for; what waits was not the job's fault.
    Stopping { is_blameless: bool },
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) key: JobKey,
    /// None once that is cancelled.
    pub(super) job: Option<u64>,
    pub(super) process: ProcessId,
    pub(super) payload: Payload,
    pub(super) state: RunState,
    pub(super) until_ns: Option<u64>,
    is_overdue: bool,
}

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    Failed,
    /// By no fault of its own: it comes as soon as it may.
    Interrupted,
}

impl Jobs {
    /// Begins what is ready and has a place. O(n) of what is ready.
    pub(super) fn begin_ready(&mut self, cx: &mut Cx<'_>) {
        if self.ready.is_empty() || self.runs.len() >= RUNNING_MAX {
            return;
        }
        let mut own = BTreeMap::<u32, usize>::new();
        for run in self.runs.values() {
            *own.entry(run.key.uid).or_default() += 1;
        }
        let ready: Vec<u64> = self.ready.iter().map(|(.., number)| *number).collect();
        for number in ready {
            if self.runs.len() >= RUNNING_MAX {
                return;
            }
            let Some(job) = self.all.get(&number) else {
                continue;
            };
            let key = job.asked.key.clone();
            let count = own.entry(key.uid).or_default();
            // Another of its name may be stopping still.
            if *count >= RUNNING_PER_UID_MAX || self.runs.values().any(|it| it.key == key) {
                continue;
            }
            let service = &job.asked.service;
            let wish = cx.running(&service.process, &service.component.package);
            // Without room for a process it waits for the end of one.
            if let Ok((process, is_running)) = wish {
                *count += 1;
                self.begin(number, process, is_running, cx);
            }
        }
    }

    fn begin(&mut self, number: u64, process: ProcessId, is_running: bool, cx: &mut Cx<'_>) {
        self.unlist(number);
        let Some(job) = self.all.get_mut(&number) else {
            return;
        };
        let id = RunId(self.numbers.next());
        job.run = Some(id);
        let run = Run {
            key: job.asked.key.clone(),
            job: Some(number),
            process,
            payload: job.asked.payload,
            state: RunState::Awaiting,
            until_ns: None,
            is_overdue: job.is_overdue(cx.now),
        };
        self.runs.insert(id, run);
        if is_running {
            self.ask_to_start(id, cx);
        }
    }

    fn ask_to_start(&mut self, id: RunId, cx: &mut Cx<'_>) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        let Some(job) = run.job.and_then(|it| self.all.get(&it)) else {
            return;
        };
        run.state = RunState::Starting;
        run.is_overdue |= job.is_overdue(cx.now);
        let until = cx.now.saturating_add(RUN_NS_MAX);
        run.until_ns = Some(until);
        self.due.insert((until, Timer::Run(id)));
        let step = JobStep::Start {
            service: job.asked.service.component.clone(),
            payload: run.payload,
            is_overdue: run.is_overdue,
        };
        ask(id, run.process, step, cx);
    }

    /// Asks a run to stop. One that its process has not heard of is none.
    pub(super) fn stop(&mut self, id: RunId, why: StopReason, cx: &mut Cx<'_>) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        forget_end(&mut self.due, run.until_ns.take(), id);
        match run.state {
            RunState::Awaiting => self.end(id, End::Interrupted, cx),
            RunState::Stopping { .. } => {}
            RunState::Starting | RunState::Running => {
                let is_blameless = matches!(why, StopReason::Conditions(_));
                run.state = RunState::Stopping { is_blameless };
                let process = run.process;
                ask(id, process, JobStep::Stop(why), cx);
            }
        }
    }

    /// One that its deadline has begun goes on without.
    pub(super) fn lose_conditions(&mut self, id: RunId, lacks: Conditions, cx: &mut Cx<'_>) {
        if self.runs.get(&id).is_some_and(|it| !it.is_overdue) {
            self.stop(id, StopReason::Conditions(lacks), cx);
        }
    }

    /// What a process says of a run of its own. Another's is passed over.
    pub fn told(&mut self, id: RunId, process: ProcessId, told: Told, cx: &mut Cx<'_>) {
        let Some(run) = self.runs.get_mut(&id).filter(|it| it.process == process) else {
            return;
        };
        let again = |again| match again {
            true => End::Failed,
            false => End::Done,
        };
        let end = match (told, run.state) {
            (_, RunState::Awaiting) => return,
            (Told::Started { goes_on: true }, RunState::Starting) => {
                run.state = RunState::Running;
                cx.processes.answered(process, Question::Job(id.0));
                return;
            }
            (Told::Started { goes_on: true }, _) => return,
            (Told::Started { goes_on: false }, _) => End::Done,
            (Told::Stopped { again: true }, RunState::Stopping { is_blameless: true }) => {
                End::Interrupted
            }
            (Told::Stopped { again: it } | Told::Finished { again: it }, _) => again(it),
        };
        self.end(id, end, cx);
        self.begin_ready(cx);
    }

    fn end(&mut self, id: RunId, end: End, cx: &mut Cx<'_>) {
        let Some(number) = self.forget_run(id, cx) else {
            return;
        };
        let Some(job) = self.all.get_mut(&number) else {
            return;
        };
        job.run = None;
        job.work.take_back();
        let (now, terms) = (cx.now, job.asked.terms);
        match (end, terms.period) {
            (End::Failed, _) => {
                job.failures = job.failures.saturating_add(1);
                job.earliest_ns = now.saturating_add(terms.back_off.wait_ns(job.failures));
                job.latest_ns = None;
            }
            (End::Interrupted, _) => {}
            (End::Done, Some(period)) => {
                job.failures = 0;
                // The first period whose last part begins after this. So one that was late is that
                // of the period in which it has ended.
                let begun = now.saturating_add(period.flex_ns);
                let late = begun.saturating_sub(job.period_end_ns) / period.interval_ns;
                let more = period.interval_ns.saturating_mul(late + 1);
                job.period_end_ns = job.period_end_ns.saturating_add(more);
                job.earliest_ns = job.period_end_ns - period.flex_ns;
            }
            (End::Done, None) => {
                self.remove(number, StopReason::Cancelled, cx);
                return;
            }
        }
        // The next server has it at its next time, not at once.
        self.kept_changes += u64::from(job.asked.kept.is_some());
        self.plan(number, now);
    }

    /// A run is no more: the job that it was of, if that is there.
    pub(super) fn forget_run(&mut self, id: RunId, cx: &mut Cx<'_>) -> Option<u64> {
        let run = self.runs.remove(&id)?;
        forget_end(&mut self.due, run.until_ns, id);
        cx.processes.answered(run.process, Question::Job(id.0));
        run.job
    }

    /// A process is there: what waits for it begins.
    pub fn process_attached(&mut self, process: ProcessId, cx: &mut Cx<'_>) {
        for id in self.runs_in(process) {
            if self.runs[&id].state == RunState::Awaiting {
                self.ask_to_start(id, cx);
            }
        }
    }

    /// A process is gone. What ran there has failed, and what waited for it: it would wait for the
    /// next one at once, which may fail as soon.
    pub fn process_died(&mut self, process: ProcessId, cx: &mut Cx<'_>) {
        for id in self.runs_in(process) {
            self.end(id, End::Failed, cx);
        }
        self.begin_ready(cx);
    }

    fn runs_in(&self, process: ProcessId) -> Vec<RunId> {
        let own = self.runs.iter().filter(|(_, it)| it.process == process);
        own.map(|(id, _)| *id).collect()
    }

    /// Hands out the next item of work of a run. None if that was all; once all is done as well,
    /// the job has ended.
    pub fn dequeue(&mut self, id: RunId, process: ProcessId, cx: &mut Cx<'_>) -> Option<Work> {
        let run = self.runs.get(&id).filter(|it| it.process == process)?;
        let job = self.all.get_mut(&run.job?)?;
        if !matches!(run.state, RunState::Starting | RunState::Running) {
            return None;
        }
        let work = job.work.next();
        if work.is_none() && job.work.is_done() {
            self.end(id, End::Done, cx);
            self.begin_ready(cx);
        }
        work
    }

    /// An item of work of a run is done. False if it was not handed out.
    pub fn complete(&mut self, id: RunId, process: ProcessId, work: i32) -> bool {
        let run = self.runs.get(&id).filter(|it| it.process == process);
        let job = run.and_then(|it| self.all.get_mut(&it.job?));
        job.is_some_and(|it| it.work.complete(work))
    }
}

fn forget_end(due: &mut BTreeSet<(u64, Timer)>, at: Option<u64>, id: RunId) {
    if let Some(at) = at {
        due.remove(&(at, Timer::Run(id)));
    }
}

fn ask(id: RunId, process: ProcessId, step: JobStep, cx: &mut Cx<'_>) {
    let until = cx.now + cx.processes.limits.answer_ns;
    cx.processes.ask(process, Question::Job(id.0), until);
    cx.effects.push(Effect::WakeAt(until));
    cx.effects.push(Effect::Job {
        process,
        run: id,
        step,
    });
}
