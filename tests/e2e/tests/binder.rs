// SPDX-License-Identifier: Apache-2.0
//! Java programs that call each other: two `takt` processes over the transport `lent`. What they
//! do is in framework/test/takt/framework/binder; each says a line for each thing that it saw.

#[path = "../../../crates/binder/tests/golden/mod.rs"]
mod golden;

use std::cell::OnceCell;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use binder::stub::{Outgoing, Read, Write, serve};
use binder::{Binder, Call, CallError, Options, Parcel, Process, Service, Side};
use e2e::{apps, takt_path};
use golden::Golden;
use golden::stubs::{IGoldenProxy, IGoldenStub};
use rt::clock::{Clock, Monotonic};
use rt::socket::Socket;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};

/// What a Java program asks for services by name.
const NAMES: &str = "android.os.IServiceManager";
const GET_SERVICE: u32 = 1;

/// A program that is ended with its test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // Fails where it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// `Peer` in a part; `link` says how it finds the other one.
    fn start(link: &str, socket: &Path, part: &[&str]) -> Self {
        let place = apps::folder();
        let place = place.parent().expect("target/framework");
        let path = &apps::class_path(&["headless", "realtime"]);
        let child = Command::new(takt_path())
            .arg("java")
            .arg(format!(
                "-Djava.library.path={}",
                place.join("lib").display()
            ))
            .arg(format!(
                "-Dtakt.natives={}",
                place.join("libnatives.so").display()
            ))
            .arg(format!("-Dtakt.android.path={path}"))
            .arg(format!("-Dtakt.binder.{link}={}", socket.display()))
            .args(["-cp", path, "takt.framework.binder.Peer"])
            .args(part)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("takt starts"))
    }

    /// Its lines, each as it comes.
    fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        let out = self.0.stdout.take().expect("piped, and taken once");
        BufReader::new(out).lines().map_while(Result::ok)
    }
}

/// All that it says; each line begins with "yes".
fn check(lines: Vec<String>, count: usize) {
    let wrong = lines.iter().filter(|it| !it.starts_with("yes "));
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:?} of {lines:#?}");
    assert_eq!(lines.len(), count, "{lines:#?}");
}

#[test]
fn two_java_programs_call_each_other() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    // What a program leaves that was killed: a name where nobody listens.
    drop(UnixListener::bind(&socket).expect("a new name"));
    let mut server = Program::start("listen", &socket, &["serve"]);
    assert_eq!(server.lines().next().as_deref(), Some("ready"));
    let mut client = Program::start("join", &socket, &["call"]);
    check(client.lines().collect(), 39);
    assert!(client.0.wait().expect("it ends").success());
}

/// The same calls to a service of a third process, which the client was given by the listener.
#[test]
fn a_java_program_calls_a_third_one() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    let mut listener = Program::start("listen", &socket, &["serve"]);
    assert_eq!(listener.lines().next().as_deref(), Some("ready"));
    let _third = Program::start("join", &socket, &["victim", "third"]);
    let mut client = Program::start("join", &socket, &["call", "third"]);
    check(client.lines().collect(), 39);
    assert!(client.0.wait().expect("it ends").success());
}

/// What a Java program that listens has under a name, as `IServiceManager.getService` says.
fn service(root: &Binder, name: &str) -> Binder {
    let mut call = Outgoing::new(NAMES).expect("a small parcel");
    call.write(name).expect("a small parcel");
    call.call(root, GET_SERVICE).expect("it answers");
    let found: Option<Binder> = call.read().expect("a binder");
    found.expect("it is there")
}

/// A socket and the name of one.
fn seqpacket(path: &Path) -> (OwnedFd, SocketAddrUnix) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let address = SocketAddrUnix::new(path).expect("a short path");
    (socket.expect("a socket"), address)
}

fn due_ns() -> u64 {
    Monotonic.now_ns() + 20_000_000_000
}

#[test]
fn stubs_in_rust_call_a_service_in_java() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    let mut server = Program::start("listen", &socket, &["serve"]);
    assert_eq!(server.lines().next().as_deref(), Some("ready"));
    let (near, address) = seqpacket(&socket);
    connect(&near, &address).expect("it listens");
    let process = Process::start(&Options::new("rust")).expect("threads");
    let connection = process.connect(near, Side::Caller, due_ns());
    let connection = connection.expect("it says hello");
    let root = connection.root().expect("it answers").expect("a root");
    let golden = IGoldenProxy(service(&root, "golden"));
    golden::check(&golden, &process).expect("each call is answered");
}

/// A service in Rust, and what tells a Java program of it.
struct Names(Binder);

impl Service for Names {
    fn descriptor(&self) -> &str {
        NAMES
    }

    fn on_transact(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        if code != GET_SERVICE {
            return Err(CallError::UnknownTransaction);
        }
        serve(call, NAMES, (data, reply), |data, reply| {
            let is_ours = String::read(data)? == "golden";
            Ok(is_ours.then_some(&self.0).write(reply)?)
        })
    }
}

#[test]
fn stubs_in_java_call_a_service_in_rust() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    let (listener, address) = seqpacket(&socket);
    // Who joins says who it is from its first message on.
    let listener = Socket::adopt(listener).expect("a socket").into_fd();
    bind(&listener, &address).expect("a new name");
    listen(&listener, 1).expect("a new name");
    let process = Process::start(&Options::new("rust")).expect("threads");
    let golden = process.add(IGoldenStub(Golden::default()));
    process.set_root(Some(process.add(Names(golden))));
    let mut client = Program::start("join", &socket, &["golden"]);
    let far = OnceCell::new();
    golden::await_that("it joins", || {
        let joined = accept_with(&listener, SocketFlags::CLOEXEC);
        joined.is_ok_and(|it| far.set(it).is_ok())
    });
    let far = far.into_inner().expect("it joined");
    let connection = process.connect(far, Side::Listener, due_ns());
    let connection = connection.expect("it says hello");
    check(client.lines().collect(), 7);
    assert!(client.0.wait().expect("it ends").success());
    golden::await_that("its end is heard", || !connection.is_alive());
    // A looper may still be at the end of the last call.
    golden::await_that("nothing of it is left", || process.references() == (0, 0));
}

#[test]
fn files_and_their_errors_go_to_another_java_program() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    let mut server = Program::start("listen", &socket, &["serve"]);
    assert_eq!(server.lines().next().as_deref(), Some("ready"));
    let mut client = Program::start("join", &socket, &["pipes"]);
    check(client.lines().collect(), 13);
    assert!(client.0.wait().expect("it ends").success());
}

/// How long a program that is to be killed may go on: many calls of any kind.
const LIFE_MAX_US: u64 = 3_000;

/// One program calls others, each of which is killed in the middle of it. Every second one calls
/// back and forth as well.
fn kill(rounds: usize, seed: u64) {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    eprintln!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut keeper = Program::start("listen", &socket, &["keep", &rounds.to_string()]);
    let victim = |round: usize| {
        let part = ["victim", "calls"][round % 2];
        Program::start("join", &socket, &[part, &format!("victim{round}")])
    };
    let mut lines = keeper.lines();
    // The next one starts while this one is called.
    let mut next = Some(victim(0));
    for round in 0..rounds {
        let mut called = next.take().expect("started before");
        assert_eq!(lines.next(), Some(format!("calling {round}")));
        next = (round + 1 < rounds).then(|| victim(round + 1));
        Monotonic.sleep_until(Monotonic.now_ns() + random.u64(..LIFE_MAX_US) * 1000);
        called.0.kill().expect("SIGKILL");
        if (round + 1).is_multiple_of(20) {
            eprintln!("{} of {rounds} killed", round + 1);
        }
    }
    check(lines.collect(), 5);
}

#[test]
fn a_killed_program_is_dead_once() {
    kill(10, 7);
}

/// For `make soak`.
#[test]
#[ignore = "three minutes"]
fn two_hundred_killed_programs_are_dead_once_each() {
    kill(200, fastrand::u64(..));
}
