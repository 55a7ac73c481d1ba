// SPDX-License-Identifier: Apache-2.0
//! Java programs that call each other: two `takt` processes over the transport `lent`. What they
//! do is in framework/test/takt/framework/binder; each says a line for each thing that it saw.

#[path = "../../../crates/binder/tests/golden/mod.rs"]
mod golden;

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use binder::stub::Outgoing;
use binder::{Binder, Options, Process, Side};
use e2e::{apps, takt_path};
use golden::stubs::IGoldenProxy;
use rt::clock::{Clock, Monotonic};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

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
    let mut call = Outgoing::new("android.os.IServiceManager").expect("a small parcel");
    call.write(name).expect("a small parcel");
    call.call(root, 1).expect("it answers");
    let found: Option<Binder> = call.read().expect("a binder");
    found.expect("it is there")
}

#[test]
fn stubs_in_rust_call_a_service_in_java() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    let mut server = Program::start("listen", &socket, &["serve"]);
    assert_eq!(server.lines().next().as_deref(), Some("ready"));
    let flags = SocketFlags::CLOEXEC;
    let near = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let near = near.expect("a socket");
    let address = SocketAddrUnix::new(&socket).expect("a short path");
    connect(&near, &address).expect("it listens");
    let process = Process::start(&Options::new("rust")).expect("threads");
    let due_ns = Monotonic.now_ns() + 20_000_000_000;
    let connection = process.connect(near, Side::Caller, due_ns);
    let connection = connection.expect("it says hello");
    let root = connection.root().expect("it answers").expect("a root");
    let golden = IGoldenProxy(service(&root, "golden"));
    golden::check(&golden, &process).expect("each call is answered");
}

/// One program calls others, each of which is killed in the middle of it.
fn kill(rounds: usize) {
    let folder = tempfile::tempdir().expect("a directory");
    let socket = folder.path().join("names");
    let mut keeper = Program::start("listen", &socket, &["keep", &rounds.to_string()]);
    let victim = |round| {
        let name = format!("victim{round}");
        Program::start("join", &socket, &["victim", &name])
    };
    let mut lines = keeper.lines();
    // The next one starts while this one is called.
    let mut next = Some(victim(0));
    for round in 0..rounds {
        let mut called = next.take().expect("started before");
        assert_eq!(lines.next(), Some(format!("calling {round}")));
        next = (round + 1 < rounds).then(|| victim(round + 1));
        called.0.kill().expect("SIGKILL");
    }
    check(lines.collect(), 3);
}

#[test]
fn a_killed_program_is_dead_once() {
    kill(10);
}

/// For `make soak`.
#[test]
#[ignore = "three minutes"]
fn two_hundred_killed_programs_are_dead_once_each() {
    kill(200);
}
