// SPDX-License-Identifier: Apache-2.0
//! `takt system`: applications of several packages, in processes of their own, by the commands that
//! a person has.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use e2e::application::Application;
use e2e::{Run, apps, takt_path};
use rt::clock::{Clock, Monotonic};
use serde_json::Value;
use tempfile::TempDir;

/// For whatever a busy machine does.
const BOUND_NS: u64 = 120_000_000_000;
const LOOK: Duration = Duration::from_millis(50);
/// Installs in which the server is killed, each a little later.
const KILLS: u64 = 5;
const KILL_NS: u64 = 25_000_000;
const ASKER: &str = "org.example.asker";
const METER: &str = "org.example.meter";
const FLAKY: &str = "org.example.flaky";

/// A server in a folder of its own.
struct World {
    folder: TempDir,
    server: Option<Application>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        // Others come as far as the socket.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).expect("it is ours");
        let mut world = Self {
            folder,
            server: None,
        };
        world.start();
        world
    }

    fn start(&mut self) {
        let mut command = Command::new(takt_path());
        command.args(["system", "--state"]).arg(self.state());
        command.arg("--socket").arg(self.socket());
        // For machines that do other things as well.
        command.args(["--start=100s", "--anr=100s"]);
        let mut server = Application::start(&mut command);
        server.await_line("listens at");
        self.server = Some(server);
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(takt_path());
        command.args(words).env("TAKT_SYSTEM", self.socket());
        command
    }

    fn run(&self, words: &[&str]) -> Run {
        Run::of(&mut self.command(words))
    }

    /// What a command says that must go well.
    fn said(&self, words: &[&str]) -> String {
        let run = self.run(words);
        assert_eq!(run.code, 0, "{words:?}: {run:#?}");
        run.stdout
    }

    fn install(&self, app: &str) -> String {
        let file = apps::folder().join(format!("{app}.apk"));
        self.said(&["install", file.to_str().expect("a text")])
    }

    /// The row of a process.
    fn process(&self, name: &str) -> Option<Value> {
        let json: Value = serde_json::from_str(&self.said(&["ps", "--json"])).expect("JSON");
        let rows = json["processes"].as_array().expect("rows").clone();
        rows.into_iter().find(|it| it["name"] == name)
    }

    fn pid(&self, name: &str) -> u64 {
        let row = self.process(name).expect("it runs");
        assert_eq!(row["state"], "running", "{row}");
        row["pid"].as_u64().expect("a number")
    }

    /// What a package has said under a tag.
    fn log(&self, package: &str, tag: &str) -> Vec<String> {
        let words = ["logcat", "--package", package, "--tag", tag];
        apps::said(&self.said(&words), tag)
    }

    fn await_true(&self, what: &str, is_so: impl Fn() -> bool) {
        let until = Monotonic.now_ns() + BOUND_NS;
        while !is_so() {
            let log = || self.said(&["logcat"]);
            assert!(Monotonic.now_ns() < until, "{what}: {}", log());
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK.as_nanos() as u64);
        }
    }

    fn await_line(&self, package: &str, tag: &str, line: &str) {
        let is_said = || self.log(package, tag).iter().any(|it| it == line);
        self.await_true(line, is_said);
    }
}

fn is_alive(pid: u64) -> bool {
    // One that was not waited for is dead all the same.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, it)| !it.starts_with(['Z', 'X']))
}

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
    let mut world = World::new();
    for (app, package) in [("meter", METER), ("asker", ASKER), ("flaky", FLAKY)] {
        let said = world.install(app);
        assert!(
            said.starts_with(&format!("installed {package} 1")),
            "{said}"
        );
    }
    assert!(world.install("meter").starts_with("replaced"));

    two_talk(&world);
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

    let data = world.state().join("data").join(ASKER);
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

impl World {
    /// Without a server nobody can be asked.
    fn await_dead(&self, pid: u64) {
        let until = Monotonic.now_ns() + BOUND_NS;
        while is_alive(pid) {
            assert!(Monotonic.now_ns() < until, "{pid} lives");
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK.as_nanos() as u64);
        }
    }
}

/// An activity binds a service of another package, in another process, and sends it a message; then
/// it has an activity of that package give it a result.
fn two_talk(world: &World) {
    let words = ["am", "start", "-n", "org.example.asker/.Main"];
    world.said(&[&words[..], &["--es", "greeting", "hello"]].concat());
    world.await_line(ASKER, "Asker", "result 7 -1 42");
    let expected = [
        "greeting hello",
        "hidden is refused",
        "bind true",
        "connected to org.example.meter/.Meter",
        "answer 42 from elsewhere true",
        "result 7 -1 42",
    ];
    assert_eq!(world.log(ASKER, "Asker"), expected);
    assert_eq!(world.log(METER, "Meter"), ["bound: asker", "asked 41"]);
    let pick = ["started by org.example.asker/.Main"];
    assert_eq!(world.log(METER, "Pick"), pick);
    assert_ne!(world.pid(ASKER), world.pid(METER));
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
    let mut world = World::new();
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

#[test]
fn a_stranger_is_told_who_may_and_a_stalling_client_keeps_nobody() {
    let world = World::new();
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

fn is_root() -> bool {
    rt::process::uid() == 0
}
