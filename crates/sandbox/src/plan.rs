// SPDX-License-Identifier: Apache-2.0
//! From a [`Spec`] to the [`Step`]s that carry it out and the [`Report`] that they promise.

use landlock::RulesetError;
use rustix::process::Resource;
use rustix::thread::{CapabilitySet, UnshareFlags};

use crate::calls;
use crate::files::{self, LEVEL_DEVICE_CALLS, LEVEL_PORTS, LEVEL_SCOPES, LEVEL_TRUNCATION};
use crate::grants::{self, Grants};
use crate::report::{Bound, Report, State};
use crate::spec::{Identity, LocalSockets, Network, OtherProcesses, RealTime, Spec};
use crate::step::Step;

/// What real-time threads need that set their policies themselves.
const OF_REAL_TIME: CapabilitySet = CapabilitySet::SYS_NICE.union(CapabilitySet::IPC_LOCK);

/// Whether a child may have real-time priorities up to this one by its limits.
pub fn may_raise(priority: u8) -> bool {
    let own = rustix::thread::capabilities(None);
    let is_free = own.is_ok_and(|it| it.effective.contains(CapabilitySet::SYS_RESOURCE));
    let limit = rustix::process::getrlimit(Resource::Rtprio).maximum;
    is_free || limit.is_none_or(|it| u64::from(priority) <= it)
}

/// Steps in their order, and what they promise.
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) report: Report,
    pub(crate) grants: Option<Grants>,
}

/// What it takes to make a child another user's.
const OF_USERS: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// What decides what this process can do for its child.
struct Means {
    capabilities: CapabilitySet,
    is_root: bool,
    level: u32,
    /// The user that the child becomes.
    identity: Option<Identity>,
}

impl Plan {
    pub(crate) fn of(spec: &Spec) -> Result<Self, RulesetError> {
        let capabilities =
            rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |it| it.effective);
        let may_change = capabilities.contains(OF_USERS);
        let means = Means {
            capabilities,
            is_root: rustix::process::geteuid().is_root(),
            level: files::landlock_level(),
            identity: spec.identity.filter(|_| may_change),
        };
        let mut plan = Self {
            steps: Vec::new(),
            report: Report::default(),
            grants: None,
        };
        for (bound, why) in &spec.lacks {
            plan.misses(*bound, why.as_str());
        }
        if spec.identity.is_some() && !may_change {
            plan.misses(Bound::Identity, "root alone gives users of their own");
        }
        plan.resources(spec, &means);
        plan.disk(spec, &means);
        plan.namespaces(spec, &means);
        plan.rights(spec, &means);
        plan.landlock(spec, &means)?;
        plan.ask(spec);
        plan.calls(spec);
        plan.report.sort();
        Ok(plan)
    }

    fn holds(&mut self, bound: Bound, how: impl Into<String>) {
        self.report.add(bound, State::Holds(how.into()));
    }

    fn misses(&mut self, bound: Bound, why: impl Into<String>) {
        self.report.add(bound, State::Missing(why.into()));
    }

    fn limit(&mut self, bound: Bound, resource: Resource, value: u64) {
        self.steps.push(Step::Limit(bound, resource, value));
    }

    /// Not a step of the child's: the file systems keep it.
    fn disk(&mut self, spec: &Spec, means: &Means) {
        let Some(disk) = &spec.disk else {
            return;
        };
        let Some(identity) = means.identity else {
            self.misses(
                Bound::Disk,
                "without a user of its own it has no quota of its own",
            );
            return;
        };
        match disk.limit(identity.uid) {
            Ok(()) => self.holds(Bound::Disk, format!("a quota of {} bytes", disk.bytes)),
            Err(why) => self.misses(Bound::Disk, why),
        }
    }

    fn resources(&mut self, spec: &Spec, means: &Means) {
        let limits = spec.limits;
        if let Some(order) = limits.kill_order {
            self.steps.push(Step::KillOrder(order.to_string()));
            self.holds(Bound::KillOrder, format!("oom_score_adj {order}"));
        }
        let mut tasks_of_group = None;
        if let Some(group) = &spec.group {
            match group.members.try_clone() {
                Ok(members) => {
                    self.steps.push(Step::Join(members.into()));
                    tasks_of_group = group.tasks;
                    if let Some(bytes) = group.memory_bytes {
                        self.holds(Bound::Memory, format!("memory.max {bytes}"));
                    }
                }
                Err(error) => self.misses(Bound::Memory, error.to_string()),
            }
        }
        self.tasks(spec, means, tasks_of_group);
        if let Some(count) = limits.open_files {
            self.limit(Bound::OpenFiles, Resource::Nofile, count);
            self.holds(Bound::OpenFiles, format!("RLIMIT_NOFILE {count}"));
        }
        self.limit(Bound::CoreFiles, Resource::Core, 0);
        self.holds(Bound::CoreFiles, "RLIMIT_CORE 0");
        if let Some(bytes) = limits.locked_bytes {
            self.limit(Bound::LockedMemory, Resource::Memlock, bytes);
            self.holds(Bound::LockedMemory, format!("RLIMIT_MEMLOCK {bytes}"));
        }
        if let Some(micros) = limits.real_time_us {
            self.limit(Bound::RealTimeRun, Resource::Rttime, micros);
            self.holds(Bound::RealTimeRun, format!("RLIMIT_RTTIME {micros}"));
        }
        let how = match spec.real_time {
            RealTime::AsUser => return,
            // The limit is nought as well; what is asked comes with the filters.
            RealTime::Asked(_) => {
                self.limit(Bound::RealTime, Resource::Rtprio, 0);
                self.limit(Bound::RealTime, Resource::Nice, 0);
                return;
            }
            RealTime::FromOutside => {
                self.limit(Bound::RealTime, Resource::Rtprio, 0);
                "RLIMIT_RTPRIO 0, given from outside alone".to_owned()
            }
            RealTime::UpTo(priority) => {
                let grant = Step::Grant(Bound::RealTime, Resource::Rtprio, priority.into());
                self.steps.push(grant);
                format!("RLIMIT_RTPRIO {priority}, as granted")
            }
        };
        self.limit(Bound::RealTime, Resource::Nice, 0);
        self.holds(Bound::RealTime, how);
    }

    /// The first of the filters: the others are stricter, and have the last word.
    fn ask(&mut self, spec: &Spec) {
        let RealTime::Asked(priority) = spec.real_time else {
            return;
        };
        match Grants::up_to(priority) {
            Ok((grants, far)) => {
                self.steps.push(Step::Ask(grants::program(), far));
                self.grants = Some(grants);
                let how = format!("RLIMIT_RTPRIO 0, given from outside up to {priority}");
                self.holds(Bound::RealTime, how);
            }
            Err(error) => self.misses(Bound::RealTime, error.to_string()),
        }
    }

    fn tasks(&mut self, spec: &Spec, means: &Means, of_group: Option<u64>) {
        let Some(count) = spec.limits.tasks else {
            return;
        };
        let stays_root = means.is_root && means.identity.is_none();
        if !stays_root {
            // The limit counts all that a user has.
            let others = means.identity.map_or_else(tasks_here, |_| 0);
            self.limit(Bound::Tasks, Resource::Nproc, others + count);
        }
        match of_group {
            Some(count) => self.holds(Bound::Tasks, format!("pids.max {count}")),
            None if stays_root => self.misses(
                Bound::Tasks,
                "RLIMIT_NPROC does not bind root: a user of its own or cgroup v2 would",
            ),
            None => self.holds(Bound::Tasks, "RLIMIT_NPROC"),
        }
    }

    /// Never of processes: see the crate's head. None of mounts: Landlock says which files, and
    /// without capabilities nobody mounts. None of users: files of root would seem to be nobody's,
    /// so the machine would not trust its delivered code; and what it gives, filters give too.
    fn namespaces(&mut self, spec: &Spec, means: &Means) {
        if !means.capabilities.contains(CapabilitySet::SYS_ADMIN) {
            return;
        }
        self.steps.push(Step::Unshare(None, UnshareFlags::NEWIPC));
        if spec.network == Network::None {
            let is_all = spec.local_sockets == LocalSockets::Allowed && means.level < LEVEL_SCOPES;
            let bound = is_all.then_some(Bound::AbstractSockets);
            self.steps.push(Step::Unshare(bound, UnshareFlags::NEWNET));
        }
    }

    fn rights(&mut self, spec: &Spec, means: &Means) {
        let kept = match spec.real_time {
            RealTime::FromOutside | RealTime::UpTo(_) | RealTime::Asked(_) => {
                CapabilitySet::empty()
            }
            // Another user has none.
            RealTime::AsUser if means.identity.is_some() => CapabilitySet::empty(),
            RealTime::AsUser => OF_REAL_TIME & means.capabilities,
        };
        // Without the right to it nothing is to be done: no program gives any capability back.
        if means.capabilities.contains(CapabilitySet::SETPCAP) {
            self.steps.push(Step::Bounding(kept));
        }
        if let Some(identity) = means.identity {
            self.steps.push(Step::Become(identity));
            let how = format!("uid {}, gid {}", identity.uid, identity.gid);
            self.holds(Bound::Identity, how);
        }
        self.steps.push(Step::Capabilities(kept));
        let how = match kept.is_empty() {
            true => "none are left".to_owned(),
            false => "none are left but CAP_SYS_NICE and CAP_IPC_LOCK, for real time".to_owned(),
        };
        self.holds(Bound::Capabilities, how);
        self.steps.push(Step::NoNewPrivileges);
        self.holds(Bound::NewPrivileges, "no_new_privs");
        self.steps.push(Step::Dumpable);
    }

    fn landlock(&mut self, spec: &Spec, means: &Means) -> Result<(), RulesetError> {
        let level = means.level;
        let by_level = |least: u32| match level {
            _ if least <= level => State::Holds(format!("Landlock {level}")),
            0 => State::Missing("this kernel has no Landlock".to_owned()),
            _ => State::Missing(format!("Landlock {level}, and it takes {least}")),
        };
        let or = |holds: bool, how: &str, least: u32| match holds {
            true => State::Holds(how.to_owned()),
            false => by_level(least),
        };
        if let Some(rules) = files::rules(spec, level)? {
            if let Ok(ruleset) = rules.ruleset.try_clone() {
                self.steps
                    .push(Step::OwnProcess(ruleset, rules.own_process));
            }
            self.steps.push(Step::Files(rules.ruleset));
        }
        self.report.add(Bound::Files, by_level(1));
        self.report
            .add(Bound::Truncation, by_level(LEVEL_TRUNCATION));
        self.report
            .add(Bound::DeviceCalls, by_level(LEVEL_DEVICE_CALLS));
        let is_own_user = means.identity.is_some();
        self.report.add(
            Bound::Signals,
            or(is_own_user, "a user of its own", LEVEL_SCOPES),
        );
        match spec.network {
            Network::None => self.holds(Bound::Network, "no socket of it can be made"),
            Network::Listen => self.report.add(Bound::Network, by_level(LEVEL_PORTS)),
            Network::Full => {}
        }
        let has_own_network = self
            .steps
            .iter()
            .any(|it| matches!(it, Step::Unshare(_, UnshareFlags::NEWNET)));
        match spec.local_sockets {
            LocalSockets::Refused => {
                self.holds(Bound::LocalSockets, "none can be made");
                self.holds(Bound::AbstractSockets, "none can be made");
            }
            LocalSockets::Allowed => self.report.add(
                Bound::AbstractSockets,
                or(has_own_network, "a network of its own", LEVEL_SCOPES),
            ),
        }
        let processes = match spec.other_processes {
            OtherProcesses::Hidden => by_level(1),
            // Landlock's domains guard what needs a right over a process, at every level.
            OtherProcesses::Listed => match by_level(1) {
                State::Holds(how) => {
                    State::Holds(format!("{how}; their names and states are seen"))
                }
                missing => missing,
            },
        };
        self.report.add(Bound::OtherProcesses, processes);
        Ok(())
    }

    fn calls(&mut self, spec: &Spec) {
        let programs = calls::programs(spec);
        self.steps.extend(programs.into_iter().map(Step::Calls));
        self.holds(Bound::SystemCalls, "seccomp");
        self.holds(Bound::Ipc, "seccomp");
    }
}

/// All tasks of the machine: the fourth word of /proc/loadavg has them behind its stroke. At least
/// as many as any user has.
fn tasks_here() -> u64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let word = text.split_whitespace().nth(3).unwrap_or_default();
    let all = word.split_once('/').and_then(|(_, all)| all.parse().ok());
    all.unwrap_or(TASKS_UNKNOWN)
}

/// As many as small machines have.
const TASKS_UNKNOWN: u64 = 1_000;
