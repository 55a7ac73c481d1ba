// SPDX-License-Identifier: Apache-2.0
//! Processes, services, providers and pending intents: what starts, what starts again, what ends.

mod world;

use apk::ComponentKind;
use intent::{Component, Intent};
use server::pending::{CANCEL_CURRENT, NO_CREATE, ONE_SHOT, PendingKind, UPDATE_CURRENT};
use server::processes::{BACK_OFF_NS_MIN, START_NS_MAX};
use server::providers::{Acquired, Hold, ProviderStep};
use server::server::{StartError, Wish};
use server::services::{AUTO_CREATE, AfterStart, RESTART_NS_MIN, ServiceStep, StartKind};
use server::{
    Death, Effect, EndReason, Payload, PendingIntents, ProcessId, ProcessKey, Server, ServiceId,
};
use world::{component, manifest, signed};

/// Two packages: `p.home` has a service, a provider and an activity; `p.client` runs.
struct World {
    server: Server,
    client: ProcessId,
    now: u64,
}

impl World {
    fn new() -> Self {
        let mut server = Server::default();
        let mut home = manifest("p.home", 1);
        let mut provider = component(ComponentKind::Provider, "Facts");
        provider.authorities = vec!["facts".to_owned()];
        home.application.components = vec![
            component(ComponentKind::Service, "Worker"),
            provider,
            component(ComponentKind::Activity, "Main"),
        ];
        server.install(signed(home, "s"), 0).expect("it is new");
        let client = manifest("p.client", 1);
        server.install(signed(client, "t"), 0).expect("it is new");
        let key = ProcessKey {
            uid: 10_001,
            name: "p.client".to_owned(),
        };
        let client = server.adopt(&key, 1).expect("it is installed");
        Self {
            server,
            client,
            now: 0,
        }
    }

    fn effects(&mut self) -> Vec<Effect> {
        self.server.assert_consistent();
        let all = self.server.take_effects();
        // Nothing is in front in most of these tests, which is told once.
        let matters = |it: &Effect| !matches!(it, Effect::WakeAt(_) | Effect::Home);
        all.into_iter().filter(matters).collect()
    }

    /// The process that is to start.
    fn started(&mut self) -> ProcessId {
        match &self.effects()[..] {
            [Effect::StartProcess { process, .. }] => *process,
            other => panic!("one start is due, not {other:?}"),
        }
    }

    fn steps(&mut self) -> Vec<(ServiceId, ServiceStep)> {
        let step = |it| match it {
            Effect::Service { service, step, .. } => (service, step),
            other => panic!("{other:?}"),
        };
        self.effects().into_iter().map(step).collect()
    }

    fn start_worker(&mut self) {
        let wish = Wish {
            intent: named("Worker"),
            payload: Payload(1),
            ..Wish::default()
        };
        let started = self
            .server
            .start_service(&wish, StartKind::Ordinary, self.now);
        started.expect("it is there");
    }

    /// Started, attached, its first start delivered.
    fn with_worker() -> (Self, ProcessId, ServiceId) {
        let mut world = Self::new();
        world.start_worker();
        let process = world.started();
        assert!(world.server.attached(process, 7, 0));
        let steps = world.steps();
        let again = ServiceStep::Start {
            id: 1,
            intent: Some(Payload(1)),
            is_again: false,
        };
        assert_eq!(
            steps.iter().map(|it| it.1).collect::<Vec<_>>(),
            [ServiceStep::Create, again]
        );
        let worker = steps[0].0;
        world.told(|it, cx| it.done(worker, cx));
        (world, process, worker)
    }

    fn told(&mut self, tell: impl FnOnce(&mut server::Services, &mut server::Cx<'_>)) {
        let (services, mut cx) = self.server.services(self.now);
        tell(services, &mut cx);
    }

    fn pass(&mut self, ns: u64) {
        self.now += ns;
        self.server.tick(self.now);
    }

    /// It dies, and is there again after the wait; what its service is asked then.
    fn reborn(&mut self, process: ProcessId) -> Vec<ServiceStep> {
        self.server.died(process, Death::Exit, self.now);
        assert!(
            !self
                .effects()
                .iter()
                .any(|it| matches!(it, Effect::StartProcess { .. }))
        );
        self.pass(RESTART_NS_MIN);
        let process = self.started();
        assert!(self.server.attached(process, 8, self.now));
        self.steps().into_iter().map(|it| it.1).collect()
    }
}

fn named(class: &str) -> Intent {
    Intent {
        component: Some(Component {
            package: "p.home".to_owned(),
            class: class.to_owned(),
        }),
        ..Intent::default()
    }
}

#[test]
fn a_sticky_service_starts_again_without_an_intent() {
    let (mut world, process, worker) = World::with_worker();
    world.told(|it, cx| it.started(worker, 1, AfterStart::Sticky, cx));
    let again = ServiceStep::Start {
        id: 1,
        intent: None,
        is_again: false,
    };
    assert_eq!(world.reborn(process), [ServiceStep::Create, again]);
}

#[test]
fn a_start_that_was_not_finished_is_delivered_again() {
    let (mut world, process, worker) = World::with_worker();
    world.told(|it, cx| it.started(worker, 1, AfterStart::Redeliver, cx));
    let again = ServiceStep::Start {
        id: 1,
        intent: Some(Payload(1)),
        is_again: true,
    };
    assert_eq!(world.reborn(process), [ServiceStep::Create, again]);
}

#[test]
fn one_that_is_not_sticky_ends_with_its_process() {
    let (mut world, process, worker) = World::with_worker();
    world.told(|it, cx| it.started(worker, 1, AfterStart::NotSticky, cx));
    world.server.died(process, Death::Exit, 0);
    assert!(world.server.services.is_empty());
    world.pass(1 << 40);
    assert_eq!(world.effects(), []);
}

#[test]
fn a_service_stops_itself_unless_it_was_started_since() {
    let (mut world, _, worker) = World::with_worker();
    world.start_worker();
    world.effects();
    world.told(|it, cx| assert!(!it.stop_self(worker, 1, cx)));
    assert_eq!(world.effects(), []);
    world.told(|it, cx| assert!(it.stop_self(worker, 2, cx)));
    assert_eq!(world.steps(), [(worker, ServiceStep::Stop)]);
}

#[test]
fn binding_makes_it_only_if_it_is_asked_to() {
    let mut world = World::new();
    let by = || (named("Worker"), Payload(5));
    let first = world
        .server
        .bind_service(world.client, by(), 0, 0)
        .expect("room");
    assert_eq!(world.effects(), []);
    let second = world
        .server
        .bind_service(world.client, by(), AUTO_CREATE, 0)
        .expect("room");
    let process = world.started();
    assert!(world.server.attached(process, 7, 0));
    let steps = world.steps();
    let worker = steps[0].0;
    let bind = ServiceStep::Bind {
        intent: Payload(5),
        is_again: false,
    };
    assert_eq!(steps, [(worker, ServiceStep::Create), (worker, bind)]);
    world.told(|it, cx| it.published(worker, &named("Worker"), cx));
    let connected = |connection| ServiceStep::Connected {
        connection,
        intent: Payload(5),
    };
    assert_eq!(
        world.steps(),
        [(worker, connected(first)), (worker, connected(second))]
    );
    let client = world.client;
    world.told(|it, cx| assert!(!it.unbind(second, ProcessId(99), cx), "it is another's"));
    world.told(|it, cx| assert!(it.unbind(second, client, cx)));
    // The one that is left makes nothing, so it holds nothing.
    let unbind = ServiceStep::Unbind { intent: Payload(5) };
    let gone = ServiceStep::Disconnected {
        connection: first,
        is_final: true,
    };
    assert_eq!(
        world.steps(),
        [
            (worker, unbind),
            (worker, ServiceStep::Stop),
            (worker, gone)
        ]
    );
}

#[test]
fn a_client_s_death_unbinds() {
    let mut world = World::new();
    let by = (named("Worker"), Payload(5));
    world
        .server
        .bind_service(world.client, by, AUTO_CREATE, 0)
        .expect("room");
    let process = world.started();
    assert!(world.server.attached(process, 7, 0));
    world.effects();
    world.server.died(world.client, Death::Fault, 0);
    assert!(world.server.services.is_empty());
    world.effects();
}

/// Its process ends by itself, with the clients that are in it.
#[test]
fn all_services_end_and_no_client_is_told() {
    let (mut world, _, worker) = World::with_worker();
    let by = (named("Worker"), Payload(2));
    let bound = world
        .server
        .bind_service(world.client, by, AUTO_CREATE, 0)
        .expect("room");
    world.told(|it, cx| it.published(worker, &named("Worker"), cx));
    let intent = Payload(2);
    let bind = ServiceStep::Bind {
        intent,
        is_again: false,
    };
    let connected = ServiceStep::Connected {
        connection: bound,
        intent,
    };
    assert_eq!(world.steps(), [(worker, bind), (worker, connected)]);
    assert_eq!(
        world.server.services.binding(worker, &named("Worker")),
        Some(intent)
    );
    world.told(server::Services::end_all);
    let unbind = ServiceStep::Unbind { intent };
    assert_eq!(
        world.steps(),
        [(worker, unbind), (worker, ServiceStep::Stop)]
    );
    assert!(world.server.services.is_empty());
}

#[test]
fn who_does_not_answer_is_ended_and_waits_longer_each_time() {
    let (mut world, process, _) = World::with_worker();
    // Its onStartCommand has not returned.
    world.pass(server::processes::ANSWER_NS_MAX);
    let why = EndReason::NotAnswering;
    assert!(
        world
            .effects()
            .contains(&Effect::EndProcess { process, why })
    );
    let mut waits = Vec::new();
    for _ in 0..3 {
        let from = world.now;
        let next = loop {
            world.pass(BACK_OFF_NS_MIN / 4);
            let effects = world.effects();
            let start = effects.iter().find_map(|it| match it {
                Effect::StartProcess { process, .. } => Some(*process),
                _ => None,
            });
            if let Some(next) = start {
                break next;
            }
            assert!(world.now - from < 1 << 40, "it starts again");
        };
        waits.push(world.now - from);
        assert!(world.server.attached(next, 9, world.now));
        world.server.died(next, Death::Fault, world.now);
        world.effects();
    }
    assert!(waits.is_sorted() && waits[0] < waits[2], "{waits:?}");
}

#[test]
fn who_does_not_attach_is_ended() {
    let mut world = World::new();
    world.start_worker();
    let process = world.started();
    world.pass(START_NS_MAX);
    let why = EndReason::StartLate;
    assert!(
        world
            .effects()
            .contains(&Effect::EndProcess { process, why })
    );
    // Too late is as good as never.
    assert!(!world.server.attached(process, 7, world.now));
    let why = EndReason::Unknown;
    assert!(
        world
            .effects()
            .contains(&Effect::EndProcess { process, why })
    );
}

#[test]
fn who_holds_a_provider_ends_with_it() {
    let mut world = World::new();
    let client = world.client;
    let acquired = world
        .server
        .acquire_provider(client, "facts", Hold::Fast, 0);
    assert_eq!(acquired, Ok(Acquired::Waiting));
    let process = world.started();
    assert!(world.server.attached(process, 7, 0));
    let facts = named("Facts").component.expect("it is named");
    let step = ProviderStep::Ready(facts);
    assert_eq!(
        world.effects(),
        [Effect::Provider {
            process: client,
            step
        }]
    );
    world.server.died(process, Death::Fault, 0);
    let why = EndReason::ProviderDied;
    assert_eq!(
        world.effects(),
        [Effect::EndProcess {
            process: client,
            why
        }]
    );
    assert!(world.server.processes.is_empty());
}

#[test]
fn who_waits_for_a_provider_hears_that_it_failed() {
    let mut world = World::new();
    let client = world.client;
    let acquired = world
        .server
        .acquire_provider(client, "facts", Hold::Fast, 0);
    assert_eq!(acquired, Ok(Acquired::Waiting));
    let process = world.started();
    world.server.died(process, Death::Fault, 0);
    let facts = named("Facts").component.expect("it is named");
    let step = ProviderStep::Failed(facts);
    assert_eq!(
        world.effects(),
        [Effect::Provider {
            process: client,
            step
        }]
    );
    assert!(world.server.processes.get(client).is_some());
}

#[test]
fn an_activity_of_another_package_comes_to_the_front_there() {
    let mut world = World::new();
    let wish = Wish {
        uid: 10_001,
        intent: named("Main"),
        ..Wish::default()
    };
    world
        .server
        .start_activity(wish.clone(), 0)
        .expect("it is exported");
    let process = world.started();
    assert!(world.server.attached(process, 7, 0));
    let effects = world.effects();
    assert!(matches!(effects[..], [Effect::Activity { process: it, .. }] if it == process));
    assert!(world.server.force_stop("p.home", 0));
    assert!(world.server.activities.is_empty());
    world.effects();
    world.server.uninstall("p.home", 0).expect("it is there");
    let again = world.server.start_activity(wish, 0);
    assert_eq!(again, Err(StartError::NotFound));
    world.effects();
}

#[test]
fn pending_intents_are_told_apart_without_extras() {
    let mut all = PendingIntents::default();
    let mut get = |request, payload, flags| {
        let by = (named("Main"), Payload(payload));
        all.get("p.home", PendingKind::Activity, request, by, flags)
            .expect("room")
    };
    assert_eq!(get(1, 1, NO_CREATE), None);
    let first = get(1, 1, 0).expect("made");
    assert_eq!(get(1, 2, 0), Some(first));
    assert_ne!(get(2, 1, 0), Some(first));
    let once = get(1, 1, ONE_SHOT).expect("made");
    assert_eq!(get(1, 3, UPDATE_CURRENT), Some(first));
    let next = get(1, 4, CANCEL_CURRENT).expect("made");
    assert_ne!(next, first);
    assert!(all.send(first).is_none(), "it was cancelled");
    assert_eq!(all.send(next).expect("it is there").payload, Payload(4));
    assert!(all.send(once).is_some() && all.send(once).is_none());
    assert!(!all.cancel(next, "p.other") && all.cancel(next, "p.home"));
    all.end_package("p.home");
    assert!(all.is_empty());
    all.assert_consistent();
}
