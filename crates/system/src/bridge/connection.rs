// SPDX-License-Identifier: Apache-2.0
//! [`Connection`]: one client on a thread of its own, which hears the client and the server.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use adb::{Event, Key, Session, StreamId, TOKEN_BYTES, Token};
use rt::bell::{Bells, Hearing};
use rt::clock::{Clock as _, Monotonic};

use super::job::Job;
use super::{Common, keys};

/// In which a client shows its key.
const STRANGER_NS: u64 = 10_000_000_000;
/// A client that takes nothing for so long is gone.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// Read of a client at a time: its streams come next.
const READ_BYTES: usize = 64 << 10;
/// What is heard as this number; streams are heard by their own.
const CLIENT: u64 = 0;
/// What `adb devices -l` shows.
const BANNER: &str = "ro.product.name=takt;ro.product.model=Takt;ro.product.device=takt";

/// See the module.
pub(super) struct Connection {
    socket: TcpStream,
    common: Arc<Common>,
    session: Session,
    bells: Bells,
    jobs: BTreeMap<StreamId, Heard>,
    /// Whose it is, once that is known.
    key: Option<Key>,
    stranger_until: u64,
}

/// A job, and whether the server is listened to for it.
struct Heard {
    job: Job,
    is_heard: bool,
}

impl Connection {
    pub(super) fn new(socket: TcpStream, common: Arc<Common>) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_TIME))?;
        let failed = |it: rt::sys::Errno| io::Error::other(it.to_string());
        let bells = Bells::new().map_err(failed)?;
        let heard = bells.add(socket.as_fd(), CLIENT, Hearing::WhileReadable);
        heard.map_err(failed)?;
        let session = Session::new(keys::read(&common.keys), BANNER);
        Ok(Self {
            socket,
            common,
            session,
            bells,
            jobs: BTreeMap::new(),
            key: None,
            stranger_until: Monotonic.now_ns() + STRANGER_NS,
        })
    }

    /// Until the client goes, or breaks a rule.
    pub(super) fn run(mut self) {
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let heard = self.bells.wait_until(self.due_ns());
            let now_ns = Monotonic.now_ns();
            for number in heard.numbers() {
                if *number != CLIENT {
                    self.answer(*number, now_ns);
                } else if !self.read(&mut bytes, now_ns) {
                    return;
                }
            }
            if self.key.is_none() && self.stranger_until <= now_ns {
                return;
            }
            self.expire(now_ns);
            if !self.pump(now_ns) {
                return;
            }
        }
    }

    fn due_ns(&self) -> Option<u64> {
        let stranger = self.key.is_none().then_some(self.stranger_until);
        let jobs = self.jobs.values().map(|it| it.job.due_ns);
        jobs.chain(stranger).min()
    }

    /// Takes what the client has said; false if it is to go.
    fn read(&mut self, bytes: &mut [u8], now_ns: u64) -> bool {
        let mut input: &[u8] = match self.socket.read(bytes) {
            Ok(count @ 1..) => &bytes[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return true,
            _ => return false,
        };
        while !input.is_empty() {
            let mut draw = || draw(&self.common);
            let goes_on = match self.session.take(&mut input, &mut draw) {
                Ok(Some(event)) => self.on(event, now_ns),
                // Nothing left, or no room for an answer.
                Ok(None) => self.flush(),
                Err(_) => false,
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// What a client does; false if it is to go.
    fn on(&mut self, event: Event, now_ns: u64) -> bool {
        match event {
            Event::Connected(key) => self.key = Some(*key),
            // It stays as long as strangers do, so that `adb devices` says `unauthorized`.
            Event::Offered(key) => self.common.words.stranger(&key),
            Event::Opened(stream, service) => {
                // A key that was revoked meanwhile opens nothing.
                let known = keys::read(&self.common.keys);
                if !self.key.as_ref().is_some_and(|it| known.contains(it)) {
                    return false;
                }
                let job = Job::begin(service, &self.common, now_ns);
                let is_heard = false;
                self.jobs.insert(stream, Heard { job, is_heard });
            }
            Event::Data(stream, bytes) => {
                if let Some(it) = self.jobs.get_mut(&stream) {
                    it.job.receive(&bytes, &self.common, now_ns);
                }
                self.session.taken(stream);
            }
            Event::Ready(_) => {}
            // What the server is asked for closes with it.
            Event::Closed(stream) => drop(self.jobs.remove(&stream)),
        }
        true
    }

    /// The server has said something for a stream.
    fn answer(&mut self, number: u64, now_ns: u64) {
        let stream = u32::try_from(number).map(StreamId::of);
        if let Some(it) = stream.ok().and_then(|it| self.jobs.get_mut(&it)) {
            it.job.hear(now_ns);
        }
    }

    fn expire(&mut self, now_ns: u64) {
        let is_late = |it: &Heard| it.job.due_ns <= now_ns;
        let late: Vec<StreamId> = self
            .jobs
            .iter()
            .filter(|(_, it)| is_late(it))
            .map(|(stream, _)| *stream)
            .collect();
        for stream in late {
            match self.jobs.get_mut(&stream) {
                Some(it) if !it.job.is_over() => it.job.give_up(now_ns),
                // The client does not take what was said.
                _ => {
                    self.jobs.remove(&stream);
                    self.session.close(stream);
                }
            }
        }
    }

    /// Sends what there is, as far as streams take it; false if the client is to go.
    fn pump(&mut self, now_ns: u64) -> bool {
        loop {
            let (session, mut is_moved) = (&mut self.session, false);
            self.jobs.retain(|stream, it| {
                let count = session.write(*stream, it.job.pending());
                it.job.sent(count, now_ns);
                is_moved |= count > 0;
                // Behind the client's word for the last write.
                let is_done = it.job.is_over() && it.job.pending().is_empty();
                let is_done = is_done && session.is_ready(*stream);
                if is_done {
                    session.close(*stream);
                }
                !is_done
            });
            if !self.flush() {
                return false;
            }
            if !is_moved {
                break;
            }
        }
        for (stream, it) in &mut self.jobs {
            listen(&self.bells, *stream, it);
        }
        true
    }

    fn flush(&mut self) -> bool {
        let out = self.session.take_output();
        out.is_empty() || self.socket.write_all(&out).is_ok()
    }
}

/// Has the server heard for a job, or not, as there is room. What was closed is heard no more.
fn listen(bells: &Bells, stream: StreamId, it: &mut Heard) {
    let number = u64::from(stream.get());
    match (it.job.hears(), it.is_heard) {
        (Some(fd), false) => {
            it.is_heard = bells.add(fd, number, Hearing::WhileReadable).is_ok();
        }
        (None, true) => {
            if let Some(fd) = it.job.asks() {
                // One that stays is heard too early, and waits all the same.
                let _ = bells.remove(fd);
            }
            it.is_heard = false;
        }
        _ => {}
    }
}

fn draw(common: &Common) -> Token {
    let mut token = [0; TOKEN_BYTES];
    let drawn = (&common.random).read_exact(&mut token);
    drawn.expect("the kernel's random numbers never end");
    token
}
