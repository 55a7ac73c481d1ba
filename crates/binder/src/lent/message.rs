// SPDX-License-Identifier: Apache-2.0
//! [`Lent`]: one end of a link between two programs; how it writes and reads a message.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release as ReleaseOrder};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Weak};

use parcel::Wire;
use rt::bell::Bell;
use rt::peer::PidFd;
use rt::policy::Tid;
use rt::shared::{Memfd, Region, View};
use rt::socket::{Socket, SocketError};
use rt::sync::lend::{LendError, Offer};
use rt::sync::{Loan, PiMutex};
use rt::sys::futex::Shared;

use crate::Parcel;
use crate::binder::Binder;
use crate::error::CallError;
use crate::introduce::{Ticket, patience};
use crate::lent::inbox::{self, Gone, Inbox};
use crate::lent::layout::{
    self, Area, FDS_MAX, HEADER_BYTES, Header, Kind, MESSAGE_BYTES, ONEWAYS_MAX, PAGE, SERVED,
    SLOTS,
};
use crate::lent::slots::Slots;
use crate::lent::steps::{self, Step};
use crate::link::{Finds, Link, Release, Thirds};
use crate::process::{Inner, Looper};

/// See the module.
pub(crate) struct Lent {
    pub(super) socket: Socket,
    pub(super) peer: PidFd,
    /// 0 or 1: which half of the words is ours as caller.
    pub(super) side: usize,
    pub(super) words: Region,
    /// What we write, and what the other end writes.
    pub(super) ours: Region,
    pub(super) theirs: View,
    /// The other process's loopers, and what wakes them for us.
    pub(super) face: View,
    pub(super) bells: Vec<Bell>,
    /// What wakes our loopers for the other end.
    pub(super) own_bells: Vec<Bell>,
    pub(super) home: Weak<Inner>,
    /// What tells it from other processes of this program.
    pub(super) home_key: u64,
    pub(super) slots: Slots,
    pub(super) sequences: [AtomicU32; SLOTS],
    /// The last message heard in each slot of the other end's.
    pub(super) heard: [AtomicU32; SLOTS],
    pub(super) inbox: PiMutex<Inbox>,
    pub(super) releases: PiMutex<HashMap<u64, Vec<Release>>>,
    /// Calls without an answer that we sent.
    pub(super) oneways: AtomicU64,
    /// For callers that find no looper asleep.
    pub(super) turns: AtomicU32,
    /// How long a thread of ours looks for an answer before it sleeps.
    pub(super) spin_ns: u64,
}

/// A parcel that goes, and tickets for what it names of third processes: of a request. Those of an
/// answer are made as it is written.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    pub(super) parcel: &'a Parcel,
    pub(super) tickets: &'a [Ticket],
}

impl<'a> Load<'a> {
    /// One without tickets.
    pub(super) fn of(parcel: &'a Parcel) -> Self {
        Self {
            parcel,
            tickets: &[],
        }
    }
}

/// The parcel of a message, as it was read; what was found wrong is said where it is served.
pub(super) struct Copied {
    pub(super) parcel: Parcel,
    pub(super) outcome: Result<(), CallError>,
}

/// What a message is made of, with room that stays.
#[derive(Default)]
pub(super) struct Scratch {
    wire: Wire,
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

/// Parcels that a thread keeps for the next calls, and the room that each may keep.
pub(super) const SPARES_MAX: usize = 12;
/// Those of them that are not for requests that wait: for the call that is served, with its answer,
/// and for one inside it.
pub(super) const SPARES_AT_HAND: usize = 4;
const SPARE_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
    static SPARES: RefCell<Vec<Parcel>> = const { RefCell::new(Vec::new()) };
}

/// An empty parcel, with room if the thread has one.
pub(super) fn take_parcel() -> Parcel {
    let spare = SPARES.with_borrow_mut(Vec::pop);
    spare.unwrap_or_default()
}

/// The same for a request that may wait yet; none if the thread has no room to spare.
pub(super) fn take_ahead() -> Option<Parcel> {
    SPARES.with_borrow_mut(|spares| match spares.len() {
        0..=SPARES_AT_HAND => None,
        _ => spares.pop(),
    })
}

/// Gives one back.
pub(super) fn give_parcel(mut parcel: Parcel) {
    // What it holds may call out when it goes.
    parcel.clear();
    if parcel.capacity() <= SPARE_BYTES_MAX {
        SPARES.with_borrow_mut(|spares| {
            if spares.len() < SPARES_MAX {
                spares.push(parcel);
            }
        });
    }
}

/// A looper has all that calls of one message need before the first one comes: so no allocation,
/// which may wait for less urgent threads, lies on their way.
pub(super) fn prepare() {
    let mut parcels: Vec<Parcel> = (0..SPARES_MAX).map(|_| Parcel::new()).collect();
    for parcel in &mut parcels {
        parcel.reserve(MESSAGE_BYTES);
    }
    SPARES.set(parcels);
    let mut scratch = Scratch::default();
    scratch.bytes.reserve(MESSAGE_BYTES);
    scratch.wire.bytes.reserve(MESSAGE_BYTES);
    scratch.wire.positions.reserve(MESSAGE_BYTES / 4);
    SCRATCH.set(scratch);
}

/// Runs `body` with the thread's room; a body that calls out again has room of its own.
fn with_scratch<T>(body: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let result = body(&mut scratch);
    SCRATCH.replace(scratch);
    result
}

impl Lent {
    /// What the caller in a slot waits for.
    pub(super) fn lock(&self, side: usize, slot: usize) -> Baton<'_> {
        Baton {
            loan: self.words.word(layout::lock(side, slot)),
            is_apart: self.words.word(layout::lock_is_apart(side, slot)),
        }
    }

    /// What a looper waits for that calls back.
    pub(super) fn back(&self, side: usize, slot: usize) -> Baton<'_> {
        Baton {
            loan: self.words.word(layout::back(side, slot)),
            is_apart: self.words.word(layout::back_is_apart(side, slot)),
        }
    }

    pub(super) fn turn(&self, side: usize, slot: usize) -> &AtomicU32 {
        self.words.word(layout::turn(side, slot))
    }

    pub(super) fn posted(&self, side: usize, looper: usize) -> &AtomicU64 {
        self.words.word(layout::posted(side, looper))
    }

    /// Which side the other end is.
    pub(super) fn other(&self) -> usize {
        1 - self.side
    }

    /// Writes a message where the other end will look for it. On an error nothing is counted.
    pub(super) fn write(
        &self,
        link: &Link,
        area: Area,
        slot: usize,
        header: Header,
        load: Load<'_>,
    ) -> Result<(), CallError> {
        let parcel = load.parcel;
        let made = match header.kind {
            Kind::Answer => link.tickets(parcel)?,
            _ => Vec::new(),
        };
        let mut thirds = Thirds::Ticketed(match header.kind {
            Kind::Answer => &made,
            _ => load.tickets,
        });
        let written = with_scratch(|scratch| {
            link.name_with(parcel, &mut scratch.wire, &mut scratch.fds, &mut thirds)?;
            let written = self.write_named(area, slot, header, scratch);
            scratch.fds.clear();
            // Behind the writing: of an answer that did not go nobody is told.
            let written = written.and_then(|()| link.announce(parcel, &made));
            if written.is_err() {
                link.unname_wire(&scratch.wire);
            }
            written
        });
        if written.is_err() {
            link.forget(load.tickets);
        }
        written
    }

    fn write_named(
        &self,
        area: Area,
        slot: usize,
        header: Header,
        scratch: &mut Scratch,
    ) -> Result<(), CallError> {
        let (header, apart) = fill(header, scratch, MESSAGE_BYTES - HEADER_BYTES)?;
        let at = area.offset(slot);
        if apart.is_none() {
            self.ours.write(at + HEADER_BYTES, &scratch.bytes);
        }
        if apart.is_some() || !scratch.fds.is_empty() {
            let fds = borrow(apart.as_ref(), &scratch.fds);
            let note = inbox::write_beside(area, slot, header.sequence);
            self.socket.try_send(&note, &fds).map_err(of_socket)?;
            steps::reach(match header.kind {
                Kind::Request => Step::RequestBeside,
                _ => Step::AnswerBeside,
            });
        }
        self.ours.write(at, &header.to_bytes());
        steps::reach(match header.kind {
            Kind::Request => Step::RequestWritten,
            _ => Step::AnswerWritten,
        });
        Ok(())
    }

    /// Writes that there is no parcel, but this status. Never fails.
    pub(super) fn write_status(&self, area: Area, slot: usize, header: Header) {
        self.ours.write(area.offset(slot), &header.to_bytes());
    }

    /// What the other end says in a slot: a copy, which it does not change any more.
    pub(super) fn header(&self, area: Area, slot: usize) -> Option<Header> {
        let mut bytes = [0; HEADER_BYTES];
        self.theirs.read(area.offset(slot), &mut bytes);
        Header::parse(&bytes)
    }

    /// The parcel of a request, in one that is given.
    pub(super) fn copy(
        &self,
        link: &Arc<Link>,
        area: Area,
        slot: usize,
        header: &Header,
        mut parcel: Parcel,
    ) -> Copied {
        let outcome = self.read(link, area, slot, header, &mut parcel, None);
        steps::reach(Step::Copied);
        Copied { parcel, outcome }
    }

    /// Reads the parcel of a message. What is no parcel is refused; what shows that the other end
    /// broke the protocol ends the link. Of an answer: until when what it names is waited for.
    pub(super) fn read(
        &self,
        link: &Arc<Link>,
        area: Area,
        slot: usize,
        header: &Header,
        parcel: &mut Parcel,
        due_ns: Option<u64>,
    ) -> Result<(), CallError> {
        parcel.clear();
        let mut fds = Vec::new();
        if header.is_apart || header.fds > 0 {
            let taken = self
                .inbox
                .lock()
                .take_beside(&self.socket, area, slot, header.sequence);
            // What the door has to do may lie there now.
            if let Some(home) = self.home.upgrade() {
                home.door.ring();
            }
            fds = taken.map_err(|gone| self.broken(link, gone))?;
        }
        with_scratch(|scratch| {
            if header.is_apart {
                read_apart(header, &mut fds, &mut scratch.bytes)?;
            } else {
                scratch.bytes.resize(header.whole(), 0);
                let at = area.offset(slot) + HEADER_BYTES;
                self.theirs.read(at, &mut scratch.bytes);
            }
            inbox::split(header, &scratch.bytes, &mut scratch.wire).ok_or(CallError::BadParcel)?;
            let mut fds: Vec<_> = fds.drain(..).map(|it| Some(Arc::new(it))).collect();
            // Who asked waits for third processes; who serves does not.
            let thirds = match header.kind {
                Kind::Answer => Finds::Until(patience(due_ns)),
                _ => Finds::AtOnce,
            };
            link.find_with(&scratch.wire, &mut fds, parcel, &thirds)
        })
    }

    /// Ends the link.
    pub(super) fn broken(&self, link: &Link, gone: Gone) -> CallError {
        if link.die()
            && gone == Gone::Broken
            && let Some(home) = self.home.upgrade()
        {
            home.counters.broken.add();
        }
        CallError::DeadObject
    }

    /// Sends a call without an answer.
    pub(super) fn send_oneway(
        &self,
        link: &Arc<Link>,
        target: u64,
        code: u32,
        data: &Parcel,
    ) -> Result<(), CallError> {
        let tickets = link.introduce(data, None)?;
        let sent = self.send_ticketed(link, target, code, data, &tickets);
        if sent.is_err() {
            link.forget(&tickets);
        }
        sent
    }

    fn send_ticketed(
        &self,
        link: &Link,
        target: u64,
        code: u32,
        data: &Parcel,
        tickets: &[Ticket],
    ) -> Result<(), CallError> {
        let served = self.theirs.load_long(SERVED, Acquire);
        // One that writes nonsense there has more sent to it, up to what its socket holds.
        if self.oneways.fetch_add(1, AcqRel).wrapping_sub(served) >= ONEWAYS_MAX {
            self.oneways.fetch_sub(1, AcqRel);
            return Err(CallError::QueueFull);
        }
        let header = Header {
            target,
            code,
            ..Header::default()
        };
        let sent = with_scratch(|scratch| {
            let mut thirds = Thirds::Ticketed(tickets);
            link.name_with(data, &mut scratch.wire, &mut scratch.fds, &mut thirds)?;
            let sent = self.send_named(header, scratch);
            scratch.fds.clear();
            if sent.is_err() {
                link.unname_wire(&scratch.wire);
            }
            sent
        });
        if sent.is_err() {
            self.oneways.fetch_sub(1, AcqRel);
        }
        sent
    }

    fn send_named(&self, header: Header, scratch: &mut Scratch) -> Result<(), CallError> {
        let room = inbox::NOTE_BYTES_MAX - HEADER_BYTES - 1;
        let (header, apart) = fill(header, scratch, room)?;
        let mut note = inbox::write_oneway(header);
        if apart.is_none() {
            note.extend_from_slice(&scratch.bytes);
        }
        let fds = borrow(apart.as_ref(), &scratch.fds);
        self.socket.try_send(&note, &fds).map_err(of_socket)
    }

    /// Reads one.
    pub(super) fn read_oneway(
        &self,
        link: &Arc<Link>,
        header: &Header,
        bytes: Vec<u8>,
        mut fds: Vec<OwnedFd>,
    ) -> Result<Parcel, CallError> {
        let mut bytes = bytes;
        if header.is_apart {
            read_apart(header, &mut fds, &mut bytes)?;
        }
        let (mut wire, mut parcel) = (Wire::default(), Parcel::new());
        inbox::split(header, &bytes, &mut wire).ok_or(CallError::BadParcel)?;
        let mut fds: Vec<_> = fds.drain(..).map(|it| Some(Arc::new(it))).collect();
        link.find_with(&wire, &mut fds, &mut parcel, &Finds::AtOnce)?;
        Ok(parcel)
    }

    /// What the other end has granted under a ticket.
    pub(crate) fn claim(&self, link: &Arc<Link>, from: i32, ticket: u64) -> Option<Binder> {
        let taken = self.inbox.lock().take_grant(&self.socket, from, ticket);
        // What the door has to do may lie there now.
        if let Some(home) = self.home.upgrade() {
            home.door.ring();
        }
        match taken {
            Ok(number) => number.map(|it| Binder::Remote(link.proxy(it))),
            Err(gone) => {
                self.broken(link, gone);
                None
            }
        }
    }

    pub(crate) fn take_stale_grants(&self, is_known: impl Fn(i32) -> bool) -> Vec<u64> {
        self.inbox.lock().take_stale_grants(is_known)
    }

    /// Sends a note that is not to wait.
    pub(super) fn note(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), CallError> {
        self.socket.try_send(bytes, fds).map_err(of_socket)
    }

    pub(super) fn count_served(&self) {
        let served = self.ours.word::<AtomicU64>(SERVED);
        served.fetch_add(1, ReleaseOrder);
    }

    /// Calls without an answer that the other end has served of ours, for their waiters.
    pub(super) fn oneways_out(&self) -> u64 {
        let served = self.theirs.load_long(SERVED, Acquire);
        self.oneways.load(Relaxed).wrapping_sub(served)
    }

    /// Our loopers hear this end no more.
    pub(crate) fn silence(&self, loopers: &[Looper]) {
        for (bell, looper) in self.own_bells.iter().zip(loopers) {
            // Fails only where it was never added.
            let _ = looper.bells.remove(bell.as_fd());
        }
    }
}

/// What passes between the two threads of a slot: the one that has it works, the other one waits.
pub(super) struct Baton<'a> {
    loan: &'a Loan<Shared>,
    /// Not 0 where who waits lends nothing meanwhile.
    is_apart: &'a AtomicU32,
}

impl<'a> Baton<'a> {
    /// Hands it to a thread, which learns how it is waited for before it can give it back.
    pub(super) fn offer(&self, to: Tid, is_lent: bool) -> Result<Offer<'a, Shared>, LendError> {
        self.is_apart.store(u32::from(!is_lent), Relaxed);
        self.loan.offer(to)
    }

    /// Gives it back; `false` where the words are not what this end left.
    pub(super) fn give(&self) -> bool {
        // Pairs with `offer`, which was before the message that is answered.
        if self.is_lent() {
            self.loan.give_back()
        } else {
            self.loan.give_back_apart()
        }
    }

    /// Whether who waits lends its priority, as it says.
    pub(super) fn is_lent(&self) -> bool {
        self.is_apart.load(Relaxed) == 0
    }

    /// Whether somebody has it.
    pub(super) fn is_out(&self) -> bool {
        self.loan.is_out()
    }
}

fn of_socket(error: SocketError) -> CallError {
    match error {
        SocketError::Empty => CallError::QueueFull,
        _ => CallError::DeadObject,
    }
}

/// The file of the bytes first, if there is one.
fn borrow<'a>(apart: Option<&'a Memfd>, fds: &'a [OwnedFd]) -> Vec<BorrowedFd<'a>> {
    let apart = apart.map(AsFd::as_fd);
    apart
        .into_iter()
        .chain(fds.iter().map(AsFd::as_fd))
        .collect()
}

/// Sizes into a header, bytes into `scratch.bytes` or, beyond `room`, into a file of their own.
fn fill(
    header: Header,
    scratch: &mut Scratch,
    room: usize,
) -> Result<(Header, Option<Memfd>), CallError> {
    if !inbox::join(&scratch.wire, &mut scratch.bytes) || scratch.fds.len() > FDS_MAX {
        return Err(CallError::TooLarge);
    }
    let is_apart = scratch.bytes.len() > room;
    let header = Header {
        size: scratch.wire.bytes.len() as u32,
        positions: scratch.wire.positions.len() as u32,
        fds: scratch.fds.len() as u32,
        is_apart,
        ..header
    };
    if !is_apart {
        return Ok((header, None));
    }
    let bytes = scratch.bytes.len().next_multiple_of(PAGE);
    let file = Memfd::new(c"binder parcel", bytes).map_err(|_| CallError::QueueFull)?;
    let region = file.map().map_err(|_| CallError::QueueFull)?;
    region.write(0, &scratch.bytes);
    Ok((header, Some(file)))
}

/// Takes the bytes out of the file that came first.
fn read_apart(
    header: &Header,
    fds: &mut Vec<OwnedFd>,
    bytes: &mut Vec<u8>,
) -> Result<(), CallError> {
    if fds.is_empty() {
        return Err(CallError::BadParcel);
    }
    let file = fds.remove(0);
    let size = header.whole().max(1).next_multiple_of(PAGE);
    let view = Memfd::adopt(file, size).and_then(|it| it.map_to_read());
    let view = view.map_err(|_| CallError::BadParcel)?;
    bytes.resize(header.whole(), 0);
    view.read(0, bytes);
    Ok(())
}
