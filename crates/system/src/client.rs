// SPDX-License-Identifier: Apache-2.0
//! [`Client`]: a command's end of the server's socket; [`Asked`]: what it waits for.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rt::clock::{Clock, Monotonic};
use rt::socket::{Socket, SocketError};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::protocol::{Answer, FRAME_BYTES_MAX, Request};

/// For each part of an answer. An install verifies a package and makes it durable; the rest
/// answers at once.
const PATIENCE_NS: u64 = 120_000_000_000;

/// Why nothing was asked or answered.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error(
        "no takt system runs at {0}: start it with `takt system`, or name its socket by --socket"
    )]
    NoServer(PathBuf),
    /// The file system refused.
    #[error("cannot reach takt system at {0}: {1}")]
    Unreachable(PathBuf, Errno),
    /// It went in the middle, or did not answer in time.
    #[error("takt system did not answer")]
    Silent(#[from] SocketError),
    /// What it said is not of this protocol.
    #[error("takt system speaks another version: {0}")]
    Foreign(String),
    /// More than a message holds.
    #[error("the request has {0} bytes, and {FRAME_BYTES_MAX} are the limit")]
    TooLarge(usize),
}

/// See the module.
pub struct Client(Socket);

impl Client {
    /// Reaches the server at a socket.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let reach = || {
            let address = SocketAddrUnix::new(path)?;
            let flags = SocketFlags::CLOEXEC;
            let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            connect(&socket, &address)?;
            Socket::adopt(socket).map_err(|it| Errno::from_raw_os_error(it.0))
        };
        match reach() {
            Ok(socket) => Ok(Self(socket)),
            Err(Errno::NOENT | Errno::CONNREFUSED) => Err(ClientError::NoServer(path.to_owned())),
            Err(errno) => Err(ClientError::Unreachable(path.to_owned(), errno)),
        }
    }

    /// Asks, and hands each part of the answer on; the last one comes back.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub fn ask(
        self,
        request: &Request,
        file: Option<BorrowedFd<'_>>,
        mut part: impl FnMut(Answer),
    ) -> Result<Result<String, String>, ClientError> {
        let mut asked = self.begin(request, file)?;
        loop {
            match asked.next_until(Monotonic.now_ns() + PATIENCE_NS)? {
                Answer::Quiet => {}
                Answer::Done(text) => return Ok(Ok(text)),
                Answer::Refused(text) => return Ok(Err(text)),
                other => part(other),
            }
        }
    }

    /// Asks, for who waits for several answers at once.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub fn begin(
        self,
        request: &Request,
        file: Option<BorrowedFd<'_>>,
    ) -> Result<Asked, ClientError> {
        let bytes = serde_json::to_vec(request).map_err(foreign)?;
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(ClientError::TooLarge(bytes.len()));
        }
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        let sent = self.0.send_until(&bytes, &files, due_ns);
        Ok(Asked {
            socket: self.0,
            fault: sent.err(),
            frame: vec![0; FRAME_BYTES_MAX],
            may_be_reset: true,
        })
    }
}

/// A request that was sent; its descriptor is readable when a part of the answer is there.
pub struct Asked {
    socket: Socket,
    /// A server that refuses us says so and closes: its word counts, not our failure to send.
    fault: Option<SocketError>,
    frame: Vec<u8>,
    /// One that closes with our request unread resets the socket, and the kernel says that once,
    /// before what the server had said.
    may_be_reset: bool,
}

impl Asked {
    /// The next part of the answer, if it is there.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub fn try_next(&mut self) -> Result<Option<Answer>, ClientError> {
        match self.next_until(0) {
            Err(ClientError::Silent(SocketError::TimedOut)) => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    fn next_until(&mut self, due_ns: u64) -> Result<Answer, ClientError> {
        loop {
            let received = match self.socket.receive_until(&mut self.frame, due_ns) {
                Ok(received) => received,
                Err(SocketError::Closed) if std::mem::take(&mut self.may_be_reset) => continue,
                Err(error) => return Err(self.fault.unwrap_or(error).into()),
            };
            return serde_json::from_slice(&self.frame[..received.size]).map_err(foreign);
        }
    }
}

impl AsFd for Asked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn foreign(error: serde_json::Error) -> ClientError {
    ClientError::Foreign(error.to_string())
}
