// SPDX-License-Identifier: Apache-2.0
//! Ten thousand of everything that one package may ask for: refused by name beyond its share, and
//! another package has its own.

mod world;

use apk::ComponentKind;
use intent::{Component, Intent};
use server::broadcasts::{REGISTERED_PER_PROCESS_MAX, Registration};
use server::notices::{NOTICES_PER_PACKAGE_MAX, Notice, NoticeKey};
use server::pending::{PENDING_PER_PACKAGE_MAX, PendingKind};
use server::server::StartError;
use server::services::{AUTO_CREATE, CONNECTIONS_PER_USER_MAX};
use server::{Payload, ProcessId, ProcessKey, Server};
use world::{component, manifest, signed};

const TRIES: usize = 10_000;

/// A greedy package and another, each with a process.
struct World {
    server: Server,
    greedy: ProcessId,
    other: ProcessId,
}

impl World {
    fn new() -> Self {
        let mut server = Server::default();
        let mut add = |package: &str| {
            let mut it = manifest(package, 1);
            it.application.components = vec![component(ComponentKind::Service, "Worker")];
            server.install(signed(it, "s"), 0).expect("it is new");
            let uid = server.packages.get(package).unwrap().settings.uid;
            let name = package.to_owned();
            let process = server.adopt(&ProcessKey { uid, name }, 1);
            process.expect("there is room")
        };
        let (greedy, other) = (add("p.greedy"), add("p.other"));
        Self {
            server,
            greedy,
            other,
        }
    }

    /// How many a package gets, and the last refusal.
    fn tried(
        &mut self,
        mut one: impl FnMut(&mut Server, usize) -> Result<(), String>,
    ) -> (usize, String) {
        let (mut count, mut refusal) = (0, String::new());
        for number in 0..TRIES {
            match one(&mut self.server, number) {
                Ok(()) => count += 1,
                Err(text) => refusal = text,
            }
        }
        self.server.assert_consistent();
        (count, refusal)
    }
}

fn pending(server: &mut Server, package: &str, number: usize) -> Result<(), String> {
    let intent = Intent {
        action: Some(number.to_string()),
        ..Intent::default()
    };
    let made = server
        .pending
        .get(package, PendingKind::Broadcast, 0, (intent, Payload(1)), 0);
    made.map(drop).map_err(|it| it.to_string())
}

#[test]
fn pending_intents_end_at_a_packages_share() {
    let mut world = World::new();
    let (count, refusal) = world.tried(|server, it| pending(server, "p.greedy", it));
    assert_eq!(count, PENDING_PER_PACKAGE_MAX);
    assert!(refusal.contains("p.greedy"), "{refusal}");
    assert_eq!(pending(&mut world.server, "p.other", 0), Ok(()));
}

#[test]
fn receivers_end_at_a_processes_share() {
    let mut world = World::new();
    let register = |server: &mut Server, process, number: usize| {
        let key = server.processes.get(process).unwrap().key.clone();
        let registration = Registration {
            receiver: number as i64,
            filter: intent::Filter::new(0),
            permission: None,
            is_exported: true,
        };
        let broadcasts = &mut server.broadcasts;
        let registered = broadcasts.register(process, &key, &key.name, registration);
        registered.map_err(|it| it.to_string())
    };
    let greedy = world.greedy;
    let (count, refusal) = world.tried(|server, it| register(server, greedy, it));
    assert_eq!(count, REGISTERED_PER_PROCESS_MAX);
    let user = world.server.processes.get(greedy).unwrap().key.uid;
    assert!(refusal.contains(&format!("user {user}")), "{refusal}");
    assert_eq!(register(&mut world.server, world.other, 0), Ok(()));
}

#[test]
fn notifications_end_at_a_packages_share() {
    let mut world = World::new();
    let post = |server: &mut Server, package: &str, number: usize| {
        let key = NoticeKey {
            package: package.to_owned(),
            tag: None,
            id: number as i32,
        };
        let posted = server.notices.post(key, Notice::default());
        posted.map_err(|it| it.to_string())
    };
    let (count, refusal) = world.tried(|server, it| post(server, "p.greedy", it));
    assert_eq!(count, NOTICES_PER_PACKAGE_MAX);
    assert!(
        refusal.contains("notifications of the package"),
        "{refusal}"
    );
    assert_eq!(post(&mut world.server, "p.other", 0), Ok(()));
}

#[test]
fn connections_end_at_a_users_share() {
    let mut world = World::new();
    let bind = |server: &mut Server, client| {
        let component = Component {
            package: "p.other".to_owned(),
            class: "Worker".to_owned(),
        };
        let intent = Intent {
            component: Some(component),
            ..Intent::default()
        };
        let bound = server.bind_service(client, (intent, Payload(1)), AUTO_CREATE, 0);
        bound.map(drop).map_err(|it: StartError| it.to_string())
    };
    let greedy = world.greedy;
    let (count, refusal) = world.tried(|server, _| bind(server, greedy));
    assert_eq!(count, CONNECTIONS_PER_USER_MAX);
    assert!(refusal.contains("connections of one user"), "{refusal}");
    assert_eq!(bind(&mut world.server, world.other), Ok(()));
}
