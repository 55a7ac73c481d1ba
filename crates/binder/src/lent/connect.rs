// SPDX-License-Identifier: Apache-2.0
//! How a link between two programs begins: over a socket that joins them, each sends what it has
//! made, and each learns from the kernel who the other is.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rt::bell::{Bell, Hearing};
use rt::peer::PidFd;
use rt::shared::{Memfd, Region, SharedError, View};
use rt::socket::{Received, Sender, Socket, SocketError};
use rt::sync::PiMutex;
use rt::sys::Errno;

use crate::binder::Binder;
use crate::error::CallError;
use crate::introduce::Who;
use crate::lent::call::End;
use crate::lent::inbox::{self, Inbox};
use crate::lent::layout::{DATA_BYTES, FACE_BYTES, LOOPERS_MAX, SLOTS, WORDS_BYTES};
use crate::lent::message::Lent;
use crate::lent::slots::Slots;
use crate::link::Link;
use crate::process::{Inner, Process};
use crate::serving::Caller;

const MAGIC: u32 = u32::from_le_bytes(*b"Takt");
const VERSION: u32 = 3;
pub(super) const HELLO_BYTES: usize = 24;

/// Which end of the socket a process is: the two must differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It says hello first.
    Caller,
    /// It waits for a hello.
    Listener,
}

/// Why two processes are not joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The socket failed, or the other end did not answer in time.
    #[error("the other end does not answer: {0}")]
    Socket(#[from] SocketError),
    /// No memory, or what the other end sent is none.
    #[error(transparent)]
    Shared(#[from] SharedError),
    /// The kernel refused.
    #[error("cannot hear the other end: {0}")]
    Refused(Errno),
    /// The other end does not speak this protocol, or broke it.
    #[error("the other end does not speak this protocol")]
    Foreign,
    /// Loans name threads by number, which means the same in one PID namespace only.
    #[error("the other end lives in another PID namespace")]
    Namespace,
}

/// A process of another program.
pub struct Connection {
    link: Arc<Link>,
    lent: Arc<Lent>,
}

impl Connection {
    /// Its root.
    pub fn root(&self) -> Result<Option<Binder>, CallError> {
        self.link.root()
    }

    /// Who it is, by the kernel's word.
    pub fn peer(&self) -> Caller {
        self.link.peer
    }

    /// Whether it is there, as far as is known.
    pub fn is_alive(&self) -> bool {
        !self.link.is_dead()
    }

    /// Calls without an answer that were sent and are not served yet.
    pub fn oneways_out(&self) -> u64 {
        self.lent.oneways_out()
    }

    #[cfg(test)]
    pub(super) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    #[cfg(test)]
    pub(super) fn lent(&self) -> &Lent {
        &self.lent
    }

    /// Ends the link: what it gave is dead at both ends.
    pub fn close(&self) {
        if self.link.die() {
            self.link.bury();
        }
    }
}

impl Process {
    /// Joins this process with the one at the other end of `socket`, which calls this as well, with
    /// the other [`Side`]. Each has until `due_ns`.
    pub fn connect(
        &self,
        socket: OwnedFd,
        side: Side,
        due_ns: u64,
    ) -> Result<Connection, ConnectError> {
        let socket = Socket::adopt(socket).map_err(ConnectError::Refused)?;
        let mut handshake = Handshake::begin(self.inner(), socket, side)?;
        loop {
            let mut bytes = [0; HELLO_BYTES];
            let received = handshake.socket.receive_until(&mut bytes, due_ns)?;
            if handshake.hear(self.inner(), Hello::parse(&bytes, received)?)? {
                return handshake.enter(self.inner(), None);
            }
        }
    }
}

/// How far two ends have come that are to be joined.
pub(super) struct Handshake {
    pub(super) socket: Socket,
    side: Side,
    /// None before the other end is seen to speak.
    ours: Option<Ours>,
    theirs: Option<Theirs>,
}

impl Handshake {
    pub(super) fn begin(inner: &Inner, socket: Socket, side: Side) -> Result<Self, ConnectError> {
        if side == Side::Caller {
            socket.try_send(&hello(inner, 0), &[])?;
        }
        Ok(Self {
            socket,
            side,
            ours: None,
            theirs: None,
        })
    }

    /// The other end's next hello; whether it was the last one. Never waits.
    ///
    /// The words are the listener's to make; the caller learns first that the other end hears.
    pub(super) fn hear(&mut self, inner: &Inner, hello: Hello) -> Result<bool, ConnectError> {
        if let Some(theirs) = &self.theirs {
            // The number was the sender's when it sent, and is now, or this message has another.
            let is_same = hello.has(0) && hello.sender == theirs.hello.sender;
            if !is_same || theirs.peer.has_ended() {
                return Err(ConnectError::Foreign);
            }
            return Ok(true);
        }
        match (self.side, &self.ours) {
            (Side::Listener, None) if hello.has(0) => {
                let ours = Ours::make(inner, Some(Memfd::new(c"binder words", WORDS_BYTES)?))?;
                ours.send(inner, &self.socket)?;
                self.ours = Some(ours);
                return Ok(false);
            }
            (Side::Listener, Some(_)) if hello.has(2) => {}
            (Side::Caller, None) if hello.has(3) => {
                let ours = Ours::make(inner, None)?;
                ours.send(inner, &self.socket)?;
                self.ours = Some(ours);
            }
            _ => return Err(ConnectError::Foreign),
        }
        let peer = PidFd::open(hello.sender.pid).map_err(ConnectError::Refused)?;
        self.socket.try_send(&self::hello(inner, 0), &[])?;
        self.theirs = Some(Theirs { hello, peer });
        Ok(false)
    }

    /// Who the other end is, once it has said so.
    pub(super) fn who(&self) -> Option<Who> {
        self.theirs.as_ref().map(|it| it.hello.who())
    }

    /// After the last hello.
    pub(super) fn enter(
        self,
        inner: &Arc<Inner>,
        introducer: Option<u64>,
    ) -> Result<Connection, ConnectError> {
        let (Some(mut ours), Some(theirs)) = (self.ours, self.theirs) else {
            return Err(ConnectError::Foreign);
        };
        let Theirs { hello, peer } = theirs;
        let (sender, who) = (hello.sender, hello.who());
        let mut fds = hello.fds.into_iter();
        let words = match ours.words.take() {
            Some(words) => words,
            None => Memfd::adopt(fds.next().ok_or(ConnectError::Foreign)?, WORDS_BYTES)?,
        };
        let mut view = |bytes| -> Result<View, ConnectError> {
            let fd = fds.next().ok_or(ConnectError::Foreign)?;
            Ok(Memfd::adopt(fd, bytes)?.map_to_read()?)
        };
        let (data, face) = (view(DATA_BYTES)?, view(FACE_BYTES)?);
        let bells: Option<Vec<Bell>> = fds.map(Bell::adopt).collect();
        let lent = Arc::new(Lent {
            inbox: PiMutex::new(Inbox::new(sender.pid)),
            socket: self.socket,
            peer,
            side: usize::from(self.side == Side::Listener),
            words: words.map()?,
            ours: ours.region,
            theirs: data,
            face,
            bells: bells.ok_or(ConnectError::Foreign)?,
            own_bells: ours.bells,
            home: Arc::downgrade(inner),
            home_key: inner.key,
            slots: Slots::default(),
            sequences: [const { AtomicU32::new(0) }; SLOTS],
            heard: [const { AtomicU32::new(0) }; SLOTS],
            releases: PiMutex::default(),
            oneways: AtomicU64::new(0),
            turns: AtomicU32::new(0),
            spin_ns: inner.spin_ns,
        });
        let caller = Caller {
            pid: sender.pid,
            uid: sender.uid,
        };
        let link = inner.link_with(caller, who, introducer);
        join(inner, link, lent)
    }
}

/// A link that is there, from now on heard by this end's threads.
fn join(inner: &Inner, link: Arc<Link>, lent: Arc<Lent>) -> Result<Connection, ConnectError> {
    link.set_transport(Box::new(End(Arc::clone(&lent))));
    for (bell, looper) in lent.own_bells.iter().zip(&inner.loopers) {
        let heard = looper
            .bells
            .add(bell.as_fd(), link.number, Hearing::EachRing);
        heard.map_err(ConnectError::Refused)?;
    }
    inner.enter(Arc::clone(&link));
    inner.lents.add(Arc::clone(&link), Arc::clone(&lent));
    let heard = inner.door.add(&link, &lent);
    heard.map_err(ConnectError::Refused)?;
    // An end that is gone already is heard of by the door.
    let _ = lent.note(&inbox::write_ready(), &[]);
    // What came before the door heard this link.
    inner.door.ring();
    inner.wake_all();
    Ok(Connection { link, lent })
}

/// What one end makes.
struct Ours {
    data: Memfd,
    region: Region,
    bells: Vec<Bell>,
    /// The listener's to make.
    words: Option<Memfd>,
}

impl Ours {
    fn make(inner: &Inner, words: Option<Memfd>) -> Result<Self, ConnectError> {
        let data = Memfd::new(c"binder data", DATA_BYTES)?;
        let region = data.map()?;
        data.seal_writes()?;
        let bells = inner.loopers.iter().map(|_| Bell::new());
        let bells: Result<_, _> = bells.collect();
        Ok(Self {
            data,
            region,
            bells: bells.map_err(ConnectError::Refused)?,
            words,
        })
    }

    fn send(&self, inner: &Inner, socket: &Socket) -> Result<(), ConnectError> {
        let words = self.words.iter().map(AsFd::as_fd);
        let made = [self.data.as_fd(), inner.face.as_fd()];
        let bells = self.bells.iter().map(AsFd::as_fd);
        let fds: Vec<_> = words.chain(made).chain(bells).collect();
        Ok(socket.try_send(&hello(inner, self.bells.len()), &fds)?)
    }
}

/// What the other end sent with its files, and what tells it from later ones of its number.
struct Theirs {
    hello: Hello,
    peer: PidFd,
}

pub(super) fn hello(inner: &Inner, loopers: usize) -> [u8; HELLO_BYTES] {
    let Who { pid, key } = inner.who();
    let (low, high) = (key as u32, (key >> 32) as u32);
    let words = [
        MAGIC,
        VERSION,
        loopers as u32,
        pid.cast_unsigned(),
        low,
        high,
    ];
    let mut bytes = [0; HELLO_BYTES];
    for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// What an end says, with files and then a bell for each of its loopers.
pub(super) struct Hello {
    loopers: usize,
    key: u64,
    pub(super) fds: Vec<OwnedFd>,
    pub(super) sender: Sender,
}

impl Hello {
    pub(super) fn parse(
        bytes: &[u8; HELLO_BYTES],
        received: Received,
    ) -> Result<Self, ConnectError> {
        let Received { size, fds, sender } = received;
        let word = |index: usize| {
            let word = bytes[index * 4..].first_chunk().expect("six words");
            u32::from_le_bytes(*word)
        };
        if size != HELLO_BYTES || word(0) != MAGIC || word(1) != VERSION {
            return Err(ConnectError::Foreign);
        }
        if word(3) != sender.pid.cast_unsigned() {
            return Err(ConnectError::Namespace);
        }
        let loopers = word(2) as usize;
        (loopers <= LOOPERS_MAX)
            .then_some(Self {
                loopers,
                key: u64::from(word(5)) << 32 | u64::from(word(4)),
                fds,
                sender,
            })
            .ok_or(ConnectError::Foreign)
    }

    /// Whether it came with so many files, and a bell for each looper if it has files.
    fn has(&self, files: usize) -> bool {
        self.fds.len() == files + self.loopers && (files == 0) == (self.loopers == 0)
    }

    pub(super) fn who(&self) -> Who {
        Who {
            pid: self.sender.pid,
            key: self.key,
        }
    }
}
