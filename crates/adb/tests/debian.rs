// SPDX-License-Identifier: Apache-2.0
//! Debian's `adb` against a small service behind [`adb::Session`]: connect, devices, shell, install,
//! push, logcat; and keys.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use adb::shell::Packet;
use adb::sync::{Request, Stat};
use adb::{Door, Event, Key, Service, Session, StreamId, Token};

/// What the service says that it was given.
type Given = (String, Vec<u8>);

/// One connection's service.
struct Server {
    socket: TcpStream,
    session: Session,
    streams: BTreeMap<StreamId, (Service, Vec<u8>)>,
    pushed: (String, Vec<u8>),
    given: SyncSender<Given>,
    tokens: u8,
}

impl Server {
    fn serve(mut self) {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let Ok(count @ 1..) = self.socket.read(&mut bytes) else {
                return;
            };
            let mut input = &bytes[..count];
            loop {
                let tokens = &mut self.tokens;
                let mut draw = || -> Token {
                    *tokens += 1;
                    [*tokens; adb::TOKEN_BYTES]
                };
                match self.session.take(&mut input, &mut draw) {
                    Ok(Some(event)) => self.on(event),
                    Ok(None) => break,
                    Err(fault) => {
                        let _ = self.given.send((fault.to_string(), Vec::new()));
                        return;
                    }
                }
            }
            let out = self.session.take_output();
            if self.socket.write_all(&out).is_err() {
                return;
            }
        }
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Connected { name } => self.give("connected", name.as_bytes()),
            Event::Offered(key) => self.give("offered", key.name().as_bytes()),
            Event::Opened(id, service) => {
                match &service {
                    Service::ShellPackets(command) => self.answer(id, command),
                    Service::Shell(command) => {
                        self.session.write(id, said(command).as_bytes());
                        self.session.close(id);
                    }
                    Service::Exec(_) | Service::Sync => {}
                    Service::Other(_) => self.session.close(id),
                }
                self.streams.insert(id, (service, Vec::new()));
            }
            Event::Data(id, bytes) => {
                self.session.taken(id);
                let (service, held) = self.streams.get_mut(&id).unwrap();
                held.extend(bytes);
                match service.clone() {
                    Service::Exec(command) => self.install(id, &command),
                    Service::Sync => self.push(id),
                    _ => {}
                }
            }
            Event::Closed(id) => drop(self.streams.remove(&id)),
        }
    }

    fn give(&self, what: &str, bytes: &[u8]) {
        self.given.send((what.to_owned(), bytes.to_vec())).unwrap();
    }

    /// A command that fails if it is called so.
    fn answer(&mut self, id: StreamId, command: &str) {
        let mut out = Vec::new();
        let code = u8::from(command.starts_with("fail")) * 7;
        Packet::Output(said(command).into_bytes()).encode(&mut out);
        Packet::Complaint(b"and a complaint\n".to_vec()).encode(&mut out);
        Packet::Exit(code).encode(&mut out);
        self.session.write(id, &out);
        self.session.close(id);
    }

    fn install(&mut self, id: StreamId, command: &str) {
        let size = command.rsplit(' ').next().unwrap();
        let size: usize = size.trim_matches('\'').parse().unwrap();
        let held = &self.streams[&id].1;
        if held.len() == size {
            let held = held.clone();
            self.give(command, &held);
            self.session.write(id, b"Success\n");
            self.session.close(id);
        }
    }

    fn push(&mut self, id: StreamId) {
        let mut out = Vec::new();
        let mut held = std::mem::take(&mut self.streams.get_mut(&id).unwrap().1);
        while let Some(request) = Request::take(&mut held).unwrap() {
            match request {
                Request::Stat(form, _) => adb::sync::stat(form, Stat::default(), &mut out),
                Request::Send(path, _) => self.pushed = (path, Vec::new()),
                Request::Data(bytes) => self.pushed.1.extend(bytes),
                Request::Done(_) => {
                    let (path, bytes) = std::mem::take(&mut self.pushed);
                    self.give(&path, &bytes);
                    adb::sync::okay(&mut out);
                }
                Request::Quit => self.session.close(id),
            }
        }
        self.streams.get_mut(&id).unwrap().1 = held;
        self.session.write(id, &out);
    }
}

fn said(command: &str) -> String {
    format!("{command} was said\n")
}

/// A door on a free port; each connection has a service of its own.
fn listen(door: fn(&Path) -> Door, home: &Path) -> (SocketAddr, Receiver<Given>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let (given, found) = sync_channel(64);
    let home = Arc::new(home.to_owned());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let server = Server {
                socket: socket.unwrap(),
                session: Session::new(door(&home), "ro.product.name=takt;ro.product.model=Takt"),
                streams: BTreeMap::new(),
                pushed: (String::new(), Vec::new()),
                given: given.clone(),
                tokens: 0,
            };
            std::thread::spawn(move || server.serve());
        }
    });
    (place, found)
}

/// `adb` with a server of its own, which ends with this value.
struct Client {
    home: tempfile::TempDir,
    port: String,
}

impl Client {
    fn new() -> Self {
        // Free a moment ago: nobody else looks for it on purpose.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        let home = tempfile::tempdir().unwrap();
        Self { home, port }
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new("adb");
        command.arg("-P").arg(&self.port).args(words);
        command.env("HOME", self.home.path()).env_remove("ADB_VENDOR_KEYS");
        command.output().expect("adb: run tools/setup")
    }

    fn says(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{words:?}: {text}");
        text
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

fn open(_: &Path) -> Door {
    Door::Open
}

/// The key of who has this home.
fn keyed(home: &Path) -> Door {
    let line = std::fs::read(home.join(".android/adbkey.pub")).unwrap();
    Door::Keys(vec![Key::parse(&line).unwrap()])
}

#[test]
fn debians_adb_works_as_with_a_device() {
    let client = Client::new();
    let (place, given) = listen(open, client.home.path());
    let place = place.to_string();
    let text = client.says(&["connect", &place]);
    assert!(text.contains(&format!("connected to {place}")), "{text}");
    assert_eq!(given.recv().unwrap(), ("connected".to_owned(), Vec::new()));
    let text = client.says(&["devices", "-l"]);
    assert!(text.contains("device product:takt model:Takt"), "{text}");

    let output = client.run(&["shell", "am", "start", "-n", "a/.B"]);
    assert_eq!(output.stdout, b"am start -n a/.B was said\n");
    assert_eq!(output.stderr, b"and a complaint\n");
    assert_eq!(client.run(&["shell", "fail"]).status.code(), Some(7));
    let text = client.says(&["logcat", "-d"]);
    assert!(text.contains("logcat"), "{text}");

    let file = client.home.path().join("app.apk");
    let bytes: Vec<u8> = (0..300_000_u32).map(|it| it as u8).collect();
    std::fs::write(&file, &bytes).unwrap();
    let file = file.to_str().unwrap();
    let text = client.says(&["install", file]);
    assert!(text.contains("Success"), "{text}");
    let (command, found) = given.recv().unwrap();
    assert!(command.contains("package") && command.contains("-S 300000"), "{command}");
    assert!(found == bytes, "{} bytes", found.len());

    client.says(&["push", file, "/data/local/app.apk"]);
    let (path, found) = given.recv().unwrap();
    assert_eq!(path, "/data/local/app.apk");
    assert!(found == bytes, "{} bytes", found.len());
}

#[test]
fn who_has_the_key_comes_in() {
    let client = Client::new();
    // Makes the key.
    client.says(&["start-server"]);
    let (place, given) = listen(keyed, client.home.path());
    client.says(&["connect", &place.to_string()]);
    let (what, name) = given.recv().unwrap();
    assert_eq!(what, "connected");
    assert!(String::from_utf8(name).unwrap().contains('@'), "user@host");
    assert!(client.says(&["devices"]).contains("\tdevice"));
}

#[test]
fn who_has_another_key_does_not() {
    let (owner, other) = (Client::new(), Client::new());
    owner.says(&["start-server"]);
    let (place, given) = listen(keyed, owner.home.path());
    other.run(&["connect", &place.to_string()]);
    let (what, _) = given.recv().unwrap();
    assert_eq!(what, "offered", "its own key, to be known by later");
    let text = other.says(&["devices"]);
    assert!(!text.contains("\tdevice"), "{text}");
}
