// SPDX-License-Identifier: Apache-2.0
//! Processes: wished for, started, attached, asked, late, dead; and how soon they start again.
//!
//! A record stands from the first wish to the end. A process that died by a fault waits before it
//! starts again, twice as long each time; one that ran well for a while is forgiven.

use std::collections::BTreeMap;

use crate::id::Numbers;
use crate::{Cx, Effect, EndReason, ProcessId, ProcessKey};

/// Processes at once: each costs tens of megabytes.
pub const PROCESSES_MAX: usize = 64;
/// Questions to one process without an answer: its components and a few broadcasts.
pub const QUESTIONS_MAX: usize = 256;
/// Names with a fault in their past; the oldest fault is forgotten for a newer one.
pub const FAULTS_MAX: usize = 256;
/// From the start of a process until it attaches.
pub const START_NS_MAX: u64 = 10_000_000_000;
/// The time that each step of an activity and each call of a service has, as on Android in the
/// foreground.
pub const ANSWER_NS_MAX: u64 = 20_000_000_000;
/// The wait after the first fault.
pub const BACK_OFF_NS_MIN: u64 = 1_000_000_000;
/// The longest wait.
pub const BACK_OFF_NS_MAX: u64 = 3_600_000_000_000;
/// Without a fault for so long, a process is forgiven.
pub const FORGIVEN_AFTER_NS: u64 = 600_000_000_000;

/// How long processes have. A slow machine, or one that is busy, gives them more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From a start until it attaches.
    pub start_ns: u64,
    /// For a step of an activity or a call of a service.
    pub answer_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start_ns: START_NS_MAX,
            answer_ns: ANSWER_NS_MAX,
        }
    }
}

/// Where a process is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It starts at this time, because it failed before.
    Waiting(u64),
    /// It was started, and must attach by this time.
    Starting(u64),
    /// It is there.
    Running,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Whose, and its name.
    pub key: ProcessKey,
    /// The package whose code it loads.
    pub package: String,
    /// Where it is on its way.
    pub state: ProcessState,
    /// The kernel's number, once it is known.
    pub pid: Option<u32>,
    /// What it was asked, and by when it must answer.
    questions: BTreeMap<Question, u64>,
}

/// Something that a process must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// A step of an activity.
    Activity(u64),
    /// The calls of a service that are on their way.
    Service(u64),
    /// What was started as a service in the foreground must say so.
    Foreground(u64),
    /// An ordered broadcast whose turn is there.
    Broadcast(u64),
    /// A run of a job is to start or to stop.
    Job(u64),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// By itself or by its own wish.
    Exit,
    /// By an exception, a signal or late answers.
    Fault,
    /// The server ended it.
    Asked,
}

/// No process can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{PROCESSES_MAX} processes are there already")]
pub struct TooManyProcesses;

#[derive(Clone, Copy, Debug)]
struct Faults {
    count: u32,
    last_ns: u64,
}

/// All processes.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// How long they have.
    pub limits: Limits,
    all: BTreeMap<ProcessId, Process>,
    by_key: BTreeMap<ProcessKey, ProcessId>,
    faults: BTreeMap<ProcessKey, Faults>,
    numbers: Numbers,
}

impl Processes {
    /// The process of this name; it is started if it is not there.
    ///
    /// # Errors
    ///
    /// [`TooManyProcesses`]
    pub fn demand(
        &mut self,
        key: &ProcessKey,
        package: &str,
        now: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<ProcessId, TooManyProcesses> {
        if let Some(id) = self.by_key.get(key) {
            return Ok(*id);
        }
        let wait_until = self.wait_until(key, now);
        let state = match wait_until {
            Some(at) => ProcessState::Waiting(at),
            None => ProcessState::Starting(now + self.limits.start_ns),
        };
        let id = self.add(key, package, state)?;
        match wait_until {
            Some(at) => effects.push(Effect::WakeAt(at)),
            None => effects.push(self.start_effect(id)),
        }
        if wait_until.is_none() {
            effects.push(Effect::WakeAt(now + self.limits.start_ns));
        }
        Ok(id)
    }

    fn add(
        &mut self,
        key: &ProcessKey,
        package: &str,
        state: ProcessState,
    ) -> Result<ProcessId, TooManyProcesses> {
        if self.all.len() >= PROCESSES_MAX {
            return Err(TooManyProcesses);
        }
        let id = ProcessId(self.numbers.next());
        let process = Process {
            key: key.clone(),
            package: package.to_owned(),
            state,
            pid: None,
            questions: BTreeMap::new(),
        };
        self.all.insert(id, process);
        self.by_key.insert(key.clone(), id);
        Ok(id)
    }

    fn start_effect(&self, id: ProcessId) -> Effect {
        let process = &self.all[&id];
        Effect::StartProcess {
            process: id,
            key: process.key.clone(),
            package: process.package.clone(),
        }
    }

    /// A process that runs already, from before the server's own start.
    ///
    /// # Errors
    ///
    /// [`TooManyProcesses`]; also if one of this name is there, as two would be mixed up.
    pub fn adopt(
        &mut self,
        key: &ProcessKey,
        package: &str,
        pid: u32,
    ) -> Result<ProcessId, TooManyProcesses> {
        if self.by_key.contains_key(key) {
            return Err(TooManyProcesses);
        }
        let id = self.add(key, package, ProcessState::Running)?;
        if let Some(process) = self.all.get_mut(&id) {
            process.pid = Some(pid);
        }
        Ok(id)
    }

    /// A process that was started says that it is there. False if nobody waits for it.
    pub fn attached(&mut self, id: ProcessId, pid: u32) -> bool {
        match self.all.get_mut(&id) {
            Some(process) if matches!(process.state, ProcessState::Starting(_)) => {
                process.state = ProcessState::Running;
                process.pid = Some(pid);
                true
            }
            _ => false,
        }
    }

    /// It is gone. None if it was not there.
    pub fn died(&mut self, id: ProcessId, how: Death, now: u64) -> Option<Process> {
        let process = self.all.remove(&id)?;
        self.by_key.remove(&process.key);
        if how == Death::Fault {
            self.note_fault(&process.key, now);
        }
        Some(process)
    }

    fn note_fault(&mut self, key: &ProcessKey, now: u64) {
        if !self.faults.contains_key(key) && self.faults.len() >= FAULTS_MAX {
            let oldest = self.faults.iter().min_by_key(|(_, it)| it.last_ns);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|it| self.faults.remove(&it));
        }
        let faults = self.faults.entry(key.clone()).or_insert(Faults {
            count: 0,
            last_ns: now,
        });
        if now.saturating_sub(faults.last_ns) > FORGIVEN_AFTER_NS {
            faults.count = 0;
        }
        faults.count = faults.count.saturating_add(1);
        faults.last_ns = now;
    }

    /// How often it failed in a row.
    pub fn faults(&self, key: &ProcessKey) -> u32 {
        self.faults.get(key).map_or(0, |it| it.count)
    }

    /// When it may start; none if at once.
    fn wait_until(&self, key: &ProcessKey, now: u64) -> Option<u64> {
        let faults = self.faults.get(key)?;
        let doubled = BACK_OFF_NS_MIN.saturating_mul(1 << (faults.count - 1).min(32));
        let at = faults.last_ns + doubled.min(BACK_OFF_NS_MAX);
        (at > now).then_some(at)
    }

    /// A person asks for it: what it did before does not count.
    pub fn forgive(&mut self, uid: u32, now: u64, effects: &mut Vec<Effect>) {
        self.faults.retain(|key, _| key.uid != uid);
        for process in self.all.values_mut() {
            if process.key.uid == uid && matches!(process.state, ProcessState::Waiting(_)) {
                process.state = ProcessState::Waiting(now);
                effects.push(Effect::WakeAt(now));
            }
        }
    }

    /// It must answer this in time.
    pub fn ask(&mut self, id: ProcessId, question: Question, until: u64) -> bool {
        let Some(process) = self.all.get_mut(&id) else {
            return false;
        };
        let has_room = process.questions.len() < QUESTIONS_MAX;
        if has_room || process.questions.contains_key(&question) {
            process.questions.insert(question, until);
        }
        has_room
    }

    /// It has.
    pub fn answered(&mut self, id: ProcessId, question: Question) {
        if let Some(process) = self.all.get_mut(&id) {
            process.questions.remove(&question);
        }
    }

    /// Starts who has waited, and names those that are late, with the reason.
    pub fn tick(&mut self, now: u64, effects: &mut Vec<Effect>) -> Vec<(ProcessId, EndReason)> {
        let start_ns = self.limits.start_ns;
        let mut late = Vec::new();
        let mut started = Vec::new();
        for (id, process) in &mut self.all {
            let is_silent = process.questions.values().any(|until| *until <= now);
            match process.state {
                ProcessState::Waiting(at) if at <= now => {
                    process.state = ProcessState::Starting(now + start_ns);
                    started.push(*id);
                }
                ProcessState::Starting(until) if until <= now => {
                    late.push((*id, EndReason::StartLate));
                }
                _ if is_silent => late.push((*id, EndReason::NotAnswering)),
                _ => {}
            }
        }
        for id in started {
            effects.push(self.start_effect(id));
            effects.push(Effect::WakeAt(now + start_ns));
        }
        late
    }

    /// Is it there, attached?
    pub fn is_running(&self, id: ProcessId) -> bool {
        let process = self.all.get(&id);
        process.is_some_and(|it| it.state == ProcessState::Running)
    }

    /// One of them.
    pub fn get(&self, id: ProcessId) -> Option<&Process> {
        self.all.get(&id)
    }

    /// The one of this name.
    pub fn find(&self, key: &ProcessKey) -> Option<ProcessId> {
        self.by_key.get(key).copied()
    }

    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ProcessId, &Process)> {
        self.all.iter().map(|(id, process)| (*id, process))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl Cx<'_> {
    /// The process of this name, if it is attached; it is started if it is not there.
    pub(crate) fn running(
        &mut self,
        key: &ProcessKey,
        package: &str,
    ) -> Result<(ProcessId, bool), TooManyProcesses> {
        let id = self
            .processes
            .demand(key, package, self.now, self.effects)?;
        Ok((id, self.processes.is_running(id)))
    }
}
