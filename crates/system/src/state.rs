// SPDX-License-Identifier: Apache-2.0
//! [`State`]: the server's state machine, and what is kept beside it of each process. One lock
//! covers it; [`State::settle`] carries effects out, and waits for nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use binder::Binder;
use intent::Intent;
use rt::peer::PidFd;
use rustix::process::{Signal, pidfd_send_signal};
use server::activities::Visit;
use server::services::ServiceStep;
use server::{
    ActivityId, ConnectionId, Death, Effect, EndReason, Payload, ProcessId, ProcessKey, Server,
    ServiceId,
};

use crate::agent::{IApp as _, IAppProxy, ISystemProxy, Step, Wish};
use crate::logs::Logs;
use crate::payloads::{Payloads, TooMuch, WISH_BYTES_MAX, flat, intent_of, size};
use crate::protocol::BoundRow;

/// Steps that wait for one process; one that lets more come does not look for them.
const STEPS_MAX: usize = 1_024;
/// Steps in one answer.
const STEPS_AT_ONCE: usize = 16;
/// Bytes of intents in one answer, far below what a parcel may have.
const STEP_BYTES_AT_ONCE: usize = 256 << 10;
/// Times to wake at are told apart by so much. Questions reach half a minute ahead, so at most some
/// thousand times are kept, and one for each process and service that waits.
const WAKE_NS: u64 = 10_000_000;

/// Broadcasts that wait for one process to be started.
const EARLY_MAX: usize = 64;
/// Actions that code of one process has receivers for, and bytes of each.
pub(crate) const ACTIONS_MAX: usize = 1_024;
const ACTION_BYTES_MAX: usize = 512;

/// Who sends a broadcast; a person is nought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) uid: u32,
    pub(crate) pid: i32,
}

/// A process that is to be started.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) process: ProcessId,
    pub(crate) key: ProcessKey,
    pub(crate) package: String,
}

/// A process of the kernel's, until its death is heard.
pub(crate) struct Running {
    pub(crate) pid: i32,
    pidfd: PidFd,
    app: Option<IAppProxy>,
    steps: VecDeque<Step>,
    pub(crate) sandbox: Option<Vec<BoundRow>>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) server: Server,
    pub(crate) payloads: Payloads,
    pub(crate) logs: Logs,
    pub(crate) running: BTreeMap<ProcessId, Running>,
    by_pid: HashMap<i32, ProcessId>,
    starts: VecDeque<Start>,
    /// What services have published, by what they were bound by.
    published: BTreeMap<(ServiceId, Payload), (ProcessId, Option<Binder>)>,
    /// Connections whose clients were told, with where their binder is.
    connected: BTreeMap<ConnectionId, (ProcessId, ServiceId, Payload)>,
    /// Actions that code of a process has receivers for.
    registered: BTreeMap<ProcessId, BTreeSet<String>>,
    /// Steps of processes that the kernel does not have yet.
    early: BTreeMap<ProcessId, VecDeque<Step>>,
    wakes: BTreeSet<u64>,
    /// Effects that nobody carries out yet.
    pub(crate) unsupported: u64,
    /// Broadcasts that were lost, as too many waited for a process to be started.
    pub(crate) too_early: u64,
}

impl State {
    /// Keeps an intent.
    pub(crate) fn keep(&mut self, wish: Wish) -> Result<Payload, TooMuch> {
        // What is on its way holds copies of its own.
        self.payloads.keep(wish, || self.server.payloads())
    }

    /// Carries out what an event has left, in order.
    pub(crate) fn settle(&mut self) {
        // Carrying out ends processes at most, which is heard of later: one turn is enough.
        for effect in self.server.take_effects() {
            match effect {
                Effect::StartProcess {
                    process,
                    key,
                    package,
                } => self.starts.push_back(Start {
                    process,
                    key,
                    package,
                }),
                Effect::EndProcess { process, why } => self.end(process, why),
                Effect::Activity {
                    process,
                    activity,
                    visit,
                } => self.visit(process, activity, &visit),
                Effect::Service {
                    process,
                    service,
                    step,
                } => self.serve(process, service, step),
                Effect::WakeAt(at) => {
                    self.wakes.insert(at.next_multiple_of(WAKE_NS));
                }
                // No verb of an agent's asks for a provider of another process.
                Effect::Provider { .. } => self.unsupported += 1,
                // There is no launcher.
                Effect::Home => {}
            }
        }
    }

    fn end(&mut self, process: ProcessId, why: EndReason) {
        self.starts.retain(|it| it.process != process);
        if let Some(running) = self.running.get(&process) {
            let text = format!("takt system ends this process: {why:?}\n");
            self.logs.hear(running.pid.unsigned_abs(), text.as_bytes());
            running.kill();
        }
    }

    fn visit(&mut self, process: ProcessId, activity: ActivityId, visit: &Visit) {
        let mut step = Step {
            kind: ISystemProxy::STEP_ACTIVITY,
            numbers: visit.numbers(activity),
            ..Step::default()
        };
        for it in visit.payloads() {
            self.name(&mut step, it);
        }
        self.push(process, step);
    }

    fn serve(&mut self, process: ProcessId, service: ServiceId, asked: ServiceStep) {
        let number = |it: u64| it.cast_signed();
        let component = self.server.services.get(service);
        let mut step = Step {
            kind: ISystemProxy::STEP_SERVICE,
            component: component.map(|it| flat(&it.declaration.component)),
            ..Step::default()
        };
        let (kind, rest) = match asked {
            ServiceStep::Create => (ISystemProxy::CREATE, vec![]),
            ServiceStep::Start {
                id,
                intent,
                is_again,
            } => {
                let named = intent.map_or(0, |it| it.0);
                let numbers = vec![id.into(), number(named), is_again.into()];
                (ISystemProxy::START, numbers)
            }
            ServiceStep::Bind { intent, is_again } => {
                (ISystemProxy::BIND, vec![number(intent.0), is_again.into()])
            }
            ServiceStep::Unbind { intent } => (ISystemProxy::UNBIND, vec![number(intent.0)]),
            ServiceStep::Stop => (ISystemProxy::STOP, vec![]),
            ServiceStep::Connected { connection, intent } => {
                self.connected
                    .insert(connection, (process, service, intent));
                (ISystemProxy::CONNECTED, vec![number(connection.0)])
            }
            ServiceStep::Disconnected {
                connection,
                is_final,
            } => {
                self.connected.remove(&connection);
                let numbers = vec![number(connection.0), is_final.into()];
                (ISystemProxy::DISCONNECTED, numbers)
            }
        };
        let named = match asked {
            ServiceStep::Start { intent, .. } => intent,
            ServiceStep::Bind { intent, .. } | ServiceStep::Unbind { intent } => Some(intent),
            _ => None,
        };
        if let Some(named) = named {
            self.name(&mut step, named);
        }
        step.numbers = [number(service.0), kind.into()].into();
        step.numbers.extend(rest);
        self.push(process, step);
    }

    fn name(&self, step: &mut Step, payload: Payload) {
        if let Some(stored) = self.payloads.get(payload) {
            step.named.push(payload.0.cast_signed());
            step.wishes.push(stored.wish.clone());
        }
    }

    /// Sends a broadcast to all that a sender may reach, and says to how many.
    pub(crate) fn broadcast(
        &mut self,
        sender: Sender,
        wish: &Wish,
        permission: Option<&str>,
        now: u64,
    ) -> Result<usize, TooMuch> {
        let bytes = size(wish);
        if bytes > WISH_BYTES_MAX {
            return Err(TooMuch::One(bytes));
        }
        let step = |component: Option<String>| Step {
            kind: ISystemProxy::STEP_BROADCAST,
            numbers: vec![sender.uid.into(), sender.pid.into()],
            component,
            named: Vec::new(),
            wishes: vec![wish.clone()],
        };
        let intent = intent_of(wish);
        let mut count = 0;
        for process in self.listeners(&intent, permission) {
            self.push(process, step(None));
            count += 1;
        }
        for it in self.server.broadcast(sender.uid, &intent, permission, now) {
            self.push(it.process, step(Some(flat(&it.component))));
            count += 1;
        }
        Ok(count)
    }

    /// Processes whose code may have a receiver for an intent; they look closer.
    fn listeners(&self, intent: &Intent, permission: Option<&str>) -> Vec<ProcessId> {
        if intent.component.is_some() {
            return Vec::new();
        }
        let is_reached = |process: &ProcessId| {
            let known = self.server.processes.get(*process);
            known.is_some_and(|it| {
                let packages = &self.server.packages;
                intent.package.as_ref().is_none_or(|to| *to == it.package)
                    && permission.is_none_or(|name| packages.may(it.key.uid, name))
            })
        };
        let all = self.registered.iter();
        let all = all.filter(|(process, actions)| {
            let is_named = intent
                .action
                .as_ref()
                .is_some_and(|it| actions.contains(it));
            is_named && is_reached(process)
        });
        all.map(|(process, _)| *process).collect()
    }

    /// Code of a process has receivers for these actions. False if there are too many.
    pub(crate) fn listen(&mut self, process: ProcessId, actions: &[String]) -> bool {
        let all = self.registered.entry(process).or_default();
        let is_known = |it: &String| it.len() <= ACTION_BYTES_MAX;
        all.extend(
            actions
                .iter()
                .filter(|it| is_known(it))
                .take(ACTIONS_MAX)
                .cloned(),
        );
        let has_room = all.len() <= ACTIONS_MAX;
        while all.len() > ACTIONS_MAX {
            all.pop_last();
        }
        has_room
    }

    fn push(&mut self, process: ProcessId, step: Step) {
        let Some(running) = self.running.get_mut(&process) else {
            // What is for a process that nobody wants any more is gone with it.
            if self.server.processes.get(process).is_some() {
                let early = self.early.entry(process).or_default();
                match early.len() < EARLY_MAX {
                    true => early.push_back(step),
                    false => self.too_early += 1,
                }
            }
            return;
        };
        if running.steps.len() >= STEPS_MAX {
            // Its death is a fault, as that of one that does not answer.
            running.kill();
            return;
        }
        running.steps.push_back(step);
        if running.steps.len() == 1 {
            running.tell();
        }
    }

    /// What a process is to do next; some of it, if it is much.
    pub(crate) fn take_steps(&mut self, process: ProcessId) -> Vec<Step> {
        let Some(running) = self.running.get_mut(&process) else {
            return Vec::new();
        };
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(step) = running.steps.front() {
            let of_step: usize = step.wishes.iter().map(|it| it.whole.len()).sum();
            let is_enough = taken.len() >= STEPS_AT_ONCE || bytes + of_step > STEP_BYTES_AT_ONCE;
            if is_enough && !taken.is_empty() {
                break;
            }
            bytes += of_step;
            taken.extend(running.steps.pop_front());
        }
        taken
    }

    /// A process of the kernel's is there; it has not attached. Ended at once if nobody waits for
    /// it any more.
    pub(crate) fn began(
        &mut self,
        process: ProcessId,
        pidfd: PidFd,
        sandbox: Option<Vec<BoundRow>>,
    ) {
        let running = Running {
            pid: pidfd.pid(),
            pidfd,
            app: None,
            steps: self.early.remove(&process).unwrap_or_default(),
            sandbox,
        };
        if self.server.processes.get(process).is_none() {
            running.kill();
        }
        self.by_pid.insert(running.pid, process);
        self.running.insert(process, running);
    }

    /// It has said who it is.
    pub(crate) fn attached(&mut self, process: ProcessId, app: IAppProxy, now: u64) {
        let Some(running) = self.running.get_mut(&process) else {
            return;
        };
        let pid = running.pid.unsigned_abs();
        running.app = Some(app);
        if !running.steps.is_empty() {
            running.tell();
        }
        self.server.attached(process, pid, now);
    }

    /// A process is gone.
    pub(crate) fn died(&mut self, process: ProcessId, how: Death, now: u64) {
        if let Some(running) = self.running.remove(&process) {
            self.by_pid.remove(&running.pid);
        }
        self.early.remove(&process);
        self.registered.remove(&process);
        self.published.retain(|_, (home, _)| *home != process);
        self.connected.retain(|_, (client, ..)| *client != process);
        self.server.died(process, how, now);
    }

    /// The process that has this number of the kernel's.
    pub(crate) fn of_pid(&self, pid: i32) -> Option<ProcessId> {
        self.by_pid.get(&pid).copied()
    }

    /// What is to be started, one after the other.
    pub(crate) fn next_start(&mut self) -> Option<Start> {
        self.starts.pop_front()
    }

    pub(crate) fn has_starts(&self) -> bool {
        !self.starts.is_empty()
    }

    /// When there is something to do again.
    pub(crate) fn next_wake(&self) -> Option<u64> {
        self.wakes.first().copied()
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: u64) {
        self.wakes = self.wakes.split_off(&(now + 1));
        self.server.tick(now);
    }

    /// A service has published what it is called by.
    pub(crate) fn publish(
        &mut self,
        by: (ServiceId, Payload),
        home: ProcessId,
        binder: Option<Binder>,
    ) {
        let services = &self.server.services;
        self.published
            .retain(|(service, _), _| services.get(*service).is_some());
        self.published.insert(by, (home, binder));
    }

    /// What a client's connection gives it.
    pub(crate) fn binder_of(&self, client: ProcessId, connection: ConnectionId) -> Option<Binder> {
        let (owner, service, payload) = self.connected.get(&connection)?;
        if *owner != client {
            return None;
        }
        self.published.get(&(*service, *payload))?.1.clone()
    }

    /// A client has unbound: it is told nothing more.
    pub(crate) fn unbound(&mut self, connection: ConnectionId) {
        self.connected.remove(&connection);
    }
}

impl Running {
    fn kill(&self) {
        // One that has just ended is no fault.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// There is something to fetch. A queue that is full has such a call in it already; one whose
    /// process is gone is heard of by its death.
    fn tell(&self) {
        if let Some(app) = &self.app {
            let _ = app.look();
        }
    }
}
