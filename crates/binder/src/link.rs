// SPDX-License-Identifier: Apache-2.0
//! [`Link`]: one end of what joins two processes: what the other end was given, what it gave, and
//! whether it lives. How calls travel is the [`Transport`]'s.

// Lock order: a node's oneways, proxies, exports; none is held while a node runs, a transport
// sends, or anything is dropped.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock, Weak};

use parcel::{FlatObject, Kind, Object, Wire};
use rt::sync::PiMutex;

use crate::Parcel;
use crate::binder::Binder;
use crate::error::CallError;
use crate::exports::Exports;
use crate::introduce::{Grant, Pass, Ticket, Who};
use crate::lent::Side;
use crate::limits::Limits;
use crate::node::Node;
use crate::out::CallsOut;
use crate::process::Inner;
use crate::proxy::Proxy;
use crate::serving::Caller;

/// The number by which the ends of a link talk to each other; no node has it.
pub(crate) const OWN: u64 = 0;
/// Codes of [`OWN`]: the other end's first node; a node by a weak reference's number.
pub(crate) const CODE_ROOT: u32 = 1;
pub(crate) const CODE_REVIVE: u32 = 2;
/// A node of its own, given to a third process; a third process, brought together with the asker.
pub(crate) const CODE_GRANT: u32 = 3;
pub(crate) const CODE_MEET: u32 = 4;

/// References that one end lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Counted references, and whether a weak one stays.
    Strong { count: u64, keeps_weak: bool },
    /// The weak one.
    Weak,
}

/// A node that the thread has called before.
#[derive(Default)]
struct Found {
    link: u64,
    number: u64,
    let_go: u64,
    node: Weak<Node>,
}

const FOUND_MAX: usize = 8;

thread_local! {
    static FOUND: RefCell<[Found; FOUND_MAX]> = RefCell::default();
}

/// What becomes of references to third processes in a parcel that goes. A ticket travels as a
/// [`Kind::WeakBinder`]: flags, number and cookie; what is handed on as a [`Kind::WeakHandle`].
pub(crate) enum Thirds<'a> {
    /// They are refused.
    Refused,
    /// They have tickets, in order.
    Ticketed(&'a [Ticket]),
    /// The proxies themselves go: both ends are in one program.
    Handed(&'a mut Vec<Binder>),
}

/// How the same are found.
pub(crate) enum Finds<'a> {
    /// There are none.
    None,
    /// What is not there by now never will be.
    AtOnce,
    /// Who waits for the parcel waits for them, until then.
    Until(u64),
    /// As they were handed on.
    Handed(&'a [Binder]),
}

/// What a call is for, and how far it lends.
#[derive(Clone, Copy)]
pub(crate) struct Goal<'a> {
    pub(crate) target: u64,
    pub(crate) code: u32,
    pub(crate) limits: &'a Limits,
}

impl Goal<'static> {
    /// The other end itself.
    pub(crate) fn own(code: u32) -> Self {
        static LIMITS: Limits = Limits::new();
        Self {
            target: OWN,
            code,
            limits: &LIMITS,
        }
    }
}

/// How calls travel.
pub(crate) trait Transport: Send + Sync {
    fn name(&self) -> &'static str;

    fn call(
        &self,
        link: &Arc<Link>,
        goal: Goal<'_>,
        data: &mut Parcel,
        reply: &mut Parcel,
        due_ns: Option<u64>,
    ) -> Result<(), CallError>;

    fn send(
        &self,
        link: &Arc<Link>,
        target: u64,
        code: u32,
        data: &Parcel,
    ) -> Result<(), CallError>;

    /// Tells the other end; never fails and never waits.
    fn release(&self, number: u64, release: Release);

    /// A call without an answer was served: its sender may send one more.
    fn served(&self) {}

    /// There is a proxy of this number now; [`Self::release`] when it goes.
    fn adopt(&self, _number: u64) {}

    /// A proxy wants to be told of its node's death.
    fn watch(&self, _number: u64) {}

    /// It goes, or does not want to any more.
    fn unwatch(&self, _number: u64) {}

    /// Whether the other end introduces third processes.
    fn introduces(&self) -> bool {
        false
    }

    /// The other end is to give a node of its own to a third process. Never waits.
    fn pass(&self, _pass: Pass) -> Result<(), CallError> {
        Err(CallError::NotSupported(BEHIND))
    }

    /// The other end is to find a third process at a socket. Never waits.
    fn meet(&self, _socket: OwnedFd, _who: Who, _side: Side) -> Result<(), CallError> {
        Err(CallError::NotSupported(BEHIND))
    }

    /// The other end was given a node that somebody passed on. Never waits.
    fn grant(&self, _grant: Grant) -> Result<(), CallError> {
        Err(CallError::NotSupported(BEHIND))
    }

    /// The other end forgets a ticket. Never waits.
    fn forget(&self, _ticket: Ticket) {}

    /// The link is dead: the other end is told, and sleepers wake.
    fn end(&self, link: &Link);
}

/// What a transport refuses by default.
pub(crate) const BEHIND: &str = "a reference to a node behind another transport";

pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) home: Weak<Inner>,
    pub(crate) peer: Caller,
    /// The same, as third processes name it.
    pub(crate) who: Who,
    /// The link whose other end brought both together.
    pub(crate) introducer: Option<u64>,
    /// Whether the other end hears what is told it.
    is_ready: AtomicBool,
    transport: OnceLock<Box<dyn Transport>>,
    pub(crate) exports: PiMutex<Exports>,
    /// Apart from the lock: an urgent call waits for no other's look at it.
    calls: CallsOut,
    /// How often something was let go: until then a node that was found may be found again.
    let_go: AtomicU64,
    proxies: PiMutex<Proxies>,
    is_dead: AtomicBool,
    is_buried: AtomicBool,
}

#[derive(Default)]
struct Proxies {
    live: HashMap<u64, Weak<Proxy>>,
    weak: HashMap<u64, u64>,
}

impl Link {
    pub(crate) fn new(
        number: u64,
        home: Weak<Inner>,
        peer: Caller,
        who: Who,
        introducer: Option<u64>,
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            home,
            peer,
            who,
            introducer,
            is_ready: AtomicBool::new(false),
            transport: OnceLock::new(),
            exports: PiMutex::default(),
            calls: CallsOut::default(),
            let_go: AtomicU64::new(0),
            proxies: PiMutex::default(),
            is_dead: AtomicBool::new(false),
            is_buried: AtomicBool::new(false),
        })
    }

    /// A proxy of a node whose process had ended before there was a link with it.
    pub(crate) fn dead(home: &Weak<Inner>) -> Arc<Proxy> {
        let link = Self::new(OWN, home.clone(), Caller::own(), Who::default(), None);
        link.is_dead.store(true, Relaxed);
        link.is_buried.store(true, Relaxed);
        Arc::new(Proxy::new(link, OWN))
    }

    /// Once, before anything travels.
    pub(crate) fn set_transport(&self, transport: Box<dyn Transport>) {
        assert!(
            self.transport.set(transport).is_ok(),
            "a link has one transport"
        );
    }

    fn transport(&self) -> &dyn Transport {
        self.transport
            .get()
            .expect("set before anything travels")
            .as_ref()
    }

    pub(crate) fn transport_name(&self) -> &'static str {
        self.transport().name()
    }

    pub(crate) fn served(&self) {
        self.transport().served();
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead.load(Acquire)
    }

    /// Whether what is told the other end is heard.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Acquire) && !self.is_dead()
    }

    /// The other end hears from now on.
    pub(crate) fn set_ready(&self) {
        self.is_ready.store(true, SeqCst);
    }

    pub(crate) fn introduces(&self) -> bool {
        self.is_dead() || self.transport().introduces()
    }

    pub(crate) fn pass(&self, pass: Pass) -> Result<(), CallError> {
        match self.is_dead() {
            true => Err(CallError::DeadObject),
            false => self.transport().pass(pass),
        }
    }

    pub(crate) fn meet(&self, socket: OwnedFd, who: Who, side: Side) -> Result<(), CallError> {
        match self.is_dead() {
            true => Err(CallError::DeadObject),
            false => self.transport().meet(socket, who, side),
        }
    }

    pub(crate) fn tell_of_grant(&self, grant: Grant) -> Result<(), CallError> {
        self.transport().grant(grant)
    }

    pub(crate) fn tell_to_forget(&self, ticket: Ticket) {
        self.transport().forget(ticket);
    }

    pub(crate) fn call(
        self: &Arc<Self>,
        goal: Goal<'_>,
        data: &mut Parcel,
        reply: &mut Parcel,
        due_ns: Option<u64>,
    ) -> Result<(), CallError> {
        if self.is_dead() {
            return Err(CallError::DeadObject);
        }
        let out = self.calls.begin();
        let outcome = self.transport().call(self, goal, data, reply, due_ns);
        if self.calls.end(out) {
            let gone = self.exports.lock().collect(&self.calls);
            drop(gone);
        }
        match outcome {
            // Whatever else the transport saw of the end.
            Err(_) if self.is_dead() => Err(CallError::DeadObject),
            outcome => outcome,
        }
    }

    pub(crate) fn send(
        self: &Arc<Self>,
        target: u64,
        code: u32,
        data: &Parcel,
    ) -> Result<(), CallError> {
        if self.is_dead() {
            return Err(CallError::DeadObject);
        }
        self.transport().send(self, target, code, data)
    }

    /// The other end's first node.
    pub(crate) fn root(self: &Arc<Self>) -> Result<Option<Binder>, CallError> {
        let mut reply = Parcel::new();
        self.call(Goal::own(CODE_ROOT), &mut Parcel::new(), &mut reply, None)?;
        Ok(reply.read_binder()?)
    }

    /// A strong reference by a weak one's number.
    pub(crate) fn revive(self: &Arc<Self>, number: u64) -> Option<Binder> {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write(&number.to_le_bytes()).ok()?;
        self.call(Goal::own(CODE_REVIVE), &mut data, &mut reply, None)
            .ok()?;
        reply.read_binder().ok().flatten()
    }

    /// Answers what the other end asks of this end itself.
    pub(crate) fn answer_own(
        &self,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        data.set_position(0);
        reply.clear();
        let found = match code {
            // Who was introduced has what it was given, and no more.
            CODE_ROOT if self.introducer.is_some() => None,
            CODE_ROOT => self.home.upgrade().and_then(|it| it.root()),
            CODE_GRANT => return self.answer_grant(data, reply),
            CODE_MEET => return self.answer_meet(data, reply),
            CODE_REVIVE => {
                let number = data.read_array().ok_or(CallError::BadParcel)?;
                let node = self.exports.lock().revive(u64::from_le_bytes(number));
                node.map(Binder::Local)
            }
            _ => return Err(CallError::UnknownTransaction),
        };
        Ok(reply.write_binder(found)?)
    }

    /// Writes a parcel for the other end: nodes are counted up, descriptors copied to `fds`. On an
    /// error nothing stays counted.
    pub(crate) fn name(
        &self,
        parcel: &Parcel,
        wire: &mut Wire,
        fds: &mut Vec<OwnedFd>,
    ) -> Result<(), CallError> {
        self.name_with(parcel, wire, fds, &mut Thirds::Refused)
    }

    /// The same, with references to third processes.
    pub(crate) fn name_with(
        &self,
        parcel: &Parcel,
        wire: &mut Wire,
        fds: &mut Vec<OwnedFd>,
        thirds: &mut Thirds<'_>,
    ) -> Result<(), CallError> {
        fds.clear();
        let mut named = Vec::new();
        let outcome = parcel.to_wire(wire, |object| {
            let flat = self.name_object(object, fds, thirds)?;
            if flat.kind == Kind::Binder {
                named.push(flat.number);
            }
            Ok(flat)
        });
        if outcome.is_err() {
            self.unname(&named);
        }
        outcome
    }

    fn name_object(
        &self,
        object: &Object<Binder>,
        fds: &mut Vec<OwnedFd>,
        thirds: &mut Thirds<'_>,
    ) -> Result<FlatObject, CallError> {
        let (kind, flags, number) = match object {
            Object::Binder(Binder::Local(node)) => {
                let number = self.exports.lock().add(node).ok_or(CallError::QueueFull)?;
                (Kind::Binder, node.flags(), number)
            }
            Object::Binder(third @ Binder::Remote(proxy)) if proxy.link.number != self.number => {
                return thirds.name(third);
            }
            Object::Binder(Binder::Remote(proxy)) => {
                let number = u32::try_from(proxy.number).map_err(|_| CallError::TooLarge)?;
                (Kind::Handle, 0, u64::from(number))
            }
            Object::Fd(fd) => {
                let copy = fd.try_clone().map_err(|_| CallError::QueueFull)?;
                fds.push(copy);
                (Kind::Fd, 0, fds.len() as u64 - 1)
            }
        };
        Ok(FlatObject {
            kind,
            flags,
            number,
            cookie: 0,
        })
    }

    /// A parcel that was named did not go.
    pub(crate) fn unname_wire(&self, wire: &Wire) {
        let flat = |at: &u32| {
            let bytes = wire.bytes.get(*at as usize..)?.first_chunk()?;
            FlatObject::parse(bytes).ok()
        };
        let nodes = wire.positions.iter().filter_map(flat);
        let nodes = nodes.filter(|it| it.kind == Kind::Binder);
        let named: Vec<u64> = nodes.map(|it| it.number).collect();
        self.unname(&named);
    }

    pub(crate) fn unname(&self, named: &[u64]) {
        for &number in named {
            self.let_go.fetch_add(1, SeqCst);
            let gone = self.exports.lock().uncount(number, &self.calls);
            drop(gone);
        }
    }

    /// Reads a parcel from the other end: references are counted, descriptors taken from `fds`.
    pub(crate) fn find(
        self: &Arc<Self>,
        wire: &Wire,
        fds: &mut [Option<Arc<OwnedFd>>],
        parcel: &mut Parcel,
    ) -> Result<(), CallError> {
        self.find_with(wire, fds, parcel, &Finds::None)
    }

    /// The same, with references to third processes.
    pub(crate) fn find_with(
        self: &Arc<Self>,
        wire: &Wire,
        fds: &mut [Option<Arc<OwnedFd>>],
        parcel: &mut Parcel,
        thirds: &Finds<'_>,
    ) -> Result<(), CallError> {
        let mut count = 0;
        let outcome = parcel.from_wire(wire, |flat| {
            count += 1;
            self.find_object(flat, fds, thirds)
        });
        if outcome.is_err() && count > 0 {
            // What was not looked for is counted all the same, and let go.
            for at in &wire.positions[count..] {
                let bytes = wire
                    .bytes
                    .get(*at as usize..)
                    .and_then(|it| it.first_chunk());
                let flat = bytes.and_then(|it| FlatObject::parse(it).ok());
                drop(flat.map(|it| self.find_object(it, fds, &Finds::AtOnce)));
            }
        }
        outcome
    }

    fn find_object(
        self: &Arc<Self>,
        flat: FlatObject,
        fds: &mut [Option<Arc<OwnedFd>>],
        thirds: &Finds<'_>,
    ) -> Result<Object<Binder>, CallError> {
        match flat.kind {
            Kind::Binder if flat.number != OWN => {
                Ok(Object::Binder(Binder::Remote(self.proxy(flat.number))))
            }
            Kind::Handle if flat.number == OWN && self.introducer.is_none() => {
                // Everybody is given the root who asks for it.
                let root = self.home.upgrade().and_then(|it| it.root());
                root.map(Object::Binder).ok_or(CallError::BadParcel)
            }
            Kind::Handle => {
                // What this end does not hold is the reader's loss alone: its count went down
                // before a caller gave up, or the other end makes numbers up.
                let node = self.exports.lock().get(flat.number);
                node.map(|it| Object::Binder(Binder::Local(it)))
                    .ok_or(CallError::BadParcel)
            }
            Kind::Fd => {
                let index = usize::try_from(flat.number).unwrap_or(usize::MAX);
                let fd = fds.get_mut(index).and_then(Option::take);
                fd.map(Object::Fd).ok_or(CallError::BadParcel)
            }
            Kind::WeakBinder | Kind::WeakHandle => thirds.find(self, flat).map(Object::Binder),
            Kind::Binder => Err(CallError::BadParcel),
        }
    }

    /// The one proxy of a node, counted.
    pub(crate) fn proxy(self: &Arc<Self>, number: u64) -> Arc<Proxy> {
        let mut proxies = self.proxies.lock();
        let live = proxies.live.get(&number).and_then(Weak::upgrade);
        let is_new = live.is_none();
        let proxy = live.unwrap_or_else(|| {
            let proxy = Arc::new(Proxy::new(Arc::clone(self), number));
            proxies.live.insert(number, Arc::downgrade(&proxy));
            proxy
        });
        drop(proxies);
        proxy.received.fetch_add(1, Relaxed);
        if is_new {
            self.transport().adopt(number);
        }
        proxy
    }

    /// A proxy's first death recipient is there, or its last one goes.
    pub(crate) fn set_watched(&self, number: u64, is_watched: bool) {
        match is_watched {
            true => self.transport().watch(number),
            false => self.transport().unwatch(number),
        }
    }

    /// The node of one proxy is gone; others live.
    pub(crate) fn gone(&self, number: u64) {
        let live = self
            .proxies
            .lock()
            .live
            .get(&number)
            .and_then(Weak::upgrade);
        if let Some(proxy) = live {
            proxy.obituary();
        }
    }

    /// A proxy goes.
    pub(crate) fn release(&self, number: u64, count: u64) {
        let mut proxies = self.proxies.lock();
        let is_gone = |it: &Weak<Proxy>| it.strong_count() == 0;
        if proxies.live.get(&number).is_some_and(is_gone) {
            proxies.live.remove(&number);
        }
        let keeps_weak = proxies.weak.contains_key(&number);
        drop(proxies);
        if !self.is_dead() {
            self.transport()
                .release(number, Release::Strong { count, keeps_weak });
        }
    }

    pub(crate) fn add_weak(&self, number: u64) {
        *self.proxies.lock().weak.entry(number).or_default() += 1;
    }

    pub(crate) fn release_weak(&self, number: u64) {
        let mut proxies = self.proxies.lock();
        let count = proxies.weak.entry(number).or_default();
        *count = count.saturating_sub(1);
        let is_last = *count == 0;
        if is_last {
            proxies.weak.remove(&number);
        }
        // A live proxy says it when it goes.
        let tells = is_last && !proxies.live.contains_key(&number);
        drop(proxies);
        if tells && !self.is_dead() {
            self.transport().release(number, Release::Weak);
        }
    }

    /// The other end lets go; `Err` if it lets go what it has not.
    pub(crate) fn released(&self, number: u64, release: Release) -> Result<(), ()> {
        let mut exports = self.exports.lock();
        let gone = match release {
            Release::Strong { count, keeps_weak } => {
                exports.release(number, count, Some(keeps_weak), &self.calls)
            }
            Release::Weak => exports.release_weak(number).map(|()| Vec::new()),
        };
        self.let_go.fetch_add(1, SeqCst);
        drop(exports);
        gone.map(drop)
    }

    /// The node that a call is for. No lock where the thread has found it before, and nothing was
    /// let go since.
    pub(crate) fn target(&self, number: u64) -> Result<Arc<Node>, CallError> {
        let let_go = self.let_go.load(SeqCst);
        self.find_again(number, let_go, || self.exports.lock().get(number))
    }

    /// The node that a request is for, looked up once; none where there is none, or where the
    /// process itself is meant.
    pub(crate) fn node(&self, number: u64) -> Option<Arc<Node>> {
        Some(number)
            .filter(|&it| it != OWN)
            .and_then(|it| self.target(it).ok())
    }

    /// A node that the thread has found before, if `let_go` is what it was then; or finds it.
    fn find_again(
        &self,
        number: u64,
        let_go: u64,
        find: impl FnOnce() -> Option<Arc<Node>>,
    ) -> Result<Arc<Node>, CallError> {
        let place = (number as usize).wrapping_add(self.number as usize) % FOUND_MAX;
        let is_it = |it: &Found| (it.link, it.number, it.let_go) == (self.number, number, let_go);
        let again =
            FOUND.with_borrow(|found| Some(&found[place]).filter(|it| is_it(it))?.node.upgrade());
        if let Some(node) = again {
            return Ok(node);
        }
        let node = find().ok_or(CallError::DeadObject)?;
        let new = Found {
            link: self.number,
            number,
            let_go,
            node: Arc::downgrade(&node),
        };
        FOUND.with_borrow_mut(|found| found[place] = new);
        Ok(node)
    }

    /// The kernel holds a node once less.
    pub(crate) fn lose(&self, number: u64) {
        self.let_go.fetch_add(1, SeqCst);
        let gone = self.exports.lock().release(number, 1, None, &self.calls);
        drop(gone);
    }

    /// As [`Self::target`], by the kernel's word; 0 is the context manager's root.
    pub(crate) fn driven(&self, number: u64) -> Result<Arc<Node>, CallError> {
        if number != OWN {
            return self.target(number);
        }
        // All loopers ask for it, with each call: the lock is one that urgent calls would wait for.
        let home = self.home.upgrade().ok_or(CallError::DeadObject)?;
        self.find_again(OWN, home.root_changes(), || match home.root() {
            Some(Binder::Local(node)) => Some(node),
            _ => None,
        })
    }

    /// Nothing travels from now on. `true` the first time.
    pub(crate) fn die(&self) -> bool {
        let is_first = !self.is_dead.swap(true, AcqRel);
        if is_first {
            self.transport().end(self);
        }
        is_first
    }

    /// After [`Self::die`]: the other end's references go, and recipients are told.
    pub(crate) fn bury(&self) {
        if self.is_buried.swap(true, AcqRel) {
            return;
        }
        let exports = self.exports.lock().take_all();
        drop(exports);
        let proxies = std::mem::take(&mut self.proxies.lock().live);
        for proxy in proxies.values().filter_map(Weak::upgrade) {
            proxy.obituary();
        }
        if let Some(home) = self.home.upgrade() {
            home.counters.deaths.add();
            home.forget(self.number);
        }
    }

    /// Nodes and references that the other end holds; proxies here.
    pub(crate) fn counts(&self) -> (usize, u64, usize) {
        let (nodes, references) = self.exports.lock().counts();
        let proxies = self.proxies.lock();
        let live = proxies.live.values().filter(|it| it.strong_count() > 0);
        (nodes, references, live.count())
    }
}

impl Thirds<'_> {
    fn name(&mut self, third: &Binder) -> Result<FlatObject, CallError> {
        match self {
            Self::Refused => Err(CallError::NotSupported(BEHIND)),
            Self::Ticketed(tickets) => {
                // One for each was made of this very parcel.
                let (ticket, rest) = tickets.split_first().ok_or(CallError::BadParcel)?;
                *tickets = rest;
                Ok(FlatObject {
                    kind: Kind::WeakBinder,
                    flags: ticket.who.pid.cast_unsigned(),
                    number: ticket.number,
                    cookie: ticket.who.key,
                })
            }
            Self::Handed(binders) => {
                binders.push(third.clone());
                Ok(FlatObject {
                    kind: Kind::WeakHandle,
                    flags: 0,
                    number: binders.len() as u64 - 1,
                    cookie: 0,
                })
            }
        }
    }
}

impl Finds<'_> {
    fn find(&self, link: &Arc<Link>, flat: FlatObject) -> Result<Binder, CallError> {
        let who = Who {
            pid: flat.flags.cast_signed(),
            key: flat.cookie,
        };
        let ticket = Ticket {
            who,
            number: flat.number,
        };
        match (self, flat.kind) {
            (Self::AtOnce, Kind::WeakBinder) => link.claim(ticket, None),
            (Self::Until(end_ns), Kind::WeakBinder) => link.claim(ticket, Some(*end_ns)),
            (Self::Handed(binders), Kind::WeakHandle) => {
                let binder = binders.get(flat.number as usize);
                binder.cloned().ok_or(CallError::BadParcel)
            }
            _ => Err(CallError::BadParcel),
        }
    }
}
