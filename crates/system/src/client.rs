// SPDX-License-Identifier: Apache-2.0
//! [`Client`]: a command's end of the server's socket.

use std::os::fd::BorrowedFd;
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
        &self,
        request: &Request,
        file: Option<BorrowedFd<'_>>,
        mut part: impl FnMut(Answer),
    ) -> Result<Result<String, String>, ClientError> {
        let foreign = |it: serde_json::Error| ClientError::Foreign(it.to_string());
        let bytes = serde_json::to_vec(request).map_err(foreign)?;
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(ClientError::TooLarge(bytes.len()));
        }
        let mut due_ns = Monotonic.now_ns() + PATIENCE_NS;
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        // A server that refuses us says so and closes: its word counts, not our failure.
        let sent = self.0.send_until(&bytes, &files, due_ns);
        let mut frame = vec![0; FRAME_BYTES_MAX];
        // One that closes with our request unread resets the socket, and the kernel says that
        // once, before what the server had said.
        let mut may_be_reset = true;
        loop {
            let received = match self.0.receive_until(&mut frame, due_ns) {
                Ok(received) => received,
                Err(SocketError::Closed) if std::mem::take(&mut may_be_reset) => continue,
                Err(error) => return Err(sent.err().unwrap_or(error).into()),
            };
            due_ns = Monotonic.now_ns() + PATIENCE_NS;
            match serde_json::from_slice(&frame[..received.size]).map_err(foreign)? {
                Answer::Quiet => {}
                Answer::Done(text) => return Ok(Ok(text)),
                Answer::Refused(text) => return Ok(Err(text)),
                other => part(other),
            }
        }
    }
}
