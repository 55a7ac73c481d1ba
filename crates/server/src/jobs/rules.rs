// SPDX-License-Identifier: Apache-2.0
//! Which jobs a package may schedule, and which go with it.

use intent::{Component, Intent};

use super::{Asked, Conditions, JobRefused, KeptJob};
use crate::packages::{Best, Kind, Packages};
use crate::server::Server;
use crate::services::ServiceDeclaration;
use crate::{Cx, Jobs, Payload};

/// What guards a service from everybody but the system.
const BIND: &str = "android.permission.BIND_JOB_SERVICE";
/// For jobs that are kept.
const BOOT: &str = "android.permission.RECEIVE_BOOT_COMPLETED";
/// For jobs that need a network.
const INTERNET: &str = "android.permission.INTERNET";
/// The same, from Android 14 on.
const NETWORK_STATE: &str = "android.permission.ACCESS_NETWORK_STATE";
const NETWORK_STATE_SDK: u32 = 34;

impl Packages {
    fn service(&self, name: &Component) -> Option<(ServiceDeclaration, Option<&str>)> {
        let intent = Intent {
            component: Some(name.clone()),
            ..Intent::default()
        };
        let Best::One(found) = self.best(Kind::Service, &intent, 0) else {
            return None;
        };
        let declaration = ServiceDeclaration {
            component: found.name(),
            process: found.package.process_of(found.component),
        };
        Some((declaration, found.component.permission.as_deref()))
    }

    fn job_service(&self, uid: u32, name: &Component) -> Result<ServiceDeclaration, JobRefused> {
        let found = self.service(name);
        let (service, guard) = found.ok_or_else(|| JobRefused::NoService(name.clone()))?;
        if service.process.uid != uid {
            return Err(JobRefused::NotOwn(uid, name.package.clone()));
        }
        match guard == Some(BIND) {
            true => Ok(service),
            false => Err(JobRefused::NotGuarded(name.clone())),
        }
    }
}

impl Server {
    /// The service that does a user's job, if the user may schedule it.
    ///
    /// # Errors
    ///
    /// [`JobRefused`]
    pub fn job_service(
        &self,
        uid: u32,
        name: &Component,
        needs: Conditions,
        is_kept: bool,
    ) -> Result<ServiceDeclaration, JobRefused> {
        let service = self.packages.job_service(uid, name)?;
        let has = |permission| self.packages.may(uid, permission);
        if is_kept && !has(BOOT) {
            return Err(JobRefused::MayNotStay);
        }
        let networks = [
            Conditions::NETWORK,
            Conditions::UNMETERED,
            Conditions::NOT_ROAMING,
        ];
        if networks.into_iter().any(|it| needs.has(it)) {
            let package = self.packages.get(&name.package);
            let sdk = package.map_or(0, |it| it.manifest.target_sdk);
            if !has(INTERNET) {
                return Err(JobRefused::NoNetwork(INTERNET));
            }
            if sdk >= NETWORK_STATE_SDK && !has(NETWORK_STATE) {
                return Err(JobRefused::NoNetwork(NETWORK_STATE));
            }
        }
        Ok(service)
    }

    /// The jobs, with what they are given.
    pub fn jobs(&mut self, now: u64) -> (&mut Jobs, Cx<'_>) {
        let cx = Cx {
            processes: &mut self.processes,
            effects: &mut self.effects,
            now,
        };
        (&mut self.jobs, cx)
    }

    /// A package goes, or is stopped by force.
    pub(crate) fn end_jobs(&mut self, package: &str, now: u64) {
        let uid = self.packages.get(package).map(|it| it.settings.uid);
        if let Some(uid) = uid {
            let (jobs, mut cx) = self.jobs(now);
            jobs.end_user(uid, &mut cx);
        }
    }

    /// A package has changed: jobs stay whose service is there.
    pub(crate) fn keep_jobs(&mut self, package: &str, now: u64) {
        let Some(uid) = self.packages.get(package).map(|it| it.settings.uid) else {
            return;
        };
        let Self {
            packages,
            jobs,
            processes,
            effects,
            ..
        } = self;
        let mut cx = Cx {
            processes,
            effects,
            now,
        };
        jobs.keep(uid, |it| packages.job_service(uid, it).is_ok(), &mut cx);
    }

    /// Takes a job up again that the last server had: false if its package may not have it.
    pub fn restore_job(
        &mut self,
        kept: &KeptJob,
        payload: Payload,
        wall_ns: u64,
        now: u64,
    ) -> bool {
        let name = Component {
            package: kept.package.clone(),
            class: kept.class.clone(),
        };
        let Some(uid) = self.packages.get(&kept.package).map(|it| it.settings.uid) else {
            return false;
        };
        let service = self.job_service(uid, &name, kept.terms.needs, true);
        let Ok(service) = service else {
            return false;
        };
        let (jobs, mut cx) = self.jobs(now);
        jobs.restore(kept, (service, payload), wall_ns, &mut cx)
    }
}

impl Asked {
    /// Its package.
    pub fn package(&self) -> &str {
        &self.service.component.package
    }
}
