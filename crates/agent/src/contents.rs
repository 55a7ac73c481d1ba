// SPDX-License-Identifier: Apache-2.0
//! [`Contents`]: what providers are called by, who waits for one, and who observes what.

use std::collections::{BTreeMap, BTreeSet};

use binder::Binder;
use intent::Component;
use server::ProcessId;
use server::providers::ProviderStep;

use crate::calls::{IApp as _, IAppProxy};
use crate::payloads::flat;

/// Authorities that one process observes, and bytes of each.
pub(crate) const AUTHORITIES_MAX: usize = 256;
pub(crate) const AUTHORITY_BYTES_MAX: usize = 512;

/// See the module.
#[derive(Default)]
pub struct Contents {
    providers: BTreeMap<Component, (ProcessId, Binder)>,
    waiters: BTreeMap<ProcessId, IAppProxy>,
    observed: BTreeMap<ProcessId, BTreeSet<String>>,
    /// Changes that some process did not hear of.
    pub lost: u64,
}

impl Contents {
    /// A process has made a provider.
    pub(crate) fn publish(&mut self, name: Component, home: ProcessId, binder: Binder) {
        self.providers.insert(name, (home, binder));
    }

    /// What a provider of a process is called by.
    pub(crate) fn binder(&self, name: &Component, home: ProcessId) -> Option<Binder> {
        let (own, binder) = self.providers.get(name)?;
        (*own == home).then(|| binder.clone())
    }

    /// Who is told when a provider is there.
    pub(crate) fn wait(&mut self, process: ProcessId, waiter: IAppProxy) {
        self.waiters.insert(process, waiter);
    }

    /// Nobody waits for the call. One whose queue is full waits until its own time has passed.
    pub(crate) fn tell(&self, process: ProcessId, step: &ProviderStep) {
        let (name, is_there) = match step {
            ProviderStep::Ready(name) => (name, true),
            ProviderStep::Failed(name) => (name, false),
        };
        if let Some(waiter) = self.waiters.get(&process) {
            let _ = waiter.provided(&flat(name), is_there);
        }
    }

    /// A process observes these, and no others.
    pub(crate) fn observe(&mut self, process: ProcessId, authorities: BTreeSet<String>) {
        match authorities.is_empty() {
            true => self.observed.remove(&process),
            false => self.observed.insert(process, authorities),
        };
    }

    /// Who observes an authority.
    pub(crate) fn observers(&self, authority: &str) -> Vec<ProcessId> {
        let all = self.observed.iter();
        let all = all.filter(|(_, it)| it.contains(authority));
        all.map(|(process, _)| *process).collect()
    }

    /// It is gone.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.providers.retain(|_, (home, _)| *home != process);
        self.waiters.remove(&process);
        self.observed.remove(&process);
    }
}
