// SPDX-License-Identifier: Apache-2.0
//! Broadcasts: whose turn it is, what goes on when somebody aborts or dies, and what stays.

mod world;

use apk::ComponentKind;
use intent::{Filter, Intent};
use server::broadcasts::{
    BROADCAST_STICKY, BroadcastError, Delivery, ORDERED_PER_USER_MAX, Order, Outcome,
    REGISTERED_PER_PROCESS_MAX, REGISTERED_PER_USER_MAX, Registration, STICKY_PER_PACKAGE_MAX,
    Sender, Shout, StickyError, Target,
};
use server::packages::FRAMEWORK;
use server::{BroadcastId, Death, Effect, Payload, ProcessId, ProcessKey, Server};
use world::{component, manifest, signed, taking};

const SENDER: u32 = 10_002;
const RESULT: i64 = 7;

/// `p.one` and `p.two` have receivers of the manifest with priorities 5 and -5; `p.sender` sends.
/// All three run.
struct World {
    server: Server,
    one: ProcessId,
    two: ProcessId,
    sender: ProcessId,
}

impl World {
    fn new() -> Self {
        let mut server = Server::default();
        let mut run = |package: &str, priority: Option<i32>| {
            let mut it = manifest(package, 1);
            it.uses_permissions = vec![BROADCAST_STICKY.to_owned()];
            let receiver = component(ComponentKind::Receiver, "Ear");
            let receiver = priority.map(|priority| taking(receiver, "act", priority));
            it.application.components.extend(receiver);
            server.install(signed(it, "s"), 0).expect("it is new");
            let uid = server
                .packages
                .get(package)
                .expect("it is there")
                .settings
                .uid;
            let name = package.to_owned();
            server
                .adopt(&ProcessKey { uid, name }, 1)
                .expect("it is installed")
        };
        let (one, two) = (run("p.one", Some(5)), run("p.two", Some(-5)));
        let sender = run("p.sender", None);
        Self {
            server,
            one,
            two,
            sender,
        }
    }

    fn register(&mut self, process: ProcessId, receiver: i64, priority: i32) {
        let known = self.server.processes.get(process).expect("it runs");
        let (key, package) = (known.key.clone(), known.package.clone());
        let registered = self.server.broadcasts.register(
            process,
            &key,
            &package,
            registration(receiver, priority),
        );
        registered.expect("there is room");
    }

    fn send(&mut self, shout: &Shout) -> Result<usize, BroadcastError> {
        let sender = Sender {
            uid: SENDER,
            result: shout.is_ordered.then_some((self.sender, RESULT)),
            priority: 99,
        };
        self.server.broadcast(sender, shout, 0)
    }

    fn effects(&mut self) -> Vec<Effect> {
        self.server.assert_consistent();
        let all = self.server.take_effects();
        all.into_iter()
            .filter(|it| !matches!(it, Effect::WakeAt(_) | Effect::Home))
            .collect()
    }

    /// The one turn that is given, and to whom.
    fn turn(&mut self) -> (ProcessId, Delivery) {
        match self.effects().as_slice() {
            [Effect::Broadcast { process, delivery }] => (*process, delivery.clone()),
            other => panic!("one turn, and not {other:?}"),
        }
    }

    fn done(&mut self, (process, delivery): &(ProcessId, Delivery), code: i32) {
        let outcome = Outcome {
            code,
            ..delivery.outcome.clone()
        };
        let id = delivery.ordered.expect("it is ordered");
        self.server.received(*process, id, outcome, false, 0);
    }

    fn result(&mut self) -> i32 {
        match self.effects().as_slice() {
            [
                Effect::BroadcastResult {
                    number, outcome, ..
                },
            ] => {
                assert_eq!(*number, RESULT);
                outcome.code
            }
            other => panic!("the result, and not {other:?}"),
        }
    }
}

fn registration(receiver: i64, priority: i32) -> Registration {
    let mut filter = Filter::new(priority);
    filter.actions.push("act".to_owned());
    Registration {
        receiver,
        filter,
        permission: None,
        is_exported: true,
    }
}

fn act(is_ordered: bool) -> Shout {
    Shout {
        intent: Intent {
            action: Some("act".to_owned()),
            ..Intent::default()
        },
        payload: Payload(3),
        is_ordered,
        ..Shout::default()
    }
}

#[test]
fn an_ordered_one_goes_by_priority_and_code_comes_before_manifests() {
    let mut world = World::new();
    let (one, two) = (world.one, world.two);
    world.register(two, 1, 5);
    world.register(one, 1, 0);
    world.register(two, 2, 9);
    assert_eq!(world.send(&act(true)), Ok(5));
    let mut seen = Vec::new();
    for code in 1..=5 {
        let turn = world.turn();
        assert_eq!(turn.1.outcome.code, code - 1, "what the last one left");
        seen.push((turn.0, turn.1.target.clone()));
        world.done(&turn, code);
    }
    let declared = |package: &str| {
        Target::Component(intent::Component {
            package: package.to_owned(),
            class: "Ear".to_owned(),
        })
    };
    let expected = [
        (two, Target::Registered(2)),
        (two, Target::Registered(1)),
        (one, declared("p.one")),
        (one, Target::Registered(1)),
        (two, declared("p.two")),
    ];
    assert_eq!(seen, expected);
    assert_eq!(world.result(), 5);
}

#[test]
fn who_aborts_ends_it_and_the_result_comes() {
    let mut world = World::new();
    world.send(&act(true)).expect("there is room");
    let (process, delivery) = world.turn();
    let id = delivery.ordered.expect("it is ordered");
    let outcome = Outcome {
        code: 42,
        ..Outcome::default()
    };
    // Another process, and another number, say nothing.
    let two = world.two;
    world.server.received(two, id, outcome.clone(), true, 0);
    let other = BroadcastId(id.0 + 1);
    world
        .server
        .received(process, other, outcome.clone(), true, 0);
    assert!(world.effects().is_empty());
    world.server.received(process, id, outcome, true, 0);
    assert_eq!(world.result(), 42);
}

#[test]
fn a_receiver_that_dies_hands_on_and_so_does_one_that_is_gone() {
    let mut world = World::new();
    let (one, two) = (world.one, world.two);
    world.register(one, 1, 9);
    world.register(two, 1, 7);
    world.send(&act(true)).expect("there is room");
    assert_eq!(world.turn().0, one);
    world.server.broadcasts.unregister(two, 1);
    world.server.died(one, Death::Fault, 0);
    // Its receiver in the manifest comes next: it starts again, after its fault.
    let again = world
        .server
        .processes
        .iter()
        .find(|(_, it)| it.package == "p.one");
    let again = again.expect("it is demanded").0;
    let (process, delivery) = world.turn();
    assert_eq!(process, again);
    assert!(matches!(delivery.target, Target::Component(_)));
    // A package that goes has no turn more, and nothing starts it.
    world.server.force_stop("p.one", 0);
    let effects = world.effects();
    let given = effects.iter().find_map(|it| match it {
        Effect::Broadcast { process, .. } => Some(*process),
        _ => None,
    });
    assert_eq!(given, Some(two), "{effects:?}");
    assert!(
        world
            .server
            .processes
            .iter()
            .all(|(_, it)| it.package != "p.one")
    );
}

#[test]
fn a_process_has_one_turn_at_a_time_and_others_go_on() {
    let mut world = World::new();
    world.send(&act(true)).expect("there is room");
    let first = world.turn();
    world.send(&act(true)).expect("there is room");
    assert!(world.effects().is_empty(), "it waits for the first");
    world.done(&first, 0);
    let both = world.effects();
    assert_eq!(both.len(), 2, "{both:?}");
    // Without order nobody waits.
    assert_eq!(world.send(&act(false)), Ok(2));
    assert_eq!(world.effects().len(), 2);
}

#[test]
fn a_sticky_one_stays_until_it_is_taken_back() {
    let mut world = World::new();
    let sticky = Shout {
        is_sticky: true,
        ..act(false)
    };
    world.send(&sticky).expect("it may");
    let later = Shout {
        payload: Payload(4),
        ..sticky.clone()
    };
    world.send(&later).expect("it may");
    let by = registration(1, 0);
    let staying = world.server.staying(10_000, &by);
    let named: Vec<_> = staying.iter().map(|it| (it.uid, it.payload)).collect();
    assert_eq!(named, [(SENDER, Payload(4))]);
    let own = Registration {
        is_exported: false,
        ..by.clone()
    };
    assert_eq!(world.server.staying(10_000, &own), []);
    world
        .server
        .take_back(SENDER, &sticky.intent)
        .expect("it may");
    assert_eq!(world.server.staying(10_000, &by), []);
    let limited = Shout {
        permissions: vec!["p".to_owned()],
        ..sticky.clone()
    };
    assert_eq!(world.send(&limited), Err(StickyError::Limited.into()));
    for number in 0..STICKY_PER_PACKAGE_MAX {
        let mut one = sticky.clone();
        one.intent.identifier = Some(number.to_string());
        world.send(&one).expect("there is room");
    }
    assert_eq!(world.send(&sticky), Err(StickyError::Full.into()));
    world.server.uninstall("p.sender", 0);
    assert_eq!(world.server.broadcasts.counts().2, 0);
    let nobody = Sender {
        uid: 10_777,
        ..Sender::default()
    };
    let refused = world.server.broadcast(nobody, &sticky, 0);
    assert_eq!(refused, Err(StickyError::Permission.into()));
}

#[test]
fn receivers_and_what_is_under_way_are_bounded() {
    let mut world = World::new();
    let one = world.one;
    for number in 0..REGISTERED_PER_PROCESS_MAX {
        world.register(one, number as i64, 0);
    }
    let key = ProcessKey {
        uid: 10_000,
        name: "p.one".to_owned(),
    };
    let all = &mut world.server.broadcasts;
    let refused = all.register(one, &key, "p.one", registration(-1, 0));
    assert_eq!(refused, Err(BroadcastError::Receivers(10_000)));
    // Another process of the same user has room, a third has not; one that goes makes room.
    let own = |name: &str| ProcessKey {
        uid: 10_000,
        name: name.to_owned(),
    };
    let mut start = |name: &str| {
        let server = &mut world.server;
        let mut effects = Vec::new();
        let started = server
            .processes
            .demand(&own(name), "p.one", 0, &mut effects);
        started.expect("there is room")
    };
    let (second, third) = (start("p.one:two"), start("p.one:three"));
    let rest = REGISTERED_PER_USER_MAX - REGISTERED_PER_PROCESS_MAX;
    let all = &mut world.server.broadcasts;
    for number in 0..rest {
        let registered = all.register(second, &key, "p.one", registration(number as i64, 0));
        registered.expect("there is room");
    }
    let refused = all.register(third, &key, "p.one", registration(1, 0));
    let refused = refused.expect_err("the user is full");
    assert!(refused.to_string().starts_with("user 10000 has no room"));
    all.unregister(second, 0);
    let registered = all.register(third, &key, "p.one", registration(1, 0));
    registered.expect("there is room again");
    world.server.assert_consistent();
    for process in [second, third] {
        world.server.died(process, Death::Exit, 0);
    }
    for _ in 0..ORDERED_PER_USER_MAX {
        world.send(&act(true)).expect("there is room");
    }
    let refused = world.send(&act(true));
    assert_eq!(refused, Err(BroadcastError::Ordered(SENDER)));
    world.server.died(one, Death::Exit, 0);
    world.server.assert_consistent();
    assert_eq!(world.server.broadcasts.counts().0, 0);
}

#[test]
fn what_only_the_system_sends_comes_of_no_application() {
    let mut world = World::new();
    let mut framework = manifest(FRAMEWORK, 35);
    framework.protected_broadcasts = vec!["act".to_owned()];
    world.server.packages.know_framework(&framework);
    let shout = Shout {
        intent: Intent {
            action: Some("act".to_owned()),
            ..Intent::default()
        },
        ..Shout::default()
    };
    let refused = world.send(&shout);
    assert_eq!(refused, Err(BroadcastError::Protected("act".to_owned())));
    assert!(world.effects().is_empty());
    let person = Sender::default();
    assert_eq!(world.server.broadcast(person, &shout, 0), Ok(2));
}

/// One ordered broadcast that waits, in the model: its rank and number.
type Waiting = (u8, u64);

/// Sends ordered broadcasts of random priorities to `p.one` alone, lets it be done with some, and
/// looks at each turn: it must be the first of the model's list.
fn turns_as_in_the_model(order: Order, seed: u64) {
    let mut world = World::new();
    world.server.broadcasts.order = order;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut current: Option<(ProcessId, Delivery)> = None;
    let mut sent = 0;
    for _ in 0..300 {
        if rng.bool() && waiting.len() < ORDERED_PER_USER_MAX - 2 {
            sent += 1;
            let (own, sender) = (rng.u8(..100), rng.u8(..100));
            let shout = Shout {
                intent: Intent {
                    action: Some("act".to_owned()),
                    package: Some("p.one".to_owned()),
                    ..Intent::default()
                },
                payload: Payload(sent),
                is_ordered: true,
                priority: rng.bool().then_some(own),
                is_foreground: rng.bool(),
                ..Shout::default()
            };
            let rank = match order {
                Order::Priority => shout.priority.unwrap_or(99).min(sender),
                Order::FirstCome => shout.is_foreground.into(),
            };
            waiting.push((rank, sent));
            let sender = Sender {
                uid: SENDER,
                priority: sender,
                ..Sender::default()
            };
            let reached = world.server.broadcast(sender, &shout, 0);
            assert_eq!(reached, Ok(1), "seed {seed}");
        } else if let Some(turn) = current.take() {
            world.done(&turn, 0);
        }
        let first = waiting.iter().copied().min_by_key(|it| (99 - it.0, it.1));
        match (world.effects().as_slice(), first) {
            ([], _) => {}
            ([Effect::Broadcast { process, delivery }], Some(first)) => {
                let came = (delivery.standing.rank, delivery.payload.0);
                assert_eq!(came, first, "seed {seed}");
                waiting.retain(|it| *it != first);
                assert!(current.replace((*process, delivery.clone())).is_none());
            }
            other => panic!("seed {seed}: one turn at a time, and not {other:?}"),
        }
        assert!(current.is_some() || waiting.is_empty(), "seed {seed}");
    }
}

#[test]
fn ordered_broadcasts_take_their_turns_by_priority_and_equals_as_they_came() {
    (0..100).for_each(|seed| turns_as_in_the_model(Order::Priority, seed));
}

#[test]
fn in_first_come_order_those_with_the_foreground_flag_are_first_and_no_other() {
    (0..100).for_each(|seed| turns_as_in_the_model(Order::FirstCome, seed));
}

#[test]
fn the_next_receiver_of_an_urgent_one_comes_before_a_less_urgent_one_that_waits() {
    let mut world = World::new();
    world.register(world.one, 1, 50);
    let urgent = Shout {
        priority: Some(80),
        ..act(true)
    };
    world.send(&urgent).expect("there is room");
    let first = world.turn();
    let low = Shout {
        priority: Some(5),
        payload: Payload(4),
        ..act(true)
    };
    world.send(&low).expect("there is room");
    // Both have their next receiver in the same process.
    world.done(&first, 0);
    assert_eq!(world.turn().1.standing.priority, 80);
}

#[test]
fn what_stays_comes_in_the_order_of_its_senders_priority() {
    let mut world = World::new();
    for (number, priority) in [(1, 3), (2, 90), (3, 3), (4, 50)] {
        let shout = Shout {
            is_sticky: true,
            payload: Payload(number),
            intent: Intent {
                action: Some("act".to_owned()),
                identifier: Some(number.to_string()),
                ..Intent::default()
            },
            priority: Some(priority),
            ..Shout::default()
        };
        world.send(&shout).expect("there is room");
    }
    let staying = world.server.staying(10_000, &registration(1, 0));
    let numbers: Vec<u64> = staying.iter().map(|it| it.payload.0).collect();
    assert_eq!(numbers, [2, 4, 1, 3]);
}
