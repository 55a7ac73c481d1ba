// SPDX-License-Identifier: Apache-2.0
//! The conversation with the kernel: a thread says what it has to say, sends a call or an answer,
//! and does what it is told until it has what it waits for.

use std::cell::RefCell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Weak};

use parcel::{FlatObject, Kind, Wire};
use rt::driver::{Commands, Driver, Incoming, Outgoing, Return, Returns, Spent, flags};
use rt::peer::Urgency;
use rt::sync::PiMutex;

use super::deaths::Deaths;
use crate::Parcel;
use crate::error::CallError;
use crate::lent::looper;
use crate::link::{Goal, Link, OWN, Release, Transport};
use crate::node::Call;
use crate::serving::{self, Caller, Serving, Waits};

/// Handles count from 0, the numbers of proxies from 1: 0 is the link itself.
pub(super) const MANAGER: u64 = 1;

/// The device, shared by all threads that use it.
pub(super) struct Kernel {
    pub(super) driver: Driver,
    pub(super) deaths: PiMutex<Deaths>,
}

/// The transport of a link.
pub(super) struct End(pub(super) Arc<Kernel>);

/// What a conversation needs; kept for the thread's next one.
#[derive(Default)]
struct Room {
    commands: Commands,
    returns: Box<Returns>,
    wire: Wire,
    positions: Vec<u64>,
    fds: Vec<OwnedFd>,
    places: Vec<Option<Arc<OwnedFd>>>,
    data: Parcel,
    reply: Parcel,
}

/// What ends a conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Answered,
    Sent,
}

thread_local! {
    static ROOMS: RefCell<Vec<Room>> = const { RefCell::new(Vec::new()) };
    static USED: RefCell<Used> = const { RefCell::new(Used(Vec::new())) };
}

/// Devices that the thread has used: the kernel has a record of it at each.
struct Used(Vec<Weak<Kernel>>);

impl Drop for Used {
    fn drop(&mut self) {
        for kernel in self.0.drain(..).filter_map(|it| it.upgrade()) {
            kernel.driver.leave_thread();
        }
    }
}

impl Room {
    fn take() -> Self {
        let kept = ROOMS.with_borrow_mut(Vec::pop);
        kept.unwrap_or_default()
    }

    fn give(mut self) {
        self.fds.clear();
        self.places.clear();
        self.data.clear();
        self.reply.clear();
        ROOMS.with_borrow_mut(|rooms| rooms.push(self));
    }
}

impl Transport for End {
    fn name(&self) -> &'static str {
        "driver"
    }

    fn call(
        &self,
        link: &Arc<Link>,
        Goal { target, code, .. }: Goal<'_>,
        data: &mut Parcel,
        reply: &mut Parcel,
        due_ns: Option<u64>,
    ) -> Result<(), CallError> {
        if due_ns.is_some() {
            return Err(CallError::NotSupported("a due time over the driver"));
        }
        // A looper of another transport waits in the driver as well.
        let _away = looper::leave();
        self.0
            .send(link, target, code, flags::ACCEPT_FDS, data, Some(reply))
    }

    fn send(
        &self,
        link: &Arc<Link>,
        target: u64,
        code: u32,
        data: &Parcel,
    ) -> Result<(), CallError> {
        let sent = self.0.send(link, target, code, flags::ONE_WAY, data, None);
        match sent {
            // Half of the receiver's buffer is for these.
            Err(CallError::TooLarge) => Err(CallError::QueueFull),
            sent => sent,
        }
    }

    /// One proxy is one reference, however often it was received.
    fn release(&self, number: u64, release: Release) {
        if matches!(release, Release::Strong { .. }) {
            self.0.tell(|commands| commands.release(handle(number)));
        }
    }

    fn adopt(&self, number: u64) {
        self.0.tell(|commands| commands.acquire(handle(number)));
    }

    fn watch(&self, number: u64) {
        let mut deaths = self.0.deaths.lock();
        self.0
            .tell(|commands| deaths.watch(handle(number), commands));
    }

    fn unwatch(&self, number: u64) {
        let mut deaths = self.0.deaths.lock();
        self.0
            .tell(|commands| deaths.unwatch(handle(number), commands));
    }

    fn end(&self, _: &Link) {
        self.0.driver.wake_all();
    }
}

/// Numbers of proxies come from handles.
fn handle(number: u64) -> u32 {
    (number - 1) as u32
}

impl Kernel {
    /// Says something that has no answer. A kernel that refuses has ended the device.
    fn tell(&self, say: impl FnOnce(&mut Commands)) {
        let mut commands = Commands::default();
        say(&mut commands);
        let _ = self.driver.tell(&mut commands);
    }

    /// The kernel keeps a record of the calling thread until it ends.
    fn enrol(self: &Arc<Self>) {
        // A thread that ends right now has no destructors any more; its record stays.
        let _ = USED.try_with(|used| {
            let used = &mut used.borrow_mut().0;
            if !used
                .iter()
                .any(|it| std::ptr::eq(it.as_ptr(), &raw const **self))
            {
                used.retain(|it| it.strong_count() > 0);
                used.push(Arc::downgrade(self));
            }
        });
    }

    /// Sends a call; with `reply` it waits for the answer.
    fn send(
        self: &Arc<Self>,
        link: &Arc<Link>,
        target: u64,
        code: u32,
        flags: u32,
        data: &Parcel,
        reply: Option<&mut Parcel>,
    ) -> Result<(), CallError> {
        if target == OWN {
            let what = "to ask the driver for a node by a weak reference";
            return Err(CallError::NotSupported(what));
        }
        self.enrol();
        let mut room = Room::take();
        let handle = Some(handle(target));
        let outcome = self.send_parcel(link, &mut room, handle, code, flags, data, reply);
        room.give();
        outcome
    }

    #[expect(clippy::too_many_arguments, reason = "a call has as many parts")]
    fn send_parcel(
        self: &Arc<Self>,
        link: &Arc<Link>,
        room: &mut Room,
        handle: Option<u32>,
        code: u32,
        flags: u32,
        data: &Parcel,
        reply: Option<&mut Parcel>,
    ) -> Result<(), CallError> {
        link.name(data, &mut room.wire, &mut room.fds)?;
        room.positions.clear();
        room.positions
            .extend(room.wire.positions.iter().map(|&it| u64::from(it)));
        each_object(&mut room.wire, |flat| match flat.kind {
            // Without a node of this name nobody asked for one: `name` refuses what is too large.
            Kind::Handle => flat.number -= 1,
            Kind::Binder => flat.cookie = flat.number,
            Kind::Fd => flat.number = raw_fd(&room.fds, flat.number),
            Kind::WeakBinder | Kind::WeakHandle => {}
        });
        // What is sent stays as it is until the kernel has copied it.
        let wire = std::mem::take(&mut room.wire);
        let positions = std::mem::take(&mut room.positions);
        let outgoing = Outgoing {
            handle,
            code,
            flags,
            bytes: &wire.bytes,
            positions: &positions,
        };
        let outcome = self.converse(link, room, Some(outgoing), reply);
        // From now on the kernel's own references count.
        link.unname_wire(&wire);
        room.positions = positions;
        room.wire = wire;
        outcome
    }

    /// Talks until the answer is there, or, without `reply`, until what was sent is on its way.
    fn converse(
        self: &Arc<Self>,
        link: &Arc<Link>,
        room: &mut Room,
        mut outgoing: Option<Outgoing<'_>>,
        reply: Option<&mut Parcel>,
    ) -> Result<(), CallError> {
        let until = match reply {
            Some(_) => Until::Answered,
            None => Until::Sent,
        };
        // What follows an answer's "sent" is for the wait on this thread: its own answer, it
        // may be.
        let is_answer = outgoing.is_some_and(|it| it.handle.is_none());
        let mut answer = None;
        let mut ended = None;
        while ended.is_none() {
            if outgoing.is_some() || room.returns.is_empty() {
                self.exchange(link, room, outgoing.take())?;
            }
            while !(is_answer && ended.is_some())
                && let Some(it) = self.next(link, &mut room.returns)?
            {
                match it {
                    Return::Answer(it) if until == Until::Answered => {
                        answer = Some(it);
                        ended = Some(Ok(()));
                    }
                    Return::Sent if until == Until::Sent => ended = Some(Ok(())),
                    Return::Dead => ended = Some(Err(CallError::DeadObject)),
                    Return::Failed(errno) => ended = Some(Err(failed(errno))),
                    other => self.obey(link, room, other),
                }
            }
            if ended.is_none() && link.is_dead() {
                return Err(CallError::DeadObject);
            }
        }
        // What the kernel was to be told does not wait for the next call.
        let outcome = match (answer, reply) {
            (Some(answer), Some(reply)) => self.read_answer(link, room, answer, reply),
            _ => ended.unwrap_or(Ok(())),
        };
        let _ = self.driver.tell(&mut room.commands);
        outcome
    }

    fn exchange(
        &self,
        link: &Link,
        room: &mut Room,
        outgoing: Option<Outgoing<'_>>,
    ) -> Result<(), CallError> {
        let exchanged = self
            .driver
            .exchange(&mut room.commands, outgoing, &mut room.returns);
        exchanged.map_err(|_| broken(link))
    }

    fn next(&self, link: &Link, returns: &mut Returns) -> Result<Option<Return>, CallError> {
        self.driver.next(returns).map_err(|_| broken(link))
    }

    /// Copies an answer; its buffer is free then.
    fn read_answer(
        &self,
        link: &Arc<Link>,
        room: &mut Room,
        answer: Incoming,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let has_status = answer.flags & flags::STATUS != 0;
        let mut places = std::mem::take(&mut room.places);
        let spent = self.take(answer, &mut room.wire, &mut room.fds, &mut places);
        let outcome = match has_status {
            true => {
                let status = room.wire.bytes.first_chunk().ok_or(CallError::BadParcel);
                status.and_then(|it| CallError::of_status(i32::from_ne_bytes(*it)))
            }
            false => link.find(&room.wire, &mut places, reply),
        };
        room.places = places;
        room.commands.free(spent);
        outcome
    }

    /// Copies what has arrived, named as this side names things.
    fn take(
        &self,
        incoming: Incoming,
        wire: &mut Wire,
        fds: &mut Vec<OwnedFd>,
        places: &mut Vec<Option<Arc<OwnedFd>>>,
    ) -> Spent {
        let spent = self
            .driver
            .take(incoming, &mut wire.bytes, &mut wire.positions, fds);
        places.clear();
        places.extend(fds.drain(..).map(|it| Some(Arc::new(it))));
        each_object(wire, |flat| match flat.kind {
            // The kernel says "binder" for a node of the reader's, `Link` for one of the writer's.
            Kind::Binder => flat.kind = Kind::Handle,
            Kind::Handle => {
                flat.kind = Kind::Binder;
                flat.number += 1;
            }
            Kind::Fd | Kind::WeakBinder | Kind::WeakHandle => {}
        });
        spent
    }

    /// Does what the kernel says.
    fn obey(self: &Arc<Self>, link: &Arc<Link>, room: &mut Room, it: Return) {
        let commands = &mut room.commands;
        // What this process never gave is the kernel's mistake; there is nothing to count.
        let exports = || link.exports.lock();
        match it {
            Return::Call(incoming) => self.serve(link, room, incoming),
            Return::Weaken(node) => {
                let _ = exports().acquire_weak(node);
                commands.weakened(node);
            }
            Return::Acquire(node) => {
                let _ = exports().acquire(node);
                commands.acquired(node);
            }
            Return::Release(node) => link.lose(node),
            Return::Forget(node) => {
                let _ = link.released(node, Release::Weak);
            }
            Return::Death(number) => {
                let handle = self.deaths.lock().is_over(number);
                commands.mourned(number);
                if let Some(handle) = handle {
                    link.gone(u64::from(handle) + 1);
                }
            }
            // An answer that nobody waits for is let go.
            Return::Answer(incoming) => {
                let (mut wire, mut fds, mut places) = <_>::default();
                let spent = self.take(incoming, &mut wire, &mut fds, &mut places);
                commands.free(spent);
            }
            Return::Sent | Return::Dead | Return::Failed(_) => {}
        }
    }

    /// Serves one call, on the calling thread, whose conversation goes on afterwards.
    fn serve(self: &Arc<Self>, link: &Arc<Link>, outer: &mut Room, incoming: Incoming) {
        let mut room = Room::take();
        let caller = Caller {
            pid: incoming.pid,
            uid: incoming.uid,
        };
        let is_oneway = incoming.flags & flags::ONE_WAY != 0;
        let (target, code) = (incoming.target, incoming.code);
        let mut places = std::mem::take(&mut room.places);
        let (mut data, mut reply) = (
            std::mem::take(&mut room.data),
            std::mem::take(&mut room.reply),
        );
        let spent = self.take(incoming, &mut room.wire, &mut room.fds, &mut places);
        let read = link.find(&room.wire, &mut places, &mut data);
        let mut spent = Some(spent);
        if !is_oneway && let Some(spent) = spent.take() {
            room.commands.free(spent);
        }
        let outcome = read.and_then(|()| {
            let _scope = serving::enter(Serving {
                caller,
                claim: Urgency::ORDINARY,
                granted: Urgency::ORDINARY,
                waits: Waits::Unknown,
                chain: None,
            });
            let node = link.driven(target)?;
            let call = Call {
                caller,
                is_oneway,
                begun_ns: None,
            };
            node.run(&call, code, &mut data, &mut reply)
        });
        data.clear();
        if let Some(spent) = spent {
            // The kernel hands out the node's next one now.
            room.commands.free(spent);
            let _ = self.driver.tell(&mut room.commands);
        } else {
            std::mem::swap(&mut room.returns, &mut outer.returns);
            self.answer(link, &mut room, outcome, &reply);
            std::mem::swap(&mut room.returns, &mut outer.returns);
        }
        (room.data, room.reply, room.places) = (data, reply, places);
        room.give();
    }

    fn answer(
        self: &Arc<Self>,
        link: &Arc<Link>,
        room: &mut Room,
        outcome: Result<(), CallError>,
        reply: &Parcel,
    ) {
        let sent = outcome.and_then(|()| self.send_parcel(link, room, None, 0, 0, reply, None));
        let Err(error) = sent else {
            return;
        };
        if link.is_dead() {
            return;
        }
        let status = error.status().to_ne_bytes();
        let outgoing = Outgoing {
            handle: None,
            code: 0,
            flags: flags::STATUS,
            bytes: &status,
            positions: &[],
        };
        // Who does not hear that either has gone.
        let _ = self.converse(link, room, Some(outgoing), None);
    }
}

fn broken(link: &Link) -> CallError {
    if link.die() {
        link.bury();
    }
    CallError::DeadObject
}

/// Why a call did not go, by the kernel's word.
fn failed(errno: i32) -> CallError {
    const NO_SPACE: i32 = 28;
    const NO_PROCESS: i32 = 3;
    match errno {
        NO_SPACE => CallError::TooLarge,
        NO_PROCESS => CallError::DeadObject,
        _ => CallError::Failed,
    }
}

fn raw_fd(fds: &[OwnedFd], index: u64) -> u64 {
    let fd = fds.get(index as usize).map(AsRawFd::as_raw_fd);
    // `name` has just put it there.
    u64::from(fd.unwrap_or(-1).cast_unsigned())
}

/// Changes each object of a parcel; what is none is left to `Parcel::from_wire`.
fn each_object(wire: &mut Wire, change: impl Fn(&mut FlatObject)) {
    for &at in &wire.positions {
        let bytes = wire.bytes.get_mut(at as usize..);
        let Some(bytes) = bytes.and_then(|it| it.first_chunk_mut()) else {
            continue;
        };
        if let Ok(mut flat) = FlatObject::parse(bytes) {
            change(&mut flat);
            *bytes = flat.to_bytes();
        }
    }
}

/// A looper: serves what comes by the device until the link is dead.
pub(super) fn look_after(link: &Arc<Link>, kernel: &Arc<Kernel>) {
    kernel.enrol();
    serving::prepare();
    let mut room = Room::take();
    room.commands.enter_looper();
    while !link.is_dead() {
        if room.returns.is_empty() && kernel.exchange(link, &mut room, None).is_err() {
            break;
        }
        while let Ok(Some(it)) = kernel.next(link, &mut room.returns) {
            kernel.obey(link, &mut room, it);
        }
    }
    room.commands.exit_looper();
    let _ = kernel.driver.tell(&mut room.commands);
    room.give();
}
