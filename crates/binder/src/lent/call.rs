// SPDX-License-Identifier: Apache-2.0
//! The caller's half: writes, lends, waits; and both halves of a call back to a thread that waits.
//!
//! A slot is a conversation of two threads that take turns: each message is a request, or the
//! answer to the last request that has none. The caller lends by `lock`, the looper by `back`;
//! the handing side offers its own loan first and gives the other's back then, so that at any
//! time the one that works has the priority of the one that waits.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use rt::clock::{Clock, Monotonic};
use rt::peer::Urgency;
use rt::policy::Tid;
use rt::sync::lend::{LendError, Offer};
use rt::sys::futex::Shared;

use std::os::fd::{AsFd, OwnedFd};

use crate::Parcel;
use crate::error::CallError;
use crate::introduce::{Grant, Pass, Ticket, Who};
use crate::lent::chain;
use crate::lent::connect::Side;
use crate::lent::face;
use crate::lent::inbox::{self, Gone};
use crate::lent::layout::{Area, Header, Kind, looper_sleeps};
use crate::lent::lending::{Lending, Wait};
use crate::lent::message::{self, Copied, Lent, Load};
use crate::lent::steps::{self, Step};
use crate::lent::words;
use crate::limits::Limits;
use crate::link::{Goal, Link, OWN, Release, Transport};
use crate::node::{Call, Node};
use crate::serving::{self, Serving, Waiting, Waits};

/// How long a wait is left alone before it is asked whether the other thread is still there: its
/// number may be another's by then.
const LOOK_NS: u64 = 100_000_000;
/// Twice: the one whom this thread serves may have been on its way to the kernel.
const DECLINED_MAX: u32 = 2;
/// How long a circle of threads that wait for each other is left alone.
const CIRCLE_NS: u64 = 1_000_000;

/// A slot, and which half of it the thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Conversation {
    Caller(usize),
    Looper(usize),
}

/// How a turn of the caller's ended.
enum Heard {
    Answer(Result<(), CallError>),
    Declined,
    /// The node inherits up to this, which is less than was lent.
    Limited(Urgency),
    /// The looper has the slot still.
    Late,
}

/// What a message asks for.
pub(super) struct Asked<'a> {
    pub(super) area: Area,
    pub(super) slot: usize,
    pub(super) header: &'a Header,
    /// As [`Link::node`].
    pub(super) node: Option<Arc<Node>>,
    pub(super) waits: Waits,
    /// Its parcel, if it was read before.
    pub(super) copied: Option<Copied>,
    /// As [`Call::begun_ns`].
    pub(super) begun_ns: Option<u64>,
    /// As [`Caller::urgency`](crate::Caller::urgency).
    pub(super) granted: Urgency,
}

/// The transport of a link.
pub(super) struct End(pub(super) Arc<Lent>);

impl Transport for End {
    fn name(&self) -> &'static str {
        "lent"
    }

    fn call(
        &self,
        link: &Arc<Link>,
        goal: Goal<'_>,
        data: &mut Parcel,
        reply: &mut Parcel,
        due_ns: Option<u64>,
    ) -> Result<(), CallError> {
        let place = chain::place();
        let terms = goal.limits.terms(serving::claim());
        let request = Header {
            target: goal.target,
            code: goal.code,
            tid: rt::sys::tid::current(),
            claim: u32::from(terms.claim.get()),
            chain: place.chain,
            ..Header::default()
        };
        let wait = Wait {
            place,
            due_ns,
            is_lent: terms.is_lent,
        };
        let lent = &self.0;
        match serving::waiting(link.number) {
            Some(waiting) => {
                let tickets = link.introduce(data, due_ns)?;
                let load = Load {
                    parcel: data,
                    tickets: &tickets,
                };
                lent.call_back(link, waiting, request, load, reply, wait)
            }
            None => lent.call(link, goal.limits, request, data, reply, wait),
        }
    }

    fn send(
        &self,
        link: &Arc<Link>,
        target: u64,
        code: u32,
        data: &Parcel,
    ) -> Result<(), CallError> {
        self.0.send_oneway(link, target, code, data)
    }

    fn release(&self, number: u64, release: Release) {
        self.0
            .releases
            .lock()
            .entry(number)
            .or_default()
            .push(release);
        if let Some(home) = self.0.home.upgrade() {
            home.door.ring();
        }
    }

    fn served(&self) {
        self.0.count_served();
    }

    fn introduces(&self) -> bool {
        true
    }

    fn pass(&self, pass: Pass) -> Result<(), CallError> {
        self.0.note(&inbox::write_pass(pass), &[])
    }

    fn meet(&self, socket: OwnedFd, who: Who, side: Side) -> Result<(), CallError> {
        let note = inbox::write_meet(who, side);
        self.0.note(&note, &[socket.as_fd()])
    }

    fn grant(&self, grant: Grant) -> Result<(), CallError> {
        self.0.note(&inbox::write_grant(grant), &[])
    }

    fn forget(&self, ticket: Ticket) {
        // Where the socket is full the other end keeps it until this one ends, or makes many more.
        let _ = self.0.note(&inbox::write_forget(ticket), &[]);
    }

    fn end(&self, _: &Link) {
        self.0.socket.shut_down();
        self.0.slots.wake_all();
        if let Some(home) = self.0.home.upgrade() {
            home.door.ring();
        }
    }
}

impl Lent {
    fn call(
        &self,
        link: &Arc<Link>,
        limits: &Limits,
        mut request: Header,
        data: &Parcel,
        reply: &mut Parcel,
        mut wait: Wait,
    ) -> Result<(), CallError> {
        let due_ns = wait.due_ns;
        let mut declined = 0;
        loop {
            let is_urgent = Urgency::new(request.claim).is_real_time();
            let is_real_time = is_urgent && declined < DECLINED_MAX;
            let tickets = link.introduce(data, due_ns)?;
            let load = Load {
                parcel: data,
                tickets: &tickets,
            };
            let is_out = |slot| self.lock(self.side, slot).is_out();
            let taken = self
                .slots
                .take(is_real_time, due_ns, is_out, || link.is_dead());
            let slot = taken.inspect_err(|_| link.forget(&tickets))?;
            let heard = self.call_in(link, slot, request, load, reply, is_real_time, wait);
            match heard {
                Heard::Late => {
                    self.slots.park(slot);
                    if let Some(home) = self.home.upgrade() {
                        home.counters.late.add();
                    }
                    return Err(CallError::TimedOut);
                }
                Heard::Answer(outcome) => {
                    self.slots.give(slot);
                    return outcome;
                }
                // By the kernel's word we are no real-time caller: as an ordinary one, then.
                Heard::Declined if is_real_time => declined += 1,
                Heard::Limited(limit) if wait.is_lent && limit < Urgency::new(request.claim) => {
                    limits.learn(limit);
                    request.claim = u32::from(limit.get());
                    wait.is_lent = false;
                }
                // Only a looper that is kept declines, and a node has one limit.
                Heard::Declined | Heard::Limited(_) => {
                    self.slots.give(slot);
                    return Err(self.broken(link, Gone::Broken));
                }
            }
            self.slots.give(slot);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a call has as many parts")]
    fn call_in(
        &self,
        link: &Arc<Link>,
        slot: usize,
        request: Header,
        load: Load<'_>,
        reply: &mut Parcel,
        is_real_time: bool,
        wait: Wait,
    ) -> Heard {
        let turn = self.turns.fetch_add(1, Relaxed) as usize;
        let chosen = face::choose(&self.face, self.bells.len(), is_real_time, turn);
        let Some((looper, tid)) = chosen else {
            return Heard::Answer(Err(self.broken(link, Gone::Broken)));
        };
        let offer = match self.say(link, slot, tid, request, load, wait.is_lent) {
            Ok(offer) => offer,
            Err(error) => return Heard::Answer(Err(error)),
        };
        steps::reach(Step::Lent);
        // Before it is posted: it may come home at once.
        let lending = Lending::begin(offer, &wait, self.home_key);
        words::post(
            self.posted(self.side, looper),
            slot,
            || self.face.load(looper_sleeps(looper), SeqCst) != 0,
            || self.bells[looper].ring(),
        );
        steps::reach(Step::Posted);
        self.listen(link, slot, tid, lending, reply, wait)
    }

    /// Asks a looper that is kept for real time, whatever the caller is; says whether it declined.
    #[cfg(test)]
    pub(super) fn claim_for_test(&self, link: &Arc<Link>, request: Header) -> bool {
        let mut reply = Parcel::new();
        let data = Parcel::new();
        let wait = Wait {
            place: chain::place(),
            due_ns: None,
            is_lent: true,
        };
        let heard = self.call_in(link, 0, request, Load::of(&data), &mut reply, true, wait);
        matches!(heard, Heard::Declined)
    }

    /// A call that says that it is of a chain, whatever it is.
    #[cfg(test)]
    pub(super) fn call_of_chain(
        &self,
        link: &Arc<Link>,
        target: u64,
        chain: chain::Chain,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let request = Header {
            target,
            code: crate::node::codes::FIRST,
            tid: rt::sys::tid::current(),
            chain,
            ..Header::default()
        };
        let wait = Wait {
            place: chain::place(),
            due_ns: Some(super::hostile::due_ns()),
            is_lent: true,
        };
        let limits = Limits::new();
        self.call(link, &limits, request, &Parcel::new(), reply, wait)
    }

    /// Caller: writes its next message, listens, and offers its priority to the looper.
    fn say(
        &self,
        link: &Arc<Link>,
        slot: usize,
        tid: Tid,
        message: Header,
        load: Load<'_>,
        is_lent: bool,
    ) -> Result<Offer<'_, Shared>, CallError> {
        let sequence = self.sequences[slot].load(Relaxed).wrapping_add(1);
        let message = Header {
            sequence,
            ..message
        };
        self.write(link, Area::Requests, slot, message, load)?;
        self.sequences[slot].store(sequence, Relaxed);
        words::open(self.turn(self.side, slot));
        let offer = self.lock(self.side, slot).offer(tid, is_lent);
        offer.map_err(|_| self.broken(link, Gone::Broken))
    }

    /// Caller: waits for the answer to its last request, and serves what is asked meanwhile.
    fn listen<'a>(
        &'a self,
        link: &Arc<Link>,
        slot: usize,
        tid: Tid,
        mut lending: Lending<'a>,
        reply: &mut Parcel,
        mut wait: Wait,
    ) -> Heard {
        let mut answer = Parcel::new();
        loop {
            match self.wait(link, &lending, tid, wait.due_ns) {
                Ok(()) => lending.end(),
                Err(CallError::TimedOut) => {
                    if words::abandon(self.turn(self.side, slot)) {
                        return Heard::Late;
                    }
                    // A call back is on its way.
                    wait.due_ns = None;
                    continue;
                }
                Err(error) => return Heard::Answer(Err(error)),
            }
            steps::reach(Step::Heard);
            let heard = self.header(Area::Answers, slot);
            let sequence = self.sequences[slot].load(Relaxed);
            let Some(header) = heard.filter(|it| it.sequence == sequence) else {
                return Heard::Answer(Err(self.broken(link, Gone::Broken)));
            };
            match header.kind {
                Kind::Declined => return Heard::Declined,
                Kind::Limited => return Heard::Limited(Urgency::new(header.claim)),
                Kind::Answer => {
                    let outcome = CallError::of_status(header.status);
                    let mut read =
                        || self.read(link, Area::Answers, slot, &header, reply, wait.due_ns);
                    let outcome = outcome.and_then(|()| read());
                    steps::reach(Step::Read);
                    return Heard::Answer(outcome);
                }
                Kind::Request => {
                    let waiting = Waiting {
                        link: link.number,
                        tid,
                        conversation: Conversation::Caller(slot),
                    };
                    let asked = Asked {
                        area: Area::Answers,
                        slot,
                        header: &header,
                        node: link.node(header.target),
                        waits: Waits::For(waiting),
                        copied: None,
                        begun_ns: None,
                        granted: Urgency::ORDINARY,
                    };
                    let message = self.serve(link, asked, &mut answer);
                    let load = Load::of(&answer);
                    match self.hand_to_looper(link, slot, tid, message, load, &wait) {
                        Ok(next) => lending = next,
                        Err(error) => return Heard::Answer(Err(error)),
                    }
                }
            }
        }
    }

    /// Caller: its next message, while the looper waits for it.
    fn hand_to_looper(
        &self,
        link: &Arc<Link>,
        slot: usize,
        tid: Tid,
        message: Header,
        load: Load<'_>,
        wait: &Wait,
    ) -> Result<Lending<'_>, CallError> {
        let offer = match self.say(link, slot, tid, message, load, wait.is_lent) {
            Err(error) if !link.is_dead() && message.kind == Kind::Answer => {
                let message = Header {
                    status: error.status(),
                    ..message
                };
                self.say(
                    link,
                    slot,
                    tid,
                    message,
                    Load::of(&Parcel::new()),
                    wait.is_lent,
                )?
            }
            said => said?,
        };
        steps::reach(Step::HandedOver);
        let lending = Lending::begin(offer, wait, self.home_key);
        if !self.back(self.side, slot).give() {
            return Err(self.broken(link, Gone::Broken));
        }
        Ok(lending)
    }

    /// Calls the thread that waits for this one.
    fn call_back(
        &self,
        link: &Arc<Link>,
        waiting: Waiting,
        request: Header,
        load: Load<'_>,
        reply: &mut Parcel,
        wait: Wait,
    ) -> Result<(), CallError> {
        let wait = Wait {
            due_ns: None,
            ..wait
        };
        match waiting.conversation {
            Conversation::Caller(slot) => {
                let tid = waiting.tid;
                let lending = self.hand_to_looper(link, slot, tid, request, load, &wait)?;
                match self.listen(link, slot, tid, lending, reply, wait) {
                    Heard::Answer(outcome) => outcome,
                    Heard::Declined | Heard::Limited(_) | Heard::Late => {
                        Err(self.broken(link, Gone::Broken))
                    }
                }
            }
            Conversation::Looper(slot) => {
                self.call_caller(link, slot, waiting.tid, request, load, reply, &wait)
            }
        }
    }

    /// Looper: calls the caller that it serves.
    #[expect(clippy::too_many_arguments, reason = "a call has as many parts")]
    fn call_caller(
        &self,
        link: &Arc<Link>,
        slot: usize,
        tid: Tid,
        request: Header,
        load: Load<'_>,
        reply: &mut Parcel,
        wait: &Wait,
    ) -> Result<(), CallError> {
        let mut lending = self.hand_to_caller(link, slot, tid, request, load, wait)?;
        let mut answer = Parcel::new();
        loop {
            self.wait(link, &lending, tid, None)?;
            lending.end();
            let last = self.heard[slot].load(Relaxed);
            let heard = self.header(Area::Requests, slot);
            let is_next = |it: &Header| it.sequence == last.wrapping_add(1);
            let Some(header) = heard.filter(is_next) else {
                return Err(self.broken(link, Gone::Broken));
            };
            self.heard[slot].store(header.sequence, Relaxed);
            match header.kind {
                Kind::Answer => {
                    CallError::of_status(header.status)?;
                    return self.read(link, Area::Requests, slot, &header, reply, None);
                }
                Kind::Request => {
                    let waiting = Waiting {
                        link: link.number,
                        tid,
                        conversation: Conversation::Looper(slot),
                    };
                    let asked = Asked {
                        area: Area::Requests,
                        slot,
                        header: &header,
                        node: link.node(header.target),
                        waits: Waits::For(waiting),
                        copied: None,
                        begun_ns: None,
                        granted: Urgency::ORDINARY,
                    };
                    let message = self.serve(link, asked, &mut answer);
                    let load = Load::of(&answer);
                    lending = self.hand_to_caller(link, slot, tid, message, load, wait)?;
                }
                Kind::Declined | Kind::Limited => {
                    return Err(self.broken(link, Gone::Broken));
                }
            }
        }
    }

    /// Looper: a message that is not its last, while the caller waits for it.
    fn hand_to_caller(
        &self,
        link: &Arc<Link>,
        slot: usize,
        tid: Tid,
        message: Header,
        load: Load<'_>,
        wait: &Wait,
    ) -> Result<Lending<'_>, CallError> {
        let side = self.other();
        let refused = |error| {
            link.forget(load.tickets);
            Err(error)
        };
        // Or our priority would go to whomever the other end names.
        if !self.peer.has_thread(tid) {
            return refused(CallError::DeadObject);
        }
        if !words::take_turn(self.turn(side, slot)) {
            return refused(CallError::TimedOut);
        }
        let message = Header {
            sequence: self.heard[slot].load(Relaxed),
            ..message
        };
        let mut written = self.write(link, Area::Answers, slot, message, load);
        if let Err(error) = written
            && message.kind == Kind::Answer
        {
            let status = error.status();
            self.write_status(Area::Answers, slot, Header { status, ..message });
            written = Ok(());
        }
        if let Err(error) = written {
            words::open(self.turn(side, slot));
            return Err(error);
        }
        let offer = self.back(side, slot).offer(tid, wait.is_lent);
        let offer = offer.map_err(|_| self.broken(link, Gone::Broken))?;
        steps::reach(Step::LentBack);
        let lending = Lending::begin(offer, wait, self.home_key);
        if !self.lock(side, slot).give() {
            return Err(self.broken(link, Gone::Broken));
        }
        steps::reach(Step::CalledBack);
        Ok(lending)
    }

    /// Runs what a message asks for; gives the message that answers it, whose parcel is `answer`.
    pub(super) fn serve(&self, link: &Arc<Link>, asked: Asked<'_>, answer: &mut Parcel) -> Header {
        let Asked {
            area,
            slot,
            header,
            node,
            waits,
            copied,
            begun_ns,
            granted,
        } = asked;
        let claim = match area {
            Area::Requests => Urgency::new(header.claim),
            // Of a call back: as urgent as the call that it belongs to.
            Area::Answers => serving::claim(),
        };
        let copy = || self.copy(link, area, slot, header, message::take_parcel());
        let Copied {
            parcel: mut data,
            outcome: read,
        } = copied.unwrap_or_else(copy);
        let outcome = read.and_then(|()| {
            let _scope = serving::enter(Serving {
                caller: link.peer,
                claim,
                granted,
                waits,
                chain: Some(header.chain),
            });
            if header.target == OWN {
                return link.answer_own(header.code, &mut data, answer);
            }
            let call = Call {
                caller: link.peer,
                is_oneway: false,
                begun_ns,
            };
            let node = node.ok_or(CallError::DeadObject)?;
            node.run(&call, header.code, &mut data, answer)
        });
        steps::reach(Step::Served);
        message::give_parcel(data);
        if outcome.is_err() {
            answer.clear();
        }
        Header {
            kind: Kind::Answer,
            status: outcome.map_or_else(CallError::status, |()| 0),
            ..Header::default()
        }
    }

    /// Looper: its last message.
    pub(super) fn write_answer(&self, link: &Link, slot: usize, message: Header, answer: &Parcel) {
        let message = Header {
            sequence: self.heard[slot].load(Relaxed),
            ..message
        };
        let written = self.write(link, Area::Answers, slot, message, Load::of(answer));
        if let Err(error) = written {
            let status = error.status();
            self.write_status(Area::Answers, slot, Header { status, ..message });
        }
    }

    /// Waits until a loan comes back, and looks from time to time whether it still can. Serves
    /// calls that come home meanwhile.
    fn wait(
        &self,
        link: &Link,
        lending: &Lending<'_>,
        tid: Tid,
        due_ns: Option<u64>,
    ) -> Result<(), CallError> {
        if self.spin_ns > 0 {
            let end_ns = Monotonic.now_ns() + self.spin_ns;
            // What it saw the wait sees again.
            lending.spin_until(due_ns.map_or(end_ns, |it| it.min(end_ns)));
        }
        loop {
            let look_ns = Monotonic.now_ns() + LOOK_NS;
            let until_ns = due_ns.map_or(look_ns, |due_ns| due_ns.min(look_ns));
            match lending.look_until(until_ns) {
                Ok(()) => return Ok(()),
                Err(LendError::TimedOut) if lending.serve() => {}
                Err(LendError::TimedOut) => {
                    if link.is_dead() {
                        return Err(CallError::DeadObject);
                    }
                    if self.peer.has_ended() || !self.peer.has_thread(tid) {
                        return Err(self.broken(link, Gone::Closed));
                    }
                }
                Err(LendError::BorrowerDied) => return Err(self.broken(link, Gone::Closed)),
                // A number that was used again may close a circle that nobody opens.
                Err(LendError::Circle) if link.is_dead() => return Err(CallError::DeadObject),
                Err(LendError::Circle) => {
                    // Threads that wait for each other: one of them may give up.
                    let again_ns = Monotonic.now_ns() + CIRCLE_NS;
                    Monotonic.sleep_until(due_ns.map_or(again_ns, |it| it.min(again_ns)));
                }
                Err(LendError::Busy | LendError::Broken(_)) => {
                    return Err(self.broken(link, Gone::Broken));
                }
            }
            if due_ns.is_some_and(|due_ns| due_ns <= Monotonic.now_ns()) {
                return Err(CallError::TimedOut);
            }
        }
    }
}
