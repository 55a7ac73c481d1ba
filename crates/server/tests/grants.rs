// SPDX-License-Identifier: Apache-2.0
//! Who may grant which address, how long it lasts, and what is kept: by example, and random scripts
//! against a list of all that was ever granted.

mod world;

use apk::{Access, ComponentKind, PathAccess, PathPattern};
use fastrand::Rng;
use intent::{Component, Intent};
use server::activities::{FinishTask, Started};
use server::grants::{
    Address, GRANTS_PER_GIVER_MAX, GrantRefused, KEPT_PER_HOLDER_MAX, NotKept, Owner, PERSISTABLE,
    PREFIX, READ, WRITE,
};
use server::packages::{Denied, Kind};
use server::processes::PROCESSES_MAX;
use server::server::{StartError, Wish};
use server::services::{AUTO_CREATE, StartKind};
use server::{ActivityId, Payload, ProcessKey, Server};
use world::{component, manifest, permission, signed};

const GIVER: u32 = 10_000;
const TAKER: u32 = 10_001;
const THIRD: u32 = 10_002;

fn at(text: &str) -> Address {
    Address::new(text).expect("an address")
}

/// `p.giver` provides `notes`, which nobody else may reach, and grants all but `/secret`; and
/// `parts`, whose paths have permissions of their own. `p.taker` has `p.READ`.
fn world() -> Server {
    let mut server = Server::default();
    let mut giver = manifest("p.giver", 1);
    giver.permissions = vec![permission("p.READ", 0), permission("p.PART", 0)];
    let mut notes = component(ComponentKind::Provider, "Notes");
    notes.is_exported = false;
    notes.authorities = vec!["notes".to_owned()];
    notes.access = Access {
        is_grantable: true,
        granted_paths: vec![pattern(1, "/open")],
        ..Access::default()
    };
    let mut parts = component(ComponentKind::Provider, "Parts");
    parts.authorities = vec!["parts".to_owned()];
    parts.access = Access {
        read: Some("p.READ".to_owned()),
        paths: vec![path("/part", "p.PART"), path("/shut", "p.NOBODY")],
        ..Access::default()
    };
    giver.application.components = vec![notes, parts];
    server.install(signed(giver, "s"), 0).expect("it is new");
    for (name, uses) in [("p.taker", "p.READ"), ("p.third", "p.PART")] {
        let mut package = manifest(name, 1);
        package.uses_permissions = vec![uses.to_owned()];
        package.application.components = vec![
            component(ComponentKind::Activity, "Main"),
            component(ComponentKind::Service, "Worker"),
        ];
        server.install(signed(package, "t"), 0).expect("it is new");
    }
    server
}

fn pattern(kind: i32, text: &str) -> PathPattern {
    let text = text.to_owned();
    PathPattern { kind, text }
}

fn path(prefix: &str, both: &str) -> PathAccess {
    PathAccess {
        path: pattern(1, prefix),
        read: Some(both.to_owned()),
        write: Some(both.to_owned()),
    }
}

fn grant(server: &mut Server, by: (u32, u32), text: &str, flags: u32) -> Result<(), GrantRefused> {
    let all = server.to_grant(by, &[at(text)], flags)?;
    server.grant(all, None);
    server.grants.assert_consistent();
    Ok(())
}

fn wish(uid: u32, class: &str, text: &str, flags: u32) -> Wish {
    let component = Component {
        package: "p.taker".to_owned(),
        class: class.to_owned(),
    };
    Wish {
        uid,
        intent: Intent {
            component: Some(component),
            ..Intent::default()
        },
        flags,
        addresses: vec![at(text)],
        ..Wish::default()
    }
}

const ONE: &str = "content://notes/open/1";

#[test]
fn only_what_its_provider_lets_and_who_has_it_is_granted() {
    let mut server = world();
    let secret = grant(&mut server, (GIVER, TAKER), "content://notes/secret", READ);
    assert!(matches!(secret, Err(GrantRefused::NotGrantable(_, _))));
    let foreign = grant(&mut server, (THIRD, TAKER), ONE, READ);
    assert_eq!(foreign, Err(GrantRefused::NotHeld(THIRD, ONE.to_owned())));
    grant(&mut server, (GIVER, TAKER), ONE, READ).expect("it is the giver's");
    assert!(server.is_granted(TAKER, &at(ONE), READ));
    assert!(!server.is_granted(TAKER, &at(ONE), READ | WRITE));
    assert!(!server.is_granted(TAKER, &at("content://notes/open/12"), READ));
    // What was granted goes on, and no more than that.
    grant(&mut server, (TAKER, THIRD), ONE, READ).expect("it has it");
    let more = grant(&mut server, (TAKER, THIRD), ONE, WRITE);
    assert_eq!(more, Err(GrantRefused::NotHeld(TAKER, ONE.to_owned())));
    let kept = grant(&mut server, (TAKER, THIRD), ONE, READ | PERSISTABLE);
    assert_eq!(kept, Err(GrantRefused::NotHeld(TAKER, ONE.to_owned())));
    // Nobody provides it, or it is its own: nothing is granted, and nothing refused.
    grant(&mut server, (THIRD, TAKER), "content://none/1", READ).expect("nothing");
    grant(&mut server, (THIRD, GIVER), ONE, READ).expect("its own");
    assert_eq!(server.grants.len(), 2);
}

#[test]
fn a_provider_that_is_not_exported_is_reached_by_a_grant_alone() {
    let mut server = world();
    let name = Component {
        package: "p.giver".to_owned(),
        class: "Notes".to_owned(),
    };
    let may = |server: &Server| {
        let found = server.packages.named(Kind::Provider, &name);
        server.may_use(TAKER, &found.expect("it is installed"))
    };
    assert_eq!(may(&server), Err(Denied::NotExported(name.clone())));
    grant(&mut server, (GIVER, TAKER), ONE, WRITE).expect("it is the giver's");
    assert_eq!(may(&server), Ok(()));
    server.revoke(GIVER, None, &at("content://notes"), READ | WRITE);
    assert_eq!(may(&server), Err(Denied::NotExported(name.clone())));
    assert!(server.grants.is_empty());
}

#[test]
fn a_path_has_permissions_of_its_own() {
    let server = world();
    let parts = server.packages.provider("parts").expect("it is installed");
    let holds = |uid, path: &str, modes| {
        let address = at(&format!("content://parts{path}"));
        server.packages.holds(uid, &parts, &address, modes)
    };
    for (uid, path, modes, expected) in [
        (TAKER, "/other", READ, true),
        (TAKER, "/part/1", READ, true),
        (THIRD, "/other", READ, false),
        (THIRD, "/part/1", READ, true),
        // Writing asks for nothing, but on these paths.
        (THIRD, "/other", WRITE, true),
        (THIRD, "/part/1", READ | WRITE, true),
        (TAKER, "/part/1", WRITE, false),
        (TAKER, "/shut", WRITE, false),
        (GIVER, "/shut", READ | WRITE, true),
    ] {
        assert_eq!(holds(uid, path, modes), expected, "{uid} {path} {modes}");
    }
    assert_eq!(server.packages.may_use(THIRD, &parts), Ok(()));
}

#[test]
fn by_an_intent_it_lives_as_long_as_who_got_it() {
    let mut server = world();
    let refused = server.start_activity(wish(THIRD, "Main", ONE, READ), 0);
    assert!(
        matches!(refused, Err(StartError::NotGranted(_))),
        "{refused:?}"
    );
    assert!(server.activities.is_empty(), "nothing has begun");
    let started = server.start_activity(wish(GIVER, "Main", ONE, READ), 0);
    let Ok((Started::New(id), _)) = started else {
        panic!("{started:?}");
    };
    assert!(server.is_granted(TAKER, &at(ONE), READ));
    let (activities, mut cx) = server.activities(0);
    activities.finish(id, 0, None, FinishTask::No, &mut cx);
    assert!(!server.is_granted(TAKER, &at(ONE), READ));
    let worker = wish(GIVER, "Worker", ONE, READ | WRITE);
    let start = |server: &mut Server| server.start_service(&worker, StartKind::Ordinary, 0);
    start(&mut server).expect("it is there");
    assert!(server.is_granted(TAKER, &at(ONE), READ | WRITE));
    let (services, mut cx) = server.services(0);
    let name = worker.intent.component.clone().expect("it is named");
    assert!(services.stop(&name, &mut cx));
    for process in process_of(&server) {
        server.died(process, server::Death::Asked, 0);
    }
    assert!(!server.is_granted(TAKER, &at(ONE), WRITE));
    server.assert_consistent();
}

fn process_of(server: &Server) -> Vec<server::ProcessId> {
    server.processes.iter().map(|(id, _)| id).collect()
}

#[test]
fn what_may_be_kept_is_kept_over_a_restart() {
    let mut server = world();
    let flags = READ | PERSISTABLE | PREFIX;
    grant(&mut server, (GIVER, TAKER), "content://notes/open", flags).expect("it is the giver's");
    let open = at("content://notes/open");
    let not = server.grants.keep(TAKER, &open, WRITE, 5);
    assert_eq!(not, Err(NotKept::NotGranted));
    server.grants.keep(TAKER, &open, READ, 5).expect("it may");
    grant(&mut server, (GIVER, TAKER), ONE, WRITE).expect("it is the giver's");
    let kept = server.kept_grants();
    assert_eq!(kept.len(), 1);
    let mut again = world();
    again.restore_grants(&kept);
    again.grants.assert_consistent();
    assert_eq!(again.kept_grants(), kept);
    assert!(again.is_granted(TAKER, &at(ONE), READ));
    assert!(!again.is_granted(TAKER, &at(ONE), WRITE));
    // Stopping a package by force takes what is not kept; its end takes all.
    assert!(server.force_stop("p.giver", 0));
    assert!(server.is_granted(TAKER, &at(ONE), READ));
    assert!(!server.is_granted(TAKER, &at(ONE), WRITE));
    assert!(
        again
            .grants
            .release(TAKER, &at("content://notes/open"), READ)
    );
    assert!(again.grants.is_empty());
    server.uninstall("p.giver", 0).expect("it is there");
    assert!(server.grants.is_empty());
}

#[test]
fn a_careless_giver_is_refused_and_the_oldest_that_is_kept_goes() {
    let mut server = world();
    let one = |it: usize| format!("content://notes/open/{it}");
    for it in 0..GRANTS_PER_GIVER_MAX {
        grant(&mut server, (GIVER, TAKER), &one(it), READ | PERSISTABLE).expect("there is room");
        let kept = server.grants.keep(TAKER, &at(&one(it)), READ, it as u64);
        kept.expect("it may");
    }
    assert_eq!(server.kept_grants().len(), KEPT_PER_HOLDER_MAX);
    let oldest = GRANTS_PER_GIVER_MAX - KEPT_PER_HOLDER_MAX;
    let kept = server.kept_grants();
    assert!(kept.iter().all(|it| it.since_ms >= oldest as u64));
    let next = grant(&mut server, (GIVER, THIRD), &one(0), READ);
    assert_eq!(next, Err(GrantRefused::Full(GIVER)));
    server.revoke(GIVER, Some(TAKER), &at("content://notes"), READ | WRITE);
    assert!(server.grants.is_empty());
    grant(&mut server, (GIVER, THIRD), &one(0), READ).expect("there is room again");
}

#[test]
fn what_is_not_started_is_granted_nothing() {
    let mut server = world();
    for number in 0..PROCESSES_MAX as u32 {
        let key = ProcessKey {
            uid: THIRD,
            name: format!("p.third:{number}"),
        };
        server.adopt(&key, number + 2).expect("there is room");
    }
    let worker = wish(GIVER, "Worker", ONE, READ);
    let started = server.start_service(&worker, StartKind::Ordinary, 0);
    assert!(matches!(started, Err(StartError::Full(_))), "{started:?}");
    let bound = server.bind_service(
        process_of(&server)[0],
        (worker.intent.clone(), Payload(2)),
        AUTO_CREATE,
        0,
    );
    assert!(matches!(bound, Err(StartError::Full(_))), "{bound:?}");
    assert!(server.grants.is_empty() && server.services.is_empty());
    server.assert_consistent();
}

/// One that was granted, in the list.
struct Line {
    holder: u32,
    address: Address,
    flags: u32,
    owner: Option<ActivityId>,
    left: u32,
}

impl Line {
    fn covers(&self, holder: u32, address: &Address, flags: u32) -> bool {
        let is_whole = self.flags & PREFIX != 0;
        let reaches = match is_whole {
            true => address.begins_with(&self.address),
            false => flags & PREFIX == 0 && address == &self.address,
        };
        self.holder == holder && reaches
    }
}

#[test]
fn random_scripts_agree_with_a_list() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let mut server = world();
        let mut lines: Vec<Line> = Vec::new();
        for _ in 0..60 {
            let depth = rng.usize(0..3);
            let text: String = (0..depth).map(|_| format!("/{}", rng.u8(0..2))).collect();
            let address = at(&format!("content://notes/open{text}"));
            let holder = *rng.choice(&[TAKER, THIRD]).expect("two");
            let modes = rng.u32(1..=3);
            match rng.u8(0..5) {
                0 | 1 => {
                    let flags = modes | if rng.bool() { PREFIX } else { 0 };
                    let owner = rng.bool().then(|| started(&mut server)).flatten();
                    let all =
                        server.to_grant((GIVER, holder), std::slice::from_ref(&address), flags);
                    server.grant(all.expect("it is the giver's"), owner.map(Owner::Activity));
                    let left = modes;
                    lines.push(Line {
                        holder,
                        address,
                        flags,
                        owner,
                        left,
                    });
                }
                2 => {
                    let from = rng.bool().then_some(holder);
                    server.revoke(GIVER, from, &address, modes);
                    for it in &mut lines {
                        let is_its = from.is_none_or(|it_| it_ == it.holder && it.owner.is_none());
                        if is_its && it.address.begins_with(&address) {
                            it.left &= !modes;
                        }
                    }
                }
                3 => {
                    let owners: Vec<_> = lines.iter().filter_map(|it| it.owner).collect();
                    if let Some(id) = rng.choice(&owners) {
                        let (activities, mut cx) = server.activities(0);
                        activities.finish(*id, 0, None, FinishTask::No, &mut cx);
                        lines.retain(|it| it.owner != Some(*id));
                    }
                }
                _ => {
                    let flags = modes | if rng.bool() { PREFIX } else { 0 };
                    let is_granted = server.is_granted(holder, &address, flags);
                    // One grant has all of it, where several of one range are one.
                    let mut ranges: Vec<(u32, String, u32)> = Vec::new();
                    for it in lines.iter().filter(|it| it.covers(holder, &address, flags)) {
                        let key = (it.flags & PREFIX, it.address.text().to_owned());
                        match ranges
                            .iter_mut()
                            .find(|it| (it.0, &it.1) == (key.0, &key.1))
                        {
                            Some(found) => found.2 |= it.left,
                            None => ranges.push((key.0, key.1, it.left)),
                        }
                    }
                    let expected = ranges.iter().any(|it| it.2 & modes == modes);
                    assert_eq!(is_granted, expected, "seed {seed}: {address:?} {flags}");
                }
            }
            server.assert_consistent();
        }
    }
}

/// An activity of the taker's, in a task of its own.
fn started(server: &mut Server) -> Option<ActivityId> {
    let mut wish = wish(0, "Main", ONE, 0x1800_0000);
    wish.addresses.clear();
    match server.start_activity(wish, 0) {
        Ok((Started::New(id), _)) => Some(id),
        _ => None,
    }
}

#[test]
fn who_may_not_reach_it_gives_up_its_own_alone() {
    let mut server = world();
    for holder in [TAKER, THIRD] {
        grant(&mut server, (GIVER, holder), ONE, READ).expect("it is the giver's");
    }
    server.revoke(TAKER, None, &at("content://notes/open"), READ);
    assert!(!server.is_granted(TAKER, &at(ONE), READ));
    assert!(server.is_granted(THIRD, &at(ONE), READ));
    let key = ProcessKey {
        uid: THIRD,
        name: "p.third".to_owned(),
    };
    let process = server.adopt(&key, 7).expect("it is installed");
    server.died(process, server::Death::Asked, 0);
    assert!(
        server.is_granted(THIRD, &at(ONE), READ),
        "it outlives processes"
    );
}
