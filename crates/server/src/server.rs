// SPDX-License-Identifier: Apache-2.0
//! All rooms together: what one event means for each of them.
//!
//! Every call gives the time, and leaves its effects for [`Server::take_effects`].

use std::collections::BTreeSet;

use intent::{Component, Intent};

use crate::activities::{Home, Refused, Start, Started};
use crate::frequency::{Level, LockError};
use crate::grants::{Address, GrantRefused, Owner};
use crate::memory::MemoryError;
use crate::notices::Notices;
use crate::packages::{
    Best, Candidate, Denied, Enabled, Found, InstallError, Installed, Kind, MATCH_DEFAULT_ONLY,
    Settings,
};
use crate::providers::{Acquired, Hold};
use crate::services::{ServiceDeclaration, StartKind};
use crate::{
    Activities, ActivityId, Broadcasts, ConnectionId, Cx, Death, Effect, EndReason, Frequency,
    Grants, Jobs, Memory, Packages, Payload, PendingIntents, ProcessId, ProcessKey, Processes,
    Providers, Services,
};

/// Why something is not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Nothing takes the intent.
    #[error("nothing takes the intent")]
    NotFound,
    /// Several are as good, and there is nobody to choose.
    #[error("several take the intent: {0:?}")]
    Ambiguous(Vec<Component>),
    /// The caller may not.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The stack takes it not.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// An address that the intent grants is not the caller's to grant.
    #[error(transparent)]
    NotGranted(#[from] GrantRefused),
    /// No room.
    #[error("{0}")]
    Full(String),
}

/// Who wants to start an activity or a service, and for what.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The caller's user; 0 is a person at the console.
    pub uid: u32,
    /// The intent.
    pub intent: Intent,
    /// Its flags.
    pub flags: u32,
    /// The rest of it.
    pub payload: Payload,
    /// What it grants, if its flags say so.
    pub addresses: Vec<Address>,
    /// The activity that asks.
    pub source: Option<ActivityId>,
    /// What it calls the result that it wants.
    pub request: Option<i32>,
}

/// The server's whole state.
#[derive(Debug)]
pub struct Server {
    /// What is installed.
    pub packages: Packages,
    /// What runs.
    pub processes: Processes,
    /// What is on the screen, and behind it.
    pub activities: Activities,
    /// What runs without one.
    pub services: Services,
    /// What others read.
    pub providers: Providers,
    /// What others send.
    pub pending: PendingIntents,
    /// What is done later.
    pub jobs: Jobs,
    /// What goes to many.
    pub broadcasts: Broadcasts,
    /// Single addresses that others may reach.
    pub grants: Grants,
    /// What a person is to know.
    pub notices: Notices,
    /// What the processors run at.
    pub frequency: Frequency,
    /// Who is needed how much.
    pub memory: Memory,
    pub(crate) effects: Vec<Effect>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            packages: Packages::default(),
            processes: Processes::default(),
            activities: Activities::new(Home::There),
            services: Services::default(),
            providers: Providers::default(),
            pending: PendingIntents::default(),
            jobs: Jobs::default(),
            broadcasts: Broadcasts::default(),
            grants: Grants::default(),
            notices: Notices::default(),
            frequency: Frequency::default(),
            memory: Memory::default(),
            effects: Vec::new(),
        }
    }
}

impl Server {
    /// What is to be done since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// What intents and results are named by anything that is there.
    pub fn payloads(&self) -> BTreeSet<Payload> {
        let pending = self.pending.payloads();
        let activities = self.activities.payloads();
        activities
            .chain(self.services.payloads())
            .chain(pending)
            .chain(self.jobs.payloads())
            .chain(self.broadcasts.payloads())
            .collect()
    }

    /// Installs a package. One that it replaces ends first.
    ///
    /// # Errors
    ///
    /// [`InstallError`]; then nothing has changed.
    pub fn install(&mut self, candidate: Candidate, now: u64) -> Result<Installed, InstallError> {
        let name = candidate.manifest.package.clone();
        self.admit_memory(&candidate.manifest)?;
        let installed = self.packages.install(candidate)?;
        if matches!(installed, Installed::Replaced(_)) {
            self.end_package(&name, EndReason::PackageGone, now);
            self.keep_jobs(&name, now);
        }
        Ok(installed)
    }

    /// Whether a real-time package's memory is there, beside what others have.
    ///
    /// # Errors
    ///
    /// [`MemoryError`]
    pub fn admit_memory(&self, manifest: &apk::Manifest) -> Result<(), MemoryError> {
        let others = self.packages.iter().map(|it| &it.manifest);
        self.memory.claims.admit(manifest, others)
    }

    /// Takes a package away, with all that runs of it.
    pub fn uninstall(&mut self, name: &str, now: u64) -> Option<Settings> {
        self.end_jobs(name, now);
        self.end_package(name, EndReason::PackageGone, now);
        if let Some(package) = self.packages.get(name) {
            let uid = package.settings.uid;
            self.end_sticky(uid);
            self.grants.end_package(uid, name, true);
        }
        self.packages.uninstall(name)
    }

    /// Ends all that runs of a package. False if it is not installed.
    pub fn force_stop(&mut self, name: &str, now: u64) -> bool {
        let is_there = self.packages.get(name).is_some();
        self.end_jobs(name, now);
        self.end_package(name, EndReason::ForceStop, now);
        is_there
    }

    /// Switches a component of a package, or without a class the whole of it. Unless they are
    /// kept, its processes end. False if it is not there.
    pub fn switch(
        &mut self,
        (name, class): (&str, Option<&str>),
        state: Enabled,
        are_kept: bool,
        now: u64,
    ) -> bool {
        let is_there = self.packages.set_enabled(name, class, state);
        if is_there {
            self.keep_jobs(name, now);
        }
        if is_there && !are_kept {
            self.end_processes(name, EndReason::Switched, now);
        }
        is_there
    }

    fn end_package(&mut self, name: &str, why: EndReason, now: u64) {
        let (activities, mut cx) = self.activities(now);
        activities.finish_package(name, &mut cx);
        let (services, mut cx) = self.services(now);
        services.end_package(name, &mut cx);
        self.pending.end_package(name);
        self.notices.end_package(name);
        if let Some(package) = self.packages.get(name) {
            let uid = package.settings.uid;
            self.broadcasts_without_package(uid);
            self.grants.end_package(uid, name, false);
        }
        self.end_processes(name, why, now);
    }

    fn end_processes(&mut self, name: &str, why: EndReason, now: u64) {
        let own = self.processes.iter().filter(|(_, it)| it.package == name);
        let own: Vec<_> = own.map(|(id, _)| id).collect();
        for id in own {
            self.end_process(id, why, now);
        }
    }

    /// Starts an activity: what became of that, and what the intent goes to. That may be another
    /// name of the activity's.
    ///
    /// # Errors
    ///
    /// [`StartError`]
    pub fn start_activity(
        &mut self,
        wish: Wish,
        now: u64,
    ) -> Result<(Started, Component), StartError> {
        let found = match self
            .packages
            .best(Kind::Activity, &wish.intent, MATCH_DEFAULT_ONLY)
        {
            Best::None => return Err(StartError::NotFound),
            Best::Several(all) => {
                let all = all.iter().map(Found::name).collect();
                return Err(StartError::Ambiguous(all));
            }
            Best::One(found) => found,
        };
        self.packages.may_reach(wish.uid, &found)?;
        let name = found.name();
        let mut declaration = found.package.activity(found.component);
        let home = "android.intent.category.HOME";
        declaration.is_home &= wish.intent.categories.contains(home);
        let holder = declaration.process.uid;
        let mut intent = wish.intent;
        intent.component = Some(declaration.component.clone());
        if wish.uid == 0 {
            self.processes.forgive(holder, now, &mut self.effects);
        }
        let start = Start {
            declaration,
            intent,
            flags: wish.flags,
            payload: wish.payload,
            source: wish.source,
            request: wish.request,
        };
        let granted = self.to_grant((wish.uid, holder), &wish.addresses, wish.flags)?;
        let (activities, mut cx) = self.activities(now);
        let started = activities.start(start, &mut cx)?;
        if let Started::New(id) | Started::Delivered(id) = started {
            self.grant(granted, Some(Owner::Activity(id)));
        }
        Ok((started, name))
    }

    /// Starts a service, and says which.
    ///
    /// # Errors
    ///
    /// [`StartError`]
    pub fn start_service(
        &mut self,
        wish: &Wish,
        kind: StartKind,
        now: u64,
    ) -> Result<Component, StartError> {
        let declaration = self.service(wish.uid, &wish.intent)?;
        let holder = declaration.process.uid;
        let granted = self.to_grant((wish.uid, holder), &wish.addresses, wish.flags)?;
        let (services, mut cx) = self.services(now);
        let started = services.start(&declaration, wish.payload, kind, &mut cx);
        let id = started.map_err(|it| StartError::Full(it.to_string()))?;
        self.grant(granted, Some(Owner::Service(id)));
        Ok(declaration.component)
    }

    /// Binds a service.
    ///
    /// # Errors
    ///
    /// [`StartError`]
    pub fn bind_service(
        &mut self,
        client: ProcessId,
        by: (Intent, Payload),
        flags: u64,
        now: u64,
    ) -> Result<ConnectionId, StartError> {
        let process = self.processes.get(client).ok_or(StartError::NotFound)?;
        let declaration = self.service(process.key.uid, &by.0)?;
        let (services, mut cx) = self.services(now);
        let bound = services.bind(&declaration, client, by, flags, &mut cx);
        bound.map_err(|it| StartError::Full(it.to_string()))
    }

    fn service(&self, uid: u32, intent: &Intent) -> Result<ServiceDeclaration, StartError> {
        let Best::One(found) = self.packages.best(Kind::Service, intent, 0) else {
            return Err(StartError::NotFound);
        };
        self.packages.may_reach(uid, &found)?;
        Ok(ServiceDeclaration {
            component: found.name(),
            process: found.package.process_of(found.component),
        })
    }

    /// A client wants the provider of an authority.
    ///
    /// # Errors
    ///
    /// [`StartError`]
    pub fn acquire_provider(
        &mut self,
        client: ProcessId,
        authority: &str,
        hold: Hold,
        now: u64,
    ) -> Result<Acquired, StartError> {
        let process = self.processes.get(client).ok_or(StartError::NotFound)?;
        let found = self.packages.provider(authority);
        let found = found.ok_or(StartError::NotFound)?;
        self.may_use(process.key.uid, &found)?;
        let key = found.package.process_of(found.component);
        let name = found.name();
        let mut cx = Cx {
            processes: &mut self.processes,
            effects: &mut self.effects,
            now,
        };
        let acquired = self.providers.acquire(&name, &key, (client, hold), &mut cx);
        acquired.map_err(|it| StartError::Full(it.to_string()))
    }

    /// A process wants the processors held at a level.
    ///
    /// # Errors
    ///
    /// [`LockError`]; a process that is not there holds nothing.
    pub fn lock_frequency(&mut self, process: ProcessId, level: Level) -> Result<(), LockError> {
        if self.processes.get(process).is_none() {
            return Err(LockError::Failed("its process is gone".to_owned()));
        }
        self.frequency.lock(process, level, &mut self.effects)
    }

    /// It gives one back; false if it has none.
    pub fn unlock_frequency(&mut self, process: ProcessId) -> bool {
        self.frequency.unlock(process, &mut self.effects)
    }

    /// A process that was started is there. One that nobody waits for is ended.
    pub fn attached(&mut self, process: ProcessId, pid: u32, now: u64) -> bool {
        if !self.processes.attached(process, pid) {
            let why = EndReason::Unknown;
            self.effects.push(Effect::EndProcess { process, why });
            return false;
        }
        let mut cx = Cx {
            processes: &mut self.processes,
            effects: &mut self.effects,
            now,
        };
        self.providers.process_attached(process, &mut cx);
        self.services.process_attached(process, &mut cx);
        self.activities.process_attached(&mut cx);
        self.jobs.process_attached(process, &mut cx);
        true
    }

    /// A process of before the server's own start. None if it belongs to nobody: then end it.
    pub fn adopt(&mut self, key: &ProcessKey, pid: u32) -> Option<ProcessId> {
        let package = self.packages.of_uid(key.uid)?;
        let name = package.settings.name.clone();
        self.processes.adopt(key, &name, pid).ok()
    }

    /// A process is gone.
    pub fn died(&mut self, process: ProcessId, how: Death, now: u64) {
        // Who depends on a provider that dies ends too. Each is taken once: the set only shrinks.
        let mut going = BTreeSet::from([process]);
        while let Some(id) = going.pop_first() {
            let how = if id == process { how } else { Death::Asked };
            if self.processes.died(id, how, now).is_none() {
                continue;
            }
            if id != process {
                self.effects.push(Effect::EndProcess {
                    process: id,
                    why: EndReason::ProviderDied,
                });
            }
            let mut cx = Cx {
                processes: &mut self.processes,
                effects: &mut self.effects,
                now,
            };
            going.extend(self.providers.process_died(id, &mut cx));
            self.services.process_died(id, &mut cx);
            self.notices.process_died(id);
            self.memory.process_died(id);
            self.activities.process_died(id, &mut cx);
            self.frequency.process_died(id, cx.effects);
            self.jobs.process_died(id, &mut cx);
            self.broadcasts_without(id, now);
        }
    }

    pub(crate) fn end_process(&mut self, process: ProcessId, why: EndReason, now: u64) {
        self.effects.push(Effect::EndProcess { process, why });
        let how = match why {
            // No fault of its own; but what starts again at once takes the same memory again.
            EndReason::StartLate | EndReason::NotAnswering | EndReason::Memory => Death::Fault,
            _ => Death::Asked,
        };
        self.died(process, how, now);
    }

    /// Time has passed: who is late ends, and who has waited starts.
    pub fn tick(&mut self, now: u64) {
        for (process, why) in self.processes.tick(now, &mut self.effects) {
            self.end_process(process, why, now);
        }
        let (services, mut cx) = self.services(now);
        services.tick(&mut cx);
        let (jobs, mut cx) = self.jobs(now);
        jobs.tick(&mut cx);
    }

    /// The activities, with what they are given.
    pub fn activities(&mut self, now: u64) -> (&mut Activities, Cx<'_>) {
        let cx = Cx {
            processes: &mut self.processes,
            effects: &mut self.effects,
            now,
        };
        (&mut self.activities, cx)
    }

    /// The services, with what they are given.
    pub fn services(&mut self, now: u64) -> (&mut Services, Cx<'_>) {
        let cx = Cx {
            processes: &mut self.processes,
            effects: &mut self.effects,
            now,
        };
        (&mut self.services, cx)
    }

    /// Panics if a rule is broken: what property tests call after each step.
    pub fn assert_consistent(&self) {
        self.packages.assert_consistent();
        self.activities.assert_consistent(&self.processes);
        self.services.assert_consistent(&self.processes);
        self.providers.assert_consistent(&self.processes);
        self.pending.assert_consistent();
        self.grants.assert_consistent();
        self.notices.assert_consistent();
        self.frequency.assert_consistent(&self.processes);
        self.memory.assert_consistent(&self.processes);
        self.broadcasts.assert_consistent(&self.processes);
        self.jobs.assert_consistent(&self.processes);
        let is_installed = |name: &str| self.packages.get(name).is_some();
        for (id, it) in self.processes.iter() {
            assert!(is_installed(&it.package), "{id:?} without its package");
        }
        for (id, it) in self.activities.iter() {
            let package = &it.declaration.component.package;
            assert!(is_installed(package), "{id:?} without its package");
        }
    }
}
