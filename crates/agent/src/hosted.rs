// SPDX-License-Identifier: Apache-2.0
//! [`Hosted`]: a server inside the one process that it is for, over the transport `direct`.
//!
//! It has no thread, no disk and no clock of its own: a call is a function call, and who calls
//! fetches what follows from it. Its one package has all components in this process, and all
//! permissions that it asks for. No other process starts; who does not answer in time is somebody
//! else's concern.

use std::path::Path;
use std::sync::Arc;

use binder::{Binder, Options, Process, StartError};
use rt::clock::{Clock, Monotonic};
use rt::frequency::Cpufreq;
use rt::peer::PidFd;
use rt::sync::PiMutex;
use rt::sys::Errno;
use server::activities::Home;
use server::jobs::Conditions;
use server::packages::{Enabled, FIRST_UID, InstallError, SDK, Settings};
use server::{Activities, ProcessKey};

use crate::calls::{Agent, ISystemStub, Keeper};
use crate::frequency::Frequencies;
use crate::place::Place;
use crate::senders::SenderNode;
use crate::state::State;

/// See the module.
pub struct Hosted {
    state: PiMutex<State>,
    place: Place,
    frequencies: Frequencies,
    binder: Process,
}

/// Why a server does not begin.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Its package.
    #[error(transparent)]
    Package(#[from] InstallError),
    /// No nodes.
    #[error(transparent)]
    Binder(#[from] StartError),
    /// The process is not to be had, or has no place.
    #[error("the process cannot be its own server's: {0}")]
    Process(Errno),
}

impl Hosted {
    /// A server of this package in this process, and what that calls it by. It holds the processors
    /// by `cpufreq`.
    ///
    /// # Errors
    ///
    /// [`HostError`]
    pub fn begin(
        home: &Process,
        manifest: apk::Manifest,
        cpufreq: Cpufreq,
    ) -> Result<(Arc<Self>, Binder), HostError> {
        let lost = HostError::Process(Errno(rustix::io::Errno::SRCH.raw_os_error()));
        let state = state_of(manifest)?;
        let hosted = Arc::new(Self {
            state: PiMutex::new(state),
            place: Place::new(Path::new("")),
            frequencies: Frequencies::new(cpufreq),
            binder: Process::prepare(&Options {
                loopers: 1,
                kept: 1,
                ..Options::new("system")
            })?,
        });
        let root = hosted.binder.add(ISystemStub(Agent(Arc::clone(&hosted))));
        hosted.binder.set_root(Some(root));
        let (end, _) = Process::join(home, &hosted.binder);
        let root = end.root().ok().flatten().ok_or(lost)?;
        Ok((hosted, root))
    }

    /// Ends all that runs: activities from the front, then services, the last made first. The
    /// processors are held no more.
    pub fn end_all(&self) {
        self.with(|state| {
            let now = Monotonic.now_ns();
            let (activities, mut cx) = state.server.activities(now);
            activities.end_all(&mut cx);
            let (services, mut cx) = state.server.services(now);
            services.end_all(&mut cx);
        });
        self.frequencies.end();
    }
}

/// What jobs wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobsWait {
    /// When somebody is to look at them again.
    pub due_ns: Option<u64>,
    /// Some wait for what the machine has.
    pub for_conditions: bool,
    /// None is there, and none runs.
    pub for_nothing: bool,
}

impl Hosted {
    /// Is a job there, or does one run?
    pub fn has_jobs(&self) -> bool {
        self.state.lock().server.jobs.counts() != (0, 0)
    }

    /// Looks at jobs: time has passed, and this is what the machine has, if somebody has looked.
    pub fn look_at_jobs(&self, conditions: Option<Conditions>) -> JobsWait {
        self.with(|state| {
            let now = Monotonic.now_ns();
            if let Some(conditions) = conditions {
                state.conditions_are(conditions, now);
            }
            let (jobs, mut cx) = state.server.jobs(now);
            jobs.tick(&mut cx);
            JobsWait {
                due_ns: jobs.due(),
                for_conditions: jobs.wants_conditions(),
                for_nothing: jobs.counts() == (0, 0),
            }
        })
    }
}

/// With one package, and its process.
fn state_of(manifest: apk::Manifest) -> Result<State, HostError> {
    let manifest = alone(manifest);
    let name = manifest.package.clone();
    let mut state = State::default();
    state.server.activities = Activities::new(Home::Nowhere);
    state.server.packages.grant_all();
    let settings = Settings {
        name: name.clone(),
        version: manifest.version_code,
        signers: ["whoever runs it".to_owned()].into(),
        uid: FIRST_UID,
        code: String::new(),
        is_system: false,
        granted: Default::default(),
        enabled: Enabled::Default,
        components: Default::default(),
    };
    state.server.packages.restore(manifest, settings)?;
    let pidfd = PidFd::open(std::process::id().cast_signed()).map_err(HostError::Process)?;
    let key = ProcessKey {
        uid: FIRST_UID,
        name: name.clone(),
    };
    let adopted = state
        .server
        .processes
        .adopt(&key, &name, std::process::id());
    // It is the first.
    if let Ok(process) = adopted {
        state.began(process, pidfd);
    }
    Ok(state)
}

/// What only a server of several has to know goes.
fn alone(mut manifest: apk::Manifest) -> apk::Manifest {
    manifest.split = None;
    manifest.shared_user_id = None;
    manifest.min_sdk = manifest.min_sdk.min(SDK);
    manifest.application.process = None;
    for component in &mut manifest.application.components {
        component.process = None;
    }
    manifest
}

impl Keeper for Hosted {
    fn with<T>(&self, event: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let outcome = event(&mut state);
        state.settle(Monotonic.now_ns());
        state.forget_others();
        outcome
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn frequencies(&self) -> &Frequencies {
        &self.frequencies
    }

    /// Nothing outlives the process.
    fn changed(_: &Arc<Self>) {}

    fn make_sender(&self) -> Binder {
        self.binder.add(SenderNode)
    }
}

#[cfg(test)]
mod tests {
    use binder::stub::Answer;
    use server::frequency::LOCK_FREQUENCY;

    use super::*;
    use crate::calls::{ISystem as _, ISystemProxy, Job, Receiver, Shout, Step, Wish};

    /// As `takt run` describes a package: an activity with an alias, and a service and a receiver
    /// that name processes of their own.
    const MANIFEST: &str = r#"{"package": "p", "version_code": 1, "uses_permissions": ["x.ASKED"],
        "permissions": [], "features": [], "instrumentation": [], "min_sdk": 26, "target_sdk": 34,
        "application": {"is_enabled": true, "has_code": true, "is_debuggable": false,
        "libraries": [], "meta_data": [], "extensions": [], "components": [
        {"kind": "activity", "name": "p.Main", "is_enabled": true, "is_exported": true,
         "launch": {"mode": 0, "document_mode": 0, "has_no_history": false, "told_changes": 3},
         "authorities": [], "init_order": 0, "intent_filters": [], "meta_data": [],
         "extensions": []},
        {"kind": "activity-alias", "name": "p.Shown", "target": "p.Main", "is_enabled": true,
         "is_exported": true, "launch": {"mode": 0, "document_mode": 0, "has_no_history": false,
         "told_changes": 3}, "authorities": [], "init_order": 0, "intent_filters": [
         {"priority": 0, "actions": ["show"], "categories": ["android.intent.category.DEFAULT"],
          "data": []}], "meta_data": [], "extensions": []},
        {"kind": "service", "name": "p.Work", "process": ":work", "is_enabled": true,
         "is_exported": false, "launch": {"mode": 0, "document_mode": 0, "has_no_history": false,
         "told_changes": 3}, "authorities": [], "init_order": 0, "intent_filters": [],
         "meta_data": [], "extensions": []},
        {"kind": "service", "name": "p.Job", "is_enabled": true, "is_exported": false,
         "permission": "android.permission.BIND_JOB_SERVICE",
         "launch": {"mode": 0, "document_mode": 0, "has_no_history": false, "told_changes": 3},
         "authorities": [], "init_order": 0, "intent_filters": [], "meta_data": [],
         "extensions": []},
        {"kind": "receiver", "name": "p.Ear", "process": ":ear", "is_enabled": true,
         "is_exported": false, "launch": {"mode": 0, "document_mode": 0, "has_no_history": false,
         "told_changes": 3}, "authorities": [], "init_order": 0, "intent_filters": [
         {"priority": 0, "actions": ["act"], "categories": [], "data": []}],
         "meta_data": [], "extensions": []}]}}"#;

    struct Alone {
        _home: Process,
        hosted: Arc<Hosted>,
        system: ISystemProxy,
    }

    impl Alone {
        fn new() -> Self {
            let manifest = serde_json::from_str(MANIFEST).expect("a manifest");
            let home = Process::prepare(&Options::new("application")).expect("nodes");
            let cpufreq = Cpufreq::at(Path::new("/nowhere"), Path::new("/nowhere"));
            let begun = Hosted::begin(&home, manifest, cpufreq);
            let (hosted, root) = begun.expect("a server");
            Self {
                _home: home,
                hosted,
                system: ISystemProxy(root),
            }
        }

        /// What one call has left, as kinds with the numbers that tell steps apart.
        fn steps(&self) -> Vec<Step> {
            let mut all = Vec::new();
            loop {
                let more = self.system.steps().expect("it answers");
                if more.is_empty() {
                    return all;
                }
                all.extend(more);
            }
        }

        fn services(&self) -> Vec<i64> {
            let all = self.steps();
            let of_services = all
                .iter()
                .filter(|it| it.kind == ISystemProxy::STEP_SERVICE);
            of_services.map(|it| it.numbers[1]).collect()
        }
    }

    fn to(component: &str) -> Wish {
        Wish {
            component: Some(component.to_owned()),
            ..Wish::default()
        }
    }

    fn act() -> Wish {
        Wish {
            action: Some("act".to_owned()),
            ..Wish::default()
        }
    }

    fn numbers(all: &[i32]) -> Vec<i64> {
        all.iter().copied().map(i64::from).collect()
    }

    #[test]
    fn a_service_lives_in_the_one_process_and_ends_behind_activities() {
        let it = Alone::new();
        let started = it.system.start_service(&to("p/.Work"), false);
        assert_eq!(started.unwrap().as_deref(), Some("p/p.Work"));
        let expected = numbers(&[ISystemProxy::CREATE, ISystemProxy::START]);
        assert_eq!(it.services(), expected);
        assert!(it.system.peek(&to("p/.Work")).unwrap().is_none());
        let begun = it.system.start_activity(&to("p/.Main"), 0, false, 0);
        assert_eq!(begun.unwrap()[0], 0);
        it.steps();
        it.hosted.end_all();
        let kinds: Vec<_> = it.steps().iter().map(|it| it.kind).collect();
        let expected = [ISystemProxy::STEP_ACTIVITY, ISystemProxy::STEP_SERVICE];
        assert_eq!(kinds, expected);
        // Nobody keeps the time: what was asked leaves no wake behind.
        let wake = it.hosted.with(|state| state.next_wake());
        assert_eq!((wake, it.steps().len()), (None, 0));
    }

    /// As on Android: the class behind it is made, and the intent says the alias.
    #[test]
    fn an_alias_keeps_its_name_in_the_intent() {
        let it = Alone::new();
        let show = Wish {
            action: Some("show".to_owned()),
            ..Wish::default()
        };
        let begun = it.system.start_activity(&show, 0, false, 0).unwrap();
        let steps = it.steps();
        let component = steps[0].wishes[0].component.as_deref();
        assert_eq!(component, Some("p/p.Shown"));
        let own = it.system.component_of(begun[1]).unwrap();
        assert_eq!(own.as_deref(), Some("p/p.Main"));
    }

    #[test]
    fn a_broadcast_comes_to_code_and_manifest_and_a_permission_that_was_asked_for_is_there() {
        let it = Alone::new();
        let receiver = Receiver {
            number: 7,
            actions: vec!["act".to_owned()],
            ..Receiver::default()
        };
        it.system.register(&receiver).unwrap();
        let send = |permission: &str| {
            let shout = Shout {
                wish: act(),
                permissions: vec![permission.to_owned()],
                priority: -1,
                ..Shout::default()
            };
            it.system.broadcast(&shout).unwrap();
            let all = it.steps();
            all.iter().map(|it| it.numbers[1]).collect::<Vec<_>>()
        };
        assert_eq!(send("x.ASKED"), [7, 0]);
        assert!(send("x.OTHER").is_empty());
    }

    fn job(id: i32) -> Job {
        Job {
            id,
            service: "p/.Job".to_owned(),
            deadline: -1,
            ..Job::default()
        }
    }

    #[test]
    fn a_job_is_a_step_and_hands_out_its_work() {
        let it = Alone::new();
        assert!(!it.hosted.has_jobs());
        it.system.schedule(&job(3), None).unwrap();
        let steps = it.steps();
        assert_eq!((steps.len(), steps[0].kind), (1, ISystemProxy::STEP_JOB));
        let [run, what, is_overdue] = steps[0].numbers[..] else {
            panic!("{steps:?}");
        };
        assert_eq!((what, is_overdue), (ISystemProxy::START_JOB.into(), 0));
        assert_eq!(
            it.system.job_waits(None, 3).unwrap(),
            ISystemProxy::WAITS_RUNS
        );
        // The same job: its run takes the work. Another's number changes nothing.
        it.system.schedule(&job(3), Some(&act())).unwrap();
        assert!(it.steps().is_empty() && it.system.dequeue_work(run + 1).unwrap().is_none());
        let work = it.system.dequeue_work(run).unwrap().expect("work");
        assert_eq!(work.whole.action.as_deref(), Some("act"));
        assert!(it.system.complete_work(run, work.id).unwrap());
        assert!(it.system.dequeue_work(run).unwrap().is_none());
        assert!(!it.hosted.has_jobs(), "that was the job");
    }

    #[test]
    fn a_job_that_waits_is_looked_at_when_it_is_due() {
        let it = Alone::new();
        let later = Job {
            needs: ISystemProxy::NEEDS_NETWORK,
            ..job(1)
        };
        it.system.schedule(&job(2), Some(&act())).unwrap();
        let refused = it.system.schedule(&later, None);
        assert!(refused.is_err(), "without INTERNET");
        let later = Job {
            needs: ISystemProxy::NEEDS_CHARGING,
            ..job(1)
        };
        it.system.schedule(&later, None).unwrap();
        assert_eq!(it.steps().len(), 1);
        let waits = it.hosted.look_at_jobs(None);
        assert!(waits.for_conditions && it.steps().is_empty());
        it.hosted.look_at_jobs(Some(Conditions::CHARGING));
        assert_eq!(it.steps().len(), 1);
        it.system.cancel_jobs(false, None).unwrap();
        let stops = it.steps();
        let is_stop = |it: &Step| it.numbers[1] == i64::from(ISystemProxy::STOP_JOB);
        assert!(stops.len() == 2 && stops.iter().all(is_stop), "{stops:?}");
        assert!(it.system.jobs_in(None).unwrap().is_empty() && it.hosted.has_jobs());
        for it_runs in stops {
            let run = it_runs.numbers[0];
            let stopped = ISystemProxy::JOB_STOPPED;
            it.system.job_told(run, stopped, true).unwrap();
        }
        assert!(!it.hosted.has_jobs());
    }

    #[test]
    fn a_frequency_that_cannot_be_held_is_refused_by_name_and_left_to_nobody() {
        let it = Alone::new();
        let said = |held: Answer<()>| held.expect_err("it is refused").to_string();
        let refused = said(it.system.lock_frequency(50));
        assert!(refused.contains(LOCK_FREQUENCY), "{refused}");
        let ask = |it: &mut State| {
            let mut manifest: apk::Manifest = serde_json::from_str(MANIFEST).expect("a manifest");
            manifest.uses_permissions.push(LOCK_FREQUENCY.to_owned());
            let settings = it.server.packages.get("p").expect("it").settings.clone();
            it.server.packages.uninstall("p");
            it.server.packages.restore(alone(manifest), settings)
        };
        it.hosted.with(ask).expect("it is back");
        let refused = said(it.system.lock_frequency(101));
        assert!(refused.contains("101 percent"), "{refused}");
        let refused = said(it.system.lock_frequency(50));
        assert!(refused.contains("no cpufreq: /nowhere"), "{refused}");
        assert_eq!(it.system.locked_frequency().unwrap(), -1);
        assert!(!it.system.unlock_frequency().unwrap());
    }

    #[test]
    fn who_watches_a_pending_intent_hears_once_of_its_end() {
        let it = Alone::new();
        let make = || it.system.pending(1, 3, &act(), 0).unwrap().unwrap();
        let pending = make();
        assert!(it.system.watch_pending(&pending, 9).unwrap());
        assert!(it.system.watch_pending(&pending, 10).unwrap());
        it.system.unwatch_pending(&pending, 10).unwrap();
        let sent = it
            .system
            .send_pending(&pending, 0, &Wish::default(), None, 0);
        assert_eq!((sent.unwrap(), it.steps().len()), (0, 1));
        it.system.cancel_pending(&pending).unwrap();
        let told = it.steps();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].kind, ISystemProxy::STEP_CANCELLED);
        assert_eq!(told[0].numbers, [9]);
        assert!(!it.system.watch_pending(&pending, 11).unwrap());
        // Whatever ends it.
        assert!(it.system.watch_pending(&make(), 12).unwrap());
        it.hosted.with(|it| it.server.pending.end_package("p"));
        let told = it.steps();
        assert_eq!((told.len(), &told[0].numbers), (1, &vec![12]));
    }
}
