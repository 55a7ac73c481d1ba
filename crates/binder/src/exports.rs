// SPDX-License-Identifier: Apache-2.0
//! [`Exports`]: the nodes that the other end of a link has references to, and how many.
//!
//! A node is counted up each time that it is written into a parcel for the other end, and down by
//! what the other end says that it received and holds no more. Messages may cross: a node that was
//! sent again meanwhile keeps a count. Numbers are not used again, and name nothing but what this
//! very end was given: a guess reaches no node.
//!
//! An answer may name a node whose last count goes down before the answer is read. Such nodes stay
//! until the calls are over that were out at that time.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::node::Node;
use crate::out::{CallsOut, GRACE};

/// References to nodes that one end may hold at once.
pub(crate) const EXPORTS_MAX: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Exports {
    by_number: HashMap<u64, Export>,
    by_node: HashMap<u64, u64>,
    last: u64,
    /// What went while calls were out, with the epoch in which it did.
    leaving: Vec<(u64, u64, Arc<Node>)>,
}

struct Export {
    /// Held while the other end counts it.
    strong: Option<Arc<Node>>,
    weak: Weak<Node>,
    node: u64,
    count: u64,
    /// The other end's weak references; over `lent` one at most.
    weaks: u64,
}

impl Exports {
    /// Counts a node up and gives its number here; `None` if there are too many.
    pub(crate) fn add(&mut self, node: &Arc<Node>) -> Option<u64> {
        if let Some(&number) = self.by_node.get(&node.number)
            && let Some(export) = self.by_number.get_mut(&number)
        {
            export.count += 1;
            export.strong = Some(Arc::clone(node));
            return Some(number);
        }
        if self.by_number.len() >= EXPORTS_MAX {
            return None;
        }
        self.last += 1;
        let export = Export {
            strong: Some(Arc::clone(node)),
            weak: Arc::downgrade(node),
            node: node.number,
            count: 1,
            weaks: 0,
        };
        self.by_number.insert(self.last, export);
        self.by_node.insert(node.number, self.last);
        Some(self.last)
    }

    /// The node of a number that the other end holds, or has just let go.
    pub(crate) fn get(&self, number: u64) -> Option<Arc<Node>> {
        let held = self.by_number.get(&number).and_then(|it| it.strong.clone());
        let leaving = || self.leaving.iter().find(|it| it.1 == number);
        held.or_else(|| leaving().map(|it| Arc::clone(&it.2)))
    }

    /// A strong reference for who holds a weak one.
    pub(crate) fn revive(&self, number: u64) -> Option<Arc<Node>> {
        self.by_number.get(&number)?.weak.upgrade()
    }

    /// Counts down; `keeps` says whether the other end holds it weakly from now on. Gives what is
    /// to be dropped after the lock; `Err` where the other end lets go more than it was given.
    pub(crate) fn release(
        &mut self,
        number: u64,
        count: u64,
        keeps: Option<bool>,
        calls: &CallsOut,
    ) -> Result<Vec<Arc<Node>>, ()> {
        let export = self.by_number.get_mut(&number).ok_or(())?;
        export.count = export.count.checked_sub(count).ok_or(())?;
        export.weaks = keeps.map_or(export.weaks, u64::from);
        if export.count > 0 {
            return Ok(Vec::new());
        }
        let strong = export.strong.take();
        if export.weaks == 0 {
            self.forget(number);
        }
        Ok(strong.map_or_else(Vec::new, |it| self.keep(number, it, calls)))
    }

    /// Takes back one count of [`Self::add`]: the parcel did not go.
    pub(crate) fn uncount(&mut self, number: u64, calls: &CallsOut) -> Vec<Arc<Node>> {
        self.release(number, 1, None, calls).unwrap_or_default()
    }

    /// The other end has a reference that it was given in no parcel: the kernel counts so.
    pub(crate) fn acquire(&mut self, number: u64) -> Result<(), ()> {
        let export = self.by_number.get_mut(&number).ok_or(())?;
        export.strong = export.strong.take().or_else(|| export.weak.upgrade());
        export.strong.as_ref().ok_or(())?;
        export.count += 1;
        Ok(())
    }

    /// The same, a weak one.
    pub(crate) fn acquire_weak(&mut self, number: u64) -> Result<(), ()> {
        self.by_number.get_mut(&number).ok_or(())?.weaks += 1;
        Ok(())
    }

    /// A weak reference of the other end's is gone.
    pub(crate) fn release_weak(&mut self, number: u64) -> Result<(), ()> {
        let export = self.by_number.get_mut(&number).ok_or(())?;
        export.weaks = export.weaks.saturating_sub(1);
        if export.count == 0 && export.weaks == 0 {
            self.forget(number);
        }
        Ok(())
    }

    fn forget(&mut self, number: u64) {
        if let Some(export) = self.by_number.remove(&number) {
            self.by_node.remove(&export.node);
        }
    }

    /// Keeps a node while calls are out; gives what may go.
    fn keep(&mut self, number: u64, node: Arc<Node>, calls: &CallsOut) -> Vec<Arc<Node>> {
        self.leaving.push((calls.epoch(), number, node));
        self.collect(calls)
    }

    /// What went and is named by no call any more; to be dropped after the lock.
    pub(crate) fn collect(&mut self, calls: &CallsOut) -> Vec<Arc<Node>> {
        // Before the look at the calls: who ends one meanwhile comes here.
        calls.set_leaving(self.leaving.len());
        let epoch = calls.advance();
        let (gone, stay) = std::mem::take(&mut self.leaving)
            .into_iter()
            .partition(|it: &(u64, u64, Arc<Node>)| it.0 + GRACE <= epoch);
        self.leaving = stay;
        calls.set_leaving(self.leaving.len());
        gone.into_iter().map(|it| it.2).collect()
    }

    /// Everything, to be dropped after the lock.
    pub(crate) fn take_all(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Numbers in use, and references held.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let references = self.by_number.values().map(|it| it.count).sum();
        (self.by_number.len(), references)
    }
}
