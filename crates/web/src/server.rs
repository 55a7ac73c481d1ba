// SPDX-License-Identifier: Apache-2.0
//! [`Server`]: who listens, who is let in, and what all clients share.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rt::clock::{Clock as _, Monotonic};
use rt::sync::{PiCondvar, PiMutex};
use rt::thread::SpawnError;
use screen::back_end::{Film, Frame, LOOK_NS, PICTURE_NS, Stage, thread};

use crate::client;
use crate::http::{self, Answer, Request};

/// Clients that see the display at the same time.
pub const CLIENTS_MAX: usize = 8;
/// Connections that are not clients yet, or load the page.
const REQUESTS_MAX: usize = 16;
/// In which a request's head must be there, and its answer be taken.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// A client that takes nothing for so long is gone.
const WRITE_TIME: Duration = Duration::from_secs(20);
/// After a connection that the system could not give.
const ACCEPT_NS: u64 = 100_000_000;
/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be taken.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A thread did not start.
    #[error("{0}")]
    Thread(#[from] SpawnError),
}

/// A page, and pictures for it.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// What all threads know.
pub(crate) struct Shared {
    pub(crate) stage: Arc<dyn Stage>,
    token: String,
    pub(crate) name: String,
    pub(crate) state: PiMutex<State>,
    /// A frame, a text, a request, an end.
    pub(crate) changed: PiCondvar,
}

/// What is behind the lock: it covers moves of pointers only.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) frame: Option<Arc<Frame>>,
    pub(crate) clip: Option<Arc<str>>,
    /// Counts texts.
    pub(crate) clips: u64,
    /// Requests that are being answered.
    requests: usize,
    pub(crate) clients: Vec<Client>,
    /// The last client's number.
    names: u32,
}

/// What the two threads of a client tell each other.
#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) name: u32,
    /// It waits for a picture.
    pub(crate) is_waiting: bool,
    /// It has nothing of it yet.
    pub(crate) wants_all: bool,
    /// It can be told of another size.
    pub(crate) has_desktop_size: bool,
    /// One of its threads has ended.
    pub(crate) is_over: bool,
}

impl Server {
    /// Listens at an address: the page for `token` is `http://ADDRESS/#TOKEN`.
    pub fn start(
        address: SocketAddr,
        token: String,
        name: String,
        stage: Arc<dyn Stage>,
    ) -> Result<Self, ServeError> {
        let fault = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let shared = Arc::new(Shared {
            stage,
            token,
            name,
            state: PiMutex::new(State::default()),
            changed: PiCondvar::new(),
        });
        let own = Arc::clone(&shared);
        thread("web-picture").spawn(move || pictures(&own))?;
        let own = Arc::clone(&shared);
        thread("web-listen").spawn(move || listen(&own, &listener))?;
        Ok(Self { shared, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was copied in the application, for all clients.
    pub fn clip(&self, text: &str) {
        let text: Arc<str> = text.into();
        let mut state = self.shared.state.lock();
        let old = state.clip.replace(text);
        state.clips += 1;
        self.shared.changed.notify_all(&state);
        drop(state);
        drop(old);
    }
}

/// Makes frames while somebody sees them.
fn pictures(shared: &Shared) {
    let mut film = Film::default();
    loop {
        let mut state = shared.state.lock();
        while state.clients.is_empty() {
            shared.changed.wait(&mut state);
        }
        drop(state);
        let began_ns = Monotonic.now_ns();
        let Some(frame) = film.next_until(&*shared.stage, began_ns + LOOK_NS) else {
            continue;
        };
        let mut state = shared.state.lock();
        let old = state.frame.replace(frame);
        shared.changed.notify_all(&state);
        drop(state);
        drop(old);
        Monotonic.sleep_until(began_ns + PICTURE_NS);
    }
}

fn listen(shared: &Arc<Shared>, listener: &TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // The table of descriptors may be full: it will not always be.
            Monotonic.sleep_until(Monotonic.now_ns() + ACCEPT_NS);
            continue;
        };
        let mut state = shared.state.lock();
        let has_room = state.requests < REQUESTS_MAX;
        state.requests += usize::from(has_room);
        drop(state);
        if !has_room {
            continue;
        }
        let own = Arc::clone(shared);
        let started = thread("web-request").spawn(move || {
            let accepted = request(&own, stream);
            own.state.lock().requests -= 1;
            if let Some(stream) = accepted {
                client::run(&own, &stream);
            }
        });
        if started.is_err() {
            shared.state.lock().requests -= 1;
        }
    }
}

/// Answers a request; the connection, if it is one for RFB now.
fn request(shared: &Shared, mut stream: TcpStream) -> Option<TcpStream> {
    stream.set_write_timeout(Some(REQUEST_TIME)).ok()?;
    let answer = match head(&mut stream)? {
        Some(request) => request.answer(&shared.token),
        None => Answer::Bytes(http::bad_request()),
    };
    match answer {
        Answer::Bytes(bytes) => {
            stream.write_all(&bytes).ok()?;
            None
        }
        Answer::Socket(bytes) => {
            stream.write_all(&bytes).ok()?;
            stream.set_read_timeout(None).ok()?;
            stream.set_write_timeout(Some(WRITE_TIME)).ok()?;
            stream.set_nodelay(true).ok()?;
            Some(stream)
        }
    }
}

/// Reads a head in the time for it; none inside if it is no head, none if nothing can be said.
fn head(stream: &mut TcpStream) -> Option<Option<Request>> {
    let due_ns = Monotonic.now_ns() + REQUEST_TIME.as_nanos() as u64;
    let mut bytes = Vec::with_capacity(HEAD_FIRST_BYTES);
    let mut one = [0; 1];
    // A client speaks after it was let in, so nothing of RFB comes with the head. Byte by byte:
    // what follows is not ours to take.
    while !bytes.ends_with(b"\r\n\r\n") {
        if bytes.len() == http::HEAD_BYTES_MAX {
            return Some(None);
        }
        let left_ns = due_ns
            .checked_sub(Monotonic.now_ns())
            .filter(|it| *it > 0)?;
        stream
            .set_read_timeout(Some(Duration::from_nanos(left_ns)))
            .ok()?;
        if stream.read(&mut one).ok()? == 0 {
            return None;
        }
        bytes.push(one[0]);
    }
    bytes.truncate(bytes.len() - 4);
    Some(Request::parse(&bytes))
}

/// What most heads have room in.
const HEAD_FIRST_BYTES: usize = 1 << 10;

impl Shared {
    /// A place for a client; none if there are too many.
    pub(crate) fn enter(&self) -> Option<u32> {
        let mut state = self.state.lock();
        if state.clients.len() == CLIENTS_MAX {
            return None;
        }
        state.names = state.names.wrapping_add(1);
        let name = state.names;
        state.clients.push(Client {
            name,
            wants_all: true,
            ..Client::default()
        });
        self.changed.notify_all(&state);
        Some(name)
    }

    /// Its place is free.
    pub(crate) fn leave(&self, name: u32) {
        let mut state = self.state.lock();
        state.clients.retain(|it| it.name != name);
        self.changed.notify_all(&state);
    }

    /// Changes what a client's threads know of it.
    pub(crate) fn with(&self, name: u32, change: impl FnOnce(&mut Client)) {
        let mut state = self.state.lock();
        if let Some(client) = state.clients.iter_mut().find(|it| it.name == name) {
            change(client);
        }
        self.changed.notify_all(&state);
    }
}
