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

/// References to nodes that one end may hold at once.
pub(crate) const EXPORTS_MAX: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Exports {
    by_number: HashMap<u64, Export>,
    by_node: HashMap<u64, u64>,
    last: u64,
    /// What went while calls were out, with the number of the next call then.
    leaving: Vec<(u64, u64, Arc<Node>)>,
    /// Calls so far, and those that are out.
    calls: u64,
    out: Vec<u64>,
}

struct Export {
    /// Held while the other end counts it.
    strong: Option<Arc<Node>>,
    weak: Weak<Node>,
    node: u64,
    count: u64,
    is_weak: bool,
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
            is_weak: false,
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

    /// Counts down. Gives back what is to be dropped after the lock; `Err` where the other end lets
    /// go more than it was given.
    pub(crate) fn release(
        &mut self,
        number: u64,
        count: u64,
        is_weak: bool,
    ) -> Result<Option<Arc<Node>>, ()> {
        let export = self.by_number.get_mut(&number).ok_or(())?;
        export.count = export.count.checked_sub(count).ok_or(())?;
        export.is_weak = is_weak;
        if export.count > 0 {
            return Ok(None);
        }
        let strong = export.strong.take();
        if !is_weak {
            self.forget(number);
        }
        Ok(strong.and_then(|it| self.keep(number, it)))
    }

    /// Takes back one count of [`Self::add`]: the parcel did not go.
    pub(crate) fn uncount(&mut self, number: u64) -> Option<Arc<Node>> {
        let is_weak = self.by_number.get(&number)?.is_weak;
        self.release(number, 1, is_weak).ok().flatten()
    }

    /// The other end's last weak reference is gone.
    pub(crate) fn release_weak(&mut self, number: u64) -> Result<(), ()> {
        let export = self.by_number.get_mut(&number).ok_or(())?;
        export.is_weak = false;
        if export.count == 0 {
            self.forget(number);
        }
        Ok(())
    }

    fn forget(&mut self, number: u64) {
        if let Some(export) = self.by_number.remove(&number) {
            self.by_node.remove(&export.node);
        }
    }

    /// Keeps a node while calls are out; gives it back where none is.
    fn keep(&mut self, number: u64, node: Arc<Node>) -> Option<Arc<Node>> {
        if self.out.is_empty() {
            return Some(node);
        }
        self.leaving.push((self.calls, number, node));
        None
    }

    /// A call goes out.
    pub(crate) fn begin_call(&mut self) -> u64 {
        self.calls += 1;
        self.out.push(self.calls);
        self.calls
    }

    /// A call is over; gives what is to be dropped after the lock.
    pub(crate) fn end_call(&mut self, call: u64) -> Vec<Arc<Node>> {
        self.out.retain(|it| *it != call);
        if self.leaving.is_empty() {
            return Vec::new();
        }
        let oldest = self.out.iter().min().copied().unwrap_or(u64::MAX);
        let (gone, stay) = std::mem::take(&mut self.leaving)
            .into_iter()
            .partition(|it: &(u64, u64, Arc<Node>)| it.0 < oldest);
        self.leaving = stay;
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
