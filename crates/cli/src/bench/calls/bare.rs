// SPDX-License-Identifier: Apache-2.0
//! What calls between processes are held against: bytes in shared memory that are handed over by a
//! futex with priority inheritance, and bytes through a unix socket. No parcel, no node, no check.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use anyhow::{Context, Result, bail};
use rt::clock::{Clock, Monotonic};
use rt::policy::Tid;
use rt::shared::{Memfd, Region};
use rt::socket::Socket;
use rt::sync::{Event, Loan};
use rt::sys::futex::Shared;
use rt::thread::Builder;

use super::Transport;
use super::server::{self, Manner};

const BYTES: usize = 4096;
const LOAN: usize = 0;
const EVENT: usize = 64;
const TID: usize = 128;
const SIZE: usize = 192;
const REQUEST: usize = 1024;
const ANSWER: usize = 2048;
/// Bytes of the largest message.
pub(crate) const MESSAGE_MAX: usize = 128;
const PATIENCE_NS: u64 = 10_000_000_000;
/// A size that ends the server, and one that asks for its time in place of an answer.
const END: u32 = u32::MAX;
const TIME: u32 = u32::MAX - 1;

/// The server as its caller has it.
pub(crate) struct Bare {
    region: Region,
    tid: Tid,
    stream: UnixStream,
    child: Child,
}

impl Bare {
    /// Its threads are ordinary ones.
    pub(crate) fn start() -> Result<Self> {
        Self::start_in(Manner::new(Transport::Lent, 1, 1))
    }

    /// Its thread at the socket is a FIFO one, as those are that spin.
    pub(crate) fn start_urgent() -> Result<Self> {
        Self::start_in(Manner {
            spin_ns: 1,
            ..Manner::new(Transport::Lent, 1, 1)
        })
    }

    fn start_in(manner: Manner) -> Result<Self> {
        let mut command = server::command(manner)?;
        command.arg("--bare");
        let (near, far) = Socket::pair()?;
        let child = server::spawn(command, far.into_fd())?;
        let file = Memfd::new(c"bare", BYTES)?;
        let region = file.map()?;
        let (stream, other) = UnixStream::pair()?;
        near.try_send(b"files", &[file.as_fd(), other.as_fd()])?;
        drop(other);
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        let tid = loop {
            let raw = region.word::<AtomicU32>(TID).load(SeqCst);
            if let Some(tid) = Tid::new(raw.cast_signed()) {
                break tid;
            }
            if Monotonic.now_ns() > due_ns {
                bail!("the process that is called does not begin");
            }
            Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
        };
        Ok(Self {
            region,
            tid,
            stream,
            child,
        })
    }

    /// There and back by the futex.
    pub(crate) fn hand_over(&self, message: &[u8], answer: &mut [u8]) -> Result<()> {
        self.region.write(REQUEST, message);
        self.ask(message.len() as u32)?;
        self.region.read(ANSWER, answer);
        Ok(())
    }

    /// There and back by the futex; the server's time.
    pub(crate) fn time(&self) -> Result<u64> {
        self.ask(TIME)?;
        let mut answer = [0; 8];
        self.region.read(ANSWER, &mut answer);
        Ok(u64::from_le_bytes(answer))
    }

    fn ask(&self, size: u32) -> Result<()> {
        self.region.word::<AtomicU32>(SIZE).store(size, SeqCst);
        let offer = self.region.word::<Loan<Shared>>(LOAN).offer(self.tid);
        let offer = offer.ok().context("the loan is out")?;
        self.region.word::<Event<Shared>>(EVENT).set();
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        offer.wait_until(due_ns).ok().context("no answer")
    }

    /// There and back by the socket.
    pub(crate) fn talk(&mut self, message: &[u8], answer: &mut [u8]) -> Result<()> {
        self.stream.write_all(message)?;
        Ok(self.stream.read_exact(answer)?)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.region.word::<AtomicU32>(SIZE).store(END, SeqCst);
        self.region.word::<Event<Shared>>(EVENT).set();
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until the caller ends it.
pub(super) fn serve(socket: OwnedFd, is_urgent: bool) -> Result<()> {
    let socket = Socket::adopt(socket)?;
    let received = socket.receive_until(&mut [0; 8], Monotonic.now_ns() + PATIENCE_NS)?;
    let mut fds = received.fds.into_iter();
    let (file, stream) = fds.next().zip(fds.next()).context("two files are sent")?;
    let region = Memfd::adopt(file, BYTES)?.map()?;
    let mut stream = UnixStream::from(stream);
    Builder::new("socket").spawn(move || {
        if is_urgent {
            server::begin_urgent();
        }
        let mut bytes = [0; MESSAGE_MAX];
        while let Ok(size @ 1..) = stream.read(&mut bytes) {
            if stream.write_all(&bytes[..size]).is_err() {
                break;
            }
        }
    })?;
    let own = Tid::current().raw().cast_unsigned();
    region.word::<AtomicU32>(TID).store(own, SeqCst);
    let mut bytes = [0; MESSAGE_MAX];
    loop {
        region.word::<Event<Shared>>(EVENT).wait();
        let size = region.word::<AtomicU32>(SIZE).load(SeqCst);
        if size == END {
            return Ok(());
        }
        if size == TIME {
            region.write(ANSWER, &Monotonic.now_ns().to_le_bytes());
        } else {
            let bytes = &mut bytes[..(size as usize).min(MESSAGE_MAX)];
            region.read(REQUEST, bytes);
            region.write(ANSWER, bytes);
        }
        region.word::<Loan<Shared>>(LOAN).give_back();
    }
}
