// SPDX-License-Identifier: Apache-2.0
//! [`Bridge`]: the commands again, for Android's `adb`, on a port of this machine alone.
//!
//! - [`connection`]: one client of it, known by its key; a thread each.
//! - [`job`]: what one stream of it is doing.
//! - [`keys`]: who is let in.
//! - [`peer`]: whose a connection is, by the kernel's word.
//!
//! It asks the server as each command does, by the socket of [`crate::door`], and has no other way
//! to it. There is no shell: what a client may say is what [`Words`] knows.

mod connection;
mod job;
pub(crate) mod keys;
mod peer;

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use adb::Key;
use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use rt::thread::{Builder, SpawnError};
use server::packages::{FIRST_UID, LAST_UID};

use self::connection::Connection;
use crate::protocol::{Answer, Request};

/// Connections at once. One `adb` server has one, whatever runs over it.
const CONNECTIONS_MAX: usize = 8;
/// After a connection that the system could not give.
const ACCEPT_NS: u64 = 100_000_000;
/// Room for the parser of a command's words.
const STACK_BYTES: usize = 1 << 20;

/// What the words of a client mean: an assembler's knowledge.
pub trait Words: Send + Sync {
    /// What a command asks for.
    fn order(&self, command: &str) -> Order;

    /// A client has a key that is not known. It may be the same one again and again.
    fn stranger(&self, key: &Key);
}

/// What a client wants.
pub enum Order {
    /// Something of the server, shown in its own way.
    Ask(Request, Box<dyn Show>),
    /// A package of so many bytes is installed, which follow; or is not, for this reason.
    Install(u64, Result<(), String>),
    /// Nothing is asked: this is said, and how it ended.
    Say(String, u8),
}

/// How an answer is shown.
pub trait Show {
    /// A part of it.
    fn part(&mut self, answer: Answer) -> String;

    /// Behind all parts, with the server's last words.
    fn end(&mut self, last: &str) -> String;
}

/// What all connections share.
struct Common {
    /// The server's socket.
    socket: PathBuf,
    keys: PathBuf,
    words: Arc<dyn Words>,
    /// Tokens are drawn from it.
    random: File,
    connections: AtomicUsize,
    /// A package is coming: one at a time, since each is held in memory as a whole.
    is_receiving: AtomicBool,
}

/// See the module. It listens, and lets nobody in yet.
pub struct Bridge {
    listener: TcpListener,
    address: SocketAddr,
    common: Arc<Common>,
}

impl Bridge {
    /// Listens on the loopback address; port 0 is any that is free. `state` is the server's folder,
    /// `socket` where the server listens.
    ///
    /// # Errors
    ///
    /// The port is taken, or forbidden.
    pub fn open(port: u16, state: &Path, socket: &Path, words: Arc<dyn Words>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let common = Common {
            socket: socket.to_owned(),
            keys: state.join(keys::FILE),
            words,
            random: File::open("/dev/urandom")?,
            connections: AtomicUsize::new(0),
            is_receiving: AtomicBool::new(false),
        };
        Ok(Self {
            listener,
            address,
            common: Arc::new(common),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets clients in from now on, until the process ends.
    ///
    /// # Errors
    ///
    /// There is no thread for it.
    pub fn start(self) -> Result<(), SpawnError> {
        let thread = Builder::new("adb-listen").policy(Policy::ordinary());
        thread.spawn(move || self.listen()).map(drop)
    }

    fn listen(&self) {
        loop {
            match self.listener.accept() {
                Ok((socket, from)) => self.receive(socket, from),
                // The table of descriptors may be full: it will not always be.
                Err(_) => Monotonic.sleep_until(Monotonic.now_ns() + ACCEPT_NS),
            }
        }
    }

    /// Gives a connection a thread. Without a place or a thread it closes.
    fn receive(&self, socket: TcpStream, from: SocketAddr) {
        let place = Place::take(&self.common);
        if place.number > CONNECTIONS_MAX || !may_speak(peer::user_of(from, self.address)) {
            return;
        }
        let common = Arc::clone(&self.common);
        let thread = Builder::new("adb-client")
            .policy(Policy::ordinary())
            .stack_bytes(STACK_BYTES);
        let _ = thread.spawn(move || {
            let _place = place;
            if let Ok(connection) = Connection::new(socket, common) {
                connection.run();
            }
        });
    }
}

/// Packages have no business here. A key is asked of all others.
fn may_speak(user: Option<u32>) -> bool {
    let own = rt::process::uid();
    user.is_some_and(|it| it == own || !(FIRST_UID..=LAST_UID).contains(&it))
}

/// One of the connections.
struct Place {
    common: Arc<Common>,
    number: usize,
}

impl Place {
    fn take(common: &Arc<Common>) -> Self {
        let number = common.connections.fetch_add(1, AcqRel) + 1;
        let common = Arc::clone(common);
        Self { common, number }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.common.connections.fetch_sub(1, AcqRel);
    }
}

/// The one package that is coming.
struct Receiving(Arc<Common>);

impl Receiving {
    fn take(common: &Arc<Common>) -> Option<Self> {
        let taken = common
            .is_receiving
            .compare_exchange(false, true, AcqRel, Acquire);
        taken.is_ok().then(|| Self(Arc::clone(common)))
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.0
            .is_receiving
            .store(false, std::sync::atomic::Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_who_is_not_known_may_not_speak() {
        assert!(may_speak(Some(0)));
        assert!(may_speak(Some(1000)));
        assert!(may_speak(Some(rt::process::uid())));
        let own = rt::process::uid();
        for package in [FIRST_UID, LAST_UID] {
            assert_eq!(may_speak(Some(package)), package == own);
        }
        assert!(!may_speak(None));
    }
}
