// SPDX-License-Identifier: Apache-2.0
//! [`Door`]: the thread of a process that hears its sockets and its peers' ends: references let go,
//! calls without an answer, deaths. No call with an answer waits for it.

use std::os::fd::AsFd;
use std::sync::Arc;

use rt::bell::{Bell, Bells, Hearing};
use rt::clock::{Clock, Monotonic};
use rt::sys::Errno;

use crate::lent::inbox::{self, Gone, Note, RELEASES_MAX};
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
}

impl Door {
    pub(crate) fn new() -> Result<Self, Errno> {
        let (bells, bell) = (Bells::new()?, Bell::new()?);
        bells.add(bell.as_fd(), 0, Hearing::EachRing)?;
        Ok(Self { bells, bell })
    }

    pub(crate) fn ring(&self) {
        self.bell.ring();
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
        again_ns = is_full.then(|| Monotonic.now_ns() + AGAIN_NS);
    }
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
