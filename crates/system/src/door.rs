// SPDX-License-Identifier: Apache-2.0
//! [`Door`]: the socket that commands come to, and who is let in.
//!
//! Root comes in, the server's own user, and its group, by the kernel's word for the connection.
//! Each client has a thread of its own and little time, so one that stalls keeps nobody.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::socket::{Socket, SocketError};
use rt::thread::Builder;
use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};

use crate::daemon::Shared;
use crate::protocol::{Answer, FRAME_BYTES_MAX, Request};
use crate::verbs;

/// Clients that are served at once.
const CLIENTS_MAX: usize = 16;
/// Clients that may wait to be let in.
const BACKLOG: i32 = 16;
/// In which a client says what it wants, and takes each part of the answer.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Room for a manifest's parser.
const STACK_BYTES: usize = 1 << 20;

/// See the module.
pub(crate) struct Door {
    listener: OwnedFd,
    path: PathBuf,
    clients: Arc<AtomicUsize>,
}

impl Door {
    /// Listens at a path. A socket that a server has left there gives way.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let address = SocketAddrUnix::new(path)?;
        let listener = seqpacket(SocketFlags::NONBLOCK)?;
        match bind(&listener, &address) {
            Err(Errno::ADDRINUSE) if is_left(path, &address) => {
                rustix::fs::unlink(path)?;
                bind(&listener, &address)?;
            }
            Err(Errno::ADDRINUSE) => {
                let text = format!("something listens at {} already", path.display());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
            }
            outcome => outcome?,
        }
        // Everybody reaches it: who comes in is decided behind it, with a word to whom does not.
        rustix::fs::chmod(path, Mode::from_raw_mode(0o666))?;
        listen(&listener, BACKLOG)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            clients: Arc::default(),
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets in who waits, and never waits itself. False if the machine gives no descriptor for one.
    pub(crate) fn admit(&self, shared: &Arc<Shared>) -> bool {
        match accept_with(&self.listener, SocketFlags::CLOEXEC) {
            Ok(socket) => self.receive(socket, shared),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => return false,
            // One that has gone meanwhile is no fault.
            Err(_) => {}
        }
        true
    }

    fn receive(&self, socket: OwnedFd, shared: &Arc<Shared>) {
        let refusal = match refusal(&socket) {
            None if self.clients.load(Acquire) >= CLIENTS_MAX => Some(format!(
                "{CLIENTS_MAX} commands are served already: try again"
            )),
            refusal => refusal,
        };
        let Ok(socket) = Socket::adopt(socket) else {
            return;
        };
        if let Some(text) = refusal {
            let _ = say(&socket, &Answer::Refused(text), 0);
            return;
        }
        let place = Place::take(&self.clients);
        let shared = Arc::clone(shared);
        let thread = Builder::new("client")
            .policy(Policy::ordinary())
            .stack_bytes(STACK_BYTES);
        // Without a thread the socket closes, which the client hears.
        let _ = thread.spawn(move || {
            let _place = place;
            serve(&socket, &shared);
        });
    }
}

/// One of the clients that are served.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(clients: &Arc<AtomicUsize>) -> Self {
        clients.fetch_add(1, AcqRel);
        Self(Arc::clone(clients))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, AcqRel);
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // A name that somebody else has taken away is no fault.
        let _ = rustix::fs::unlink(&self.path);
    }
}

fn seqpacket(more: SocketFlags) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | more;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Whether a name is a socket's at which nobody listens.
fn is_left(path: &Path, address: &SocketAddrUnix) -> bool {
    let kind = rustix::fs::lstat(path).map(|it| FileType::from_raw_mode(it.st_mode));
    let refused = || seqpacket(SocketFlags::empty()).and_then(|it| connect(&it, address));
    kind == Ok(FileType::Socket) && refused() == Err(Errno::CONNREFUSED)
}

/// Why a client is not let in.
fn refusal(socket: &OwnedFd) -> Option<String> {
    let Ok(peer) = socket_peercred(socket) else {
        return Some("the kernel does not say who you are".to_owned());
    };
    let own = (rustix::process::geteuid(), rustix::process::getegid());
    if peer.uid.is_root() || peer.uid == own.0 || peer.gid == own.1 {
        return None;
    }
    let uid = peer.uid.as_raw();
    Some(format!(
        "user {uid} may not: takt system listens to root, to its own user {} and to its group {}",
        own.0.as_raw(),
        own.1.as_raw()
    ))
}

fn say(socket: &Socket, answer: &Answer, patience_ns: u64) -> Result<(), SocketError> {
    let bytes = serde_json::to_vec(answer).unwrap_or_default();
    let bytes = match bytes.len() {
        1..=FRAME_BYTES_MAX => bytes,
        size => {
            let text = format!("an answer of {size} bytes does not fit");
            serde_json::to_vec(&Answer::Refused(text)).unwrap_or_default()
        }
    };
    socket.send_until(&bytes, &[], Monotonic.now_ns() + patience_ns)
}

fn serve(socket: &Socket, shared: &Arc<Shared>) {
    let mut frame = vec![0; FRAME_BYTES_MAX];
    let due_ns = Monotonic.now_ns() + PATIENCE_NS;
    let Ok(mut received) = socket.receive_until(&mut frame, due_ns) else {
        // Who says nothing in time, or too much, is told nothing.
        return;
    };
    let request: Result<Request, _> = serde_json::from_slice(&frame[..received.size]);
    let answer = match request {
        Ok(request) => {
            let file = received.fds.pop();
            let part = |it: Answer| say(socket, &it, PATIENCE_NS).is_ok();
            verbs::carry_out(shared, request, file, part)
        }
        Err(error) => Err(format!("the request is none of this version: {error}")),
    };
    let last = match answer {
        Ok(text) => Answer::Done(text),
        Err(text) => Answer::Refused(text),
    };
    // A client that has gone does not hear it.
    let _ = say(socket, &last, PATIENCE_NS);
}
