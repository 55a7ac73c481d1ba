// SPDX-License-Identifier: Apache-2.0
//! Broadcasts: who has registered for them, who gets one, and whose turn it is.
//!
//! One without order goes to all at once. An ordered one goes from receiver to receiver, by their
//! priorities: the next gets it when the last has said that it is done, or is gone. Each process
//! has one turn at a time, so one that hangs keeps the broadcasts that go to it, and no other.
//!
//! What waits anywhere goes in the order of its sender's priority ([`Order`]): an ordered one for
//! its turn at a process, and by its [`Standing`] whatever an assembler lets wait. A receiver that
//! has a turn keeps it.
//!
//! A sticky one stays until its package takes it back: who registers later gets it as well.

mod order;
mod queue;
mod sticky;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use intent::{Component, Filter, FilterId, Intent, Resolver};

use crate::id::Numbers;
use crate::packages::{FIRST_UID, Kind, Packages};
use crate::processes::Processes;
use crate::{BroadcastId, Payload, ProcessId, ProcessKey, Server};

pub use order::{Journal, Note, Order, PRIORITY_MAX, Place, Standing};
pub use sticky::{STICKY_MAX, STICKY_PER_PACKAGE_MAX, Staying, StickyError};

/// Receivers of manifests that one broadcast reaches; the rest is counted as not reached.
pub const RECEIVERS_MAX: usize = 64;
/// Receivers that code of one process has, as on Android.
pub const REGISTERED_PER_PROCESS_MAX: usize = 1_000;
/// Of all processes of one user: two full ones, so that eight users would have to conspire.
pub const REGISTERED_PER_USER_MAX: usize = 2_000;
/// Of all processes.
pub const REGISTERED_MAX: usize = 16_384;
/// Ordered broadcasts of one user that are under way; a person counts as one.
pub const ORDERED_PER_USER_MAX: usize = 64;

/// The permission that one needs for sticky broadcasts.
pub const BROADCAST_STICKY: &str = "android.permission.BROADCAST_STICKY";

/// Who sends a broadcast; a person is nought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// Its user.
    pub uid: u32,
    /// The process that hears of the result, with its own number of it.
    pub result: Option<(ProcessId, i64)>,
    /// Its thread's real-time priority, by the kernel's word; 0 for an ordinary one.
    pub priority: u8,
}

/// What is sent.
#[derive(Clone, Debug, Default)]
pub struct Shout {
    /// What receivers are found by.
    pub intent: Intent,
    /// The rest of it.
    pub payload: Payload,
    /// Receivers have all of these.
    pub permissions: Vec<String>,
    /// It goes from one to the next.
    pub is_ordered: bool,
    /// It stays.
    pub is_sticky: bool,
    /// The intent's own priority, if it has one: never more than the sender's.
    pub priority: Option<u8>,
    /// It has `FLAG_RECEIVER_FOREGROUND`.
    pub is_foreground: bool,
    /// What the first receiver of an ordered one finds.
    pub outcome: Outcome,
}

/// What receivers of an ordered broadcast hand on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// `Activity.RESULT_…`, or the application's number.
    pub code: i32,
    /// A text.
    pub data: Option<String>,
    /// More.
    pub extras: Option<Payload>,
}

/// A broadcast that comes to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// To whom.
    pub target: Target,
    /// What it says when it is done; none if nobody waits for it.
    pub ordered: Option<BroadcastId>,
    /// It was sent before the receiver was there.
    pub is_sticky: bool,
    /// Before which others it goes, and what its receiver runs at.
    pub standing: Standing,
    /// The sender's user.
    pub uid: u32,
    /// The intent.
    pub payload: Payload,
    /// What the last receiver has left.
    pub outcome: Outcome,
}

/// A receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// What code has registered, by its process's number.
    Registered(i64),
    /// Of a manifest.
    Component(Component),
}

/// What a process has registered.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Its own number; several filters may have the same.
    pub receiver: i64,
    /// What it takes.
    pub filter: Filter,
    /// What senders need.
    pub permission: Option<String>,
    /// May others send to it?
    pub is_exported: bool,
}

/// No room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BroadcastError {
    /// Of receivers.
    #[error(
        "user {0} has no room for more receivers: at most {REGISTERED_PER_PROCESS_MAX} in a \
         process, {REGISTERED_PER_USER_MAX} of a user, {REGISTERED_MAX} of all"
    )]
    Receivers(u32),
    /// Of what is under way.
    #[error("{ORDERED_PER_USER_MAX} ordered broadcasts of user {0} are under way")]
    Ordered(u32),
    /// Only the system sends it.
    #[error("not allowed to send broadcast {0}")]
    Protected(String),
    /// A sticky one is not taken.
    #[error(transparent)]
    Sticky(#[from] StickyError),
}

#[derive(Clone, Debug)]
struct Owner {
    process: ProcessId,
    uid: u32,
    receiver: i64,
    permission: Option<String>,
    is_exported: bool,
}

/// One receiver's turn.
#[derive(Clone, Debug)]
enum Turn {
    Registered(ProcessId, i64),
    Component(Component, ProcessKey),
}

#[derive(Clone, Debug)]
struct Ordered {
    sender: Sender,
    standing: Standing,
    payload: Payload,
    turns: VecDeque<Turn>,
    outcome: Outcome,
    /// Whose turn it is, and as what.
    current: Option<(ProcessId, Target)>,
}

/// All that is registered, under way, or stays.
#[derive(Clone, Debug, Default)]
pub struct Broadcasts {
    registered: Resolver<Owner>,
    filters: BTreeMap<(ProcessId, i64), Vec<FilterId>>,
    counts: HashMap<ProcessId, usize>,
    by_user: HashMap<u32, usize>,
    ordered: BTreeMap<BroadcastId, Ordered>,
    /// Ordered broadcasts that are at a process, or wait for it.
    at: BTreeMap<ProcessId, queue::Turns>,
    sticky: sticky::Stickies,
    numbers: Numbers,
    /// Which goes before which other.
    pub order: Order,
    /// What waited where, for who checks it.
    pub journal: Journal,
}

impl Broadcasts {
    /// What intents are named by anything here.
    pub fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        let ordered = self.ordered.values();
        let ordered = ordered.flat_map(|it| [Some(it.payload), it.outcome.extras]);
        ordered.flatten().chain(self.sticky.payloads())
    }

    /// A process has a receiver.
    ///
    /// # Errors
    ///
    /// [`BroadcastError::Receivers`]
    pub fn register(
        &mut self,
        process: ProcessId,
        key: &ProcessKey,
        package: &str,
        registration: Registration,
    ) -> Result<(), BroadcastError> {
        let count = |it: Option<&usize>| it.copied().unwrap_or(0);
        let own = count(self.counts.get(&process));
        let of_user = count(self.by_user.get(&key.uid));
        if own >= REGISTERED_PER_PROCESS_MAX
            || of_user >= REGISTERED_PER_USER_MAX
            || self.registered.len() >= REGISTERED_MAX
        {
            return Err(BroadcastError::Receivers(key.uid));
        }
        *self.counts.entry(process).or_default() += 1;
        *self.by_user.entry(key.uid).or_default() += 1;
        let receiver = registration.receiver;
        let owner = Owner {
            process,
            uid: key.uid,
            receiver,
            permission: registration.permission,
            is_exported: registration.is_exported,
        };
        let id = self.registered.add(owner, package, registration.filter);
        let all = self.filters.entry((process, receiver)).or_default();
        all.push(id);
        Ok(())
    }

    /// It has it no more.
    pub fn unregister(&mut self, process: ProcessId, receiver: i64) {
        let gone = self.filters.remove(&(process, receiver));
        for id in gone.into_iter().flatten() {
            let owner = self.registered.remove(id);
            if let Some(count) = self.counts.get_mut(&process) {
                *count -= 1;
            }
            let uid = owner.map(|it| it.uid);
            if let Some(count) = uid.and_then(|it| self.by_user.get_mut(&it)) {
                *count -= 1;
            }
        }
        self.by_user.retain(|_, count| *count > 0);
        if self.counts.get(&process) == Some(&0) {
            self.counts.remove(&process);
        }
    }

    fn forget(&mut self, process: ProcessId) {
        let own = self
            .filters
            .range((process, i64::MIN)..=(process, i64::MAX));
        let own: Vec<i64> = own.map(|((_, receiver), _)| *receiver).collect();
        for receiver in own {
            self.unregister(process, receiver);
        }
    }

    /// Registered receivers that a broadcast reaches, the most urgent first, each once.
    fn reached(&self, uid: u32, shout: &Shout, packages: &Packages) -> Vec<(i32, Turn)> {
        if shout.intent.component.is_some() {
            return Vec::new();
        }
        let mut seen = HashSet::new();
        let found = self.registered.query_once(&shout.intent, false);
        let found = found.iter().filter(|it| {
            let is_own = uid < crate::packages::FIRST_UID || it.owner.uid == uid;
            let is_open = it.owner.is_exported
                && it
                    .owner
                    .permission
                    .as_ref()
                    .is_none_or(|name| packages.may(uid, name));
            let mut needed = shout.permissions.iter();
            (is_own || is_open)
                && needed.all(|name| packages.may(it.owner.uid, name))
                && seen.insert((it.owner.process, it.owner.receiver))
        });
        let turn = |owner: &Owner| Turn::Registered(owner.process, owner.receiver);
        found
            .map(|it| (it.filter.priority, turn(it.owner)))
            .collect()
    }

    /// Processes where a receiver has an ordered one's turn.
    pub(crate) fn with_turns(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.at.keys().copied()
    }

    /// How many receivers, ordered and sticky broadcasts there are.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.registered.len(), self.ordered.len(), self.sticky.len())
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self, processes: &Processes) {
        assert_eq!(self.registered.len(), self.counts.values().sum::<usize>());
        assert_eq!(self.registered.len(), self.by_user.values().sum::<usize>());
        let mut of_users = self.by_user.values();
        assert!(of_users.all(|it| (1..=REGISTERED_PER_USER_MAX).contains(it)));
        assert!(self.registered.len() <= REGISTERED_MAX);
        for (process, count) in &self.counts {
            assert!(processes.get(*process).is_some(), "receivers of nobody");
            assert!((1..=REGISTERED_PER_PROCESS_MAX).contains(count));
        }
        let mut seen = BTreeSet::new();
        for (process, all) in &self.at {
            assert!(processes.get(*process).is_some(), "a turn of nobody");
            assert!(
                all.current.is_some(),
                "nobody has the turn that others wait for"
            );
            for id in all.all() {
                assert!(seen.insert(*id), "{id:?} is at two places");
                let current = self.ordered[id].current.as_ref();
                assert_eq!(current.map(|it| it.0), Some(*process));
            }
            let waiting = all.waiting.iter().map(|id| self.ordered[id].standing);
            assert!(waiting.is_sorted_by_key(|it| u8::MAX - it.rank), "in order");
        }
        assert_eq!(seen.len(), self.ordered.len(), "each is somewhere");
        self.sticky.assert_consistent();
    }
}

impl Server {
    /// Receivers of manifests that a user may reach, with their priorities.
    fn declared(&self, uid: u32, shout: &Shout) -> Vec<(i32, Turn)> {
        let found = self.packages.query(Kind::Receiver, &shout.intent, 0);
        let found = found.iter().take(RECEIVERS_MAX).filter(|it| {
            let own = it.package.settings.uid;
            let mut needed = shout.permissions.iter();
            needed.all(|name| self.packages.may(own, name))
                && self.packages.may_reach(uid, it).is_ok()
        });
        let turn = |it: &crate::packages::Found<'_>| {
            Turn::Component(it.name(), it.package.process_of(it.component))
        };
        found.map(|it| (it.priority, turn(it))).collect()
    }

    /// Sends a broadcast, and says how many receivers it has.
    ///
    /// # Errors
    ///
    /// [`BroadcastError`]
    pub fn broadcast(
        &mut self,
        sender: Sender,
        shout: &Shout,
        now: u64,
    ) -> Result<usize, BroadcastError> {
        let action = shout.intent.action.as_deref();
        if let Some(action) = action
            && sender.uid >= FIRST_UID
            && self.packages.is_protected(action)
        {
            return Err(BroadcastError::Protected(action.to_owned()));
        }
        if sender.uid == 0 {
            self.forgive_receivers(&shout.intent, now);
        }
        let standing = Standing::new(
            self.broadcasts.order,
            self.broadcasts.numbers.next(),
            (shout.priority, sender.priority),
            shout.is_foreground,
        );
        if shout.is_sticky {
            self.stay(sender.uid, shout, standing)?;
        }
        let registered = self.broadcasts.reached(sender.uid, shout, &self.packages);
        let declared = self.declared(sender.uid, shout);
        let turns = in_order(registered, declared);
        let count = turns.len();
        if shout.is_ordered || sender.result.is_some() {
            self.begin_ordered((sender, standing), shout, turns, now)?;
        } else {
            for turn in turns {
                self.deliver_to(&turn, (sender.uid, standing), shout, now);
            }
        }
        Ok(count)
    }

    /// A person's broadcast does not wait for who has failed.
    fn forgive_receivers(&mut self, intent: &Intent, now: u64) {
        for it in self.packages.query(Kind::Receiver, intent, 0) {
            let uid = it.package.settings.uid;
            self.processes.forgive(uid, now, &mut self.effects);
        }
    }
}

/// The most urgent first. Of equal priority those come first that code has registered.
fn in_order(registered: Vec<(i32, Turn)>, declared: Vec<(i32, Turn)>) -> VecDeque<Turn> {
    let mut all = registered;
    all.extend(declared);
    // The order of equal ones stays.
    all.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    all.into_iter().map(|(_, turn)| turn).collect()
}
