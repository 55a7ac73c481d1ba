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
use crate::lent::call::End;
use crate::lent::inbox::Inbox;
use crate::lent::layout::{DATA_BYTES, FACE_BYTES, LOOPERS_MAX, SLOTS, WORDS_BYTES};
use crate::lent::message::Lent;
use crate::lent::slots::Slots;
use crate::link::Link;
use crate::process::Process;
use crate::serving::Caller;

const MAGIC: u32 = u32::from_le_bytes(*b"Takt");
const VERSION: u32 = 1;
const HELLO_BYTES: usize = 20;

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

/// What one end sends.
struct Ours {
    data: Memfd,
    region: Region,
    bells: Vec<Bell>,
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
        let ours = self.make()?;
        // The words are the listener's to make; the caller learns first that the other end hears.
        let made = match side {
            Side::Listener => {
                expect(&socket, due_ns, 0)?;
                Some(Memfd::new(c"binder words", WORDS_BYTES)?)
            }
            Side::Caller => {
                socket.try_send(&self.hello(0), &[])?;
                None
            }
        };
        let mut theirs = match &made {
            Some(words) => {
                self.send(&socket, &ours, Some(words))?;
                expect(&socket, due_ns, 2)?
            }
            None => {
                let theirs = expect(&socket, due_ns, 3)?;
                self.send(&socket, &ours, None)?;
                theirs
            }
        };
        let words = match made {
            Some(words) => words,
            None => Memfd::adopt(theirs.fds.remove(0), WORDS_BYTES)?,
        };
        let peer = PidFd::open(theirs.sender.pid).map_err(ConnectError::Refused)?;
        // The number was the sender's when it sent, and is now, or the next message has another.
        socket.try_send(&self.hello(0), &[])?;
        let again = expect(&socket, due_ns, 0)?;
        if again.sender != theirs.sender || peer.has_ended() {
            return Err(ConnectError::Foreign);
        }
        let side = usize::from(side == Side::Listener);
        self.enter(socket, side, words, ours, theirs, peer)
    }

    fn make(&self) -> Result<Ours, ConnectError> {
        let data = Memfd::new(c"binder data", DATA_BYTES)?;
        let region = data.map()?;
        data.seal_writes()?;
        let loopers = &self.inner().loopers;
        let bells = loopers.iter().map(|_| Bell::new());
        let bells: Result<_, _> = bells.collect();
        Ok(Ours {
            data,
            region,
            bells: bells.map_err(ConnectError::Refused)?,
        })
    }

    fn hello(&self, loopers: usize) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let words = [MAGIC, VERSION, loopers as u32, std::process::id(), 0];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn send(
        &self,
        socket: &Socket,
        ours: &Ours,
        words: Option<&Memfd>,
    ) -> Result<(), ConnectError> {
        let words = words.map(AsFd::as_fd);
        let made = [ours.data.as_fd(), self.inner().face.as_fd()];
        let bells = ours.bells.iter().map(AsFd::as_fd);
        let fds: Vec<_> = words.into_iter().chain(made).chain(bells).collect();
        Ok(socket.try_send(&self.hello(ours.bells.len()), &fds)?)
    }

    fn enter(
        &self,
        socket: Socket,
        side: usize,
        words: Memfd,
        ours: Ours,
        theirs: Theirs,
        peer: PidFd,
    ) -> Result<Connection, ConnectError> {
        let inner = self.inner();
        let mut fds = theirs.fds.into_iter();
        let mut view = |bytes| -> Result<View, ConnectError> {
            let fd = fds.next().ok_or(ConnectError::Foreign)?;
            Ok(Memfd::adopt(fd, bytes)?.map_to_read()?)
        };
        let (data, face) = (view(DATA_BYTES)?, view(FACE_BYTES)?);
        let bells: Option<Vec<Bell>> = fds.map(Bell::adopt).collect();
        let lent = Arc::new(Lent {
            inbox: PiMutex::new(Inbox::new(theirs.sender.pid)),
            socket,
            peer,
            side,
            words: words.map()?,
            ours: ours.region,
            theirs: data,
            face,
            bells: bells.ok_or(ConnectError::Foreign)?,
            own_bells: ours.bells,
            home: Arc::downgrade(inner),
            slots: Slots::default(),
            sequences: [const { AtomicU32::new(0) }; SLOTS],
            heard: [const { AtomicU32::new(0) }; SLOTS],
            releases: PiMutex::default(),
            oneways: AtomicU64::new(0),
            turns: AtomicU32::new(0),
            spin_ns: inner.spin_ns,
        });
        let link = inner.link(Caller {
            pid: theirs.sender.pid,
            uid: theirs.sender.uid,
        });
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
        // What came before the door heard this link.
        inner.door.ring();
        inner.wake_all();
        Ok(Connection { link, lent })
    }
}

/// What the other end sent.
struct Theirs {
    fds: Vec<OwnedFd>,
    sender: Sender,
}

/// The other end's next hello, with `files` files and then a bell for each of its loopers.
fn expect(socket: &Socket, due_ns: u64, files: usize) -> Result<Theirs, ConnectError> {
    let mut bytes = [0; HELLO_BYTES];
    let Received { size, fds, sender } = socket.receive_until(&mut bytes, due_ns)?;
    let word = |index: usize| {
        let word = bytes[index * 4..].first_chunk().expect("five words");
        u32::from_le_bytes(*word)
    };
    if size != HELLO_BYTES || word(0) != MAGIC || word(1) != VERSION {
        return Err(ConnectError::Foreign);
    }
    if word(3) != sender.pid.cast_unsigned() {
        return Err(ConnectError::Namespace);
    }
    let loopers = word(2) as usize;
    let count = files + loopers;
    let is_whole = fds.len() == count && loopers <= LOOPERS_MAX && (files == 0 || loopers > 0);
    is_whole
        .then_some(Theirs { fds, sender })
        .ok_or(ConnectError::Foreign)
}
