// SPDX-License-Identifier: Apache-2.0
//! Who ends when memory runs short: Android's order, and never a real-time process.

mod world;

use std::collections::BTreeMap;

use apk::{ComponentKind, MetaData};
use intent::{Component, Intent};
use server::broadcasts::{Outcome, Sender, Shout};
use server::memory::{Claims, DECLARATION, Importance, Left, Standing, TOLD_NS};
use server::packages::InstallError;
use server::processes::BACK_OFF_NS_MIN;
use server::providers::Hold;
use server::server::Wish;
use server::services::{AUTO_CREATE, RESTART_NS_MIN, StartKind};
use server::{Effect, EndReason, Payload, ProcessId, ProcessKey, Server};
use world::{component, manifest, signed, taking};

const MIB: u64 = 1 << 20;
const TOTAL: u64 = 1_024 * MIB;
const SCARCE: Left = left(200);
const LOW: Left = left(100);
const CRITICAL: Left = left(50);

const fn left(mib: u64) -> Left {
    Left {
        available: mib * MIB,
        total: TOTAL,
    }
}

/// Packages `p.1`, … of equal parts, each with a process; `p.rt` is a real-time one.
struct World {
    server: Server,
    now: u64,
}

impl World {
    fn new() -> Self {
        let mut server = Server::default();
        let named = BTreeMap::from([("p.rt".to_owned(), Some(64 * MIB))]);
        server.memory.claims = Claims::new(TOTAL, named);
        Self { server, now: 1 }
    }

    fn add(&mut self, package: &str) -> ProcessId {
        let mut it = manifest(package, 1);
        let mut provider = component(ComponentKind::Provider, "Facts");
        provider.authorities = vec![format!("{package}.facts")];
        let receiver = component(ComponentKind::Receiver, "Ear");
        it.application.components = vec![
            component(ComponentKind::Activity, "Main"),
            component(ComponentKind::Service, "Worker"),
            taking(receiver, "act", 0),
            provider,
        ];
        self.server.install(signed(it, "s"), 0).expect("it is new");
        let uid = self.uid(package);
        let name = package.to_owned();
        let process = self.server.adopt(&ProcessKey { uid, name }, 1);
        process.expect("there is room")
    }

    fn uid(&self, package: &str) -> u32 {
        self.server.packages.get(package).unwrap().settings.uid
    }

    fn intent(package: &str, class: &str) -> Intent {
        let (package, class) = (package.to_owned(), class.to_owned());
        Intent {
            component: Some(Component { package, class }),
            ..Intent::default()
        }
    }

    fn wish(package: &str, class: &str) -> Wish {
        Wish {
            intent: Self::intent(package, class),
            payload: Payload(1),
            ..Wish::default()
        }
    }

    /// Its service is started, and has returned from all its calls.
    fn start_service(&mut self, package: &str) {
        let wish = Self::wish(package, "Worker");
        let started = self
            .server
            .start_service(&wish, StartKind::Ordinary, self.now);
        started.expect("it is there");
        self.calm();
    }

    /// All calls of services return.
    fn calm(&mut self) {
        for effect in self.server.take_effects() {
            if let Effect::Service { service, .. } = effect {
                let (services, mut cx) = self.server.services(self.now);
                services.done(service, &mut cx);
            }
        }
    }

    fn start_activity(&mut self, package: &str) {
        let wish = Self::wish(package, "Main");
        let started = self.server.start_activity(wish, self.now);
        started.expect("it is there");
        // Who was in front pauses.
        for effect in self.server.take_effects() {
            if let Effect::Activity {
                activity, visit, ..
            } = effect
                && visit.then == server::activities::Then::Pause
            {
                let (activities, mut cx) = self.server.activities(self.now);
                activities.paused(activity, &mut cx);
            }
        }
    }

    fn bind(&mut self, client: ProcessId, package: &str) {
        let by = (Self::intent(package, "Worker"), Payload(2));
        let bound = self.server.bind_service(client, by, AUTO_CREATE, self.now);
        bound.expect("it is there");
        self.calm();
    }

    /// From the first to end, each with its package.
    fn order(&mut self) -> Vec<(String, Importance)> {
        self.now += 1;
        let all = self.server.standings(self.now);
        self.server.assert_consistent();
        all.iter()
            .map(|it| (self.name(it), it.importance))
            .collect()
    }

    fn name(&self, it: &Standing) -> String {
        let process = self.server.processes.get(it.process);
        process.expect("it is there").package.clone()
    }

    fn ended(&mut self, left: Left) -> Option<Importance> {
        self.now += 1;
        let ended = self.server.end_for_memory(left, self.now);
        self.server.assert_consistent();
        ended.map(|(_, it)| it.importance)
    }

    fn trims(&mut self, left: Left) -> Vec<(ProcessId, i32)> {
        self.now += 1;
        self.server.take_effects();
        self.server.tell_of_shortage(left, self.now);
        let trim = |it| match it {
            Effect::Trim { process, level } => Some((process, level)),
            _ => None,
        };
        let all = self.server.take_effects().into_iter();
        all.filter_map(trim).collect()
    }
}

/// All classes at once, and all of them end but the real-time one, in this order.
#[test]
fn the_order_is_androids_and_real_time_is_above_it() {
    let mut world = World::new();
    for package in [
        "p.rt",
        "p.old",
        "p.service",
        "p.front",
        "p.seen",
        "p.bar",
        "p.bound",
    ] {
        world.add(package);
    }
    world.order();
    let young = world.add("p.young");
    world.start_service("p.service");
    world.start_service("p.bar");
    let bar = world.server.services.find(&Component {
        package: "p.bar".to_owned(),
        class: "Worker".to_owned(),
    });
    let (services, mut cx) = world.server.services(world.now);
    assert!(services.set_foreground(bar.unwrap(), true, &mut cx));
    world.start_activity("p.seen");
    world.start_activity("p.front");
    let front = world.server.processes.find(&ProcessKey {
        uid: world.uid("p.front"),
        name: "p.front".to_owned(),
    });
    world.bind(front.unwrap(), "p.bound");
    let order = world.order();
    let expected = [
        ("p.old", Importance::Cached),
        ("p.young", Importance::Cached),
        ("p.service", Importance::Service),
        ("p.bar", Importance::Perceptible),
        ("p.seen", Importance::Visible),
        ("p.bound", Importance::Visible),
        ("p.front", Importance::Foreground),
        ("p.rt", Importance::RealTime),
    ];
    let expected = expected.map(|(name, it)| (name.to_owned(), it));
    assert_eq!(order, expected);
    let numbers: Vec<i32> = {
        let all = world.server.standings(world.now);
        assert_eq!(all[1].process, young);
        all.iter().map(|it| it.kill_order).collect()
    };
    assert_eq!(numbers, [999, 998, 500, 300, 200, 200, 100, -900]);
    // What is left decides who may end.
    assert_eq!(world.ended(left(512)), None);
    assert_eq!(world.ended(SCARCE), None);
    for (_, importance) in &expected[..2] {
        assert_eq!(world.ended(LOW), Some(*importance));
    }
    assert_eq!(world.ended(LOW), None, "whoever is left would be missed");
    for (_, importance) in &expected[2..7] {
        assert_eq!(world.ended(CRITICAL), Some(*importance));
    }
    assert_eq!(world.ended(left(0)), None, "real time does not end");
    assert_eq!(world.server.processes.len(), 1);
}

/// Who holds a provider fast ends with it, so a real-time process keeps its providers alive, and
/// their providers.
#[test]
fn who_a_real_time_process_would_end_with_does_not_end() {
    let mut world = World::new();
    let (rt, near) = (world.add("p.rt"), world.add("p.near"));
    world.add("p.far");
    for (client, authority, hold) in [
        (rt, "p.near.facts", Hold::Fast),
        (near, "p.far.facts", Hold::Fast),
    ] {
        let acquired = world
            .server
            .acquire_provider(client, authority, hold, world.now);
        acquired.expect("it is there");
    }
    assert!(world.order().iter().all(|it| it.1 == Importance::RealTime));
    assert_eq!(world.ended(left(0)), None);
    // One that is bound alone may end: its client hears of it, and lives.
    world.add("p.bound");
    world.bind(rt, "p.bound");
    let first = world.order().remove(0);
    assert_eq!(first, ("p.bound".to_owned(), Importance::Visible));
    assert_eq!(world.ended(CRITICAL), Some(Importance::Visible));
    assert!(world.server.processes.get(rt).is_some());
}

#[test]
fn who_has_a_receivers_turn_is_in_front_until_it_is_done() {
    let mut world = World::new();
    let (one, _) = (world.add("p.1"), world.add("p.2"));
    world.order();
    let shout = Shout {
        intent: World::intent("p.1", "Ear"),
        is_ordered: true,
        ..Shout::default()
    };
    let sent = world.server.broadcast(Sender::default(), &shout, world.now);
    assert_eq!(sent, Ok(1));
    let effects = world.server.take_effects();
    let turn = effects.iter().find_map(|it| match it {
        Effect::Broadcast { delivery, .. } => delivery.ordered,
        _ => None,
    });
    let in_front = ("p.1".to_owned(), Importance::Foreground);
    assert_eq!(world.order().last(), Some(&in_front));
    let now = world.now;
    let server = &mut world.server;
    server.received(one, turn.unwrap(), Outcome::default(), false, now);
    // It was needed later than the other.
    let cached = ("p.1".to_owned(), Importance::Cached);
    assert_eq!(world.order().last(), Some(&cached));
}

#[test]
fn each_hears_once_of_a_shortage_and_again_when_it_is_worse_or_stays() {
    let mut world = World::new();
    let (rt, cached) = (world.add("p.rt"), world.add("p.1"));
    assert_eq!(world.trims(left(512)), []);
    assert_eq!(world.trims(SCARCE), [(cached, 40), (rt, 5)]);
    assert_eq!(world.trims(SCARCE), []);
    assert_eq!(world.trims(LOW), [(cached, 60), (rt, 10)]);
    assert_eq!(world.trims(CRITICAL), [(cached, 80), (rt, 15)]);
    assert_eq!(world.trims(LOW), [], "it has heard worse");
    world.now += TOLD_NS;
    assert_eq!(world.trims(LOW), [(cached, 60), (rt, 10)]);
}

/// As what has failed: later each time, or the same memory would be taken again at once.
#[test]
fn what_ends_for_memory_starts_again_by_the_usual_rules() {
    let mut world = World::new();
    let process = world.add("p.1");
    world.start_service("p.1");
    assert_eq!(world.ended(CRITICAL), Some(Importance::Service));
    let ended = Effect::EndProcess {
        process,
        why: EndReason::Memory,
    };
    assert!(world.server.take_effects().contains(&ended));
    let key = ProcessKey {
        uid: world.uid("p.1"),
        name: "p.1".to_owned(),
    };
    assert_eq!(world.server.processes.faults(&key), 1);
    // Who wants it waits for that, no matter who it is.
    world.now += 1;
    world.start_service("p.1");
    assert_eq!(world.order(), [], "it waits, and has no memory");
    const { assert!(RESTART_NS_MIN == BACK_OFF_NS_MIN) };
    world.now += RESTART_NS_MIN;
    world.server.tick(world.now);
    let effects = world.server.take_effects();
    let starts =
        |it: &Effect| matches!(it, Effect::StartProcess { package, .. } if package == "p.1");
    assert!(effects.iter().any(starts), "{effects:?}");
    // One that starts is wanted just now.
    let starting = ("p.1".to_owned(), Importance::Foreground);
    assert_eq!(world.order(), [starting]);
}

#[test]
fn a_real_time_package_that_does_not_fit_is_not_installed() {
    let mut world = World::new();
    let named = ["p.a", "p.b"].map(|it| (it.to_owned(), None));
    world.server.memory.claims = Claims::new(TOTAL, named.into());
    let declaring = |package: &str, value: &str| {
        let mut it = manifest(package, 1);
        it.application.meta_data = vec![MetaData {
            name: Some(DECLARATION.to_owned()),
            value: Some(value.to_owned()),
            resource: None,
        }];
        signed(it, "s")
    };
    let mut install = |candidate| world.server.install(candidate, 0);
    let refused = |error: InstallError, expected: &str| {
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
    };
    refused(
        install(signed(manifest("p.a", 1), "s")).unwrap_err(),
        "does not say how much memory",
    );
    assert!(install(declaring("p.a", "512M")).is_ok());
    refused(
        install(declaring("p.b", "512M")).unwrap_err(),
        "536870912 of the 805306368 bytes for real-time packages are taken",
    );
    assert!(install(declaring("p.b", "256M")).is_ok());
    // Its own older version takes no room.
    let mut newer = declaring("p.a", "500M");
    newer.manifest.version_code = 2;
    assert!(install(newer).is_ok());
    assert!(install(declaring("p.ordinary", "9G")).is_ok());
}
