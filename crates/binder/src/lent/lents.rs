// SPDX-License-Identifier: Apache-2.0
//! [`Lents`]: a process's links to other programs; [`Known`]: a looper's copy of them, so that a
//! looper that is kept for real time waits for no other that looks.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use rt::sync::PiMutex;

use crate::lent::message::Lent;
use crate::link::Link;

type One = (Arc<Link>, Arc<Lent>);

/// See the module.
#[derive(Default)]
pub(crate) struct Lents {
    all: PiMutex<Vec<One>>,
    /// How often it was changed.
    changes: AtomicU64,
}

impl Lents {
    /// One more; loopers learn of it when they are woken.
    pub(super) fn add(&self, link: Arc<Link>, lent: Arc<Lent>) {
        let mut all = self.all.lock();
        all.push((link, lent));
        self.changes.fetch_add(1, SeqCst);
    }

    /// One less; loopers let it go when they are woken.
    pub(crate) fn remove(&self, number: u64) -> Option<One> {
        let mut all = self.all.lock();
        let index = all.iter().position(|it| it.0.number == number)?;
        self.changes.fetch_add(1, SeqCst);
        Some(all.swap_remove(index))
    }

    /// All, now.
    pub(crate) fn all(&self) -> Vec<One> {
        self.all.lock().clone()
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Known {
    all: Vec<One>,
    changes: u64,
}

impl Known {
    /// Whether there is another link, or one less.
    pub(super) fn is_old(&self, lents: &Lents) -> bool {
        lents.changes.load(SeqCst) != self.changes
    }

    /// Takes the lock only where something was changed.
    pub(super) fn learn(&mut self, lents: &Lents) {
        if self.is_old(lents) {
            let all = lents.all.lock();
            let changes = lents.changes.load(SeqCst);
            let old = std::mem::replace(&mut self.all, all.clone());
            self.changes = changes;
            drop(all);
            drop(old);
        }
    }

    pub(super) fn all(&self) -> &[One] {
        &self.all
    }
}
