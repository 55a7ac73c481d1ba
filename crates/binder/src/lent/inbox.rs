// SPDX-License-Identifier: Apache-2.0
//! [`Inbox`]: what comes over the socket beside the shared memory. Loopers and callers take what
//! belongs to their message; the door takes the rest, in order.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rt::socket::{Socket, SocketError};

use crate::introduce::{Grant, Grants, PASS_BYTES, Pass, Ticket, WHO_BYTES, Who};
use crate::lent::connect::Side;
use crate::lent::layout::{Area, FDS_MAX, HEADER_BYTES, Header, PARCEL_BYTES_MAX};
use crate::link::{OWN, Release};

/// Bytes of one message: below what a socket holds by default.
pub(crate) const NOTE_BYTES_MAX: usize = 48 << 10;
/// Messages for the door that others may find before it.
const BACKLOG_MAX: usize = 1024;
/// Messages that one look goes through: who sends without end holds nobody.
const LOOK_MAX: usize = 4096;
/// Parcels whose call was given up before they were taken.
const BESIDE_MAX: usize = 64;

const BESIDE: u8 = 1;
const RELEASE: u8 = 2;
const ONEWAY: u8 = 3;
const READY: u8 = 4;
const PASS: u8 = 5;
const MEET: u8 = 6;
const GRANT: u8 = 7;
const FORGET: u8 = 8;

/// The other end broke the protocol, or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    Closed,
    Broken,
}

/// What the door does.
pub(crate) enum Note {
    Release(Vec<(u64, Release)>),
    Oneway {
        header: Header,
        bytes: Vec<u8>,
        fds: Vec<OwnedFd>,
    },
    /// The other end hears this link.
    Ready,
    /// It passes a node of ours on.
    Pass(Pass),
    /// It brings a third process, which is at a socket.
    Meet {
        socket: OwnedFd,
        who: Who,
        side: Side,
    },
    /// It made a ticket in vain.
    Forget(Ticket),
    /// A grant that was replaced: the number is let go.
    Replaced(u64),
}

/// Descriptors beside a message: the file of its bytes first, if it has one.
pub(crate) struct Beside {
    area: Area,
    slot: usize,
    sequence: u32,
    pub(crate) fds: Vec<OwnedFd>,
}

pub(crate) struct Inbox {
    buffer: Vec<u8>,
    beside: Vec<Beside>,
    backlog: VecDeque<Note>,
    grants: Grants,
    pid: i32,
}

impl Inbox {
    /// Of a link to this process, by the kernel's word.
    pub(crate) fn new(pid: i32) -> Self {
        Self {
            buffer: vec![0; NOTE_BYTES_MAX],
            beside: Vec::new(),
            backlog: VecDeque::new(),
            grants: Grants::default(),
            pid,
        }
    }

    /// What was sent beside a message, before it was posted.
    pub(crate) fn take_beside(
        &mut self,
        socket: &Socket,
        area: Area,
        slot: usize,
        sequence: u32,
    ) -> Result<Vec<OwnedFd>, Gone> {
        for _ in 0..LOOK_MAX {
            let is_it = |it: &Beside| it.area == area && it.slot == slot && it.sequence == sequence;
            if let Some(index) = self.beside.iter().position(is_it) {
                return Ok(self.beside.swap_remove(index).fds);
            }
            match self.receive(socket)? {
                Some(Some(note)) if self.backlog.len() < BACKLOG_MAX => {
                    self.backlog.push_back(note);
                }
                Some(None) => {}
                Some(Some(_)) | None => return Err(Gone::Broken),
            }
        }
        Err(Gone::Broken)
    }

    /// The number that a ticket is for, if the other end has granted it: it says so before anybody
    /// is told of the ticket.
    pub(crate) fn take_grant(
        &mut self,
        socket: &Socket,
        from: i32,
        ticket: u64,
    ) -> Result<Option<u64>, Gone> {
        for _ in 0..LOOK_MAX {
            if let Some(number) = self.grants.take(from, ticket) {
                return Ok(Some(number));
            }
            match self.receive(socket)? {
                Some(Some(note)) if self.backlog.len() < BACKLOG_MAX => {
                    self.backlog.push_back(note);
                }
                Some(None) => {}
                Some(Some(_)) => return Err(Gone::Broken),
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Numbers that were granted for introducers that are no more.
    pub(crate) fn take_stale_grants(&mut self, is_known: impl Fn(i32) -> bool) -> Vec<u64> {
        match self.grants.is_empty() {
            true => Vec::new(),
            false => self.grants.take_stale(is_known),
        }
    }

    /// The next thing for the door.
    pub(crate) fn take_note(&mut self, socket: &Socket) -> Result<Option<Note>, Gone> {
        if let Some(note) = self.backlog.pop_front() {
            return Ok(Some(note));
        }
        for _ in 0..LOOK_MAX {
            match self.receive(socket)? {
                Some(Some(note)) => return Ok(Some(note)),
                Some(None) => {}
                None => return Ok(None),
            }
        }
        // The socket is readable still: the door comes again.
        Ok(None)
    }

    /// One message: `Some(None)` if it was kept for its taker.
    fn receive(&mut self, socket: &Socket) -> Result<Option<Option<Note>>, Gone> {
        let received = match socket.try_receive(&mut self.buffer) {
            Ok(received) => received,
            Err(SocketError::Empty) => return Ok(None),
            Err(SocketError::Malformed) => return Err(Gone::Broken),
            Err(_) => return Err(Gone::Closed),
        };
        // The socket may have been given to another process.
        if received.sender.pid != self.pid {
            return Err(Gone::Broken);
        }
        let (kind, rest) = self.buffer[..received.size]
            .split_first()
            .ok_or(Gone::Broken)?;
        match *kind {
            BESIDE => {
                let beside = parse_beside(rest, received.fds).ok_or(Gone::Broken)?;
                let is_old = |it: &Beside| it.area == beside.area && it.slot == beside.slot;
                self.beside.retain(|it| !is_old(it));
                if self.beside.len() >= BESIDE_MAX {
                    return Err(Gone::Broken);
                }
                self.beside.push(beside);
                Ok(Some(None))
            }
            RELEASE => parse_releases(rest)
                .map(|it| Some(Some(Note::Release(it))))
                .ok_or(Gone::Broken),
            GRANT => {
                let grant = parse_grant(rest).ok_or(Gone::Broken)?;
                Ok(Some(self.grants.add(grant).map(Note::Replaced)))
            }
            kind @ (READY | PASS | MEET | FORGET) => parse_introduction(kind, rest, received.fds)
                .map(|it| Some(Some(it)))
                .ok_or(Gone::Broken),
            ONEWAY => {
                let (head, bytes) = rest
                    .split_first_chunk::<HEADER_BYTES>()
                    .ok_or(Gone::Broken)?;
                // Bytes that lie beside a header here are bounded by the message.
                let header = parse_oneway(head).ok_or(Gone::Broken)?;
                let note = Note::Oneway {
                    header,
                    bytes: bytes.to_vec(),
                    fds: received.fds,
                };
                Ok(Some(Some(note)))
            }
            _ => Err(Gone::Broken),
        }
    }
}

/// A header whose bytes lie in the same message is bounded by that: it is read as one apart.
fn parse_oneway(head: &[u8; HEADER_BYTES]) -> Option<Header> {
    let mut bytes = *head;
    let flag = HEADER_WORD_APART * 4;
    let is_apart = bytes[flag] != 0;
    bytes[flag] = 1;
    let header = Header::parse(&bytes)?;
    Some(Header { is_apart, ..header })
}

/// Which word of a header says that its bytes lie apart.
const HEADER_WORD_APART: usize = 11;

/// The first byte of a message of each kind, and the rest.
pub(crate) fn write_beside(area: Area, slot: usize, sequence: u32) -> [u8; 7] {
    let mut bytes = [
        BESIDE,
        u8::from(area == Area::Answers),
        slot as u8,
        0,
        0,
        0,
        0,
    ];
    bytes[3..].copy_from_slice(&sequence.to_le_bytes());
    bytes
}

fn parse_beside(rest: &[u8], fds: Vec<OwnedFd>) -> Option<Beside> {
    let (head, sequence) = rest.split_first_chunk::<2>()?;
    let area = match head[0] {
        0 => Area::Requests,
        1 => Area::Answers,
        _ => return None,
    };
    (fds.len() <= FDS_MAX + 1).then_some(Beside {
        area,
        slot: usize::from(head[1]),
        sequence: u32::from_le_bytes(sequence.try_into().ok()?),
        fds,
    })
}

const GRANT_BYTES: usize = 20;

pub(crate) fn write_ready() -> [u8; 1] {
    [READY]
}

pub(crate) fn write_pass(pass: Pass) -> Vec<u8> {
    [&[PASS][..], &pass.to_bytes()].concat()
}

pub(crate) fn write_meet(who: Who, side: Side) -> Vec<u8> {
    let side = u8::from(side == Side::Listener);
    [&[MEET, side][..], &who.to_bytes()].concat()
}

pub(crate) fn write_forget(ticket: Ticket) -> Vec<u8> {
    let number = ticket.number.to_le_bytes();
    [&[FORGET][..], &ticket.who.to_bytes(), &number].concat()
}

pub(crate) fn write_grant(grant: Grant) -> Vec<u8> {
    let (number, ticket) = (grant.number.to_le_bytes(), grant.ticket.to_le_bytes());
    [&[GRANT][..], &number, &ticket, &grant.from.to_le_bytes()].concat()
}

fn parse_grant(rest: &[u8]) -> Option<Grant> {
    let bytes: &[u8; GRANT_BYTES] = rest.try_into().ok()?;
    let grant = Grant {
        number: u64::from_le_bytes(*bytes.first_chunk()?),
        ticket: u64::from_le_bytes(*bytes[8..].first_chunk()?),
        from: i32::from_le_bytes(*bytes[16..].first_chunk()?),
    };
    (grant.number != OWN).then_some(grant)
}

fn parse_introduction(kind: u8, rest: &[u8], mut fds: Vec<OwnedFd>) -> Option<Note> {
    match kind {
        READY => rest.is_empty().then_some(Note::Ready),
        PASS => {
            let bytes: &[u8; PASS_BYTES] = rest.try_into().ok()?;
            Some(Note::Pass(Pass::parse(bytes)))
        }
        MEET => {
            let (side, who) = rest.split_first()?;
            let who: &[u8; WHO_BYTES] = who.try_into().ok()?;
            Some(Note::Meet {
                socket: fds.pop()?,
                who: Who::parse(who),
                side: match side {
                    0 => Side::Caller,
                    _ => Side::Listener,
                },
            })
        }
        _ => {
            let (who, number) = rest.split_first_chunk()?;
            Some(Note::Forget(Ticket {
                who: Who::parse(who),
                number: u64::from_le_bytes(number.try_into().ok()?),
            }))
        }
    }
}

/// References in one message.
pub(crate) const RELEASES_MAX: usize = 1024;
const RELEASE_BYTES: usize = 17;

pub(crate) fn write_releases(releases: &[(u64, Release)]) -> Vec<u8> {
    let mut bytes = vec![RELEASE];
    for &(number, release) in releases {
        let (kind, count) = match release {
            Release::Strong { count, keeps_weak } => (u8::from(keeps_weak), count),
            Release::Weak => (2, 0),
        };
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.push(kind);
    }
    bytes
}

fn parse_releases(rest: &[u8]) -> Option<Vec<(u64, Release)>> {
    let entries = rest.chunks_exact(RELEASE_BYTES);
    if !entries.remainder().is_empty() {
        return None;
    }
    let entry = |it: &[u8]| {
        let long = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let (number, count) = (long(&it[..8])?, long(&it[8..16])?);
        let release = match it[16] {
            kind @ (0 | 1) => Release::Strong {
                count,
                keeps_weak: kind == 1,
            },
            2 => Release::Weak,
            _ => return None,
        };
        Some((number, release))
    };
    entries.map(entry).collect()
}

pub(crate) fn write_oneway(header: Header) -> Vec<u8> {
    let mut bytes = vec![ONEWAY];
    bytes.extend_from_slice(&header.to_bytes());
    bytes
}

/// Bytes and positions that lie together, as `header` says.
pub(crate) fn split(header: &Header, bytes: &[u8], wire: &mut parcel::Wire) -> Option<()> {
    let at = header.positions_at();
    wire.bytes.clear();
    wire.positions.clear();
    wire.bytes
        .extend_from_slice(bytes.get(..header.size as usize)?);
    let positions = bytes.get(at..header.whole())?;
    let positions = positions.chunks_exact(4);
    wire.positions
        .extend(positions.map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]])));
    Some(())
}

/// The same, the other way; `false` if it is too much.
pub(crate) fn join(wire: &parcel::Wire, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    bytes.extend_from_slice(&wire.bytes);
    bytes.resize(wire.bytes.len().next_multiple_of(8), 0);
    for position in &wire.positions {
        bytes.extend_from_slice(&position.to_le_bytes());
    }
    bytes.len() <= PARCEL_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_they_were_written() {
        let releases = vec![
            (
                1,
                Release::Strong {
                    count: 3,
                    keeps_weak: true,
                },
            ),
            (u64::MAX, Release::Weak),
        ];
        let bytes = write_releases(&releases);
        assert!(write_releases(&vec![releases[0]; RELEASES_MAX]).len() <= NOTE_BYTES_MAX);
        assert_eq!(parse_releases(&bytes[1..]), Some(releases));
        assert_eq!(parse_releases(&bytes[2..]), None);
    }

    #[test]
    fn introductions_are_read_as_they_were_written() {
        let who = Who {
            pid: 9,
            key: 1 << 50,
        };
        let grant = Grant {
            number: 5,
            from: 7,
            ticket: 1 << 33,
        };
        let bytes = write_grant(grant);
        assert_eq!(parse_grant(&bytes[1..]), Some(grant));
        assert_eq!(parse_grant(&bytes[2..]), None);
        let ticket = Ticket { who, number: 3 };
        let bytes = write_forget(ticket);
        let note = parse_introduction(bytes[0], &bytes[1..], Vec::new());
        assert!(matches!(note, Some(Note::Forget(it)) if it == ticket));
        let bytes = write_meet(who, Side::Listener);
        assert!(
            parse_introduction(bytes[0], &bytes[1..], Vec::new()).is_none(),
            "no socket"
        );
    }
}
