// SPDX-License-Identifier: Apache-2.0
//! [`Senders`]: the binders that applications know PendingIntents by. Each is a node of the
//! server's own, so a PendingIntent outlives the process that made it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use binder::{Binder, Call, CallError, Parcel, Service};
use server::{PendingId, PendingIntents, ProcessId};

/// The node of one: what is asked of it goes through `ISystem`, which knows who asks.
pub struct SenderNode;

impl Service for SenderNode {
    fn descriptor(&self) -> &str {
        "android.content.IIntentSender"
    }

    fn on_transact(
        &self,
        _: &Call,
        _: u32,
        _: &mut Parcel,
        _: &mut Parcel,
    ) -> Result<(), CallError> {
        Err(CallError::UnknownTransaction)
    }
}

/// See the module. As many as there are PendingIntents.
#[derive(Default)]
pub(crate) struct Senders {
    all: BTreeMap<PendingId, Binder>,
    /// By the address of the node, which is nobody else's while it is held here.
    by_node: HashMap<usize, PendingId>,
    /// Processes that hear of an end, each by a number of its own.
    watchers: BTreeSet<(PendingId, ProcessId, i64)>,
}

/// Watchers of one process.
const WATCHERS_MAX: usize = 1_024;

/// A process watches enough.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{WATCHERS_MAX} PendingIntents are watched already")]
pub(crate) struct TooMany;

fn address(binder: &Binder) -> Option<usize> {
    match binder {
        Binder::Local(node) => Some(Arc::as_ptr(node).addr()),
        Binder::Remote(_) => None,
    }
}

impl Senders {
    /// What one is known by; `make` makes it the first time.
    pub(crate) fn of(&mut self, id: PendingId, make: impl FnOnce() -> Binder) -> Binder {
        let binder = self.all.entry(id).or_insert_with(make);
        if let Some(address) = address(binder) {
            self.by_node.insert(address, id);
        }
        binder.clone()
    }

    /// Which one a binder is; none if it has ended, or is none of these.
    pub(crate) fn find(&self, binder: &Binder) -> Option<PendingId> {
        self.by_node.get(&address(binder)?).copied()
    }

    /// Those that have ended go; who watched them, by its own number.
    pub(crate) fn keep(&mut self, pending: &PendingIntents) -> Vec<(ProcessId, i64)> {
        self.all.retain(|id, _| pending.peek(*id).is_some());
        let all = &self.all;
        self.by_node.retain(|_, id| all.contains_key(id));
        let watchers = self.watchers.iter();
        let told = watchers.filter(|(id, ..)| !all.contains_key(id));
        let told = told.map(|(_, process, number)| (*process, *number));
        let told = told.collect();
        self.watchers.retain(|(id, ..)| all.contains_key(id));
        told
    }

    /// A process hears of an end, if that is not there yet.
    pub(crate) fn watch(
        &mut self,
        binder: &Binder,
        (process, number): (ProcessId, i64),
    ) -> Result<bool, TooMany> {
        let Some(id) = self.find(binder) else {
            return Ok(false);
        };
        let own = self.watchers.iter().filter(|it| it.1 == process);
        if own.count() >= WATCHERS_MAX {
            return Err(TooMany);
        }
        self.watchers.insert((id, process, number));
        Ok(true)
    }

    /// It does so no more.
    pub(crate) fn unwatch(&mut self, binder: &Binder, (process, number): (ProcessId, i64)) {
        if let Some(id) = self.find(binder) {
            self.watchers.remove(&(id, process, number));
        }
    }

    /// A process is gone.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.watchers.retain(|it| it.1 != process);
    }
}
