// SPDX-License-Identifier: Apache-2.0
//! [`Node`]: a [`Service`] that other processes can be given references to.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;

use parcel::flags;
use rt::clock::{Clock, Monotonic};
use rt::peer::Urgency;
use rt::sync::PiMutex;

use crate::Parcel;
use crate::error::CallError;
use crate::oneway::Task;
use crate::process::Inner;
use crate::serving::Caller;

/// Codes that every node knows, as on Android.
pub mod codes {
    /// The first code of a service's own.
    pub const FIRST: u32 = 1;
    /// The last one.
    pub const LAST: u32 = 0x00ff_ffff;
    /// Is the node there?
    pub const PING: u32 = u32::from_be_bytes(*b"_PNG");
    /// Its descriptor.
    pub const INTERFACE: u32 = u32::from_be_bytes(*b"_NTF");
    /// What it says of itself; with data, the service's own matter.
    pub const DUMP: u32 = u32::from_be_bytes(*b"_DMP");
}

/// What a node does.
pub trait Service: Any + Send + Sync {
    /// The name of its interface.
    fn descriptor(&self) -> &str;

    /// Answers a call. Runs on the caller's thread (`direct`), or on a looper that has the caller's
    /// priority (`lent`). Of a call without answer `reply` goes nowhere.
    fn on_transact(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError>;

    /// What it says of itself to a person.
    fn dump(&self) -> String {
        String::new()
    }

    /// How urgent callers are, at most, that lend their priority to the thread that serves them.
    /// A more urgent one lends nothing. It is served before those that are less urgent than this,
    /// at this FIFO priority if the process may have it, as an ordinary caller otherwise.
    ///
    /// Looked at when a call begins over `lent`: a call back, or one that comes home, is served by
    /// the thread that waits. Over `driver` the kernel is told whether, not how far.
    fn inherits(&self) -> Urgency {
        Urgency::DEADLINE
    }

    /// How urgent calls without answer are served: they lend nothing.
    fn oneway_urgency(&self) -> Urgency {
        Urgency::ORDINARY
    }

    /// Whether calls without an answer that come over `lent` run on the thread that brings them,
    /// the process's door: for who only says that there is news. They wait for no looper then, and
    /// the door's policy is theirs. One that takes long keeps all others from the door.
    fn is_brief(&self) -> bool {
        false
    }

    /// Whether calls by this code say when they began ([`Call::begun_ns`]): a look at the clock.
    fn is_timed(&self, _code: u32) -> bool {
        false
    }
}

/// Who calls, and how.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// By the kernel's word.
    pub caller: Caller,
    /// Whether nobody waits for an answer.
    pub is_oneway: bool,
    /// When it began, if the service wants to know: it waits no more, even for an urgent
    /// one. Over `lent` that is just before its looper looks for the last time for one of those.
    pub begun_ns: Option<u64>,
}

/// See the module.
pub struct Node {
    pub(crate) number: u64,
    pub(crate) owner: Weak<Inner>,
    pub(crate) service: Box<dyn Service>,
    /// Calls without answer: one at a time, in order.
    pub(crate) oneways: PiMutex<Oneways>,
}

#[derive(Default)]
pub(crate) struct Oneways {
    pub(crate) waiting: VecDeque<Task>,
    /// Whether a looper has the node, or will.
    pub(crate) is_due: bool,
}

impl Node {
    /// The name of its interface.
    pub fn descriptor(&self) -> &str {
        self.service.descriptor()
    }

    /// What it does, for who made it.
    pub fn service(&self) -> &dyn Service {
        &*self.service
    }

    /// Whether its process has not ended.
    pub fn is_alive(&self) -> bool {
        self.owner.upgrade().is_some_and(|it| !it.has_ended())
    }

    /// What the kernel, and other processes, are told of it.
    pub(crate) fn flags(&self) -> u32 {
        match self.service.inherits().is_real_time() {
            true => flags::ACCEPTS_FDS | flags::INHERIT_RT,
            false => flags::ACCEPTS_FDS,
        }
    }

    /// The time, if it is wanted.
    pub(crate) fn begin(&self, code: u32) -> Option<u64> {
        let is_timed = self.service.is_timed(code);
        is_timed.then(|| Monotonic.now_ns())
    }

    /// Serves one call on the calling thread.
    pub(crate) fn run(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let owner = self.owner.upgrade().filter(|it| !it.has_ended());
        let owner = owner.ok_or(CallError::DeadObject)?;
        let call = &Call {
            begun_ns: call.begun_ns.or_else(|| self.begin(code)),
            ..*call
        };
        owner.counters.count_served(call.is_oneway);
        data.set_position(0);
        reply.clear();
        let service = AssertUnwindSafe(|| match code {
            codes::PING => Ok(()),
            codes::INTERFACE => {
                let units: Vec<u16> = self.descriptor().encode_utf16().collect();
                Ok(reply.write_utf16(Some(&units))?)
            }
            codes::DUMP if data.size() == 0 => Ok(reply.write_utf8(Some(&self.service.dump()))?),
            _ => self.service.on_transact(call, code, data, reply),
        });
        let outcome = catch_unwind(service).unwrap_or_else(|_| {
            owner.counters.failed.add();
            Err(CallError::Failed)
        });
        reply.set_position(0);
        outcome
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({}, {})", self.number, self.descriptor())
    }
}
