// SPDX-License-Identifier: Apache-2.0
//! [`Session`]: one connection, from its first message on: who the client is, and its streams.
//!
//! It keeps no data of a stream: what a client has written is an event, and what goes to a client
//! is taken only when that client has said that it is ready. So a sender with more waits with it.

use std::collections::BTreeMap;

use crate::key::{Key, Token};
use crate::message::{Command, Decoder, Fault, Message, PAYLOAD_MAX, VERSION_WITHOUT_SUMS};
use crate::service::Service;

/// Streams of a connection at once. `adb` opens one for each command that runs.
pub const STREAMS_MAX: usize = 16;
/// Of a stream's name: a command with its words, as long as those that people write.
pub const NAME_MAX: usize = 16 << 10;
/// Output that waits for the socket: from here on nothing more is taken, of either side.
pub const OUT_MAX: usize = 64 << 10;
/// Tokens that a client may sign wrongly: it has a few keys and tries each.
pub const TOKENS_MAX: u32 = 16;
/// All that a client may say until it is known: its greeting, as many signatures, a key.
pub const STRANGER_BYTES_MAX: usize = 32 << 10;
/// What the oldest clients take in a payload.
const PAYLOAD_LEAST: usize = 4 << 10;

const TOKEN: u32 = 1;
const SIGNATURE: u32 = 2;
const PUBLIC_KEY: u32 = 3;

/// What is announced: commands with their exit codes, and installs as a stream.
const FEATURES: &str = "shell_v2,cmd";

/// Our number of a stream; never given twice in a connection, and never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The stream of a number.
    pub fn of(number: u32) -> Self {
        Self(number)
    }
}

/// What comes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client has this key; from now on it may open streams.
    Connected(Box<Key>),
    /// It wants to be known by this key from now on. This connection can do no more.
    Offered(Box<Key>),
    /// It opens a stream. Answered by [`Session::write`] and [`Session::close`].
    Opened(StreamId, Service),
    /// Bytes of a stream; the client waits until [`Session::taken`] says that they are used.
    Data(StreamId, Vec<u8>),
    /// A stream takes the next write.
    Ready(StreamId),
    /// The client has closed a stream.
    Closed(StreamId),
}

#[derive(Debug)]
enum State {
    /// Nothing was said yet.
    New,
    /// A token waits to be signed; so many were given out.
    Asked(Token, u32),
    /// It has offered a key, and is not let in.
    Refused,
    Connected,
}

#[derive(Debug)]
struct Stream {
    /// The client's number.
    remote: u32,
    /// The client has said that it takes the next write.
    is_ready: bool,
    /// The client's own write waits for our word.
    is_unanswered: bool,
}

/// One connection. Bytes to the client are fetched by [`Session::take_output`].
#[derive(Debug)]
pub struct Session {
    keys: Vec<Key>,
    banner: String,
    state: State,
    decoder: Decoder,
    /// Bytes that came while the client was not known.
    strange: usize,
    streams: BTreeMap<StreamId, Stream>,
    last: u32,
    payload_max: usize,
    out: Vec<u8>,
}

impl Session {
    /// A connection that was just made; who has one of the keys comes in. `banner` is what
    /// `adb devices -l` shows: `ro.product.name=…;ro.product.model=…`.
    pub fn new(keys: Vec<Key>, banner: &str) -> Self {
        Self {
            keys,
            banner: banner.to_owned(),
            state: State::New,
            decoder: Decoder::default(),
            strange: 0,
            streams: BTreeMap::new(),
            last: 0,
            payload_max: PAYLOAD_LEAST,
            out: Vec::new(),
        }
    }

    /// Takes bytes of the client, up to the next event. `draw` gives a token that nobody can guess.
    /// Call again until there is no byte left; with bytes left and no event, the output must be
    /// taken first.
    ///
    /// # Errors
    ///
    /// A fault ends the connection.
    pub fn take(
        &mut self,
        input: &mut &[u8],
        draw: &mut dyn FnMut() -> Token,
    ) -> Result<Option<Event>, Fault> {
        while self.out.len() < OUT_MAX {
            let before = input.len();
            let message = self.decoder.take(input)?;
            if !self.is_known() {
                self.strange += before - input.len();
                if self.strange > STRANGER_BYTES_MAX {
                    return Err(Fault::Stranger);
                }
            }
            let Some(message) = message else {
                break;
            };
            if let Some(event) = self.receive(message, draw)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// What goes to the client now: at most [`OUT_MAX`], and one message.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Whether the client has shown a key that is known.
    pub fn is_known(&self) -> bool {
        matches!(self.state, State::Connected)
    }

    /// Whether a stream takes a write now. If not, [`Event::Ready`] will say so, or the output must
    /// be taken first.
    pub fn is_ready(&self, stream: StreamId) -> bool {
        let is_ready = self.streams.get(&stream).is_some_and(|it| it.is_ready);
        is_ready && self.out.len() < OUT_MAX
    }

    /// Sends the first of these bytes, if the stream is ready; says how many.
    pub fn write(&mut self, stream: StreamId, bytes: &[u8]) -> usize {
        if bytes.is_empty() || !self.is_ready(stream) {
            return 0;
        }
        let Some(found) = self.streams.get_mut(&stream) else {
            return 0;
        };
        found.is_ready = false;
        let (remote, count) = (found.remote, bytes.len().min(self.payload_max));
        self.send(Command::Write, stream.0, remote, &bytes[..count]);
        count
    }

    /// Closes a stream behind what was sent.
    pub fn close(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.remove(&stream) {
            self.send(Command::Close, stream.0, found.remote, &[]);
        }
    }

    /// Data of an event was used: the client may send more.
    pub fn taken(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get_mut(&stream)
            && std::mem::take(&mut found.is_unanswered)
        {
            let remote = found.remote;
            self.send(Command::Okay, stream.0, remote, &[]);
        }
    }

    fn receive(
        &mut self,
        message: Message,
        draw: &mut dyn FnMut() -> Token,
    ) -> Result<Option<Event>, Fault> {
        match (message.command, &self.state) {
            (_, State::Refused) => Err(Fault::Unknown),
            (Command::Connect, State::New) => self.greet(&message, draw),
            (Command::Authenticate, State::Asked(token, _)) => {
                let token = *token;
                self.authenticate(&message, &token, draw)
            }
            (Command::Open, State::Connected) => self.open(&message),
            (Command::Okay, State::Connected) => Ok(self.ready(&message)),
            (Command::Write, State::Connected) => self.data(message),
            (Command::Close, State::Connected) => Ok(self.closed(&message)),
            // A client that begins anew does so by a new connection.
            (command, _) => Err(Fault::OutOfPlace(command)),
        }
    }

    fn greet(
        &mut self,
        message: &Message,
        draw: &mut dyn FnMut() -> Token,
    ) -> Result<Option<Event>, Fault> {
        if message.first >= VERSION_WITHOUT_SUMS {
            self.decoder.ignore_sums();
        }
        self.payload_max = (message.second as usize).clamp(PAYLOAD_LEAST, PAYLOAD_MAX);
        self.ask(1, draw)
    }

    fn ask(&mut self, count: u32, draw: &mut dyn FnMut() -> Token) -> Result<Option<Event>, Fault> {
        if count > TOKENS_MAX {
            return Err(Fault::Unknown);
        }
        let token = draw();
        self.state = State::Asked(token, count);
        self.send(Command::Authenticate, TOKEN, 0, &token);
        Ok(None)
    }

    fn authenticate(
        &mut self,
        message: &Message,
        token: &Token,
        draw: &mut dyn FnMut() -> Token,
    ) -> Result<Option<Event>, Fault> {
        let count = match self.state {
            State::Asked(_, count) => count,
            _ => TOKENS_MAX,
        };
        match message.first {
            SIGNATURE => {
                let signed = |key: &&Key| key.has_signed(token, &message.payload);
                match self.keys.iter().find(signed).cloned() {
                    Some(key) => Ok(Some(self.connect(key))),
                    None => self.ask(count + 1, draw),
                }
            }
            PUBLIC_KEY => {
                let key = Key::parse(&message.payload).map_err(|_| Fault::Unknown)?;
                self.state = State::Refused;
                Ok(Some(Event::Offered(Box::new(key))))
            }
            _ => Err(Fault::OutOfPlace(message.command)),
        }
    }

    fn connect(&mut self, key: Key) -> Event {
        self.state = State::Connected;
        self.decoder.trust();
        // Without a null at its end, which older clients would take for a part of the last word.
        let banner = format!("device::{};features={FEATURES}", self.banner);
        let (version, room) = (VERSION_WITHOUT_SUMS, PAYLOAD_MAX as u32);
        self.send(Command::Connect, version, room, banner.as_bytes());
        Event::Connected(Box::new(key))
    }

    fn open(&mut self, message: &Message) -> Result<Option<Event>, Fault> {
        let remote = message.first;
        let is_taken = self.streams.values().any(|it| it.remote == remote);
        if remote == 0 || is_taken {
            return Err(Fault::Number(remote));
        }
        let has_room = message.payload.len() <= NAME_MAX && self.streams.len() < STREAMS_MAX;
        let service = Service::parse(&message.payload).filter(|_| has_room);
        let Some(service) = service else {
            self.send(Command::Close, 0, remote, &[]);
            return Ok(None);
        };
        // As many numbers as a connection can have streams in years.
        self.last = self.last.checked_add(1).ok_or(Fault::Streams)?;
        let stream = StreamId(self.last);
        let found = Stream {
            remote,
            is_ready: true,
            is_unanswered: false,
        };
        self.streams.insert(stream, found);
        self.send(Command::Okay, stream.0, remote, &[]);
        Ok(Some(Event::Opened(stream, service)))
    }

    fn ready(&mut self, message: &Message) -> Option<Event> {
        let (stream, found) = self.find(message)?;
        // One without a write before it says nothing.
        let is_new = !std::mem::replace(&mut found.is_ready, true);
        is_new.then_some(Event::Ready(stream))
    }

    fn data(&mut self, message: Message) -> Result<Option<Event>, Fault> {
        let Some((stream, found)) = self.find(&message) else {
            return Ok(None);
        };
        // One write is under way at a time, on both sides.
        if std::mem::replace(&mut found.is_unanswered, true) {
            return Err(Fault::OutOfPlace(message.command));
        }
        Ok(Some(Event::Data(stream, message.payload)))
    }

    fn closed(&mut self, message: &Message) -> Option<Event> {
        let (stream, _) = self.find(message)?;
        self.streams.remove(&stream);
        self.send(Command::Close, stream.0, message.first, &[]);
        Some(Event::Closed(stream))
    }

    /// The stream of both numbers. One that is gone is no fault: messages cross each other.
    fn find(&mut self, message: &Message) -> Option<(StreamId, &mut Stream)> {
        let id = StreamId(message.second);
        let stream = self.streams.get_mut(&id)?;
        (stream.remote == message.first).then_some((id, stream))
    }

    fn send(&mut self, command: Command, first: u32, second: u32, payload: &[u8]) {
        let message = Message {
            command,
            first,
            second,
            payload: payload.to_vec(),
        };
        message.encode(&mut self.out);
    }
}

#[cfg(test)]
mod tests {
    use rsa::traits::PublicKeyParts as _;
    use rsa::{Pkcs1v15Sign, RsaPrivateKey};
    use sha1::Sha1;

    use super::*;
    use crate::message::{HEADER_BYTES, STRANGER_MAX};

    const DRAWN: Token = [7; 20];

    fn bytes(command: Command, first: u32, second: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let payload = payload.to_vec();
        let message = Message {
            command,
            first,
            second,
            payload,
        };
        message.encode(&mut out);
        out
    }

    fn hello() -> Vec<u8> {
        bytes(Command::Connect, VERSION_WITHOUT_SUMS, 4096, b"host::\0")
    }

    fn try_take(session: &mut Session, input: &[u8]) -> Result<Option<Event>, Fault> {
        session.take(&mut &*input, &mut || DRAWN)
    }

    type Sent = Vec<(Command, u32, u32)>;

    fn sent(session: &mut Session) -> Sent {
        let out = session.take_output();
        let (mut decoder, mut out) = (Decoder::default(), out.as_slice());
        decoder.trust();
        let mut sent = Vec::new();
        while let Some(it) = decoder.take(&mut out).unwrap() {
            sent.push((it.command, it.first, it.second));
        }
        sent
    }

    /// What the session answers to bytes: events, and its messages in short.
    fn play(session: &mut Session, input: &[u8]) -> (Vec<Event>, Sent) {
        let mut events = Vec::new();
        let mut rest = input;
        while let Some(event) = session.take(&mut rest, &mut || DRAWN).unwrap() {
            events.push(event);
        }
        (events, sent(session))
    }

    /// A small exponent and two known primes would do; one pair for all tests is quick enough.
    fn pair() -> (RsaPrivateKey, Key) {
        use std::sync::OnceLock;
        static PAIR: OnceLock<RsaPrivateKey> = OnceLock::new();
        let own = PAIR.get_or_init(|| {
            let mut random = rsa::rand_core::OsRng;
            RsaPrivateKey::new(&mut random, 2048).unwrap()
        });
        let text = crate::key::tests::form(&own.n().to_bytes_le(), 65537, "me@host");
        (own.clone(), Key::parse(text.as_bytes()).unwrap())
    }

    fn connected() -> Session {
        let (own, key) = pair();
        let mut session = Session::new(vec![key.clone()], "ro.product.name=takt");
        let (events, answers) = play(&mut session, &hello());
        assert_eq!(events, []);
        assert_eq!(answers, [(Command::Authenticate, TOKEN, 0)]);
        let signature = own.sign(Pkcs1v15Sign::new::<Sha1>(), &DRAWN).unwrap();
        let signed = bytes(Command::Authenticate, SIGNATURE, 0, &signature);
        let (events, answers) = play(&mut session, &signed);
        assert_eq!(events, [Event::Connected(Box::new(key))]);
        let room = PAYLOAD_MAX as u32;
        assert_eq!(answers, [(Command::Connect, VERSION_WITHOUT_SUMS, room)]);
        session
    }

    #[test]
    fn a_stream_has_one_write_under_way() {
        let mut session = connected();
        let (events, answers) = play(&mut session, &bytes(Command::Open, 9, 0, b"shell:ls\0"));
        let [Event::Opened(id, Service::Shell(command))] = &*events else {
            panic!("{events:?}");
        };
        assert_eq!(
            (command.as_str(), &*answers),
            ("ls", &[(Command::Okay, 1, 9)][..])
        );
        assert_eq!(session.write(*id, &[1; 5000]), 4096);
        assert_eq!(session.write(*id, &[1; 904]), 0);
        assert_eq!(sent(&mut session), [(Command::Write, 1, 9)]);
        let okay = bytes(Command::Okay, 9, 1, b"");
        assert_eq!(play(&mut session, &okay), (vec![Event::Ready(*id)], vec![]));
        assert_eq!(play(&mut session, &okay), (vec![], vec![]));
        assert_eq!(session.write(*id, &[1; 904]), 904);
        assert_eq!(sent(&mut session), [(Command::Write, 1, 9)]);
        session.close(*id);
        assert_eq!(sent(&mut session), [(Command::Close, 1, 9)]);
        assert_eq!(play(&mut session, &okay), (vec![], vec![]));
        assert!(!session.is_ready(*id));
    }

    #[test]
    fn data_waits_until_it_is_used() {
        let mut session = connected();
        play(&mut session, &bytes(Command::Open, 9, 0, b"sync:\0"));
        let write = bytes(Command::Write, 9, 1, b"text");
        let (events, answers) = play(&mut session, &write);
        let id = StreamId(1);
        assert_eq!(events, [Event::Data(id, b"text".to_vec())]);
        assert_eq!(answers, []);
        session.taken(id);
        session.taken(id);
        assert_eq!(sent(&mut session), [(Command::Okay, 1, 9)]);
        // Another's numbers reach nothing.
        let (events, _) = play(&mut session, &bytes(Command::Write, 8, 1, b"text"));
        assert_eq!(events, []);
        let (events, answers) = play(&mut session, &bytes(Command::Close, 9, 1, b""));
        assert_eq!(events, [Event::Closed(id)]);
        assert_eq!(answers, [(Command::Close, 1, 9)]);
        // Who does not wait has no place.
        play(&mut session, &bytes(Command::Open, 9, 0, b"sync:\0"));
        let write = bytes(Command::Write, 9, 2, b"text");
        assert_eq!(play(&mut session, &write).0.len(), 1);
        let outcome = try_take(&mut session, &write);
        assert_eq!(outcome, Err(Fault::OutOfPlace(Command::Write)));
    }

    #[test]
    fn a_number_stands_for_one_stream() {
        let mut session = connected();
        let open = bytes(Command::Open, 9, 0, b"sync:\0");
        play(&mut session, &open);
        assert_eq!(try_take(&mut session, &open), Err(Fault::Number(9)));
        let none = bytes(Command::Open, 0, 0, b"sync:\0");
        assert_eq!(try_take(&mut connected(), &none), Err(Fault::Number(0)));
    }

    #[test]
    fn streams_and_their_names_are_bounded() {
        let mut session = connected();
        for number in 1..=STREAMS_MAX as u32 {
            let (events, _) = play(&mut session, &bytes(Command::Open, number, 0, b"sync:\0"));
            assert_eq!(events.len(), 1);
        }
        let refused = (vec![], vec![(Command::Close, 0, 99)]);
        let more = bytes(Command::Open, 99, 0, b"sync:\0");
        assert_eq!(play(&mut session, &more), refused);
        // One that goes makes room.
        play(&mut session, &bytes(Command::Close, 1, 1, b""));
        let long = bytes(Command::Open, 99, 0, &[b'a'; NAME_MAX + 1]);
        assert_eq!(play(&mut session, &long), refused);
        assert_eq!(play(&mut session, &more).0.len(), 1);
    }

    #[test]
    fn output_is_bounded_and_holds_up_input() {
        let mut session = connected();
        let refused = bytes(Command::Open, 99, 0, b"\xff");
        let input = refused.repeat(2 * OUT_MAX / HEADER_BYTES);
        let mut rest = input.as_slice();
        let mut count = 0;
        while !rest.is_empty() {
            assert_eq!(session.take(&mut rest, &mut || DRAWN), Ok(None));
            assert!(session.out.len() < OUT_MAX + HEADER_BYTES);
            count += sent(&mut session).len();
        }
        assert_eq!(count, 2 * OUT_MAX / HEADER_BYTES);
        // A full one takes no write.
        play(&mut session, &bytes(Command::Open, 9, 0, b"sync:\0"));
        session.out.resize(OUT_MAX, 0);
        assert!(!session.is_ready(StreamId(1)));
        assert_eq!(session.write(StreamId(1), b"text"), 0);
    }

    #[test]
    fn nobody_comes_in_without_a_key() {
        let open = bytes(Command::Open, 1, 0, b"shell:id\0");
        let refused = Err(Fault::OutOfPlace(Command::Open));
        let mut session = Session::new(Vec::new(), "");
        assert_eq!(try_take(&mut session, &open), refused);
        let mut session = Session::new(vec![pair().1], "");
        play(&mut session, &hello());
        assert_eq!(try_take(&mut session, &open), refused);

        let mut session = Session::new(vec![pair().1], "");
        play(&mut session, &hello());
        let again = Err(Fault::OutOfPlace(Command::Connect));
        assert_eq!(try_take(&mut session, &hello()), again);
        let wrong = bytes(Command::Authenticate, SIGNATURE, 0, &[1; 256]);
        for _ in 1..TOKENS_MAX {
            let (events, sent) = play(&mut session, &wrong);
            assert_eq!((events.len(), sent.len()), (0, 1));
        }
        assert_eq!(try_take(&mut session, &wrong), Err(Fault::Unknown));
    }

    #[test]
    fn a_signature_is_of_this_token_alone() {
        let (own, key) = pair();
        let mut session = Session::new(vec![key], "");
        play(&mut session, &hello());
        let signature = own.sign(Pkcs1v15Sign::new::<Sha1>(), &[8; 20]).unwrap();
        let signed = bytes(Command::Authenticate, SIGNATURE, 0, &signature);
        let (events, sent) = play(&mut session, &signed);
        assert_eq!(
            (events, sent),
            (vec![], vec![(Command::Authenticate, TOKEN, 0)])
        );
    }

    #[test]
    fn one_key_may_be_offered_and_lets_nobody_in() {
        let (own, key) = pair();
        let text = crate::key::tests::form(&own.n().to_bytes_le(), 65537, "me@host");
        let mut session = Session::new(Vec::new(), "");
        play(&mut session, &hello());
        let offer = bytes(Command::Authenticate, PUBLIC_KEY, 0, text.as_bytes());
        let (events, sent) = play(&mut session, &offer);
        assert_eq!(
            (events, sent),
            (vec![Event::Offered(Box::new(key))], vec![])
        );
        assert!(!session.is_known());
        assert_eq!(try_take(&mut session, &offer), Err(Fault::Unknown));
        let mut session = Session::new(Vec::new(), "");
        play(&mut session, &hello());
        let offer = bytes(Command::Authenticate, PUBLIC_KEY, 0, b"no key");
        assert_eq!(try_take(&mut session, &offer), Err(Fault::Unknown));
    }

    #[test]
    fn a_stranger_has_little_room() {
        let long = bytes(
            Command::Connect,
            VERSION_WITHOUT_SUMS,
            4096,
            &[0; STRANGER_MAX + 1],
        );
        let outcome = try_take(&mut Session::new(Vec::new(), ""), &long);
        assert_eq!(outcome, Err(Fault::Length(4097, STRANGER_MAX)));
        let mut session = Session::new(vec![pair().1], "");
        play(&mut session, &hello());
        let wrong = bytes(Command::Authenticate, SIGNATURE, 0, &[1; STRANGER_MAX]);
        let mut count = 1;
        let fault = loop {
            match session.take(&mut wrong.as_slice(), &mut || DRAWN) {
                Ok(_) => count += 1,
                Err(fault) => break fault,
            }
        };
        assert_eq!(fault, Fault::Stranger);
        assert_eq!(count, STRANGER_BYTES_MAX / wrong.len() + 1);
    }

    /// Whatever comes, in whatever pieces: memory has its bounds, and nobody is let in.
    #[test]
    fn random_bytes_let_nobody_in() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let mut session = Session::new(Vec::new(), "");
            let mut input = hello();
            for _ in 0..random.usize(1..20) {
                let all = [
                    Command::Connect,
                    Command::Authenticate,
                    Command::Open,
                    Command::Okay,
                    Command::Write,
                    Command::Close,
                ];
                let command = all[random.usize(..all.len())];
                let payload: Vec<u8> = (0..random.usize(..300)).map(|_| random.u8(..)).collect();
                let (first, second) = (random.u32(..4), random.u32(..3));
                input.extend(bytes(command, first, second, &payload));
            }
            let at = random.usize(..input.len());
            input[at] = random.u8(..);
            let mut rest = input.as_slice();
            while !rest.is_empty() {
                match session.take(&mut rest, &mut || DRAWN) {
                    Ok(None | Some(Event::Offered(_))) => {}
                    Ok(Some(event)) => panic!("{event:?}"),
                    Err(_) => break,
                }
                assert!(session.decoder.waiting() <= HEADER_BYTES + STRANGER_MAX);
                session.take_output();
            }
            assert!(!session.is_known());
        }
    }
}
