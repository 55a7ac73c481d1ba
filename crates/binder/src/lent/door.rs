// SPDX-License-Identifier: Apache-2.0
//! [`Door`]: the thread of a process that hears its sockets and its peers' ends: references let go,
//! calls without an answer, deaths. No call with an answer waits for it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rt::bell::{Bell, Bells, Hearing};
use rt::clock::{Clock, Monotonic};
use rt::socket::Socket;
use rt::sync::PiMutex;
use rt::sys::Errno;

use crate::introduce::Who;
use crate::lent::connect::Side;
use crate::lent::inbox::{self, Gone, Note, RELEASES_MAX};
use crate::lent::meeting::Meeting;
use crate::lent::message::Lent;
use crate::link::{Link, Release};
use crate::oneway::{self, Task};
use crate::process::Inner;

/// Notes of one link that are read before the next link's turn.
const NOTES_AT_ONCE: usize = 64;
/// When a socket that was full is tried again.
const AGAIN_NS: u64 = 1_000_000;

/// Where the thread sleeps.
pub(crate) struct Door {
    bells: Bells,
    bell: Bell,
    /// Whom others have brought since it looked.
    brought: PiMutex<Vec<Brought>>,
}

/// Brought that the thread has not looked at: what comes beyond is refused.
const BROUGHT_MAX: usize = 64;

struct Brought {
    introducer: u64,
    socket: OwnedFd,
    who: Who,
    side: Side,
}

impl Door {
    pub(crate) fn new() -> Result<Self, Errno> {
        let (bells, bell) = (Bells::new()?, Bell::new()?);
        bells.add(bell.as_fd(), 0, Hearing::EachRing)?;
        Ok(Self {
            bells,
            bell,
            brought: PiMutex::default(),
        })
    }

    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// Somebody brings a process, which is at a socket.
    pub(crate) fn bring(&self, introducer: u64, socket: OwnedFd, who: Who, side: Side) {
        let mut brought = self.brought.lock();
        if brought.len() < BROUGHT_MAX {
            brought.push(Brought {
                introducer,
                socket,
                who,
                side,
            });
        }
        drop(brought);
        self.ring();
    }

    /// Hears a socket that is not a link's yet; `false` if it cannot.
    pub(super) fn hear_at(&self, socket: &Socket) -> bool {
        let heard = self.bells.add(socket.as_fd(), 0, Hearing::WhileReadable);
        heard.is_ok()
    }

    /// No more.
    pub(super) fn silence(&self, socket: &Socket) {
        // Fails only where it was never added.
        let _ = self.bells.remove(socket.as_fd());
    }

    /// Hears a new link.
    pub(super) fn add(&self, link: &Link, lent: &Lent) -> Result<(), Errno> {
        for fd in [lent.socket.as_fd(), lent.peer.as_fd()] {
            self.bells.add(fd, link.number, Hearing::WhileReadable)?;
        }
        Ok(())
    }

    fn remove(&self, lent: &Lent) {
        for fd in [lent.socket.as_fd(), lent.peer.as_fd()] {
            // Fails only where it was never added.
            let _ = self.bells.remove(fd);
        }
    }
}

/// The thread; until the process ends.
pub(crate) fn watch(inner: &Arc<Inner>) {
    let mut again_ns = None;
    let mut meetings = Vec::new();
    while !inner.has_ended() {
        inner.door.bells.wait_until(again_ns);
        let lents = inner.lents.all();
        let mut is_full = false;
        for (link, lent) in lents {
            hear(&link, &lent);
            if link.is_dead() {
                inner.door.remove(&lent);
                link.bury();
            } else {
                is_full |= !tell(&link, &lent);
            }
        }
        meet(inner, &mut meetings);
        inner.drop_stale_grants();
        let full_ns = is_full.then(|| Monotonic.now_ns() + AGAIN_NS);
        let met_ns = meetings.iter().map(|it| it.due_ns).min();
        let pending_ns = inner.grant_pending();
        again_ns = [full_ns, met_ns, pending_ns].into_iter().flatten().min();
    }
}

/// Goes on with those that others brought.
fn meet(inner: &Arc<Inner>, meetings: &mut Vec<Meeting>) {
    let brought = std::mem::take(&mut *inner.door.brought.lock());
    for Brought {
        introducer,
        socket,
        who,
        side,
    } in brought
    {
        let meeting = Meeting::begin(inner, meetings, introducer, socket, who, side);
        meetings.extend(meeting.filter(|it| inner.door.hear_at(it.socket())));
    }
    let going = std::mem::take(meetings).into_iter();
    meetings.extend(going.filter_map(|it| it.hear(inner)));
}

/// Reads what came. What came before a death is done first.
fn hear(link: &Arc<Link>, lent: &Lent) {
    let has_ended = lent.peer.has_ended();
    for _ in 0..NOTES_AT_ONCE {
        let note = lent.inbox.lock().take_note(&lent.socket);
        match note {
            Ok(Some(note)) => {
                if take(link, lent, note).is_none() {
                    lent.broken(link, Gone::Broken);
                    return;
                }
            }
            Ok(None) => break,
            Err(gone) => {
                lent.broken(link, gone);
                return;
            }
        }
    }
    if has_ended {
        lent.broken(link, Gone::Closed);
    }
}

/// `None` where the other end breaks the protocol.
fn take(link: &Arc<Link>, lent: &Lent, note: Note) -> Option<()> {
    match note {
        Note::Release(releases) => {
            for (number, release) in releases {
                link.released(number, release).ok()?;
            }
        }
        Note::Ready => link.set_ready(),
        Note::Pass(pass) => link.passed_on(&pass)?,
        Note::Meet { socket, who, side } => {
            if let Some(home) = link.home.upgrade() {
                home.door.bring(link.number, socket, who, side);
            }
        }
        Note::Forget(ticket) => link.forgotten(ticket),
        Note::Replaced(number) => drop(link.proxy(number)),
        Note::Oneway { header, bytes, fds } => {
            let data = lent.read_oneway(link, &header, bytes, fds);
            let served = data.and_then(|data| {
                let task = Task {
                    caller: link.peer,
                    code: header.code,
                    data,
                    source: Some(Arc::clone(link)),
                };
                oneway::push(&link.target(header.target)?, task)
            });
            if served.is_err() {
                // Nobody is there to be told, but one more may come.
                link.served();
            }
        }
    }
    Some(())
}

/// Tells the other end what is let go; `false` if its socket is full.
fn tell(link: &Link, lent: &Lent) -> bool {
    let releases = std::mem::take(&mut *lent.releases.lock());
    let releases: Vec<(u64, Release)> = releases
        .into_iter()
        .flat_map(|(number, releases)| releases.into_iter().map(move |it| (number, it)))
        .collect();
    for (index, part) in releases.chunks(RELEASES_MAX).enumerate() {
        match lent.socket.try_send(&inbox::write_releases(part), &[]) {
            Ok(()) => {}
            Err(rt::socket::SocketError::Empty) => {
                let mut waiting = lent.releases.lock();
                for &(number, release) in &releases[index * RELEASES_MAX..] {
                    // Before what was let go meanwhile.
                    waiting.entry(number).or_default().insert(0, release);
                }
                return false;
            }
            Err(_) => {
                lent.broken(link, Gone::Closed);
                return true;
            }
        }
    }
    true
}
