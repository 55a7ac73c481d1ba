// SPDX-License-Identifier: Apache-2.0
//! The door for `adb` by a client with a key that is allowed, and does as it likes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use adb::{Command, HEADER_BYTES, Key, Message, STREAMS_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rsa::traits::PublicKeyParts as _;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use sha1::Sha1;
use system::bridge::{Order, Words};
use system::{Bridge, protocol::Request};

/// What a client takes at a time, and says so.
const PAYLOAD: usize = 4 << 10;
/// More than any store between has room for.
const LONG: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);
const VERSION: u32 = 0x0100_0001;
const SIGNATURE: u32 = 2;

/// Says what it is told to.
struct Echo;

impl Words for Echo {
    fn order(&self, command: &str) -> Order {
        match command {
            "long" => Order::Say("a".repeat(LONG), 0),
            "package" => Order::Install(10, Ok(())),
            "ask" => Order::Ask(Request::Dump, Box::new(Nothing)),
            text => Order::Say(text.to_owned(), 0),
        }
    }

    fn stranger(&self, _: &Key) {
        panic!("it is known");
    }
}

struct Nothing;

impl system::bridge::Show for Nothing {
    fn part(&mut self, _: system::protocol::Answer) -> String {
        String::new()
    }

    fn end(&mut self, _: &str) -> String {
        String::new()
    }
}

/// A client that is let in.
struct Client(TcpStream);

impl Client {
    fn begin(folder: &Path) -> Self {
        let own = key();
        let mut form = vec![0; 524];
        form[..4].copy_from_slice(&64_u32.to_le_bytes());
        form[8..264].copy_from_slice(&own.n().to_bytes_le());
        form[520..].copy_from_slice(&65537_u32.to_le_bytes());
        let line = format!("{} me@host\n", STANDARD.encode(form));
        std::fs::write(folder.join("adb_keys"), line).unwrap();
        let socket = folder.join("socket");
        let bridge = Bridge::open(0, folder, &socket, Arc::new(Echo)).unwrap();
        let socket = TcpStream::connect(bridge.address()).unwrap();
        bridge.start().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self(socket);
        client.send(Command::Connect, (VERSION, PAYLOAD as u32), b"host::");
        let (asked, token) = client.next();
        assert_eq!(asked.0, Command::Authenticate);
        let signature = own.sign(Pkcs1v15Sign::new::<Sha1>(), &token).unwrap();
        client.send(Command::Authenticate, (SIGNATURE, 0), &signature);
        assert_eq!(client.next().0.0, Command::Connect);
        client
    }

    fn send(&mut self, command: Command, (first, second): (u32, u32), payload: &[u8]) {
        let mut bytes = Vec::new();
        let payload = payload.to_vec();
        let message = Message {
            command,
            first,
            second,
            payload,
        };
        message.encode(&mut bytes);
        self.0.write_all(&bytes).unwrap();
    }

    /// The next message, whatever its length.
    fn next(&mut self) -> ((Command, u32, u32), Vec<u8>) {
        let mut head = [0; HEADER_BYTES];
        self.0.read_exact(&mut head).unwrap();
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let command = match &head[..4] {
            b"CNXN" => Command::Connect,
            b"AUTH" => Command::Authenticate,
            b"OKAY" => Command::Okay,
            b"WRTE" => Command::Write,
            b"CLSE" => Command::Close,
            other => panic!("{other:?}"),
        };
        let mut payload = vec![0; word(12) as usize];
        self.0.read_exact(&mut payload).unwrap();
        ((command, word(4), word(8)), payload)
    }

    /// Opens a stream by our number; the other side's number.
    fn open(&mut self, number: u32, name: &str) -> u32 {
        self.send(Command::Open, (number, 0), name.as_bytes());
        let ((command, theirs, ours), _) = self.next();
        assert_eq!((command, ours), (Command::Okay, number));
        theirs
    }

    fn okay(&mut self, ours: u32, theirs: u32) {
        self.send(Command::Okay, (ours, theirs), b"");
    }

    /// All that a stream says until it closes.
    fn all(&mut self, ours: u32, theirs: u32) -> Vec<u8> {
        let mut found = Vec::new();
        loop {
            let ((command, first, second), payload) = self.next();
            assert_eq!((first, second), (theirs, ours));
            match command {
                Command::Write => found.extend(payload),
                Command::Close => return found,
                other => panic!("{other:?}"),
            }
            self.okay(ours, theirs);
        }
    }

    fn said(&mut self, ours: u32, name: &str) -> String {
        let theirs = self.open(ours, name);
        String::from_utf8(self.all(ours, theirs)).unwrap()
    }
}

fn key() -> &'static RsaPrivateKey {
    static KEY: OnceLock<RsaPrivateKey> = OnceLock::new();
    KEY.get_or_init(|| RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2048).unwrap())
}

#[test]
fn a_stream_that_takes_nothing_holds_up_itself_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::begin(folder.path());
    let long = client.open(1, "shell:long");
    let ((command, ..), first) = client.next();
    assert_eq!((command, first.len()), (Command::Write, PAYLOAD));
    // Nothing more comes of it until we say so, and others go on.
    for number in 2..12 {
        assert_eq!(client.said(number, "shell:short"), "short");
    }
    client.okay(1, long);
    assert_eq!(client.all(1, long).len(), LONG - PAYLOAD);
}

#[test]
fn packages_come_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::begin(folder.path());
    let first = client.open(1, "exec:package");
    client.send(Command::Write, (1, first), b"12345");
    assert_eq!(client.next().0, (Command::Okay, first, 1));
    let second = client.open(2, "exec:package");
    client.send(Command::Write, (2, second), b"1234567890 and more");
    assert_eq!(client.next().0, (Command::Okay, second, 2));
    let said = String::from_utf8(client.all(2, second)).unwrap();
    assert_eq!(said, "Failure [another package is being sent: try again]\n");
    // Who leaves makes room; and there is no server here.
    client.send(Command::Close, (1, first), b"");
    assert_eq!(client.next().0, (Command::Close, first, 1));
    let third = client.open(3, "exec:package");
    client.send(Command::Write, (3, third), b"1234567890");
    assert_eq!(client.next().0, (Command::Okay, third, 3));
    let said = String::from_utf8(client.all(3, third)).unwrap();
    assert!(
        said.starts_with("Failure [no takt system runs at "),
        "{said}"
    );
    assert!(
        client
            .said(4, "exec:ask")
            .contains("no takt system runs at ")
    );
}

#[test]
fn more_streams_than_there_may_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::begin(folder.path());
    for number in 1..=STREAMS_MAX as u32 {
        client.open(number, "exec:package");
    }
    client.send(Command::Open, (99, 0), b"shell:short");
    assert_eq!(client.next().0, (Command::Close, 0, 99));
}

#[test]
fn a_key_that_is_revoked_opens_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::begin(folder.path());
    assert_eq!(client.said(1, "shell:short"), "short");
    std::fs::write(folder.path().join("adb_keys"), "").unwrap();
    client.send(Command::Open, (2, 0), b"shell:short");
    let mut rest = Vec::new();
    let _ = client.0.read_to_end(&mut rest);
    assert!(!rest.windows(5).any(|it| it == b"short"), "{rest:?}");
}
