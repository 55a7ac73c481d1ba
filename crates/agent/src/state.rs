// SPDX-License-Identifier: Apache-2.0
//! [`State`]: the server's state machine, and what is kept beside it of each process. One lock
//! covers it; [`State::settle`] carries effects out, and waits for nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use binder::Binder;
use rt::memory::page_bytes;
use rt::peer::PidFd;
use rt::shared::{Memfd, SharedError, View};
use rustix::process::{Signal, pidfd_send_signal};
use server::activities::Visit;
use server::broadcasts::{
    BroadcastError, Delivery, Order, Outcome, Place, Sender, Shout, Standing, Target,
};
use server::server::Wish as Asked;
use server::services::ServiceStep;
use server::{
    ActivityId, ConnectionId, Death, Effect, EndReason, Payload, ProcessId, ProcessKey, Server,
    ServiceId,
};

use crate::alarms::Alarms;
use crate::calls::{FOREGROUND, IApp as _, IAppProxy, ISystemProxy, Step, Wish};
use crate::contents::Contents;
use crate::payloads::{Payloads, TooMuch, binders, component, flat, granted, intent_of, size};
use crate::queue::{Queue, Waiting, Waits};
use crate::senders::Senders;

/// Steps that wait for one process; one that lets more come does not look for them.
const STEPS_MAX: usize = 1_024;
/// Steps in one answer.
const STEPS_AT_ONCE: usize = 16;
/// Bytes of intents in one answer, far below what a parcel may have.
const STEP_BYTES_AT_ONCE: usize = 256 << 10;
/// Times to wake at are told apart by so much. Questions reach half a minute ahead, so at most some
/// thousand times are kept, and one for each process and service that waits.
const WAKE_NS: u64 = 10_000_000;

/// Changes of content that wait for one process; more are lost, and counted.
const CHANGES_MAX: usize = 128;
/// Broadcasts that wait for one process to be started.
const EARLY_MAX: usize = 64;
/// Binders in one answer: each may be of a process that its reader does not know yet.
const BINDERS_AT_ONCE: usize = 32;

/// Why a broadcast is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// Its intent does not fit.
    #[error(transparent)]
    Intent(#[from] TooMuch),
    /// The state machine does not take it.
    #[error(transparent)]
    Broadcast(#[from] BroadcastError),
}

/// A process that is to be started.
#[derive(Clone, Debug)]
pub struct Start {
    /// Which one.
    pub process: ProcessId,
    /// Whose, and its name.
    pub key: ProcessKey,
    /// The package whose code it loads.
    pub package: String,
}

/// A process of the kernel's, until its death is heard.
pub struct Running {
    /// The kernel's number.
    pub pid: i32,
    pidfd: PidFd,
    app: Option<IAppProxy>,
    /// Its real-time thread, which hears of urgent steps.
    urgent: Option<IAppProxy>,
    /// What its real-time threads do, if it says so.
    ledger: Option<View>,
    steps: Queue,
}

/// What a process says that its real-time threads have done together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Releases.
    pub releases: u64,
    /// Those that were skipped.
    pub skipped: u64,
    /// Those that were done behind their deadline.
    pub deadline_misses: u64,
    /// Those that computed longer than was declared.
    pub cost_overruns: u64,
}

/// See the module.
#[derive(Default)]
pub struct State {
    /// What decides.
    pub server: Server,
    /// Intents and results' data.
    pub payloads: Payloads,
    /// Intents that nothing names once the event's effects are carried out: a look through all of
    /// them takes long while others wait.
    pub(crate) fleeting: Vec<Payload>,
    /// The kernel's processes.
    pub running: BTreeMap<ProcessId, Running>,
    by_pid: HashMap<i32, ProcessId>,
    starts: VecDeque<Start>,
    /// What services have published, by what they were bound by.
    published: BTreeMap<(ServiceId, Payload), (ProcessId, Option<Binder>)>,
    /// Connections whose clients were told, with where their binder is.
    connected: BTreeMap<ConnectionId, (ProcessId, ServiceId, Payload)>,
    /// What providers are called by, and who observes what.
    pub contents: Contents,
    pub(crate) senders: Senders,
    /// PendingIntents that had ended when somebody looked last.
    pending_ended: u64,
    /// What is sent when.
    pub alarms: Alarms,
    /// Steps of processes that the kernel does not have yet.
    early: BTreeMap<ProcessId, Queue>,
    wakes: BTreeSet<u64>,
    /// Broadcasts that were lost: too many waited for a process, or it died too often.
    pub lost: u64,
    /// The processors are to be held at another level, or at none.
    is_frequency_due: bool,
    /// How often something has happened by which a process may be needed more or less.
    pub moves: u64,
    /// What was ended by force, for a log: the kernel's number, and why.
    pub ended: Vec<(i32, EndReason)>,
}

impl State {
    /// What starts an activity or a service in a user's name, with what it grants. Its intent is
    /// kept.
    ///
    /// # Errors
    ///
    /// [`TooMuch`]
    pub fn asked(&mut self, uid: u32, wish: Wish) -> Result<Asked, TooMuch> {
        let (intent, addresses) = (intent_of(&wish), granted(&wish)?);
        Ok(Asked {
            uid,
            intent,
            flags: wish.flags.cast_unsigned(),
            payload: self.keep(wish)?,
            addresses,
            ..Asked::default()
        })
    }

    /// Sends a broadcast, and says how many receivers it has. Its intent is found in `wish`, and so
    /// is the foreground flag. Receivers have copies of it: one that neither stays nor has turns is
    /// kept no longer.
    ///
    /// # Errors
    ///
    /// [`NotSent`]
    pub fn broadcast(
        &mut self,
        sender: Sender,
        wish: Wish,
        shout: Shout,
        now: u64,
    ) -> Result<usize, NotSent> {
        let (intent, is_foreground) = (intent_of(&wish), wish.flags & FOREGROUND != 0);
        let payload = match sender.priority {
            0 => self.keep(wish)?,
            _ => self.keep_urgent(wish)?,
        };
        if !shout.is_sticky && !shout.is_ordered && sender.result.is_none() {
            self.fleeting.push(payload);
        }
        let shout = Shout {
            intent,
            payload,
            is_foreground,
            ..shout
        };
        Ok(self.server.broadcast(sender, &shout, now)?)
    }

    /// Keeps an intent.
    pub fn keep(&mut self, wish: Wish) -> Result<Payload, TooMuch> {
        // What is on its way holds copies of its own.
        self.payloads.keep(wish, || self.server.payloads())
    }

    /// The same without a look at all others, unless there is no room.
    fn keep_urgent(&mut self, wish: Wish) -> Result<Payload, TooMuch> {
        match self.payloads.has_room(&wish) {
            true => self.payloads.add(wish),
            false => self.keep(wish),
        }
    }

    /// Carries out what an event has left, in order. What waited for a process that is ended may
    /// have another one started, which ends nothing: the second turn is the last.
    pub fn settle(&mut self, now: u64) {
        loop {
            let effects = self.server.take_effects();
            if effects.is_empty() {
                self.forget_ended();
                let fleeting = self.fleeting.drain(..);
                fleeting.for_each(|it| self.payloads.remove(it));
                return;
            }
            for effect in effects {
                self.carry_out(effect, now);
            }
        }
    }

    /// A process is to give up memory. It hears beside its steps: it may not fetch these for long.
    fn trim(&self, process: ProcessId, level: i32) {
        if let Some(app) = self.running.get(&process).and_then(|it| it.app.as_ref()) {
            // One that has just ended has given up all.
            let _ = app.trim(level);
        }
    }

    fn carry_out(&mut self, effect: Effect, now: u64) {
        if may_reorder(&effect) {
            self.moves += 1;
        }
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
            Effect::EndProcess { process, why } => self.end(process, why, now),
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
            Effect::Job { process, run, step } => self.run_job(process, run, step),
            Effect::Provider { process, step } => self.contents.tell(process, &step),
            Effect::Broadcast { process, delivery } => self.deliver(process, delivery),
            Effect::BroadcastResult {
                process,
                number,
                standing,
                payload,
                outcome,
            } => self.tell_result(process, (number, standing), payload, outcome),
            Effect::Frequency => self.is_frequency_due = true,
            Effect::Trim { process, level } => self.trim(process, level),
            // There is no launcher.
            Effect::Home => {}
        }
    }

    /// The state machine knows the process no more, so it fetches nothing from now on.
    fn end(&mut self, process: ProcessId, why: EndReason, now: u64) {
        self.starts.retain(|it| it.process != process);
        let left = self.take_queue(process);
        if let Some(running) = self.running.get(&process) {
            self.ended.push((running.pid, why));
            running.kill();
        }
        match why {
            EndReason::ForceStop | EndReason::PackageGone => {}
            EndReason::StartLate
            | EndReason::NotAnswering
            | EndReason::ProviderDied
            | EndReason::Switched
            | EndReason::Memory
            | EndReason::Unknown => self.send_again(left, now),
        }
    }

    /// What waits for a process, wherever that is on its way.
    fn take_queue(&mut self, process: ProcessId) -> Queue {
        match self.running.get_mut(&process) {
            Some(running) => std::mem::take(&mut running.steps),
            None => self.early.remove(&process).unwrap_or_default(),
        }
    }

    /// Broadcasts whose process died before it fetched them go to the next one of their receiver.
    /// They come before all that is sent from now on.
    fn send_again(&mut self, left: Queue, now: u64) {
        let (left, lost) = left.outliving();
        self.lost += lost;
        for it in left {
            let receiver = it.step.component.as_deref().and_then(component);
            let process = receiver.and_then(|it| self.server.receiver_again(&it, now));
            match process {
                Some(process) => self.push(process, it),
                None => self.lost += 1,
            }
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

    pub(crate) fn name(&self, step: &mut Step, payload: Payload) {
        if let Some(stored) = self.payloads.get(payload) {
            step.named.push(payload.0.cast_signed());
            step.wishes.push(stored.wish.clone());
        }
    }

    /// A broadcast comes to a receiver. An ordered one has one turn at a process at a time, so it
    /// waits for a process's start without a bound of its own.
    pub(crate) fn deliver(&mut self, process: ProcessId, delivery: Delivery) {
        let (receiver, component) = match delivery.target {
            Target::Registered(number) => (number, None),
            Target::Component(name) => (0, Some(flat(&name))),
        };
        let ordered = delivery.ordered.map_or(0, |it| it.0.cast_signed());
        let outcome = delivery.outcome;
        let mut step = Step {
            kind: ISystemProxy::STEP_BROADCAST,
            numbers: vec![
                delivery.uid.into(),
                receiver,
                ordered,
                delivery.is_sticky.into(),
                outcome.code.into(),
                self.inherited(delivery.standing),
                delivery.standing.number.cast_signed(),
            ],
            component,
            texts: outcome.data.into_iter().collect(),
            ..Step::default()
        };
        self.name(&mut step, delivery.payload);
        if let Some(extras) = outcome.extras {
            self.name(&mut step, extras);
        }
        self.push(process, (step, delivery.standing));
    }

    /// What a receiver runs at.
    fn inherited(&self, standing: Standing) -> i64 {
        standing.inherited(self.server.broadcasts.order).into()
    }

    fn tell_result(
        &mut self,
        process: ProcessId,
        (number, standing): (i64, Standing),
        payload: Payload,
        of: Outcome,
    ) {
        let mut step = Step {
            kind: ISystemProxy::STEP_RESULT,
            numbers: vec![number, of.code.into(), self.inherited(standing)],
            texts: of.data.into_iter().collect(),
            ..Step::default()
        };
        self.name(&mut step, payload);
        if let Some(extras) = of.extras {
            self.name(&mut step, extras);
        }
        self.push(process, (step, standing));
    }

    pub(crate) fn push(&mut self, process: ProcessId, waiting: impl Into<Waiting>) {
        let waiting = waiting.into();
        let Some(running) = self.running.get_mut(&process) else {
            // What is for a process that nobody wants any more is gone with it.
            if self.server.processes.get(process).is_some() {
                let early = self.early.entry(process).or_default();
                match waiting.step.is_ordered() || early.len() < EARLY_MAX {
                    true => early.push(waiting),
                    false => self.lost += 1,
                }
            }
            return;
        };
        if !running.steps.has_room_for(&waiting) {
            self.lost += 1;
            return;
        }
        if running.steps.len() >= STEPS_MAX {
            // Its death is a fault, as that of one that does not answer.
            running.kill();
            return;
        }
        let standing = waiting.standing;
        let before = running.steps.waits();
        running.steps.push(waiting);
        if standing.number != 0 {
            let journal = &mut self.server.broadcasts.journal;
            journal.note(standing, Place::Steps(process), true);
        }
        let urgent = match self.server.broadcasts.order {
            Order::Priority => standing.rank,
            Order::FirstCome => 0,
        };
        running.tell_of(urgent, before);
    }

    /// A process hears that content has changed. What waits there already comes once.
    pub(crate) fn push_change(&mut self, process: ProcessId, step: Step) {
        let Some(running) = self.running.get(&process) else {
            return;
        };
        let waiting = running.steps.iter();
        let waiting = waiting.filter(|it| it.kind == ISystemProxy::STEP_CHANGE);
        let is_same = |it: &&Step| it.texts == step.texts && it.numbers == step.numbers;
        if waiting.clone().any(|it| is_same(&it)) {
            return;
        }
        match waiting.count() < CHANGES_MAX {
            true => self.push(process, step),
            false => self.contents.lost += 1,
        }
    }

    /// What real-time senders have left for a process: one at a time, so that a more urgent one
    /// that comes waits for one to be handed over.
    pub(crate) fn take_urgent(&mut self, process: ProcessId) -> Vec<Step> {
        let Some(running) = self.running.get_mut(&process) else {
            return Vec::new();
        };
        let steps = &mut running.steps;
        let first = steps.front().filter(|it| it.standing.rank > 0);
        let taken = first.is_some().then(|| steps.pop()).flatten();
        let left = steps.waits();
        if taken.is_some() && left.ordinary && left.urgent == 0 {
            // The ordinary thread was sent away while there was this one.
            running.tell();
        }
        let journal = &mut self.server.broadcasts.journal;
        let note = |it: &Waiting| journal.note(it.standing, Place::Steps(process), false);
        let taken = taken.inspect(note);
        taken.into_iter().map(|it| it.step).collect()
    }

    /// What a process is to do next; some of it, if it is much. What is more urgent than the rest
    /// comes alone. If the process has a real-time thread that is not for the ordinary one, which
    /// hears again when the urgent ones are gone.
    pub(crate) fn take_steps(&mut self, process: ProcessId) -> Vec<Step> {
        let Some(running) = self.running.get_mut(&process) else {
            return Vec::new();
        };
        let (mut taken, mut bytes, mut count) = (Vec::new(), 0, 0);
        let is_alone = self.server.broadcasts.order == Order::Priority;
        let journal = &mut self.server.broadcasts.journal;
        if is_alone && running.urgent.is_some() && running.steps.waits().urgent > 0 {
            return taken;
        }
        let mut rank = None;
        while let Some(waiting) = running.steps.front() {
            let step = &waiting.step;
            bytes += step.wishes.iter().map(size).sum::<usize>();
            count += step.wishes.iter().map(binders).sum::<usize>();
            let is_enough = taken.len() >= STEPS_AT_ONCE
                || bytes > STEP_BYTES_AT_ONCE
                || count > BINDERS_AT_ONCE
                || rank.is_some_and(|it| it != waiting.standing.rank || is_alone && it > 0);
            if is_enough && !taken.is_empty() {
                break;
            }
            rank = Some(waiting.standing.rank);
            if let Some(it) = running.steps.pop() {
                if it.standing.number != 0 {
                    journal.note(it.standing, Place::Steps(process), false);
                }
                taken.push(it.step);
            }
        }
        taken
    }

    /// A process of the kernel's is there; it has not attached. Ended at once if nobody waits for
    /// it any more.
    pub fn began(&mut self, process: ProcessId, pidfd: PidFd) {
        let running = Running {
            pid: pidfd.pid(),
            pidfd,
            app: None,
            urgent: None,
            ledger: None,
            steps: self.early.remove(&process).unwrap_or_default(),
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
        self.moves += 1;
        self.server.attached(process, pid, now);
    }

    /// It has a real-time thread for what is urgent.
    pub(crate) fn attached_urgent(&mut self, process: ProcessId, app: IAppProxy) {
        if let Some(running) = self.running.get_mut(&process) {
            running.urgent = Some(app);
            let urgent = running.steps.waits().urgent;
            if urgent > 0 {
                running.tell_of(urgent, Waits::default());
            }
        }
    }

    /// A process says what its real-time threads do, by a page. Another one replaces it.
    ///
    /// # Errors
    ///
    /// It is no sealed file of one page.
    pub(crate) fn attached_ledger(
        &mut self,
        process: ProcessId,
        page: OwnedFd,
    ) -> Result<(), SharedError> {
        let view = Memfd::adopt(page, page_bytes())?.map_to_read()?;
        if let Some(running) = self.running.get_mut(&process) {
            running.ledger = Some(view);
        }
        Ok(())
    }

    /// A process is gone. If the state machine has ended it, [`Self::end`] has looked at its queue.
    pub fn died(&mut self, process: ProcessId, how: Death, now: u64) {
        let left = self.take_queue(process);
        if let Some(running) = self.running.remove(&process) {
            self.by_pid.remove(&running.pid);
        }
        self.contents.forget(process);
        self.senders.forget(process);
        self.published.retain(|_, (home, _)| *home != process);
        self.connected.retain(|_, (client, ..)| *client != process);
        self.moves += 1;
        self.server.died(process, how, now);
        self.send_again(left, now);
    }

    /// The process that has this number of the kernel's.
    pub(crate) fn of_pid(&self, pid: i32) -> Option<ProcessId> {
        self.by_pid.get(&pid).copied()
    }

    /// What is to be started, one after the other.
    pub fn next_start(&mut self) -> Option<Start> {
        self.starts.pop_front()
    }

    /// Whether [`Frequencies`](crate::Frequencies) are to look; it is asked once.
    pub fn take_frequency_due(&mut self) -> bool {
        std::mem::take(&mut self.is_frequency_due)
    }

    /// The same, to be asked again.
    pub fn is_frequency_due(&self) -> bool {
        self.is_frequency_due
    }

    /// Whether something is to be started.
    pub fn has_starts(&self) -> bool {
        !self.starts.is_empty()
    }

    /// When there is something to do again.
    pub fn next_wake(&self) -> Option<u64> {
        let own = self.wakes.first().copied();
        own.into_iter().chain(self.server.jobs.due()).min()
    }

    /// Time has passed.
    pub fn tick(&mut self, now: u64) {
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

    /// What a service has published for what it is bound by.
    pub(crate) fn published(&self, by: (ServiceId, Payload)) -> Option<Binder> {
        self.published.get(&by)?.1.clone()
    }

    /// PendingIntents that have ended are known no more, their alarms do not come, and who watches
    /// them hears of it.
    fn forget_ended(&mut self) {
        let pending = &self.server.pending;
        if std::mem::replace(&mut self.pending_ended, pending.ended()) == pending.ended() {
            return;
        }
        self.alarms.keep(|it| pending.peek(it).is_some());
        for (process, number) in self.senders.keep(pending) {
            let step = Step {
                kind: ISystemProxy::STEP_CANCELLED,
                numbers: vec![number],
                ..Step::default()
            };
            self.push(process, step);
        }
    }

    /// Time is nobody's concern here, and no process but one: what an event has left of that goes.
    pub(crate) fn forget_others(&mut self) {
        self.wakes.clear();
        self.starts.clear();
        self.ended.clear();
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

/// Whether somebody may be needed more or less than before.
fn may_reorder(effect: &Effect) -> bool {
    match effect {
        // One without order holds nobody: a storm of them changes nothing.
        Effect::Broadcast { delivery, .. } => delivery.ordered.is_some(),
        Effect::Trim { .. } | Effect::WakeAt(_) | Effect::Home | Effect::BroadcastResult { .. } => {
            false
        }
        _ => true,
    }
}

impl Running {
    /// What it says of its real-time threads; none if it says nothing.
    pub fn totals(&self) -> Option<Totals> {
        let view = self.ledger.as_ref()?;
        let word = |index: usize| view.load_long(index * 8, Relaxed);
        Some(Totals {
            releases: word(0),
            skipped: word(1),
            deadline_misses: word(2),
            cost_overruns: word(3),
        })
    }

    /// Whether it has not ended, by the kernel's word of this moment.
    pub fn is_alive(&self) -> bool {
        !self.pidfd.has_ended()
    }

    fn kill(&self) {
        // One that has just ended is no fault.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        self.pidfd.let_end();
    }

    /// There is one step more, of a rank; what waited before has a look under way. A real-time
    /// thread hears of each that goes before all others: it is as urgent as that. Who has none
    /// fetches all by one.
    fn tell_of(&self, rank: u8, before: Waits) {
        match &self.urgent {
            Some(app) if rank > 0 => {
                if rank > before.urgent {
                    let _ = app.hurry(rank.into());
                }
            }
            Some(_) if before.ordinary => {}
            None if before.ordinary || before.urgent > 0 => {}
            _ => self.tell(),
        }
    }

    /// There is something to fetch. A queue that is full has such a call in it already; one whose
    /// process is gone is heard of by its death.
    fn tell(&self) {
        if let Some(app) = &self.app {
            let _ = app.look();
        }
    }
}
