// SPDX-License-Identifier: Apache-2.0
//! [`App`]: an application's process without a Java machine, for experiments and tests. It sends
//! broadcasts and fetches those that come, as the Java agent does.
//!
//! One with a priority has a real-time thread for urgent broadcasts: the one that fetches by
//! [`Class::Urgent`]. The process's door wakes it, at that priority.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::{Acquire, Release};

use binder::stub::{Answer, Failure};
use binder::{Binder, Call, CallError, Connection, Parcel, Process, Service, Side};
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Priority};
use rt::sync::Event;
use server::activities::Then;

use crate::calls::{IApp, IAppProxy, IAppStub, ISystem, ISystemProxy, Receiver, Shout, Step, Wish};

/// In which the server greets its process.
const PATIENCE_NS: u64 = 20_000_000_000;

/// `Service.START_NOT_STICKY`.
const NOT_STICKY: i32 = 2;

/// Why a process does not become one of the server's.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// No loopers.
    #[error("cannot begin: {0}")]
    Start(#[from] binder::StartError),
    /// The server is not there.
    #[error("the server does not answer: {0}")]
    Connect(#[from] binder::ConnectError),
    /// It is another one.
    #[error("the server has no root")]
    Root,
    /// It says no.
    #[error(transparent)]
    Refused(#[from] Failure),
}

/// Which broadcasts a thread fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Of real-time senders, if the process has a thread for them.
    Urgent,
    /// The rest.
    Ordinary,
}

/// What is sent.
#[derive(Clone, Debug, Default)]
pub struct Sending {
    /// What receivers are found by.
    pub action: String,
    /// What they read, and what tells a sticky one from others of its action: the identifier.
    pub text: String,
    /// One receiver after the other gets it.
    pub is_ordered: bool,
    /// It stays.
    pub is_sticky: bool,
    /// It has `FLAG_RECEIVER_FOREGROUND`.
    pub is_foreground: bool,
    /// The intent's own priority.
    pub priority: Option<u8>,
}

/// What a receiver gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The process's own number of the receiver; 0 for one of the manifest.
    pub receiver: i64,
    /// What was sent.
    pub text: String,
    /// What its receiver runs at; 0 for an ordinary one.
    pub priority: u8,
    /// Of an ordered one, whose next receiver waits for [`App::received`].
    pub ordered: Option<i64>,
}

/// See the module. The server is told of its end by the kernel.
pub struct App {
    system: ISystemProxy,
    news: Arc<[Event; 2]>,
    /// What it was asked to give up last.
    trim: Arc<AtomicI32>,
    _connection: Connection,
    _process: Process,
}

/// What the server calls when there is something to fetch: it only says so.
struct Ear(Arc<[Event; 2]>, Class, Arc<AtomicI32>);

/// Hears how urgent what waits is.
struct Hurried<F>(F);

/// The same as a node.
struct Brief<A>(IAppStub<A>);

impl IApp for Ear {
    fn look(&self) -> Answer<()> {
        self.0[self.1 as usize].set();
        Ok(())
    }

    fn hurry(&self, _priority: i32) -> Answer<()> {
        self.look()
    }

    fn provided(&self, _component: &str, _is_there: bool) -> Answer<()> {
        Ok(())
    }

    fn trim(&self, level: i32) -> Answer<()> {
        // Pairs with Acquire in `App::trim_level`.
        self.2.store(level, Release);
        Ok(())
    }
}

impl<F: Fn(i32) + Send + Sync + 'static> IApp for Hurried<F> {
    fn look(&self) -> Answer<()> {
        Ok(())
    }

    fn hurry(&self, priority: i32) -> Answer<()> {
        (self.0)(priority);
        Ok(())
    }

    fn provided(&self, _component: &str, _is_there: bool) -> Answer<()> {
        Ok(())
    }

    fn trim(&self, _level: i32) -> Answer<()> {
        Ok(())
    }
}

/// Names the calling process's real-time thread to the server, by what wakes it. `hear` runs on the
/// process's door, at each urgent step that goes before all that wait.
///
/// # Errors
///
/// The server is gone.
pub fn attach_urgent(
    system: Binder,
    home: &Process,
    hear: impl Fn(i32) + Send + Sync + 'static,
) -> Answer<()> {
    let ear = IAppProxy(home.add(Brief(IAppStub(Hurried(hear)))));
    ISystemProxy(system).attach_urgent(&ear)
}

impl<A: IApp + 'static> Service for Brief<A> {
    fn descriptor(&self) -> &str {
        self.0.descriptor()
    }

    fn on_transact(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        self.0.on_transact(call, code, data, reply)
    }

    fn is_brief(&self) -> bool {
        true
    }
}

impl App {
    /// Becomes a process of the server's over the socket that it was started with. With a priority
    /// it has a real-time thread.
    ///
    /// # Errors
    ///
    /// [`JoinError`]
    pub fn join(socket: OwnedFd, urgent: Option<Priority>) -> Result<Self, JoinError> {
        let process = Process::start(&binder::Options {
            door: urgent.map_or_else(Policy::ordinary, Policy::Fifo),
            ..binder::Options::new("app")
        })?;
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        let connection = process.connect(socket, Side::Caller, due_ns)?;
        let root = connection.root().map_err(Failure::from)?;
        let system = ISystemProxy(root.ok_or(JoinError::Root)?);
        let news = Arc::new([Event::new(), Event::new()]);
        let trim = Arc::new(AtomicI32::new(0));
        let ear = |class| {
            let node = Brief(IAppStub(Ear(Arc::clone(&news), class, Arc::clone(&trim))));
            IAppProxy(process.add(node))
        };
        system.attach(&ear(Class::Ordinary))?;
        if urgent.is_some() {
            system.attach_urgent(&ear(Class::Urgent))?;
        }
        Ok(Self {
            system,
            news,
            trim,
            _connection: connection,
            _process: process,
        })
    }

    /// Has a receiver for what has this action, from any sender.
    ///
    /// # Errors
    ///
    /// What the server refuses.
    pub fn register(&self, number: i64, action: &str) -> Answer<()> {
        self.system.register(&Receiver {
            number,
            is_exported: true,
            actions: vec![action.to_owned()],
            ..Receiver::default()
        })
    }

    /// `ComponentCallbacks2.TRIM_MEMORY_…` that it was told last; nought if nothing.
    pub fn trim_level(&self) -> i32 {
        // Pairs with Release in `Ear::trim`.
        self.trim.load(Acquire)
    }

    /// Has it no more.
    ///
    /// # Errors
    ///
    /// The server is gone.
    pub fn unregister(&self, number: i64) -> Answer<()> {
        self.system.unregister(number)
    }

    /// Sends a broadcast, as urgent as the calling thread.
    ///
    /// # Errors
    ///
    /// What the server refuses.
    pub fn send(&self, sending: &Sending) -> Answer<()> {
        let foreground = match sending.is_foreground {
            true => crate::calls::FOREGROUND,
            false => 0,
        };
        self.system.broadcast(&Shout {
            wish: Wish {
                action: Some(sending.action.clone()),
                identifier: Some(sending.text.clone()),
                flags: foreground,
                ..Wish::default()
            },
            is_ordered: sending.is_ordered,
            is_sticky: sending.is_sticky,
            priority: sending.priority.map_or(-1, i32::from),
            ..Shout::default()
        })
    }

    /// What has come of a class; empty if that was all. Urgent ones come one at a time.
    ///
    /// # Errors
    ///
    /// The server is gone.
    pub fn fetch(&self, class: Class) -> Answer<Vec<Heard>> {
        let steps = match class {
            Class::Urgent => self.system.urgent_steps()?,
            Class::Ordinary => self.system.steps()?,
        };
        let is_broadcast = |it: &Step| it.kind == ISystemProxy::STEP_BROADCAST;
        Ok(steps.into_iter().filter(is_broadcast).map(heard).collect())
    }

    /// Does what it is asked of activities and services, as one that has nothing to do in them; how
    /// much that was.
    ///
    /// # Errors
    ///
    /// The server is gone.
    pub fn oblige(&self) -> Answer<usize> {
        let steps = self.system.steps()?;
        for step in &steps {
            let number = |index: usize| step.numbers.get(index).copied().unwrap_or(0);
            match step.kind {
                ISystemProxy::STEP_ACTIVITY => self.visit(number(0), number(5))?,
                ISystemProxy::STEP_SERVICE => {
                    let is_start = number(1) == i64::from(ISystemProxy::START);
                    let start = i32::try_from(number(2)).unwrap_or(0);
                    let start = if is_start { start } else { 0 };
                    self.system.service_done(number(0), start, NOT_STICKY)?;
                }
                _ => {}
            }
        }
        Ok(steps.len())
    }

    fn visit(&self, activity: i64, then: i64) -> Answer<()> {
        let is = |it: Then| it as i64 == then;
        match () {
            () if is(Then::Resume) => {
                self.system.tell(ISystemProxy::RESUMED, activity)?;
                self.system.tell(ISystemProxy::IDLE, activity)
            }
            () if is(Then::Pause) => self.system.tell(ISystemProxy::PAUSED, activity),
            () if is(Then::Stop) => self.system.stopped(activity, &Wish::default()),
            () => Ok(()),
        }
    }

    /// Waits until there may be something to fetch; false if there was nothing until then.
    pub fn wait_until(&self, class: Class, due_ns: u64) -> bool {
        self.news[class as usize].wait_until(due_ns) == rt::sync::Wake::Notified
    }

    /// Holds the processors at a level, in percent; counted.
    ///
    /// # Errors
    ///
    /// What the server refuses, or the machine.
    pub fn lock_frequency(&self, percent: u8) -> Answer<()> {
        self.system.lock_frequency(percent.into())
    }

    /// Gives back one; false if there is none.
    ///
    /// # Errors
    ///
    /// The server is gone.
    pub fn unlock_frequency(&self) -> Answer<bool> {
        self.system.unlock_frequency()
    }

    /// A receiver is done with an ordered broadcast.
    ///
    /// # Errors
    ///
    /// The server is gone.
    pub fn received(&self, ordered: i64) -> Answer<()> {
        let outcome = crate::calls::Outcome::default();
        self.system.received(ordered, &outcome, false)
    }
}

/// The numbers are user, receiver, the broadcast's own if it is ordered, whether it was there
/// before, the result and the priority.
fn heard(step: Step) -> Heard {
    let number = |index: usize| step.numbers.get(index).copied().unwrap_or(0);
    let (receiver, ordered) = (number(1), number(2));
    let priority = u8::try_from(number(5)).unwrap_or(0);
    let mut wishes = step.wishes.into_iter();
    Heard {
        receiver,
        text: wishes
            .next()
            .and_then(|it| it.identifier)
            .unwrap_or_default(),
        priority,
        ordered: (ordered != 0).then_some(ordered),
    }
}
