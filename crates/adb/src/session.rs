// SPDX-License-Identifier: Apache-2.0
//! [`Session`]: one connection, from its first message on: who the client is, and its streams.

use std::collections::{BTreeMap, VecDeque};

use crate::key::{Key, KeyFault, Token};
use crate::message::{Command, Decoder, Fault, Message, PAYLOAD_MAX, VERSION_WITHOUT_SUMS};
use crate::service::Service;

/// Streams of a connection at once. `adb` opens one for each command that runs.
pub const STREAMS_MAX: usize = 32;
/// Bytes that wait in a stream for a client that takes none: whoever writes waits from here on.
pub const STREAM_OUT_MAX: usize = 1 << 20;
/// Tokens that a client may sign wrongly: it has a few keys and tries each.
const TOKENS_MAX: u32 = 16;

const TOKEN: u32 = 1;
const SIGNATURE: u32 = 2;
const PUBLIC_KEY: u32 = 3;

/// Our number of a stream; never given twice in a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

/// What comes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client is known; from now on it may open streams.
    Connected {
        /// The name that its key has, or nothing where nobody asked for one.
        name: String,
    },
    /// It wants to be known by this key from now on. Whoever decides that keeps the key for later
    /// connections; this one goes on asking for a signature.
    Offered(Box<Key>),
    /// It opens a stream. Answered by [`Session::write`] and [`Session::close`].
    Opened(StreamId, Service),
    /// Bytes of a stream; the client waits until [`Session::taken`] says that they are used.
    Data(StreamId, Vec<u8>),
    /// The client has closed a stream.
    Closed(StreamId),
}

/// Who may come in.
#[derive(Debug)]
pub enum Door {
    /// Whoever reaches it: the socket itself says who that is.
    Open,
    /// Who has the private half of one of these.
    Keys(Vec<Key>),
}

#[derive(Debug)]
enum State {
    /// Nothing was said yet.
    New,
    /// A token waits to be signed; so many were given out.
    Asked(Token, u32),
    Connected,
}

#[derive(Debug)]
struct Stream {
    /// The client's number.
    remote: u32,
    /// The client has said that it takes the next write.
    is_ready: bool,
    waiting: VecDeque<u8>,
    /// Closed once all that waits is sent.
    is_ending: bool,
}

/// One connection. Bytes to the client are fetched by [`Session::take_output`].
#[derive(Debug)]
pub struct Session {
    door: Door,
    banner: String,
    state: State,
    decoder: Decoder,
    streams: BTreeMap<StreamId, Stream>,
    last: u32,
    payload_max: usize,
    out: Vec<u8>,
}

impl Session {
    /// A connection that was just made. `banner` is what `adb devices -l` shows:
    /// `ro.product.name=…;ro.product.model=…`.
    pub fn new(door: Door, banner: &str) -> Self {
        Self {
            door,
            banner: banner.to_owned(),
            state: State::New,
            decoder: Decoder::new(),
            streams: BTreeMap::new(),
            last: 0,
            payload_max: PAYLOAD_MAX,
            out: Vec::new(),
        }
    }

    /// Takes bytes of the client, up to the next event. `draw` gives a token that nobody can guess.
    /// Call again until there is no event and no byte left. A fault ends the connection.
    pub fn take(
        &mut self,
        input: &mut &[u8],
        draw: &mut dyn FnMut() -> Token,
    ) -> Result<Option<Event>, Fault> {
        while let Some(message) = self.decoder.take(input)? {
            if let Some(event) = self.receive(message, draw)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// What goes to the client now.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// How many more bytes a stream takes; nothing if it is closed.
    pub fn room(&self, stream: StreamId) -> Option<usize> {
        let stream = self.streams.get(&stream).filter(|it| !it.is_ending)?;
        Some(STREAM_OUT_MAX - stream.waiting.len())
    }

    /// Sends bytes, as the client takes them: at most as many as there is [`Self::room`] for. Says
    /// how many were taken.
    pub fn write(&mut self, stream: StreamId, bytes: &[u8]) -> usize {
        let Some(room) = self.room(stream) else {
            return 0;
        };
        let count = bytes.len().min(room);
        if let Some(found) = self.streams.get_mut(&stream) {
            found.waiting.extend(&bytes[..count]);
        }
        self.pump(stream);
        count
    }

    /// Closes a stream behind all that was written.
    pub fn close(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get_mut(&stream) {
            found.is_ending = true;
        }
        self.pump(stream);
    }

    /// Data of an event was used: the client may send more.
    pub fn taken(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get(&stream) {
            let remote = found.remote;
            self.send(Command::Okay, stream.0, remote, Vec::new());
        }
    }

    fn receive(
        &mut self,
        message: Message,
        draw: &mut dyn FnMut() -> Token,
    ) -> Result<Option<Event>, Fault> {
        let is_known = matches!(self.state, State::Connected);
        match message.command {
            Command::Connect if !is_known => self.greet(&message, draw),
            Command::Authenticate if !is_known => self.authenticate(&message, draw),
            command if !is_known => Err(Fault::OutOfPlace(command)),
            Command::Open => self.open(&message),
            Command::Okay => {
                self.ready(&message);
                Ok(None)
            }
            Command::Write => Ok(self.data(message)),
            Command::Close => Ok(self.closed(&message)),
            // A client that begins anew does so by a new connection.
            command => Err(Fault::OutOfPlace(command)),
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
        self.payload_max = PAYLOAD_MAX.min(message.second as usize).max(1);
        match &self.door {
            Door::Open => Ok(Some(self.connect(String::new()))),
            Door::Keys(_) => self.ask(draw).map(|()| None),
        }
    }

    fn ask(&mut self, draw: &mut dyn FnMut() -> Token) -> Result<(), Fault> {
        let count = match self.state {
            State::Asked(_, count) => count + 1,
            _ => 1,
        };
        if count > TOKENS_MAX {
            return Err(Fault::Unknown);
        }
        let token = draw();
        self.state = State::Asked(token, count);
        self.send(Command::Authenticate, TOKEN, 0, token.to_vec());
        Ok(())
    }

    fn authenticate(
        &mut self,
        message: &Message,
        draw: &mut dyn FnMut() -> Token,
    ) -> Result<Option<Event>, Fault> {
        let (State::Asked(token, _), Door::Keys(keys)) = (&self.state, &self.door) else {
            return Err(Fault::OutOfPlace(message.command));
        };
        match message.first {
            SIGNATURE => {
                let signed = |key: &&Key| key.has_signed(token, &message.payload);
                let name = keys.iter().find(signed).map(|key| key.name().to_owned());
                match name {
                    Some(name) => Ok(Some(self.connect(name))),
                    None => self.ask(draw).map(|()| None),
                }
            }
            PUBLIC_KEY => match Key::parse(&message.payload) {
                Ok(key) => Ok(Some(Event::Offered(Box::new(key)))),
                Err(KeyFault::Form | KeyFault::Numbers) => Err(Fault::Unknown),
            },
            _ => Err(Fault::OutOfPlace(message.command)),
        }
    }

    fn connect(&mut self, name: String) -> Event {
        self.state = State::Connected;
        let banner = format!("device::{};features=shell_v2,cmd,stat_v2\0", self.banner);
        let room = PAYLOAD_MAX as u32;
        self.send(
            Command::Connect,
            VERSION_WITHOUT_SUMS,
            room,
            banner.into_bytes(),
        );
        Event::Connected { name }
    }

    fn open(&mut self, message: &Message) -> Result<Option<Event>, Fault> {
        let remote = message.first;
        let service = Service::parse(&message.payload).filter(|_| remote != 0);
        let Some(service) = service else {
            self.send(Command::Close, 0, remote, Vec::new());
            return Ok(None);
        };
        if self.streams.len() == STREAMS_MAX {
            return Err(Fault::Streams);
        }
        // As many numbers as a connection can have streams in years.
        self.last = self.last.checked_add(1).ok_or(Fault::Streams)?;
        let stream = StreamId(self.last);
        self.streams.insert(
            stream,
            Stream {
                remote,
                is_ready: true,
                waiting: VecDeque::new(),
                is_ending: false,
            },
        );
        self.send(Command::Okay, stream.0, remote, Vec::new());
        Ok(Some(Event::Opened(stream, service)))
    }

    fn ready(&mut self, message: &Message) {
        let stream = StreamId(message.second);
        if let Some(found) = self.find(message) {
            found.is_ready = true;
            self.pump(stream);
        }
    }

    fn data(&mut self, message: Message) -> Option<Event> {
        self.find(&message)?;
        Some(Event::Data(StreamId(message.second), message.payload))
    }

    fn closed(&mut self, message: &Message) -> Option<Event> {
        self.find(message)?;
        let stream = StreamId(message.second);
        self.streams.remove(&stream);
        self.send(Command::Close, stream.0, message.first, Vec::new());
        Some(Event::Closed(stream))
    }

    /// The stream of both numbers. One that is gone is no fault: messages cross each other.
    fn find(&mut self, message: &Message) -> Option<&mut Stream> {
        let stream = self.streams.get_mut(&StreamId(message.second))?;
        (stream.remote == message.first).then_some(stream)
    }

    /// One write at a time, as the protocol has it; then the end.
    fn pump(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let remote = stream.remote;
        if stream.is_ready && !stream.waiting.is_empty() {
            stream.is_ready = false;
            let count = stream.waiting.len().min(self.payload_max);
            let bytes = stream.waiting.drain(..count).collect();
            self.send(Command::Write, id.0, remote, bytes);
        } else if stream.is_ending && stream.waiting.is_empty() && stream.is_ready {
            self.streams.remove(&id);
            self.send(Command::Close, id.0, remote, Vec::new());
        }
    }

    fn send(&mut self, command: Command, first: u32, second: u32, payload: Vec<u8>) {
        let message = Message {
            command,
            first,
            second,
            payload,
        };
        message.encode(&mut self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// What the session answers to bytes: events, and its messages in short.
    fn play(session: &mut Session, input: &[u8]) -> (Vec<Event>, Vec<(Command, u32, u32)>) {
        let mut events = Vec::new();
        let mut rest = input;
        while let Some(event) = session.take(&mut rest, &mut || [7; 20]).unwrap() {
            events.push(event);
        }
        let out = session.take_output();
        let (mut decoder, mut out) = (Decoder::new(), out.as_slice());
        let mut sent = Vec::new();
        while let Some(it) = decoder.take(&mut out).unwrap() {
            sent.push((it.command, it.first, it.second));
        }
        (events, sent)
    }

    fn connected() -> Session {
        let mut session = Session::new(Door::Open, "ro.product.name=takt");
        let hello = bytes(Command::Connect, VERSION_WITHOUT_SUMS, 4096, b"host::\0");
        let (events, sent) = play(&mut session, &hello);
        assert!(matches!(&*events, [Event::Connected { .. }]));
        assert_eq!(sent[0].0, Command::Connect);
        session
    }

    #[test]
    fn a_stream_has_one_write_under_way() {
        let mut session = connected();
        let (events, sent) = play(&mut session, &bytes(Command::Open, 9, 0, b"shell:ls\0"));
        let [Event::Opened(id, Service::Shell(command))] = &*events else {
            panic!("{events:?}");
        };
        assert_eq!((command.as_str(), &*sent), ("ls", &[(Command::Okay, 1, 9)][..]));
        assert_eq!(session.write(*id, &[1; 5000]), 5000);
        session.close(*id);
        let (_, sent) = play(&mut session, &[]);
        assert_eq!(sent, [(Command::Write, 1, 9)]);
        let okay = bytes(Command::Okay, 9, 1, b"");
        assert_eq!(play(&mut session, &okay).1, [(Command::Write, 1, 9)]);
        assert_eq!(play(&mut session, &okay).1, [(Command::Close, 1, 9)]);
        assert_eq!(play(&mut session, &okay).1, []);
        assert_eq!(session.room(*id), None);
    }

    #[test]
    fn data_waits_until_it_is_used() {
        let mut session = connected();
        play(&mut session, &bytes(Command::Open, 9, 0, b"sync:\0"));
        let (events, sent) = play(&mut session, &bytes(Command::Write, 9, 1, b"text"));
        let id = StreamId(1);
        assert_eq!(events, [Event::Data(id, b"text".to_vec())]);
        assert_eq!(sent, []);
        session.taken(id);
        assert_eq!(play(&mut session, &[]).1, [(Command::Okay, 1, 9)]);
        // Another's numbers reach nothing.
        let (events, _) = play(&mut session, &bytes(Command::Write, 8, 1, b"text"));
        assert_eq!(events, []);
        let (events, sent) = play(&mut session, &bytes(Command::Close, 9, 1, b""));
        assert_eq!(events, [Event::Closed(id)]);
        assert_eq!(sent, [(Command::Close, 1, 9)]);
    }

    #[test]
    fn bounds_hold() {
        let mut session = connected();
        for number in 1..=STREAMS_MAX as u32 {
            play(&mut session, &bytes(Command::Open, number, 0, b"sync:\0"));
        }
        let full = vec![0; STREAM_OUT_MAX + 1];
        // What is under way waits no more.
        assert_eq!(session.write(StreamId(1), &full), STREAM_OUT_MAX);
        assert_eq!(session.room(StreamId(1)), Some(4096));
        let more = bytes(Command::Open, 99, 0, b"sync:\0");
        let outcome = session.take(&mut more.as_slice(), &mut || [0; 20]);
        assert_eq!(outcome, Err(Fault::Streams));
    }

    #[test]
    fn nobody_comes_in_without_a_key() {
        let mut session = Session::new(Door::Keys(Vec::new()), "");
        let open = bytes(Command::Open, 1, 0, b"shell:id\0");
        let outcome = session.take(&mut open.as_slice(), &mut || [0; 20]);
        assert_eq!(outcome, Err(Fault::OutOfPlace(Command::Open)));
        let mut session = Session::new(Door::Keys(Vec::new()), "");
        let hello = bytes(Command::Connect, VERSION_WITHOUT_SUMS, 4096, b"host::\0");
        assert_eq!(play(&mut session, &hello).1, [(Command::Authenticate, TOKEN, 0)]);
        let wrong = bytes(Command::Authenticate, SIGNATURE, 0, &[1; 256]);
        for _ in 1..TOKENS_MAX {
            let (events, sent) = play(&mut session, &wrong);
            assert_eq!((events.len(), sent.len()), (0, 1));
        }
        let outcome = session.take(&mut wrong.as_slice(), &mut || [0; 20]);
        assert_eq!(outcome, Err(Fault::Unknown));
    }
}
