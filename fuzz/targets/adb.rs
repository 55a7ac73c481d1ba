// SPDX-License-Identifier: Apache-2.0
//! What a client of the debug bridge sends, in pieces of any size: a stranger opens nothing, and
//! what waits for either side is bounded.
#![no_main]

use std::sync::OnceLock;

use adb::sync::Requests;
use adb::{
    Command, Event, HEADER_BYTES, Key, Message, OUT_MAX, PAYLOAD_MAX, STREAMS_MAX, Session, Token,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rsa::traits::PublicKeyParts as _;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use sha1::Sha1;

const DRAWN: Token = [7; 20];
const SIGNATURE: u32 = 2;
const VERSION: u32 = 0x0100_0001;
const COMMANDS: [Command; 6] = [
    Command::Connect,
    Command::Authenticate,
    Command::Open,
    Command::Okay,
    Command::Write,
    Command::Close,
];

/// A key, and the token signed by it: the tokens of this session are all the same.
fn pair() -> &'static (Key, Vec<u8>) {
    static PAIR: OnceLock<(Key, Vec<u8>)> = OnceLock::new();
    PAIR.get_or_init(|| {
        let own = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2048).unwrap();
        let mut form = vec![0; 524];
        form[..4].copy_from_slice(&64_u32.to_le_bytes());
        form[8..264].copy_from_slice(&own.n().to_bytes_le());
        form[520..].copy_from_slice(&65537_u32.to_le_bytes());
        let key = Key::parse(STANDARD.encode(form).as_bytes()).unwrap();
        (key, own.sign(Pkcs1v15Sign::new::<Sha1>(), &DRAWN).unwrap())
    })
}

fn encode(command: Command, numbers: (u32, u32), payload: &[u8], out: &mut Vec<u8>) {
    let (first, second) = numbers;
    let message = Message { command, first, second, payload: payload.to_vec() };
    message.encode(out);
}

/// Bytes as they are, or messages made of them: command, two numbers, length, payload.
fn input(is_raw: bool, mut rest: &[u8], out: &mut Vec<u8>) {
    if is_raw {
        out.extend_from_slice(rest);
        return;
    }
    while let [command, first, second, length, more @ ..] = rest {
        let (payload, after) = more.split_at(more.len().min(usize::from(*length)));
        let command = COMMANDS[usize::from(*command) % COMMANDS.len()];
        let numbers = (u32::from(first % 8), u32::from(second % 8));
        encode(command, numbers, payload, out);
        rest = after;
    }
}

/// The first byte says whether the client is known, how its bytes are made, and how large the
/// pieces are.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else {
        return;
    };
    let (is_known, is_raw) = (first & 0x80 != 0, first & 0x40 != 0);
    let _ = Key::parse(rest);
    let (key, signature) = pair();
    let keys = if is_known { vec![key.clone()] } else { Vec::new() };
    let mut session = Session::new(keys, "ro.product.name=takt");
    let mut all = Vec::new();
    encode(Command::Connect, (VERSION, 4096), b"host::", &mut all);
    encode(Command::Authenticate, (SIGNATURE, 0), signature, &mut all);
    input(is_raw, rest, &mut all);
    let mut requests = Requests::default();
    let mut streams = 0;
    for mut piece in all.chunks(usize::from(first & 0x3f) * 16 + 1) {
        while !piece.is_empty() {
            let Ok(event) = session.take(&mut piece, &mut || DRAWN) else {
                return;
            };
            match event {
                None => {
                    let out = session.take_output();
                    assert!(out.len() <= OUT_MAX + HEADER_BYTES + PAYLOAD_MAX);
                }
                Some(Event::Offered(_)) => assert!(!session.is_known()),
                Some(event) => {
                    assert!(is_known && session.is_known());
                    act(&mut session, event, &mut requests, &mut streams);
                    assert!(streams <= STREAMS_MAX);
                }
            }
        }
    }
});

/// Answers as a device would.
fn act(session: &mut Session, event: Event, requests: &mut Requests, streams: &mut usize) {
    match event {
        Event::Opened(stream, _) => {
            *streams += 1;
            assert!(session.write(stream, b"text") <= 4);
        }
        Event::Data(stream, data) => {
            let mut data = data.as_slice();
            while let Ok(Some(_)) = requests.take(&mut data) {}
            session.taken(stream);
        }
        Event::Ready(stream) => assert!(session.write(stream, b"more") <= 4),
        Event::Closed(stream) => {
            *streams -= 1;
            assert!(!session.is_ready(stream));
        }
        Event::Connected(_) | Event::Offered(_) => {}
    }
}
