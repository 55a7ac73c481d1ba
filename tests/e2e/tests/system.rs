// SPDX-License-Identifier: Apache-2.0
//! `takt system`: applications of several packages, in processes of their own, by the commands that
//! a person has.

use std::path::Path;

use e2e::world::{World, is_alive, is_root};
use e2e::{Run, apps};
use rt::clock::{Clock, Monotonic};

/// Installs in which the server is killed, each a little later.
const KILLS: u64 = 5;
/// How often it is killed as it sends, each time a little later.
const KILLS_RUNNING: u64 = 3;
const KILL_NS: u64 = 25_000_000;
const ASKER: &str = "org.example.asker";
const METER: &str = "org.example.meter";
const ALARMS: &str = "org.example.alarms";
const FLAKY: &str = "org.example.flaky";

#[test]
fn without_a_server_each_command_says_how_to_start_one() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("none");
    let socket = socket.to_str().expect("a text");
    for words in [
        &["ps"][..],
        &["logcat"],
        &["dumpsys"],
        &["uninstall", "p.q"],
        &["am", "force-stop", "p.q"],
        &["am", "start", "-a", "x"],
    ] {
        let run = Run::takt(&[words, &["--socket", socket]].concat());
        assert_eq!(run.code, 2, "{run:#?}");
        assert!(run.stderr.contains("`takt system`"), "{run:#?}");
    }
}

#[test]
fn three_applications_live_side_by_side() {
    let mut world = World::begin();
    world.await_template();
    for (app, package) in [("meter", METER), ("asker", ASKER), ("flaky", FLAKY)] {
        let said = world.install(app);
        assert!(
            said.starts_with(&format!("installed {package} 1")),
            "{said}"
        );
    }
    assert!(world.install("meter").starts_with("replaced"));

    two_talk(&world);
    all_are_told(&world);
    one_fails(&world);

    // Its client hears of the end.
    let meter = world.pid(METER);
    world.said(&["am", "force-stop", METER]);
    assert!(!is_alive(meter));
    assert!(world.process(METER).is_none());
    let gone = "disconnected from org.example.meter/.Meter";
    world.await_line(ASKER, "Asker", gone);

    // A server that is killed takes its applications with it, and knows what was installed.
    let asker = world.pid(ASKER);
    world.server.take().expect("it runs").kill_alone();
    world.await_dead(asker);
    world.start();
    assert!(world.process(ASKER).is_none());
    let state = world.said(&["dumpsys"]);
    assert!(state.starts_with("packages: 3\n"), "{state}");
    world.said(&["am", "start", "-n", "org.example.asker/.Main"]);
    world.await_line(ASKER, "Asker", "result 7 -1 42");

    let data = world.data(ASKER);
    assert!(data.is_dir());
    world.said(&["uninstall", ASKER]);
    assert!(!data.exists());
    let again = world.run(&["am", "start", "-n", "org.example.asker/.Main"]);
    assert_eq!(again.code, 1, "{again:#?}");
    assert!(again.stderr.contains("org.example.asker is not installed"));
    let server = world.server.take().expect("it runs");
    server.interrupt();
    server.await_end();
    assert!(!world.socket().exists());
}

/// An activity binds a service of another package, in another process, and sends it a message; then
/// it has an activity of that package give it a result.
fn two_talk(world: &World) {
    let words = ["am", "start", "-n", "org.example.asker/.Main"];
    world.said(&[&words[..], &["--es", "greeting", "hello"]].concat());
    world.await_line(ASKER, "Asker", "heard asker");
    let others_user = world.has_own_users(ASKER);
    let sees = format!("sees 1.0 with 2 services, of another user {others_user}");
    let expected = [
        "greeting hello",
        "hidden is refused",
        &sees,
        "there is no org.example.none",
        "takes it: org.example.meter.Pick",
        "bind true",
        "connected to org.example.meter/.Meter",
        "answer 42 from elsewhere true",
        "result 7 -1 42",
        "heard asker",
    ];
    assert_eq!(world.log(ASKER, "Asker"), expected);
    assert_eq!(world.log(METER, "Reader"), ["read asker"]);
    assert!(world.log(METER, "HiddenReader").is_empty());
    assert_eq!(world.log(METER, "Meter"), ["bound: asker", "asked 41"]);
    let pick = ["started by org.example.asker/.Main"];
    assert_eq!(world.log(METER, "Pick"), pick);
    assert_ne!(world.pid(ASKER), world.pid(METER));
}

/// A person's broadcast reaches receivers of a manifest, exported or not, and what one of them
/// sends reaches a receiver that code has registered.
fn all_are_told(world: &World) {
    let words = [
        "am",
        "broadcast",
        "-a",
        "org.example.meter.READ",
        "--es",
        "text",
        "person",
    ];
    assert_eq!(world.said(&words), "sent to 2 receivers\n");
    world.await_line(ASKER, "Asker", "heard person");
    world.await_line(METER, "HiddenReader", "read person");
    let nobody = world.said(&["am", "broadcast", "-a", "org.example.NONE"]);
    assert_eq!(nobody, "sent to 0 receivers\n");
}

/// It is started again, later each time, and the others live on.
fn one_fails(world: &World) {
    let others = [world.pid(ASKER), world.pid(METER)];
    world.said(&["am", "startservice", "-n", "org.example.flaky/.Flaky"]);
    world.await_true("it is held back", || {
        world.process(FLAKY).is_some_and(|it| {
            it["state"] == "held-back"
                && it["faults"].as_u64() >= Some(2)
                && it["restart_in_ms"].as_u64().is_some()
        })
    });
    assert!(world.log(FLAKY, "Flaky").len() >= 2);
    assert_eq!([world.pid(ASKER), world.pid(METER)], others);
    // A person's word ends it.
    world.said(&["am", "force-stop", FLAKY]);
    assert!(world.process(FLAKY).is_none());
}

#[test]
fn a_server_that_is_killed_in_an_install_keeps_what_it_acknowledged() {
    let mut world = World::begin();
    let file = apps::folder().join("flaky.apk");
    let file = file.to_str().expect("a text");
    let is_there = |world: &World| world.said(&["dumpsys"]).contains(FLAKY);
    for round in 0..=KILLS {
        let mut client = world.command(&["install", file]);
        let mut client = client.spawn().expect("takt starts");
        let server = world.server.take().expect("it runs");
        let is_acknowledged = if round == KILLS {
            // The last time it may answer first.
            let ended = client.wait().expect("it ends");
            server.kill_alone();
            assert!(ended.success());
            true
        } else {
            Monotonic.sleep_until(Monotonic.now_ns() + round * KILL_NS);
            server.kill_alone();
            client.wait().expect("it ends").success()
        };
        world.start();
        assert!(!is_acknowledged || is_there(&world), "round {round}");
        if is_there(&world) {
            world.said(&["uninstall", FLAKY]);
        }
    }
}

/// Alarms fire, and broadcasts, messages and results are on their way, when the server is killed.
/// All applications end, what was installed is there again, and all goes on from the beginning.
#[test]
fn a_server_that_is_killed_as_it_sends_and_fires_leaves_no_process() {
    let mut world = World::begin();
    let packages = [METER, ASKER, ALARMS];
    for app in ["meter", "asker", "alarms"] {
        world.install(app);
    }
    for round in 0..KILLS_RUNNING {
        world.await_template();
        world.said(&["am", "startservice", "-n", "org.example.alarms/.Sleeper"]);
        world.await_line(ALARMS, "Alarms", "not early true");
        world.said(&["am", "start", "-n", "org.example.asker/.Main"]);
        let mut words = world.command(&["am", "broadcast", "-a", "org.example.meter.READ"]);
        let mut sender = words.spawn().expect("takt starts");
        Monotonic.sleep_until(Monotonic.now_ns() + round * KILL_NS);
        let row = |it: &&str| world.process(it)?["pid"].as_u64();
        let pids: Vec<u64> = packages.iter().filter_map(row).collect();
        assert!(!pids.is_empty(), "round {round}");
        world.server.take().expect("it runs").kill_alone();
        sender.wait().expect("it ends");
        for pid in pids {
            world.await_dead(pid);
        }
        world.start();
        let state = world.said(&["dumpsys"]);
        assert!(state.starts_with("packages: 3\n"), "{state}");
        assert!(packages.iter().all(|it| world.process(it).is_none()));
    }
    world.said(&["am", "start", "-n", "org.example.asker/.Main"]);
    world.await_line(ASKER, "Asker", "result 7 -1 42");
}

#[test]
fn a_stranger_is_told_who_may_and_a_stalling_client_keeps_nobody() {
    let world = World::begin();
    // They connect, and say nothing.
    let stalled: Vec<_> = (0..8).map(|_| system_socket(&world.socket())).collect();
    assert!(world.said(&["dumpsys"]).starts_with("packages: 0\n"));
    drop(stalled);
    let socket = world.socket();
    let socket = socket.to_str().expect("a text");
    let stranger = Run::takt_as_nobody(&["ps", "--socket", socket]);
    if is_root() {
        assert_eq!(stranger.code, 1, "{stranger:#?}");
        assert!(
            stranger.stderr.contains("user 65534 may not"),
            "{stranger:#?}"
        );
    }
    let no_package = world.run(&["install", "/etc/hostname"]);
    assert_eq!(no_package.code, 1, "{no_package:#?}");
}

fn system_socket(path: &Path) -> std::os::fd::OwnedFd {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let address = SocketAddrUnix::new(path).expect("a path");
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None);
    let socket = socket.expect("a socket");
    rustix::net::connect(&socket, &address).expect("it listens");
    socket
}
