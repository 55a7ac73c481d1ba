// SPDX-License-Identifier: Apache-2.0
//! Random events: after each the rules hold, whatever applications, people and the kernel do. A
//! failing script prints the number that replays it.

mod world;

use apk::ComponentKind;
use fastrand::Rng;
use intent::{Component, Intent, Uri};
use server::activities::{FinishTask, flags};
use server::broadcasts::{Outcome, Registration, Sender, Shout, Target};
use server::frequency::Level;
use server::grants::{Address, READ};
use server::pending::PendingKind;
use server::providers::Hold;
use server::server::Wish;
use server::services::{AUTO_CREATE, AfterStart, StartKind};
use server::{
    ActivityId, BroadcastId, ConnectionId, Death, Effect, Payload, ProcessId, Server, ServiceId,
};
use world::{component, manifest, signed, taking};

const SCRIPTS: u64 = 300;
const EVENTS: usize = 250;
const SEED: u64 = 2_200;
const PACKAGES: [&str; 3] = ["p.one", "p.two", "p.three"];
const CLASSES: [&str; 5] = ["A", "B", "C", "D", "E"];
const FLAGS: [u32; 11] = [
    READ,
    flags::NO_HISTORY,
    flags::SINGLE_TOP,
    flags::NEW_TASK,
    flags::MULTIPLE_TASK,
    flags::CLEAR_TOP,
    flags::FORWARD_RESULT,
    flags::NEW_DOCUMENT,
    flags::REORDER_TO_FRONT,
    flags::CLEAR_TASK,
    flags::TASK_ON_HOME,
];

struct World {
    server: Server,
    rng: Rng,
    now: u64,
    processes: Vec<ProcessId>,
    activities: Vec<ActivityId>,
    services: Vec<ServiceId>,
    connections: Vec<(ConnectionId, ProcessId)>,
    /// Turns of ordered broadcasts that were given.
    turns: Vec<(ProcessId, BroadcastId)>,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            server: Server::default(),
            rng: Rng::with_seed(seed),
            now: 0,
            processes: Vec::new(),
            activities: Vec::new(),
            services: Vec::new(),
            connections: Vec::new(),
            turns: Vec::new(),
        }
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.rng.usize(..of.len())].clone())
    }

    fn some<T: Copy>(&mut self, of: fn(&Self) -> &Vec<T>) -> Option<T> {
        let count = of(self).len();
        if count == 0 {
            return None;
        }
        let at = self.rng.usize(..count);
        Some(of(self)[at])
    }

    fn package(&mut self) -> &'static str {
        PACKAGES[self.rng.usize(..PACKAGES.len())]
    }

    fn intent(&mut self) -> Intent {
        let package = self.package().to_owned();
        let class = CLASSES[self.rng.usize(..CLASSES.len())].to_owned();
        let is_named = self.rng.u8(..4) > 0;
        let documents = ["content://1", "content://2"];
        Intent {
            component: is_named.then_some(Component { package, class }),
            action: Some("act".to_owned()),
            data: is_named.then(|| Uri::new(documents[self.rng.usize(..2)])),
            ..Intent::default()
        }
    }

    fn install(&mut self) {
        let package = self.package();
        let mut it = manifest(package, self.rng.u64(1..4));
        for class in CLASSES {
            let mut activity = component(ComponentKind::Activity, class);
            activity.launch.mode = self.rng.i32(..5);
            activity.launch.document_mode = self.rng.i32(..8) - 4;
            activity.launch.has_no_history = self.rng.u8(..8) == 0;
            activity.launch.affinity = self
                .one(&[None, Some(String::new()), Some("q".to_owned())])
                .flatten();
            activity.process = self.one(&[None, None, Some(":other".to_owned())]).flatten();
            activity.is_exported = self.rng.bool();
            it.application.components.push(taking(activity, "act", 0));
            let mut service = component(ComponentKind::Service, class);
            service.process = self.one(&[None, None, Some(":other".to_owned())]).flatten();
            it.application.components.push(taking(service, "act", 0));
        }
        for class in CLASSES {
            let receiver = component(ComponentKind::Receiver, class);
            let priority = self.rng.i32(-2..3);
            let receiver = taking(receiver, "act", priority);
            it.application.components.push(receiver);
        }
        let sticky = server::broadcasts::BROADCAST_STICKY;
        it.uses_permissions = vec![sticky.to_owned()];
        let mut provider = component(ComponentKind::Provider, "Facts");
        provider.authorities = vec![format!("{package}.facts")];
        provider.access.is_grantable = true;
        provider.is_exported = false;
        it.application.components.push(provider);
        let now = self.now;
        // Older versions are refused, which is fine.
        let _ = self.server.install(signed(it, "s"), now);
    }

    fn addresses(&mut self) -> Vec<Address> {
        let text = format!("content://p.one.facts/{}", self.rng.u8(..3));
        let count = self.rng.usize(..2);
        Address::new(&text)
            .into_iter()
            .cycle()
            .take(count)
            .collect()
    }

    fn start_activity(&mut self) {
        let mut flags = 0;
        for _ in 0..self.rng.usize(..4) {
            flags |= FLAGS[self.rng.usize(..FLAGS.len())];
        }
        let source = self.some(|it| &it.activities);
        let uids = [0, 10_000, 10_001, 10_002];
        let wish = Wish {
            uid: uids[self.rng.usize(..4)],
            intent: self.intent(),
            flags,
            payload: Payload(self.rng.u64(..)),
            addresses: self.addresses(),
            source,
            request: self.rng.bool().then_some(3),
        };
        let now = self.now;
        let _ = self.server.start_activity(wish, now);
    }

    fn service_event(&mut self) {
        let (now, kind, number) = (self.now, self.rng.u8(..8), self.rng.i32(-1..4));
        let client = self.some(|it| &it.processes);
        let intent = self.intent();
        let payload = Payload(self.rng.u64(..));
        let uids = [0, 10_000, 10_001];
        let uid = uids[self.rng.usize(..3)];
        let connection = self.some(|it| &it.connections);
        let service = self.some(|it| &it.services);
        match (kind, client, service) {
            (0 | 1, _, _) => {
                let kinds = [StartKind::Ordinary, StartKind::Foreground];
                let kind = kinds[self.rng.usize(..2)];
                let wish = Wish {
                    uid,
                    intent,
                    flags: self.rng.u32(..4),
                    payload,
                    addresses: self.addresses(),
                    ..Wish::default()
                };
                let _ = self.server.start_service(&wish, kind, now);
            }
            (2 | 3, Some(client), _) => {
                let flags = if self.rng.bool() { AUTO_CREATE } else { 0 };
                let bound = self
                    .server
                    .bind_service(client, (intent, payload), flags, now);
                self.connections.extend(bound.ok().map(|it| (it, client)));
            }
            (4, ..) => {
                let (services, mut cx) = self.server.services(now);
                if let Some((connection, client)) = connection {
                    services.unbind(connection, client, &mut cx);
                }
            }
            (5, _, Some(service)) => {
                let (services, mut cx) = self.server.services(now);
                services.stop_self(service, number, &mut cx);
            }
            (6, _, Some(service)) => {
                let after = AfterStart::of(number);
                let is_on = self.rng.bool();
                let (services, mut cx) = self.server.services(now);
                services.started(service, number, after, &mut cx);
                services.set_foreground(service, is_on, &mut cx);
            }
            (_, _, Some(service)) => {
                let wants = self.rng.bool();
                let (services, mut cx) = self.server.services(now);
                services.published(service, &intent, &mut cx);
                services.unbound(service, &intent, wants, &mut cx);
            }
            _ => {}
        }
    }

    fn activity_event(&mut self) {
        let Some(id) = self.some(|it| &it.activities) else {
            return;
        };
        let (now, kind) = (self.now, self.rng.u8(..9));
        let with = [FinishTask::No, FinishTask::WithRoot, FinishTask::Always];
        let with = with[self.rng.usize(..3)];
        let (activities, mut cx) = self.server.activities(now);
        match kind {
            0 | 1 => _ = activities.finish(id, 1, None, with, &mut cx),
            2 => _ = activities.finish_affinity(id, &mut cx),
            3 => activities.finish_started(id, 3, &mut cx),
            4 => _ = activities.move_task_to_back(id, &mut cx),
            5 => _ = activities.relaunch(id, &mut cx),
            6 => activities.idle(&mut cx),
            7 => activities.resumed(id, &mut cx),
            _ => activities.paused(id, &mut cx),
        }
    }

    fn process_event(&mut self) {
        let (now, kind) = (self.now, self.rng.u8(..16));
        let Some(process) = self.some(|it| &it.processes) else {
            return;
        };
        match kind {
            0..7 => _ = self.server.attached(process, 7, now),
            7 => {
                let how = [Death::Exit, Death::Fault][self.rng.usize(..2)];
                self.server.died(process, how, now);
            }
            8 | 9 => {
                let authority = format!("{}.facts", self.package());
                let _ = self
                    .server
                    .acquire_provider(process, &authority, Hold::Fast, now);
            }
            10..13 => {
                let level = Level::new(self.rng.i32(0..2) * 50).expect("a percent");
                let _ = self.server.lock_frequency(process, level);
            }
            13 => _ = self.server.unlock_frequency(process),
            14 => {
                let level = self.server.frequency.level();
                if let Some(level) = level.filter(|_| self.rng.u8(..4) == 0) {
                    self.server.frequency.failed(level, "no".to_owned());
                }
            }
            _ => {
                self.now += self.rng.u64(..20_000_000_000);
                let now = self.now;
                self.server.tick(now);
            }
        }
    }

    fn broadcast_event(&mut self) {
        let (now, kind) = (self.now, self.rng.u8(..8));
        let process = self.some(|it| &it.processes);
        let receiver = self.rng.i64(1..4);
        match (kind, process) {
            (0, Some(process)) => {
                let known = self.server.processes.get(process);
                let Some(known) = known.map(|it| (it.key.clone(), it.package.clone())) else {
                    return;
                };
                let mut filter = intent::Filter::new(self.rng.i32(-2..3));
                filter.actions.push("act".to_owned());
                let registration = Registration {
                    receiver,
                    filter,
                    permission: None,
                    is_exported: self.rng.bool(),
                };
                let all = &mut self.server.broadcasts;
                let _ = all.register(process, &known.0, &known.1, registration);
            }
            (1, Some(process)) => self.server.broadcasts.unregister(process, receiver),
            (2, _) => {
                let intent = self.intent();
                let _ = self.server.take_back(10_000, &intent);
            }
            (3 | 4, _) => {
                let uids = [0, 10_000, 10_001];
                let sender = Sender {
                    uid: uids[self.rng.usize(..3)],
                    result: process.map(|it| (it, 1)),
                    priority: self.rng.u8(..4),
                };
                let shout = Shout {
                    intent: Intent {
                        action: Some("act".to_owned()),
                        ..Intent::default()
                    },
                    is_ordered: self.rng.u8(..4) > 0,
                    is_sticky: self.rng.u8(..4) == 0,
                    priority: (self.rng.u8(..2) == 0).then(|| self.rng.u8(..4)),
                    ..Shout::default()
                };
                let _ = self.server.broadcast(sender, &shout, now);
            }
            _ => {
                let turn = self.some(|it| &it.turns);
                if let Some((process, id)) = turn {
                    let is_aborted = self.rng.u8(..8) == 0;
                    let outcome = Outcome::default();
                    let server = &mut self.server;
                    server.received(process, id, outcome, is_aborted, now);
                }
            }
        }
    }

    fn rare_event(&mut self) {
        let (now, package) = (self.now, self.package());
        match self.rng.u8(..6) {
            0 => _ = self.server.uninstall(package, now),
            1 => _ = self.server.force_stop(package, now),
            2 | 3 => {
                let (intent, request) = (self.intent(), self.rng.i32(..3));
                let flags = self.rng.u32(..) & (0x1f << 26);
                let by = (intent, Payload(1));
                let pending = &mut self.server.pending;
                let made = pending.get(package, PendingKind::Activity, request, by, flags);
                if let Ok(Some(id)) = made {
                    pending.send(id);
                }
            }
            _ => self.install(),
        }
    }

    fn event(&mut self) {
        match self.rng.u8(..26) {
            0..6 => self.start_activity(),
            6..10 => self.activity_event(),
            10..14 => self.service_event(),
            14..19 => self.process_event(),
            19..25 => self.broadcast_event(),
            _ => self.rare_event(),
        }
        self.now += self.rng.u64(..1_000_000_000);
        for effect in self.server.take_effects() {
            match effect {
                Effect::StartProcess { process, .. } => self.processes.push(process),
                Effect::Activity { activity, .. } => self.activities.push(activity),
                Effect::Service { service, .. } => self.services.push(service),
                Effect::Broadcast { process, delivery } => {
                    if let Target::Registered(number) = delivery.target {
                        assert!((1..4).contains(&number));
                    }
                    self.turns.extend(delivery.ordered.map(|it| (process, it)));
                }
                _ => {}
            }
        }
        for list in [
            self.processes.len(),
            self.activities.len(),
            self.services.len(),
        ] {
            assert!(list < 100_000);
        }
    }
}

#[test]
fn rules_hold_after_each_event() {
    let mut most = [0; 3];
    for script in 0..SCRIPTS {
        let seed = SEED + script;
        let mut world = World::new(seed);
        for _ in 0..PACKAGES.len() * 2 {
            world.install();
        }
        for at in 0..EVENTS {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                world.event();
                world.server.assert_consistent();
            }));
            assert!(outcome.is_ok(), "seed {seed}, event {at}");
        }
        let server = &world.server;
        let now = [
            server.activities.len(),
            server.services.len(),
            server.processes.len(),
        ];
        for (most, now) in most.iter_mut().zip(now) {
            *most = now.max(*most);
        }
    }
    assert!(most.iter().all(|it| *it > 1), "nothing happens: {most:?}");
}
