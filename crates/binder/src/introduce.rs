// SPDX-License-Identifier: Apache-2.0
//! References to nodes of third processes. A holds a node of C's and passes it to B. A tells C;
//! C counts the node up for B, and tells B which one it is under the [`Ticket`] that A made; B
//! takes it by that ticket when it reads A's parcel. So B believes C alone, and C knows B by the
//! kernel's word.
//!
//! Who asks waits for the third process, who serves does not: a request goes when C has told B; an
//! answer goes at once, and its reader waits for C. Where B and C have no link, A brings them
//! together: docs/internals/binder.md has that.

// No lock is held while a parcel, a node or a proxy is dropped, or while anything is sent.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use parcel::Object;
use rt::clock::{Clock, Monotonic};
use rt::socket::Socket;
use rt::sync::PiMutex;

use crate::Parcel;
use crate::binder::Binder;
use crate::error::CallError;
use crate::lent::Side;
use crate::link::{BEHIND, CODE_GRANT, CODE_MEET, Goal, Link, OWN};
use crate::node::Node;
use crate::process::Inner;
use crate::proxy::Proxy;

/// How long who asks waits for a third process.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Between looks; first contacts alone need more than one.
const LOOK_NS: u64 = 200_000;
/// Between attempts to bring two processes together.
const MEET_NS: u64 = 100_000_000;
/// Grants of one introducer that nobody has taken: what is more replaces the oldest.
pub(crate) const GRANTS_MAX: usize = 1024;
/// Nodes that one process may have passed on to processes that are not linked yet.
const PENDING_MAX: usize = 64;
/// References to nodes of third processes in one parcel.
const TICKETS_MAX: usize = 64;
/// The ticket to a process that has ended.
const DEAD: u64 = 0;

/// One count for the program: those who pass on are known by their program.
static TICKETS: AtomicU64 = AtomicU64::new(DEAD + 1);

/// A process, as others name it to each other: its number, and a number that it drew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) pid: i32,
    pub(crate) key: u64,
}

pub(crate) const WHO_BYTES: usize = 12;

impl Who {
    pub(crate) fn to_bytes(self) -> [u8; WHO_BYTES] {
        let mut bytes = [0; WHO_BYTES];
        bytes[..4].copy_from_slice(&self.pid.to_le_bytes());
        bytes[4..].copy_from_slice(&self.key.to_le_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; WHO_BYTES]) -> Self {
        let (pid, key) = bytes.split_first_chunk().expect("four of twelve");
        Self {
            pid: i32::from_le_bytes(*pid),
            key: u64::from_le_bytes(*key.first_chunk().expect("eight of twelve")),
        }
    }
}

/// What a parcel names a third process's node by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Whose node it is.
    pub(crate) who: Who,
    pub(crate) number: u64,
}

impl Ticket {
    /// A new one; of a process that has ended, none.
    fn to(link: &Link) -> Self {
        let number = match link.is_dead() {
            true => DEAD,
            false => TICKETS.fetch_add(1, Relaxed),
        };
        Self {
            who: link.who,
            number,
        }
    }
}

/// A node that one end passes on: the number by which it has it, to whom, under which ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) number: u64,
    pub(crate) to: Who,
    pub(crate) ticket: u64,
}

pub(crate) const PASS_BYTES: usize = 16 + WHO_BYTES;

impl Pass {
    pub(crate) fn to_bytes(self) -> [u8; PASS_BYTES] {
        let mut bytes = [0; PASS_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.ticket.to_le_bytes());
        bytes[16..].copy_from_slice(&self.to.to_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; PASS_BYTES]) -> Self {
        let long = |at: usize| {
            let bytes = bytes[at..].first_chunk().expect("inside");
            u64::from_le_bytes(*bytes)
        };
        Self {
            number: long(0),
            ticket: long(8),
            to: Who::parse(bytes[16..].first_chunk().expect("the rest")),
        }
    }
}

/// A node that the other end was given because somebody passed it on: the number that it has at
/// this link, who passed it on, and the ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) number: u64,
    pub(crate) from: i32,
    pub(crate) ticket: u64,
}

/// Grants that nobody has taken, of one link: the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Grants(Vec<Grant>);

impl Grants {
    /// One more; gives the number that it replaces, which is to be let go.
    pub(crate) fn add(&mut self, grant: Grant) -> Option<u64> {
        let of_same = || self.0.iter().filter(|it| it.from == grant.from).count();
        let oldest = (of_same() >= GRANTS_MAX)
            .then(|| self.0.iter().position(|it| it.from == grant.from))
            .flatten();
        let replaced = oldest.map(|index| self.0.remove(index).number);
        self.0.push(grant);
        replaced
    }

    /// The number that a ticket is for.
    pub(crate) fn take(&mut self, from: i32, ticket: u64) -> Option<u64> {
        let is_it = |it: &Grant| it.from == from && it.ticket == ticket;
        let index = self.0.iter().position(is_it)?;
        Some(self.0.remove(index).number)
    }

    /// The numbers of those whose introducer is nobody any more.
    pub(crate) fn take_stale(&mut self, is_known: impl Fn(i32) -> bool) -> Vec<u64> {
        let (stay, stale) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|it| is_known(it.from));
        self.0 = stay;
        stale.into_iter().map(|it: Grant| it.number).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a process keeps for tickets.
#[derive(Default)]
pub(crate) struct Passed {
    /// Nodes of this program that others passed on to this process.
    kept: PiMutex<Vec<(i32, u64, Binder)>>,
    /// Its own, for processes that it has no link with yet.
    pending: PiMutex<Vec<Pending>>,
}

#[derive(Clone)]
struct Pending {
    to: Who,
    /// The link over which it was passed on.
    link: u64,
    from: i32,
    ticket: u64,
    node: Arc<Node>,
    due_ns: u64,
}

impl Passed {
    /// Keeps a node of this program under its ticket. One more than an introducer may have here
    /// replaces its own oldest.
    pub(crate) fn keep(&self, from: i32, ticket: u64, binder: Binder) {
        let mut kept = self.kept.lock();
        let is_full = kept.iter().filter(|it| it.0 == from).count() >= GRANTS_MAX;
        let oldest = is_full
            .then(|| kept.iter().position(|it| it.0 == from))
            .flatten()
            .map(|index| kept.remove(index));
        kept.push((from, ticket, binder));
        drop(kept);
        drop(oldest);
    }

    fn take(&self, from: i32, ticket: u64) -> Option<Binder> {
        let mut kept = self.kept.lock();
        let index = kept.iter().position(|it| (it.0, it.1) == (from, ticket))?;
        Some(kept.remove(index).2)
    }

    /// What is kept for introducers that are nobody any more, to be dropped.
    fn take_stale(&self, is_known: impl Fn(i32) -> bool) -> impl Sized {
        let mut kept = self.kept.lock();
        let (stay, stale): (Vec<_>, Vec<_>) = kept.drain(..).partition(|it| is_known(it.0));
        *kept = stay;
        stale
    }

    /// Everything, to be dropped.
    pub(crate) fn take_all(&self) -> impl Sized {
        let kept = std::mem::take(&mut *self.kept.lock());
        let pending = std::mem::take(&mut *self.pending.lock());
        (kept, pending)
    }
}

impl Inner {
    pub(crate) fn who(&self) -> Who {
        Who {
            pid: std::process::id().cast_signed(),
            key: self.key,
        }
    }

    /// Gives a node to a process, under a ticket; `false` if there is no link with it yet, or no
    /// room.
    fn grant(&self, node: &Arc<Node>, pass: &Pass, from: i32) -> Result<bool, CallError> {
        if pass.to == self.who() {
            let binder = Binder::Local(Arc::clone(node));
            self.passed.keep(from, pass.ticket, binder);
            return Ok(true);
        }
        let Some(link) = self.ready_link(pass.to) else {
            return Ok(false);
        };
        match link.grant(node, from, pass.ticket) {
            Ok(()) => Ok(true),
            Err(CallError::QueueFull) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The same as soon as it can be; `false` if too many wait.
    fn grant_later(&self, node: &Arc<Node>, pass: &Pass, link: &Link) -> bool {
        if !matches!(self.grant(node, pass, link.who.pid), Ok(false)) {
            return true;
        }
        let mut pending = self.passed.pending.lock();
        let of_link = pending.iter().filter(|it| it.link == link.number);
        if of_link.count() >= PENDING_MAX {
            return false;
        }
        pending.push(Pending {
            to: pass.to,
            link: link.number,
            from: link.who.pid,
            ticket: pass.ticket,
            node: Arc::clone(node),
            due_ns: Monotonic.now_ns() + PATIENCE_NS,
        });
        drop(pending);
        self.door.ring();
        true
    }

    /// Grants what waits for a link; when to look again, if something still waits.
    pub(crate) fn grant_pending(&self) -> Option<u64> {
        let all = std::mem::take(&mut *self.passed.pending.lock());
        let now_ns = Monotonic.now_ns();
        let mut wait = Vec::new();
        for it in all {
            let pass = Pass {
                number: OWN,
                to: it.to,
                ticket: it.ticket,
            };
            let is_over = it.due_ns <= now_ns;
            if !is_over && matches!(self.grant(&it.node, &pass, it.from), Ok(false)) {
                wait.push(it);
            }
        }
        let again_ns = wait.iter().map(|it| it.due_ns).min();
        self.passed.pending.lock().extend(wait);
        again_ns
    }

    /// What a ticket is for, if its owner has said so.
    fn claim(&self, from: i32, ticket: Ticket) -> Option<Binder> {
        self.passed.take(from, ticket.number).or_else(|| {
            let links = self.lents.all();
            let mut of_owner = links.iter().filter(|(link, _)| link.who == ticket.who);
            of_owner.find_map(|(link, lent)| lent.claim(link, from, ticket.number))
        })
    }

    /// Lets go what was granted for introducers that are no more.
    pub(crate) fn drop_stale_grants(&self) {
        let is_known = |pid| self.any_link(|it| it.who.pid == pid);
        drop(self.passed.take_stale(is_known));
        for (link, lent) in self.lents.all() {
            for number in lent.take_stale_grants(is_known) {
                drop(link.proxy(number));
            }
        }
    }
}

impl Link {
    /// The proxies of third processes in a parcel that goes to this one, in order.
    fn thirds<'a>(&self, parcel: &'a Parcel) -> impl Iterator<Item = &'a Arc<Proxy>> + use<'a> {
        let number = self.number;
        parcel.objects().filter_map(move |object| match object {
            Object::Binder(Binder::Remote(proxy)) if proxy.link.number != number => Some(proxy),
            _ => None,
        })
    }

    /// Has each third process tell the other end of what a request names; waits for that.
    pub(crate) fn introduce(
        self: &Arc<Self>,
        parcel: &Parcel,
        due_ns: Option<u64>,
    ) -> Result<Vec<Ticket>, CallError> {
        let mut tickets = Vec::new();
        if self.thirds(parcel).next().is_none() {
            return Ok(tickets);
        }
        let end_ns = patience(due_ns);
        for proxy in self.thirds(parcel) {
            let outcome = match tickets.len() {
                TICKETS_MAX.. => Err(CallError::TooLarge),
                _ => self.introduce_one(proxy, end_ns),
            };
            match outcome {
                Ok(ticket) => tickets.push(ticket),
                Err(error) => {
                    self.forget(&tickets);
                    return Err(error);
                }
            }
        }
        Ok(tickets)
    }

    fn introduce_one(self: &Arc<Self>, proxy: &Proxy, end_ns: u64) -> Result<Ticket, CallError> {
        let ticket = Ticket::to(&proxy.link);
        let pass = Pass {
            number: proxy.number,
            to: self.who,
            ticket: ticket.number,
        };
        if ticket.number == DEAD {
            return Ok(ticket);
        }
        let mut meet_ns = 0;
        loop {
            match proxy.link.ask_to_grant(&pass, end_ns) {
                Ok(true) => return Ok(ticket),
                Ok(false) => {}
                Err(CallError::DeadObject) if proxy.link.is_dead() => {
                    return Ok(Ticket {
                        number: DEAD,
                        ..ticket
                    });
                }
                Err(error) => return Err(error),
            }
            let now_ns = Monotonic.now_ns();
            if end_ns <= now_ns {
                return Err(CallError::TimedOut);
            }
            if self.is_dead() {
                return Err(CallError::DeadObject);
            }
            if meet_ns <= now_ns {
                // One that has no room is told again, and an end is seen by the next call.
                let _ = bring_together(self, &proxy.link);
                meet_ns = now_ns + MEET_NS;
            }
            Monotonic.sleep_until(now_ns + LOOK_NS);
        }
    }

    fn ask_to_grant(self: &Arc<Self>, pass: &Pass, end_ns: u64) -> Result<bool, CallError> {
        if !self.introduces() {
            return Err(CallError::NotSupported(BEHIND));
        }
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write(&pass.to_bytes())?;
        self.call(Goal::own(CODE_GRANT), &mut data, &mut reply, Some(end_ns))?;
        Ok(reply.read_i32() == Some(1))
    }

    /// Answers that.
    pub(crate) fn answer_grant(
        &self,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let pass = Pass::parse(&data.read_array().ok_or(CallError::BadParcel)?);
        let node = self.exports.lock().get(pass.number);
        let node = node.ok_or(CallError::BadParcel)?;
        let home = self.home.upgrade().ok_or(CallError::DeadObject)?;
        let is_granted = home.grant(&node, &pass, self.who.pid)?;
        Ok(reply.write_i32(i32::from(is_granted))?)
    }

    /// Tickets for an answer; nobody knows of them yet.
    pub(crate) fn tickets(&self, parcel: &Parcel) -> Result<Vec<Ticket>, CallError> {
        let tickets: Vec<_> = self.thirds(parcel).map(|it| Ticket::to(&it.link)).collect();
        if tickets.len() > TICKETS_MAX {
            return Err(CallError::TooLarge);
        }
        Ok(tickets)
    }

    /// Tells each third process of them. Waits for nobody.
    pub(crate) fn announce(&self, parcel: &Parcel, tickets: &[Ticket]) -> Result<(), CallError> {
        for (proxy, ticket) in self.thirds(parcel).zip(tickets) {
            let pass = Pass {
                number: proxy.number,
                to: self.who,
                ticket: ticket.number,
            };
            match ticket.number {
                DEAD => {}
                _ => match proxy.link.pass(pass) {
                    // Its owner ended: the ticket's reader learns that.
                    Err(CallError::DeadObject) => {}
                    outcome => outcome?,
                },
            }
        }
        Ok(())
    }

    /// The other end passes one of our nodes on, and does not wait; `None` where it cannot have it.
    pub(crate) fn passed_on(&self, pass: &Pass) -> Option<()> {
        let node = self.exports.lock().get(pass.number)?;
        let home = self.home.upgrade()?;
        // One that passes on more than may wait loses it.
        home.grant_later(&node, pass, self);
        Some(())
    }

    /// Counts a node up for the other end, and tells it under which ticket.
    fn grant(&self, node: &Arc<Node>, from: i32, ticket: u64) -> Result<(), CallError> {
        let number = self.exports.lock().add(node);
        let grant = Grant {
            number: number.ok_or(CallError::QueueFull)?,
            from,
            ticket,
        };
        let told = self.tell_of_grant(grant);
        if told.is_err() {
            self.unname(&[grant.number]);
        }
        told
    }

    /// What the other end names by a ticket. With an end this waits for the owner, and has the
    /// other end bring both together. An owner that has ended, or never said so, is a dead proxy.
    pub(crate) fn claim(
        self: &Arc<Self>,
        ticket: Ticket,
        end_ns: Option<u64>,
    ) -> Result<Binder, CallError> {
        let home = self.home.upgrade().ok_or(CallError::DeadObject)?;
        let dead = || Ok(Binder::Remote(Self::dead(&self.home)));
        if ticket.number == DEAD {
            return dead();
        }
        let mut meet_ns = 0;
        loop {
            if let Some(binder) = home.claim(self.who.pid, ticket) {
                return Ok(binder);
            }
            let Some(end_ns) = end_ns else {
                return dead();
            };
            let now_ns = Monotonic.now_ns();
            if end_ns <= now_ns {
                return Err(CallError::TimedOut);
            }
            if home.ready_link(ticket.who).is_none() && meet_ns <= now_ns {
                if !self.ask_to_meet(ticket.who, end_ns)? {
                    return dead();
                }
                meet_ns = now_ns + MEET_NS;
            }
            Monotonic.sleep_until(now_ns + LOOK_NS);
        }
    }

    /// `false` if the other end knows no such process any more.
    fn ask_to_meet(self: &Arc<Self>, who: Who, end_ns: u64) -> Result<bool, CallError> {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write(&who.to_bytes())?;
        self.call(Goal::own(CODE_MEET), &mut data, &mut reply, Some(end_ns))?;
        Ok(reply.read_i32() == Some(1))
    }

    /// Answers that.
    pub(crate) fn answer_meet(
        &self,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let who = Who::parse(&data.read_array().ok_or(CallError::BadParcel)?);
        let home = self.home.upgrade().ok_or(CallError::DeadObject)?;
        let met = home.ready_link(who).map(|it| bring_together(self, &it));
        // One that has ended may not be known to have; one without room is told again.
        let is_there = met.is_some_and(|it| it != Err(CallError::DeadObject));
        Ok(reply.write_i32(i32::from(is_there))?)
    }

    /// Tickets that no parcel names after all.
    pub(crate) fn forget(&self, tickets: &[Ticket]) {
        for &ticket in tickets.iter().filter(|it| it.number != DEAD) {
            self.tell_to_forget(ticket);
        }
    }

    /// The other end has made a ticket that it does not use.
    pub(crate) fn forgotten(&self, ticket: Ticket) {
        if let Some(home) = self.home.upgrade() {
            drop(home.claim(self.who.pid, ticket));
        }
    }
}

/// Until when who asks waits for a third process.
pub(crate) fn patience(due_ns: Option<u64>) -> u64 {
    let end_ns = Monotonic.now_ns() + PATIENCE_NS;
    due_ns.map_or(end_ns, |it| it.min(end_ns))
}

/// Gives two processes that this one knows a socket to find each other by. Waits for nobody.
fn bring_together(one: &Link, other: &Link) -> Result<(), CallError> {
    let (near, far) = Socket::pair().map_err(|_| CallError::QueueFull)?;
    one.meet(near.into_fd(), other.who, Side::Caller)?;
    other.meet(far.into_fd(), one.who, Side::Listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_read_as_it_was_written() {
        let to = Who {
            pid: 77,
            key: u64::MAX - 1,
        };
        let pass = Pass {
            number: 1 << 40,
            to,
            ticket: 9,
        };
        assert_eq!(Pass::parse(&pass.to_bytes()), pass);
    }

    #[test]
    fn grants_of_one_introducer_replace_its_own_alone() {
        let mut grants = Grants::default();
        let grant = |from, ticket| Grant {
            number: ticket,
            from,
            ticket,
        };
        assert_eq!(grants.add(grant(1, 7)), None);
        for ticket in 0..GRANTS_MAX as u64 {
            assert_eq!(grants.add(grant(2, ticket)), None);
        }
        assert_eq!(grants.add(grant(2, 5000)), Some(0));
        assert_eq!(grants.take(2, 7), Some(7));
        assert_eq!(grants.take(1, 7), Some(7));
        assert_eq!(grants.take(1, 7), None);
        assert_eq!(grants.take_stale(|pid| pid != 2).len(), GRANTS_MAX - 1);
        assert!(grants.is_empty());
    }

    #[test]
    fn what_is_kept_of_one_introducer_replaces_its_own_alone() {
        let passed = Passed::default();
        let binder = Binder::Remote(Link::dead(&std::sync::Weak::new()));
        passed.keep(1, 7, binder.clone());
        for ticket in 0..=GRANTS_MAX as u64 {
            passed.keep(2, ticket, binder.clone());
        }
        assert!(passed.take(2, 0).is_none(), "its own oldest");
        assert!(passed.take(1, 7).is_some(), "another's");
        drop(passed.take_stale(|pid| pid != 2));
        assert!(passed.take(2, 5).is_none());
    }
}
