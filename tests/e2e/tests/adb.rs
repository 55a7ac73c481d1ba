// SPDX-License-Identifier: Apache-2.0
//! `takt system --adb` by Debian's `adb`, and by clients that are none.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use e2e::apps;
use e2e::debug_bridge::Adb;
use e2e::world::{World, is_root};

const LIFE: &str = "org.example.life";
/// A package's user, and one that is none's.
const PACKAGE: u32 = 10_005;
const NOBODY: u32 = 65_534;
/// Beyond what a client that is not known has.
const PATIENCE: Duration = Duration::from_secs(60);
/// Connections at once.
const CONNECTIONS: usize = 8;

fn begin() -> (World, String) {
    let mut world = World::begin_with(&["--adb", "0"]);
    let line = world
        .server
        .as_mut()
        .expect("it runs")
        .await_line("adb at ");
    let (_, place) = line.rsplit_once(' ').expect("an address");
    (world, place.to_owned())
}

#[test]
fn debians_adb_installs_starts_and_follows() {
    let (mut world, place) = begin();
    let home = world.folder.path().to_owned();
    let adb = Adb::begin(&home);
    who_is_not_allowed_hears_so(&mut world, &adb, &place);

    let key = home.join(".android/adbkey.pub");
    let allow = world.said(&["adb", "allow", key.to_str().expect("a text")]);
    assert!(allow.starts_with("allowed: "), "{allow}");
    adb.said(&["connect", &place]);
    adb.await_said(&["devices"], "\tdevice");

    let file = apps::folder().join("life.apk");
    let file = file.to_str().expect("a text");
    let mut log = adb.follow(&["logcat", "-s", "Life"]);
    for _ in 0..2 {
        let said = adb.said(&["install", file]);
        assert!(said.contains("Streamed Install\nSuccess"), "{said}");
    }
    assert!(world.said(&["dumpsys"]).contains(LIFE));
    let said = adb.said(&["shell", "am", "start", "-n", "org.example.life/.First"]);
    assert_eq!(said, "started org.example.life/org.example.life.First\n");
    // While it starts.
    what_is_not_offered_says_so(&adb, &home);
    log.await_line("First.onActivityResult 7");
    let said = adb.said(&["logcat", "-d", "Life:V", "*:S"]);
    assert!(said.contains("First.onActivityResult 7"), "{said}");
    assert_eq!(adb.said(&["logcat", "-d", "-s", "None"]), "");
    let rows = adb.said(&["shell", "ps"]);
    assert!(rows.lines().any(|it| it.starts_with(LIFE)), "{rows}");

    assert!(commands_served(&world) >= 1, "the log is followed");
    drop(log);
    world.await_true("the log is left", || commands_served(&world) == 0);

    assert_eq!(adb.said(&["uninstall", LIFE]), "Success\n");
    assert!(!world.said(&["dumpsys"]).contains(LIFE));
    let again = adb.run(&["uninstall", LIFE]);
    assert!(
        again.code != 0 && !again.stdout.contains("Success"),
        "{again:#?}"
    );

    // Who is revoked opens nothing more, on a connection that is there.
    let keys = world.said(&["adb", "keys"]);
    let (name, _) = keys.split_once(' ').expect("a name");
    assert!(
        world
            .said(&["adb", "revoke", name])
            .starts_with("revoked: ")
    );
    assert_ne!(adb.run(&["shell", "ps"]).code, 0);
    let again = world.run(&["adb", "revoke", name]);
    assert_eq!(again.code, 1, "{again:#?}");
}

fn who_is_not_allowed_hears_so(world: &mut World, adb: &Adb, place: &str) {
    adb.run(&["connect", place]);
    let server = world.server.as_mut().expect("it runs");
    server.await_line("is not allowed: `takt adb allow` allows one");
    adb.await_said(&["devices"], "\tunauthorized");
    assert_ne!(adb.run(&["shell", "ps"]).code, 0);
    adb.said(&["disconnect", place]);
    let none = world.said(&["adb", "keys"]);
    assert!(none.starts_with("no key is allowed"), "{none}");
}

fn what_is_not_offered_says_so(adb: &Adb, home: &std::path::Path) {
    let no_package = home.join("none.apk");
    std::fs::write(&no_package, vec![7; 300_000]).expect("it is ours");
    let no_package = no_package.to_str().expect("a text");
    for (words, text) in [
        (&["shell", "ls", "/"][..], "no shell here"),
        (&["shell"], "no shell here"),
        (
            &["shell", "am", "start", "-n", "none/.None"],
            "none is not installed",
        ),
        (
            &["shell", "pm", "install", "/etc/hostname"],
            "no file of this machine",
        ),
        (
            &["push", "/etc/hostname", "/data/x"],
            "takes none: adb install",
        ),
        (&["install", no_package], "Failure [refused: "),
        (
            &["install", "-d", no_package],
            "Failure [error: unexpected argument '-d'",
        ),
        (&["root"], "closed"),
    ] {
        let run = adb.run(words);
        assert_ne!(run.code, 0, "{words:?}: {run:#?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(text), "{words:?}: {run:#?}");
    }
}

/// Commands that the server serves at the moment: each has a thread of its own.
fn commands_served(world: &World) -> usize {
    let server = world.server.as_ref().expect("it runs");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).expect("it runs");
    let names = tasks.filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("comm")).ok());
    names.filter(|it| it == "client\n").count()
}

#[test]
fn who_breaks_the_rules_is_left_and_keeps_nobody() {
    let (world, place) = begin();
    let connect = || {
        let socket = TcpStream::connect(&place).expect("it listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        socket
    };
    let answer = |mut socket: TcpStream, bytes: &[u8]| {
        let mut found = Vec::new();
        // It may have closed already.
        let _ = socket.write_all(bytes);
        let _ = socket.read_to_end(&mut found);
        found
    };
    for wrong in [
        message(*b"OPEN", [1, 0], b"shell:ps\0"),
        message(*b"CNXN", [0x0100_0000, 4096], &[0; 5000]),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        vec![0xff; 1 << 20],
    ] {
        assert_eq!(answer(connect(), &wrong), b"");
    }
    // They say nothing, and have their time; meanwhile there is no place.
    let silent: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect()).collect();
    assert_eq!(answer(connect(), &hello()), b"");
    drop(silent);
    world.await_true("there is a place again", || {
        let mut socket = connect();
        let mut first = [0; 4];
        let sent = socket.write_all(&hello());
        sent.is_ok() && socket.read_exact(&mut first).is_ok() && first == *b"AUTH"
    });
    assert_eq!(world.said(&["adb", "keys"]).lines().count(), 1);
}

#[test]
fn a_packages_user_is_not_even_asked_for_a_key() {
    if !is_root() {
        // No other user can be tried.
        return;
    }
    let (world, place) = begin();
    let (_, port) = place.split_once(':').expect("a port");
    let file = world.folder.path().join("hello");
    std::fs::write(&file, hello()).expect("it is ours");
    let says = |user: u32| {
        let line = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; cat {} >&3; timeout 60 head -c 4 <&3",
            file.display()
        );
        let mut command = Command::new("bash");
        command.args(["-c", &line]).uid(user).gid(user);
        e2e::Run::of(command.current_dir("/")).stdout
    };
    assert_eq!(says(NOBODY), "AUTH");
    assert_eq!(says(PACKAGE), "");
    knocks(&world, port);
}

/// A package that has the network reaches the port, and is not heard there. At another port it is,
/// so it was not the network that failed.
fn knocks(world: &World, adb: &str) {
    world.install("knocking");
    let words: String = hello().iter().map(|it| format!("{it:02x}")).collect();
    let knock = |port: &str| {
        let extras = ["--es", "port", port, "--es", "hello", &words];
        let start = ["am", "startservice", "-n", "org.example.knocking/.Knocking"];
        world.said(&[&start[..], &extras[..]].concat());
    };
    let heard = || -> Vec<String> {
        let log = world.log("org.example.knocking", "Knocking");
        let heard = log.into_iter().filter(|it| it.starts_with("heard "));
        heard.collect()
    };
    let open = TcpListener::bind("127.0.0.1:0").expect("a port");
    let free = open.local_addr().expect("it has one").port();
    knock(&free.to_string());
    let (mut socket, _) = open.accept().expect("it knocks");
    let mut found = vec![0; hello().len()];
    socket.read_exact(&mut found).expect("it says hello");
    assert_eq!(found, hello());
    socket.write_all(b"AUTH").expect("it listens");
    world.await_true("an answer", || heard() == ["heard 4"]);
    knock(adb);
    world.await_true("the end", || heard() == ["heard 4", "heard 0"]);
    let log = world.log("org.example.knocking", "Knocking");
    assert!(log.contains(&"network granted true".to_owned()), "{log:#?}");
}

fn hello() -> Vec<u8> {
    message(*b"CNXN", [0x0100_0001, 4096], b"host::\0")
}

/// A message of the protocol, as crate `adb` makes it.
fn message(command: [u8; 4], numbers: [u32; 2], payload: &[u8]) -> Vec<u8> {
    let command = u32::from_le_bytes(command);
    let sum = payload.iter().map(|it| u32::from(*it)).sum();
    let size = u32::try_from(payload.len()).expect("small");
    let words = [command, numbers[0], numbers[1], size, sum, !command];
    let head = words.iter().flat_map(|it| it.to_le_bytes());
    head.chain(payload.iter().copied()).collect()
}
