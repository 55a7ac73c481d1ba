// SPDX-License-Identifier: Apache-2.0
//! Providers: who holds what an authority names, and who depends on it.
//!
//! A process publishes all its providers when it binds its application. Who has one and holds it
//! fast ends with it, as on Android.
//!
//! What is not here: who observes content, which the assembler knows.

use std::collections::{BTreeMap, BTreeSet};

use intent::Component;

use crate::{Cx, Effect, ProcessId, ProcessKey};

/// Providers at once.
pub const PROVIDERS_MAX: usize = 256;

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderStep {
    /// It is there.
    Ready(Component),
    /// Its process died before it was there.
    Failed(Component),
}

/// How a client has a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It ends with it.
    Fast,
    /// It lives on without it.
    Loose,
}

/// What came of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It is there, in this process.
    Here(ProcessId),
    /// Its process starts; the client is told.
    Waiting,
}

/// No provider can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for more {0}")]
pub struct Full(&'static str);

#[derive(Clone, Debug)]
struct Provider {
    process: ProcessId,
    is_published: bool,
    /// Clients that were told nothing yet.
    waiting: BTreeSet<ProcessId>,
    /// How often each client holds it.
    clients: BTreeMap<ProcessId, u32>,
}

/// All providers that somebody has asked for.
#[derive(Clone, Debug, Default)]
pub struct Providers {
    all: BTreeMap<Component, Provider>,
}

impl Providers {
    /// A client wants a provider.
    ///
    /// # Errors
    ///
    /// [`Full`]
    pub fn acquire(
        &mut self,
        component: &Component,
        key: &ProcessKey,
        by: (ProcessId, Hold),
        cx: &mut Cx<'_>,
    ) -> Result<Acquired, Full> {
        if !self.all.contains_key(component) {
            if self.all.len() >= PROVIDERS_MAX {
                return Err(Full("providers"));
            }
            let wish = cx.running(key, &component.package);
            let (process, is_published) = wish.map_err(|_| Full("processes"))?;
            let provider = Provider {
                process,
                is_published,
                waiting: BTreeSet::new(),
                clients: BTreeMap::new(),
            };
            self.all.insert(component.clone(), provider);
        }
        let Some(provider) = self.all.get_mut(component) else {
            return Err(Full("providers"));
        };
        let (client, hold) = by;
        if hold == Hold::Fast {
            *provider.clients.entry(client).or_default() += 1;
        }
        if provider.is_published {
            return Ok(Acquired::Here(provider.process));
        }
        provider.waiting.insert(client);
        Ok(Acquired::Waiting)
    }

    /// A client that has it loosely holds it fast from now on. False if it is not there.
    pub fn hold(&mut self, component: &Component, client: ProcessId) -> bool {
        let provider = self.all.get_mut(component);
        let count = provider.map(|it| it.clients.entry(client).or_default());
        count.map(|it| *it += 1).is_some()
    }

    /// Where one is, if its process has made it.
    pub fn place(&self, component: &Component) -> Option<ProcessId> {
        let provider = self.all.get(component)?;
        provider.is_published.then_some(provider.process)
    }

    /// A client lets one go. False if it does not hold it.
    pub fn release(&mut self, component: &Component, client: ProcessId) -> bool {
        let provider = self.all.get_mut(component);
        let clients = provider.map(|it| &mut it.clients);
        let Some(clients) = clients else {
            return false;
        };
        match clients.get_mut(&client) {
            Some(1) => clients.remove(&client).is_some(),
            Some(count) => {
                *count -= 1;
                true
            }
            None => false,
        }
    }

    /// A process has bound its application, and so published what it provides.
    pub fn process_attached(&mut self, process: ProcessId, cx: &mut Cx<'_>) {
        for (component, provider) in &mut self.all {
            if provider.process != process {
                continue;
            }
            provider.is_published = true;
            for client in std::mem::take(&mut provider.waiting) {
                cx.effects.push(Effect::Provider {
                    process: client,
                    step: ProviderStep::Ready(component.clone()),
                });
            }
        }
    }

    /// A process is gone; who ends with it.
    pub fn process_died(&mut self, process: ProcessId, cx: &mut Cx<'_>) -> BTreeSet<ProcessId> {
        let mut ending = BTreeSet::new();
        for (component, provider) in &mut self.all {
            provider.clients.remove(&process);
            provider.waiting.remove(&process);
            if provider.process != process {
                continue;
            }
            for client in std::mem::take(&mut provider.waiting) {
                provider.clients.remove(&client);
                cx.effects.push(Effect::Provider {
                    process: client,
                    step: ProviderStep::Failed(component.clone()),
                });
            }
            ending.extend(provider.clients.keys());
        }
        self.all.retain(|_, it| it.process != process);
        ending
    }

    /// Who holds a provider fast or waits for one, and the process that it is in.
    pub(crate) fn ties(&self) -> impl Iterator<Item = (ProcessId, ProcessId)> + '_ {
        self.all.values().flat_map(|it| {
            let clients = it.clients.keys().chain(&it.waiting);
            clients.map(|client| (*client, it.process))
        })
    }

    /// How many somebody has asked for.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self, processes: &crate::Processes) {
        assert!(self.all.len() <= PROVIDERS_MAX);
        for (name, it) in &self.all {
            assert!(
                processes.get(it.process).is_some(),
                "{name:?} has a process"
            );
            assert!(it.waiting.is_empty() || !it.is_published);
            for client in it.clients.keys().chain(&it.waiting) {
                assert!(processes.get(*client).is_some(), "a client of {name:?}");
            }
        }
    }
}
