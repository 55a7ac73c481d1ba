// SPDX-License-Identifier: Apache-2.0
//! [`Process`]: nodes, links and loopers of one program, or of a part of it that is apart.

// Lock order: links, due nodes.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};
use std::sync::{Arc, Weak};

use rt::bell::{Bell, Bells, Hearing};
use rt::peer::Urgency;
use rt::policy::{Policy, Tid};
use rt::shared::SharedError;
use rt::sync::PiMutex;
use rt::sys::Errno;
use rt::thread::{Builder, SpawnError, Thread};

use crate::binder::Binder;
use crate::direct::Direct;
use crate::introduce::{Passed, Who};
use crate::lent::{Door, Face, LOOPERS_MAX, Lents, looper};
use crate::link::Link;
use crate::node::{Node, Service};
use crate::oneway::DueNodes;
use crate::serving::Caller;

/// Numbers of links: one count for the program, since threads serve several processes.
static LINKS: AtomicU64 = AtomicU64::new(1);
static NODES: AtomicU64 = AtomicU64::new(1);

/// Some round trips between processors that are busy. What waits longer waits for work, not for
/// an answer.
pub const SPIN_NS_MAX: u64 = 100_000;

/// How a process begins.
#[derive(Clone, Debug)]
pub struct Options {
    /// What its threads are called.
    pub name: String,
    /// Loopers for everybody: at least one.
    pub loopers: usize,
    /// Loopers for real-time callers alone: at least one.
    pub kept: usize,
    /// Policy of the thread that hears of deaths, references and calls without an answer.
    pub door: Policy,
    /// Bytes of each thread's stack, and how many of them are there from its beginning; none for
    /// the usual ones, which are there.
    pub stack_bytes: Option<(usize, usize)>,
    /// How long its threads look for an answer, or for work, over `lent` before they sleep: at most
    /// [`SPIN_NS_MAX`], and 0 for threads that sleep at once. Who spins lends nothing, and keeps
    /// its processor from less urgent threads: a call may be that much later.
    pub spin_ns: u64,
    /// What each of its threads does first: a language's machine may want to know them.
    pub begin: fn(),
}

impl Options {
    /// Two loopers for everybody and one for real time, all ordinary threads: callers lend them
    /// what they need.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            loopers: 2,
            kept: 1,
            door: Policy::ordinary(),
            stack_bytes: None,
            spin_ns: 0,
            begin: || (),
        }
    }
}

/// Why a process did not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Loopers are 1 to 8 in all, and each kind has one.
    #[error("a process has 1 to 7 loopers and 1 to 7 kept ones, 8 in all")]
    Loopers,
    /// A thread did not start.
    #[error(transparent)]
    Thread(#[from] SpawnError),
    /// No bell.
    #[error("cannot make a bell: {0}")]
    Bell(Errno),
    /// No memory to share.
    #[error(transparent)]
    Shared(#[from] SharedError),
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tallies {
    served: Count,
    oneways: Count,
    pub(crate) failed: Count,
    pub(crate) refused: Count,
    pub(crate) declined: Count,
    pub(crate) late: Count,
    pub(crate) deaths: Count,
    pub(crate) broken: Count,
}

impl Tallies {
    pub(crate) fn count_served(&self, is_oneway: bool) {
        if is_oneway {
            self.oneways.add();
        } else {
            self.served.add();
        }
    }
}

/// What a process has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls served.
    pub served: u64,
    /// Calls without an answer served.
    pub oneways: u64,
    /// Of both, those in which the node panicked.
    pub failed: u64,
    /// Calls without an answer that found a full queue.
    pub refused: u64,
    /// Requests of ordinary callers at a looper that is kept for real time.
    pub declined: u64,
    /// Calls of this process that were not answered in time.
    pub late: u64,
    /// Links that ended.
    pub deaths: u64,
    /// Of these, those whose other end broke the protocol.
    pub broken: u64,
}

/// See the module. Ends when it is dropped: its nodes are dead then, here and elsewhere.
pub struct Process {
    inner: Arc<Inner>,
    options: Options,
    /// None before [`Process::run`].
    threads: PiMutex<Vec<Thread<()>>>,
}

pub(crate) struct Inner {
    pub(crate) name: String,
    /// What tells it from other processes of this program, and from later ones of its number.
    pub(crate) key: u64,
    pub(crate) passed: Passed,
    root: PiMutex<Option<Binder>>,
    /// How often that was changed.
    root_changes: AtomicU64,
    links: PiMutex<Vec<Arc<Link>>>,
    pub(crate) lents: Lents,
    pub(crate) due: DueNodes,
    pub(crate) oneways_waiting: AtomicUsize,
    pub(crate) counters: Tallies,
    pub(crate) loopers: Vec<Looper>,
    pub(crate) face: Face,
    pub(crate) door: Door,
    has_ended: AtomicBool,
    /// How long its loopers look for work before they sleep.
    pub(crate) spin_ns: u64,
}

/// Where a looper sleeps.
pub(crate) struct Looper {
    pub(crate) bells: Bells,
    bell: Bell,
    pub(crate) is_kept: bool,
}

impl Process {
    /// Begins, with its loopers.
    pub fn start(options: &Options) -> Result<Self, StartError> {
        let process = Self::prepare(options)?;
        process.run()?;
        Ok(process)
    }

    /// Begins without a thread: nodes can be added, nobody else can call them.
    pub fn prepare(options: &Options) -> Result<Self, StartError> {
        let count = options.loopers + options.kept;
        if options.loopers == 0 || options.kept == 0 || count > LOOPERS_MAX {
            return Err(StartError::Loopers);
        }
        let loopers = (0..count).map(|index| {
            let bell = Bell::new().map_err(StartError::Bell)?;
            let bells = Bells::new().map_err(StartError::Bell)?;
            let heard = bells.add(std::os::fd::AsFd::as_fd(&bell), 0, Hearing::EachRing);
            heard.map_err(StartError::Bell)?;
            let is_kept = index < options.kept;
            Ok(Looper {
                bells,
                bell,
                is_kept,
            })
        });
        let loopers = loopers.collect::<Result<Vec<_>, StartError>>()?;
        let inner = Arc::new(Inner {
            name: options.name.clone(),
            key: RandomState::new().hash_one(std::process::id()),
            passed: Passed::default(),
            root: PiMutex::default(),
            root_changes: AtomicU64::new(0),
            links: PiMutex::default(),
            lents: Lents::default(),
            due: DueNodes::default(),
            oneways_waiting: AtomicUsize::new(0),
            counters: Tallies::default(),
            face: Face::new(&loopers)?,
            loopers,
            door: Door::new().map_err(StartError::Bell)?,
            has_ended: AtomicBool::new(false),
            spin_ns: options.spin_ns.min(SPIN_NS_MAX),
        });
        Ok(Self {
            inner,
            options: options.clone(),
            threads: PiMutex::default(),
        })
    }

    /// Starts the loopers and the door's thread, once: before the process is joined with another.
    pub fn run(&self) -> Result<(), StartError> {
        let mut threads = self.threads.lock();
        if !threads.is_empty() {
            return Ok(());
        }
        let Options {
            name, door, begin, ..
        } = self.options.clone();
        let builder = |what: &dyn std::fmt::Display, policy| {
            let builder = Builder::new(format!("{name}/{what}")).policy(policy);
            match self.options.stack_bytes {
                Some((bytes, populated)) => builder.stack_bytes(bytes).populated_bytes(populated),
                None => builder,
            }
        };
        for index in 0..self.inner.loopers.len() {
            let inner = Arc::clone(&self.inner);
            let builder = builder(&index, Policy::ordinary());
            let thread = builder.spawn(move || {
                begin();
                looper::run(&inner, index);
            })?;
            self.inner.face.set_tid(index, thread.tid());
            threads.push(thread);
        }
        let inner = Arc::clone(&self.inner);
        threads.push(builder(&"door", door).spawn(move || {
            begin();
            crate::lent::watch(&inner);
        })?);
        Ok(())
    }

    /// The thread that hears of deaths, references and calls without an answer; none before the
    /// process runs.
    pub fn door(&self) -> Option<Tid> {
        self.threads.lock().last().map(Thread::tid)
    }

    /// A node that does what `service` does, and a reference to it.
    pub fn add(&self, service: impl Service) -> Binder {
        Binder::Local(Arc::new(Node {
            number: NODES.fetch_add(1, Relaxed),
            owner: Arc::downgrade(&self.inner),
            service: Box::new(service),
            oneways: PiMutex::default(),
        }))
    }

    /// What other processes are given first.
    pub fn set_root(&self, root: Option<Binder>) {
        let old = std::mem::replace(&mut *self.inner.root.lock(), root);
        self.inner.root_changes.fetch_add(1, SeqCst);
        drop(old);
    }

    /// Joins two processes of this program by the transport `direct`; gives what each has of the
    /// other.
    pub fn join(left: &Self, right: &Self) -> (End, End) {
        let caller = Caller::own();
        let near = left.inner.link_with(caller, right.inner.who(), None);
        let far = right.inner.link_with(caller, left.inner.who(), None);
        near.set_transport(Box::new(Direct(Arc::downgrade(&far))));
        far.set_transport(Box::new(Direct(Arc::downgrade(&near))));
        near.set_ready();
        far.set_ready();
        left.inner.links.lock().push(Arc::clone(&near));
        right.inner.links.lock().push(Arc::clone(&far));
        (End { link: near }, End { link: far })
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        let it = &self.inner.counters;
        let value = |count: &Count| count.0.load(Relaxed);
        Counters {
            served: value(&it.served),
            oneways: value(&it.oneways),
            failed: value(&it.failed),
            refused: value(&it.refused),
            declined: value(&it.declined),
            late: value(&it.late),
            deaths: value(&it.deaths),
            broken: value(&it.broken),
        }
    }

    /// For a person: loopers, links, references, counters.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        let inner = &self.inner;
        let kept = inner.loopers.iter().filter(|it| it.is_kept).count();
        let _ = writeln!(
            text,
            "process {}: {} loopers, {kept} of them for real time",
            inner.name,
            inner.loopers.len()
        );
        let links = inner.links.lock().clone();
        for link in links {
            let (nodes, references, proxies) = link.counts();
            let _ = writeln!(
                text,
                "link {} ({}) to pid {} uid {}: {nodes} nodes given with {references} references, {proxies} proxies",
                link.number,
                link.transport_name(),
                link.peer.pid,
                link.peer.uid
            );
        }
        let _ = writeln!(text, "{:?}", self.counters());
        text
    }

    /// References held by others, and proxies of theirs held here; for tests of what is left.
    pub fn references(&self) -> (u64, usize) {
        let links = self.inner.links.lock().clone();
        let counts = links.iter().map(|it| it.counts());
        counts.fold((0, 0), |sum, it| (sum.0 + it.1, sum.1 + it.2))
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.inner.has_ended.store(true, Release);
        let links = self.inner.links.lock().clone();
        for link in links {
            if link.die() {
                link.bury();
            }
        }
        let root = self.inner.root.lock().take();
        let due = self.inner.due.take();
        let passed = self.inner.passed.take_all();
        drop((root, due, passed));
        self.inner.wake_all();
        self.inner.door.ring();
        let own = rt::policy::Tid::current();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A looper may hold the last reference to its process.
            if thread.tid() != own {
                thread.join();
            }
        }
    }
}

impl Inner {
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Acquire)
    }

    pub(crate) fn root(&self) -> Option<Binder> {
        self.root.lock().clone()
    }

    /// A root that was found stays the root as long as this does.
    pub(crate) fn root_changes(&self) -> u64 {
        self.root_changes.load(SeqCst)
    }

    /// A new end; it is entered when its transport is there.
    pub(crate) fn link(self: &Arc<Self>, peer: Caller) -> Arc<Link> {
        self.link_with(peer, Who::default(), None)
    }

    /// The same, with a process that others may name.
    pub(crate) fn link_with(
        self: &Arc<Self>,
        peer: Caller,
        who: Who,
        introducer: Option<u64>,
    ) -> Arc<Link> {
        let home: Weak<Self> = Arc::downgrade(self);
        Link::new(LINKS.fetch_add(1, AcqRel), home, peer, who, introducer)
    }

    /// The link with a process over which it is told things: the first of several.
    pub(crate) fn ready_link(&self, who: Who) -> Option<Arc<Link>> {
        let links = self.links.lock();
        let ready = links.iter().filter(|it| it.who == who && it.is_ready());
        ready.min_by_key(|it| it.number).cloned()
    }

    /// Whether there is such a link.
    pub(crate) fn any_link(&self, is_such: impl Fn(&Link) -> bool) -> bool {
        self.links.lock().iter().any(|it| is_such(it))
    }

    /// Links with processes that the other end of a link brought here.
    pub(crate) fn introduced_by(&self, link: u64) -> usize {
        let links = self.links.lock();
        links
            .iter()
            .filter(|it| it.introducer == Some(link))
            .count()
    }

    pub(crate) fn enter(&self, link: Arc<Link>) {
        self.links.lock().push(link);
    }

    /// A link has ended.
    pub(crate) fn forget(&self, number: u64) {
        let take = |links: &mut Vec<Arc<Link>>| {
            let index = links.iter().position(|it| it.number == number)?;
            Some(links.swap_remove(index))
        };
        let link = take(&mut self.links.lock());
        let lent = self.lents.remove(number);
        if let Some((_, lent)) = &lent {
            lent.silence(&self.loopers);
            // Loopers let go what they have of it.
            self.wake_all();
        }
        drop((link, lent));
    }

    /// Each looper looks for what there is.
    pub(crate) fn wake_all(&self) {
        for looper in &self.loopers {
            looper.bell.ring();
        }
    }

    /// Something is due that a looper is to serve: wakes one that sleeps. One that is awake looks
    /// before it sleeps.
    pub(crate) fn wake_for(&self, urgency: Urgency) {
        // Pairs with the exchange in `words::fall_asleep`: one of both sees the other.
        fence(SeqCst);
        let is_fit = |it: &&(usize, &Looper)| {
            self.face.is_sleeping(it.0) && (!it.1.is_kept || urgency.is_real_time())
        };
        let mut loopers = self.loopers.iter().enumerate();
        if let Some((_, looper)) = loopers.find(|it| is_fit(&it)) {
            looper.bell.ring();
        }
    }
}

/// One end of a link inside a program, for who joined the processes.
#[derive(Clone)]
pub struct End {
    link: Arc<Link>,
}

impl End {
    /// The other process's root.
    pub fn root(&self) -> Result<Option<Binder>, crate::CallError> {
        self.link.root()
    }

    /// Ends the link: what it gave is dead at both ends.
    pub fn close(&self) {
        if self.link.die() {
            self.link.bury();
        }
    }
}
