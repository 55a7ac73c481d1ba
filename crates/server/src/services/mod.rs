// SPDX-License-Identifier: Apache-2.0
//! Services: started, bound, in the foreground, and started again when their process died.
//!
//! A service is there while it is started or while somebody binds it with [`AUTO_CREATE`].

mod bindings;

use std::collections::BTreeMap;

use intent::Component;

pub use bindings::AUTO_CREATE;
use bindings::{Binding, Connection};

use crate::id::Numbers;
use crate::{ConnectionId, Cx, Effect, Payload, ProcessId, ProcessKey, Question, ServiceId};

/// Services at once.
pub const SERVICES_MAX: usize = 256;
/// Connections at once.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Of all processes of one user: four users would have to conspire.
pub const CONNECTIONS_PER_USER_MAX: usize = 256;
/// Starts of one service that are not done yet.
pub const STARTS_MAX: usize = 128;
/// Different intents that one service is bound by.
pub const BINDINGS_MAX: usize = 32;
/// The time until a service that was started as one in the foreground must say so.
pub const FOREGROUND_NS_MAX: u64 = 30_000_000_000;
/// The wait before a service starts again; each time it is longer.
pub const RESTART_NS_MIN: u64 = 1_000_000_000;
/// By so much.
pub const RESTART_FACTOR: u64 = 4;
/// The longest wait.
pub const RESTART_NS_MAX: u64 = 3_600_000_000_000;
/// After a run of this time the wait is the shortest again.
pub const RESET_RUN_NS: u64 = 60_000_000_000;
/// A start that a dying process did not finish is delivered so often again.
pub const DELIVERIES_MAX: u8 = 3;
/// Deaths in a row after which a service that is only bound is given up.
pub const CRASHES_MAX: u32 = 16;

/// What is asked of a service, or told to one of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceStep {
    /// `onCreate`.
    Create,
    /// `onStartCommand`; without an intent if it starts again by itself.
    Start {
        /// Its number.
        id: i32,
        /// The intent.
        intent: Option<Payload>,
        /// It was delivered before.
        is_again: bool,
    },
    /// `onBind` or `onRebind`.
    Bind {
        /// The intent.
        intent: Payload,
        /// `onRebind`.
        is_again: bool,
    },
    /// `onUnbind`.
    Unbind {
        /// The intent that it was bound by.
        intent: Payload,
    },
    /// `onDestroy`.
    Stop,
    /// A client's `onServiceConnected`.
    Connected {
        /// Which of its connections.
        connection: ConnectionId,
        /// What was bound, by the intent's number.
        intent: Payload,
    },
    /// A client's `onServiceDisconnected`.
    Disconnected {
        /// Which of its connections.
        connection: ConnectionId,
        /// The service is gone, not its process alone: nothing connects it again.
        is_final: bool,
    },
}

/// What a service is told by `onStartCommand`'s result. The numbers are Android's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterStart {
    /// It starts again without an intent.
    Sticky,
    /// It does not start again.
    NotSticky,
    /// It starts again with this intent.
    Redeliver,
}

impl AfterStart {
    /// By Android's number.
    pub fn of(number: i32) -> Self {
        match number {
            2 => Self::NotSticky,
            3 => Self::Redeliver,
            _ => Self::Sticky,
        }
    }
}

/// How a start is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartKind {
    /// `startService`.
    Ordinary,
    /// `startForegroundService`.
    Foreground,
}

/// Which service, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceDeclaration {
    /// Its package and class.
    pub component: Component,
    /// The process that it lives in.
    pub process: ProcessKey,
}

/// No room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for more {0}")]
pub struct Full(&'static str);

#[derive(Clone, Debug)]
struct StartItem {
    id: i32,
    intent: Option<Payload>,
    deliveries: u8,
}

/// A service.
#[derive(Clone, Debug)]
pub struct Service {
    /// Which, and where.
    pub declaration: ServiceDeclaration,
    /// Its process, once one is wished for.
    pub process: Option<ProcessId>,
    /// `onCreate` was asked for in that process.
    pub is_created: bool,
    /// Somebody started it, and nobody stopped it.
    pub is_started: bool,
    /// It shows that it runs.
    pub is_foreground: bool,
    owes_foreground: bool,
    stops_if_killed: bool,
    last_start: i32,
    waiting: Vec<StartItem>,
    delivered: Vec<StartItem>,
    bindings: Vec<Binding>,
    /// Calls without an answer.
    executing: u32,
    crashes: u32,
    restart_wait: u64,
    restart_at: Option<u64>,
    created_at: u64,
}

impl Service {
    /// Calls of it are on their way.
    pub fn is_called(&self) -> bool {
        self.executing > 0
    }

    /// It starts again at this time, because its process died.
    pub fn restart_at(&self) -> Option<u64> {
        self.restart_at
    }
}

/// All services and connections.
#[derive(Clone, Debug, Default)]
pub struct Services {
    all: BTreeMap<ServiceId, Service>,
    by_name: BTreeMap<Component, ServiceId>,
    connections: BTreeMap<ConnectionId, Connection>,
    numbers: Numbers,
}

impl Services {
    /// Starts a service.
    ///
    /// # Errors
    ///
    /// [`Full`]
    pub fn start(
        &mut self,
        declaration: &ServiceDeclaration,
        intent: Payload,
        kind: StartKind,
        cx: &mut Cx<'_>,
    ) -> Result<ServiceId, Full> {
        let id = self.record(declaration)?;
        let Some(service) = self.all.get_mut(&id) else {
            return Err(Full("services"));
        };
        if service.waiting.len() + service.delivered.len() >= STARTS_MAX {
            return Err(Full("starts of one service"));
        }
        service.is_started = true;
        service.owes_foreground |= kind == StartKind::Foreground && !service.is_foreground;
        service.last_start = service.last_start.wrapping_add(1).max(1);
        let item = StartItem {
            id: service.last_start,
            intent: Some(intent),
            deliveries: 0,
        };
        service.waiting.push(item);
        service.restart_at = None;
        self.bring_up(id, cx);
        self.is_there(id).then_some(id).ok_or(Full("processes"))
    }

    /// Stops a service. False if it was not started.
    pub fn stop(&mut self, component: &Component, cx: &mut Cx<'_>) -> bool {
        let Some(id) = self.by_name.get(component).copied() else {
            return false;
        };
        self.stop_self(id, -1, cx)
    }

    /// A service stops itself, unless it was started since that number.
    pub fn stop_self(&mut self, id: ServiceId, start: i32, cx: &mut Cx<'_>) -> bool {
        let Some(service) = self.all.get_mut(&id).filter(|it| it.is_started) else {
            return false;
        };
        if start >= 0 {
            if let Some(at) = service.delivered.iter().position(|it| it.id == start) {
                service.delivered.drain(..=at);
            }
            if service.last_start != start {
                return false;
            }
        }
        service.is_started = false;
        service.waiting.clear();
        service.delivered.clear();
        self.end_unused(id, cx);
        true
    }

    /// `onCreate` or `onRebind` has returned.
    pub fn done(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        if let Some(service) = self.all.get_mut(&id) {
            answer(id, service, cx);
        }
    }

    /// `onStartCommand` has returned.
    pub fn started(&mut self, id: ServiceId, start: i32, after: AfterStart, cx: &mut Cx<'_>) {
        let Some(service) = self.all.get_mut(&id) else {
            return;
        };
        answer(id, service, cx);
        match after {
            AfterStart::Sticky => {
                service.delivered.retain(|it| it.id != start);
                service.stops_if_killed = false;
            }
            AfterStart::NotSticky => {
                service.delivered.retain(|it| it.id != start);
                service.stops_if_killed |= service.last_start == start;
            }
            AfterStart::Redeliver => service.stops_if_killed = true,
        }
    }

    /// It says that it runs in the foreground, or no more. False if it is not there.
    pub fn set_foreground(&mut self, id: ServiceId, is_on: bool, cx: &mut Cx<'_>) -> bool {
        let Some(service) = self.all.get_mut(&id) else {
            return false;
        };
        service.is_foreground = is_on;
        if is_on {
            service.owes_foreground = false;
            if let Some(process) = service.process {
                cx.processes.answered(process, Question::Foreground(id.0));
            }
        }
        true
    }

    /// A process is there: what waits for it is made.
    pub fn process_attached(&mut self, process: ProcessId, cx: &mut Cx<'_>) {
        let own = self
            .all
            .iter()
            .filter(|(_, it)| it.process == Some(process));
        let own: Vec<_> = own.map(|(id, _)| *id).collect();
        for id in own {
            self.bring_up(id, cx);
        }
    }

    /// A process is gone, as a client and as a home of services.
    pub fn process_died(&mut self, process: ProcessId, cx: &mut Cx<'_>) {
        let own = self.connections.iter();
        let own = own.filter(|(_, it)| it.client == process);
        let own: Vec<_> = own.map(|(id, _)| *id).collect();
        let homes = self
            .all
            .iter()
            .filter(|(_, it)| it.process == Some(process));
        let homes: Vec<_> = homes.map(|(id, _)| *id).collect();
        for id in &homes {
            self.lose(*id, cx);
        }
        for id in own {
            self.drop_connection(id, cx);
        }
        for id in homes {
            self.plan_restart(id, cx);
        }
    }

    /// Its process is gone: what it had there is no more.
    fn lose(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        let Some(service) = self.all.get_mut(&id) else {
            return;
        };
        let ran = cx.now.saturating_sub(service.created_at);
        if service.is_created && ran >= RESET_RUN_NS {
            service.crashes = 0;
            service.restart_wait = 0;
        }
        service.process = None;
        service.is_created = false;
        service.is_foreground = false;
        service.executing = 0;
        service.crashes += 1;
        for binding in &mut service.bindings {
            binding.is_asked = false;
            binding.is_published = false;
            binding.wants_rebind = false;
        }
        let again = std::mem::take(&mut service.delivered);
        let again = again
            .into_iter()
            .filter(|it| it.deliveries < DELIVERIES_MAX);
        let waiting = std::mem::take(&mut service.waiting);
        service.waiting = again.chain(waiting).collect();
        for (connection, it) in &mut self.connections {
            if it.service == id && std::mem::take(&mut it.is_connected) {
                cx.effects.push(Effect::Service {
                    process: it.client,
                    service: id,
                    step: ServiceStep::Disconnected {
                        connection: *connection,
                        is_final: false,
                    },
                });
            }
        }
    }

    fn plan_restart(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        let is_wanted = self.is_auto_created(id);
        let Some(service) = self.all.get_mut(&id) else {
            return;
        };
        if service.stops_if_killed && service.waiting.is_empty() {
            service.is_started = false;
        }
        let is_given_up = !service.is_started && service.crashes >= CRASHES_MAX;
        if (!service.is_started && !is_wanted) || is_given_up {
            self.remove(id, cx);
            return;
        }
        service.restart_wait = match service.restart_wait {
            0 => RESTART_NS_MIN,
            wait => wait.saturating_mul(RESTART_FACTOR).min(RESTART_NS_MAX),
        };
        if service.is_started && service.waiting.is_empty() {
            service.waiting.push(StartItem {
                id: service.last_start,
                intent: None,
                deliveries: 0,
            });
        }
        let at = cx.now + service.restart_wait;
        service.restart_at = Some(at);
        cx.effects.push(Effect::WakeAt(at));
    }

    /// Starts again what has waited for it.
    pub fn tick(&mut self, cx: &mut Cx<'_>) {
        let due = |it: &Service| it.restart_at.is_some_and(|at| at <= cx.now);
        let due: Vec<_> = self
            .all
            .iter()
            .filter(|(_, it)| due(it))
            .map(|it| *it.0)
            .collect();
        for id in due {
            if let Some(service) = self.all.get_mut(&id) {
                service.restart_at = None;
            }
            self.bring_up(id, cx);
        }
    }

    /// Ends all of a package.
    pub fn end_package(&mut self, package: &str, cx: &mut Cx<'_>) {
        let own = self.by_name.iter();
        let own = own.filter(|(name, _)| name.package == package);
        let own: Vec<_> = own.map(|(_, id)| *id).collect();
        for id in own {
            self.remove(id, cx);
        }
    }

    /// Ends all, the last made first. Clients are told nothing: they end as well.
    pub fn end_all(&mut self, cx: &mut Cx<'_>) {
        let all: Vec<_> = self.all.keys().rev().copied().collect();
        for id in all {
            self.connections.retain(|_, it| it.service != id);
            self.remove(id, cx);
        }
    }

    /// One of them.
    pub fn get(&self, id: ServiceId) -> Option<&Service> {
        self.all.get(&id)
    }

    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ServiceId, &Service)> {
        self.all.iter().map(|(id, service)| (*id, service))
    }

    /// Who is bound, and the process that it is bound to.
    pub(crate) fn ties(&self) -> impl Iterator<Item = (ProcessId, ProcessId)> + '_ {
        let home = |it: &Connection| self.all.get(&it.service)?.process;
        let all = self.connections.values();
        all.filter_map(move |it| Some((it.client, home(it)?)))
    }

    /// What is named by starts and bindings, and not gone.
    pub fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        self.all.values().flat_map(|it| {
            let starts = it.waiting.iter().chain(&it.delivered);
            let starts = starts.filter_map(|it| it.intent);
            starts.chain(it.bindings.iter().map(|it| it.payload))
        })
    }

    /// The one of this name.
    pub fn find(&self, component: &Component) -> Option<ServiceId> {
        self.by_name.get(component).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn record(&mut self, declaration: &ServiceDeclaration) -> Result<ServiceId, Full> {
        if let Some(id) = self.by_name.get(&declaration.component) {
            return Ok(*id);
        }
        if self.all.len() >= SERVICES_MAX {
            return Err(Full("services"));
        }
        let id = ServiceId(self.numbers.next());
        let service = Service {
            declaration: declaration.clone(),
            process: None,
            is_created: false,
            is_started: false,
            is_foreground: false,
            owes_foreground: false,
            stops_if_killed: false,
            last_start: 0,
            waiting: Vec::new(),
            delivered: Vec::new(),
            bindings: Vec::new(),
            executing: 0,
            crashes: 0,
            restart_wait: 0,
            restart_at: None,
            created_at: 0,
        };
        self.all.insert(id, service);
        self.by_name.insert(declaration.component.clone(), id);
        Ok(id)
    }

    /// It is gone again where no process can be had for it.
    fn is_there(&self, id: ServiceId) -> bool {
        self.all.contains_key(&id)
    }

    /// Makes it where it is not, once its process is there, and hands it what waits.
    fn bring_up(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        let Some(service) = self.all.get_mut(&id) else {
            return;
        };
        if !service.is_created && service.restart_at.is_none() {
            let declaration = &service.declaration;
            let wish = cx.running(&declaration.process, &declaration.component.package);
            let Ok((process, is_running)) = wish else {
                self.remove(id, cx);
                return;
            };
            service.process = Some(process);
            if is_running {
                service.is_created = true;
                service.created_at = cx.now;
                ask(id, service, ServiceStep::Create, cx);
            }
        }
        self.run_waiting(id, cx);
    }

    /// Starts and binds that its process has not heard of.
    fn run_waiting(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        let Some(service) = self.all.get_mut(&id).filter(|it| it.is_created) else {
            return;
        };
        for mut item in std::mem::take(&mut service.waiting) {
            let step = ServiceStep::Start {
                id: item.id,
                intent: item.intent,
                is_again: item.deliveries > 0,
            };
            item.deliveries += 1;
            service.delivered.push(item);
            ask(id, service, step, cx);
        }
        if service.owes_foreground
            && let Some(process) = service.process
        {
            let until = cx.now + FOREGROUND_NS_MAX;
            cx.processes.ask(process, Question::Foreground(id.0), until);
            cx.effects.push(Effect::WakeAt(until));
            service.owes_foreground = false;
        }
        for at in 0..service.bindings.len() {
            let binding = &mut service.bindings[at];
            let mut clients = self.connections.values();
            let is_wanted = clients.any(|it| it.service == id && it.intent == binding.intent);
            // One that was unbound and wants no rebind keeps its binder: nobody asks again.
            let is_open = !binding.is_published || binding.wants_rebind;
            if is_wanted && is_open && !binding.is_asked {
                let is_again = std::mem::take(&mut binding.wants_rebind);
                binding.is_asked = true;
                let intent = binding.payload;
                ask(id, service, ServiceStep::Bind { intent, is_again }, cx);
            }
        }
    }

    fn end_unused(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        let is_started = self.all.get(&id).is_some_and(|it| it.is_started);
        let has_clients = self.connections.values().any(|it| it.service == id);
        let is_made = self.all.get(&id).is_some_and(|it| it.process.is_some());
        // Connections that make nothing wait for one that does.
        let is_kept = is_started || self.is_auto_created(id) || (has_clients && !is_made);
        if !is_kept {
            self.remove(id, cx);
        }
    }

    fn remove(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        let Some(mut service) = self.all.remove(&id) else {
            return;
        };
        self.by_name.remove(&service.declaration.component);
        if service.is_created {
            for at in 0..service.bindings.len() {
                if service.bindings[at].is_asked {
                    let intent = service.bindings[at].payload;
                    ask(id, &mut service, ServiceStep::Unbind { intent }, cx);
                }
            }
            ask(id, &mut service, ServiceStep::Stop, cx);
            if let Some(process) = service.process {
                // Nobody is left to hear that it has ended; only the process's end is.
                cx.processes.answered(process, Question::Service(id.0));
                cx.processes.answered(process, Question::Foreground(id.0));
            }
        }
        self.connections.retain(|connection, it| {
            if it.service == id && it.is_connected {
                cx.effects.push(Effect::Service {
                    process: it.client,
                    service: id,
                    step: ServiceStep::Disconnected {
                        connection: *connection,
                        is_final: true,
                    },
                });
            }
            it.service != id
        });
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self, processes: &crate::Processes) {
        assert!(self.all.len() <= SERVICES_MAX && self.connections.len() <= CONNECTIONS_MAX);
        assert_eq!(self.all.len(), self.by_name.len());
        for (id, it) in &self.all {
            assert!(
                it.waiting.len() + it.delivered.len() <= STARTS_MAX + 1,
                "{id:?}"
            );
            assert!(it.bindings.len() <= BINDINGS_MAX);
            if it.is_created {
                let is_there = it.process.is_some_and(|it| processes.is_running(it));
                assert!(is_there, "{id:?} lives in a process");
            }
            let has_clients = self.connections.values().any(|its| its.service == *id);
            assert!(it.is_started || has_clients, "{id:?} is wanted");
        }
        for it in self.connections.values() {
            assert!(
                self.all.contains_key(&it.service),
                "no connection to nothing"
            );
            assert!(
                processes.get(it.client).is_some(),
                "no connection of nobody"
            );
        }
    }
}

fn ask(id: ServiceId, service: &mut Service, step: ServiceStep, cx: &mut Cx<'_>) {
    let Some(process) = service.process else {
        return;
    };
    service.executing += 1;
    let until = cx.now + cx.processes.limits.answer_ns;
    cx.processes.ask(process, Question::Service(id.0), until);
    cx.effects.push(Effect::WakeAt(until));
    cx.effects.push(Effect::Service {
        process,
        service: id,
        step,
    });
}

fn answer(id: ServiceId, service: &mut Service, cx: &mut Cx<'_>) {
    service.executing = service.executing.saturating_sub(1);
    if let Some(process) = service.process.filter(|_| service.executing == 0) {
        cx.processes.answered(process, Question::Service(id.0));
    }
}
