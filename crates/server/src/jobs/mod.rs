// SPDX-License-Identifier: Apache-2.0
//! `JobScheduler`: what packages have done once its time has come and its conditions hold.
//!
//! A job waits, is ready, runs in its service's process, and ends: for good, until its next period,
//! or until a failure is waited off. [`Terms`] say what is asked for, `runs` what runs, [`Work`]
//! what is handed to one job bit by bit, [`kept`] what comes again with the next server. `rules`
//! says who may schedule what.
//!
//! The one with a clock calls `tick` at [`Jobs::due`]. The one that sees the machine says which
//! conditions hold, while [`Jobs::wants_conditions`].
//!
//! What is not here: content that triggers, a device that is idle, quotas, and jobs that a person
//! has asked for.

pub mod kept;
mod rules;
mod runs;
mod terms;
mod work;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use intent::Component;

pub use kept::{KEPT_BYTES_MAX, KEPT_MAX, KEPT_PER_UID_MAX, KeptBytes, KeptJob};
pub use runs::{JobStep, RUN_NS_MAX, RUNNING_MAX, RUNNING_PER_UID_MAX, StopReason, Told};
use runs::{Run, RunState};
pub use terms::{BACK_OFF_NS_MAX, BackOff, Conditions, LEAST_NS, Period, Terms};
use work::WorkQueue;
pub use work::{WORK_MAX, Work};

use crate::id::Numbers;
use crate::services::ServiceDeclaration;
use crate::{Cx, Payload, RunId};

/// Jobs at once.
pub const JOBS_MAX: usize = 4_096;
/// Of one user, as on Android.
pub const JOBS_PER_UID_MAX: usize = 150;
/// Bytes of one user's jobs and their work: a sixteenth of what is kept of all intents.
pub const BYTES_PER_UID_MAX: usize = 2 << 20;
/// Bytes of a namespace.
pub const SPACE_BYTES_MAX: usize = 256;

/// What a package calls a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey {
    /// Whose.
    pub uid: u32,
    /// The package's own namespace.
    pub space: Option<String>,
    /// The package's own number.
    pub id: i32,
}

/// A job as it is scheduled.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What it is called.
    pub key: JobKey,
    /// What does it.
    pub service: ServiceDeclaration,
    /// The rest, as its package has it.
    pub payload: Payload,
    /// How large that is.
    pub bytes: usize,
    /// When and how.
    pub terms: Terms,
    /// For one that comes again with the next server: the rest, in bytes.
    pub kept: Option<KeptBytes>,
}

/// As `ComponentName.flattenToString` has it.
fn flat(name: &Component) -> String {
    format!("{}/{}", name.package, name.class)
}

/// Why a job is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobRefused {
    /// There is no such service.
    #[error("No such service {}", flat(.0))]
    NoService(Component),
    /// It is another package's.
    #[error("uid {0} cannot schedule job in {1}")]
    NotOwn(u32, String),
    /// Anybody could call it.
    #[error(
        "Scheduled service {} does not require android.permission.BIND_JOB_SERVICE permission",
        flat(.0)
    )]
    NotGuarded(Component),
    /// It is to be kept, by a package that does not hear of a start.
    #[error(
        "Requested job cannot be persisted without holding \
         android.permission.RECEIVE_BOOT_COMPLETED permission"
    )]
    MayNotStay,
    /// It needs a network, for a package that has none.
    #[error("{0} required for jobs with a connectivity constraint")]
    NoNetwork(&'static str),
    /// The user has as many as it may.
    #[error("Apps may not schedule more than {JOBS_PER_UID_MAX} distinct jobs")]
    OfUid,
    /// All have as many as they may.
    #[error("{JOBS_MAX} jobs of all applications are scheduled already")]
    OfAll,
    /// Too many are to be kept.
    #[error(
        "{KEPT_PER_UID_MAX} persisted jobs of the package, or {KEPT_MAX} of all, \
         are scheduled already"
    )]
    Kept,
    /// One that is to be kept is too large.
    #[error("a persisted job of {0} bytes: at most {KEPT_BYTES_MAX}")]
    TooLarge(usize),
    /// A name that is too long.
    #[error("a namespace of {0} bytes: at most {SPACE_BYTES_MAX}")]
    Space(usize),
    /// The user's jobs and their work are too large together.
    #[error("jobs and work of the package have {BYTES_PER_UID_MAX} bytes already")]
    Bytes,
    /// Too much work waits for one job.
    #[error("{WORK_MAX} items of work of the job wait already")]
    Work,
}

/// Why a job does not run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It runs.
    Runs,
    /// For its time.
    Time,
    /// For these conditions.
    Conditions(Conditions),
    /// For others to end.
    Place,
}

/// A job that is scheduled.
#[derive(Clone, Debug)]
pub struct Job {
    /// What was asked for.
    pub asked: Asked,
    /// Not sooner.
    pub earliest_ns: u64,
    /// From then on whatever its conditions are.
    pub latest_ns: Option<u64>,
    /// Failures in a row.
    pub failures: u32,
    /// The end of the period that it is in.
    period_end_ns: u64,
    /// The wall clock's time less the server's, when it was scheduled.
    wall_ahead_ns: u64,
    work: WorkQueue,
    run: Option<RunId>,
    /// What it is listed by, in `due` and in `ready`.
    timer: Option<u64>,
    place: Option<Place>,
}

impl Job {
    fn is_overdue(&self, now: u64) -> bool {
        self.latest_ns.is_some_and(|it| it <= now)
    }

    /// Does it run?
    pub fn is_running(&self) -> bool {
        self.run.is_some()
    }
}

/// The order of those that are ready: expedited, priority, time, number.
type Place = (Reverse<bool>, Reverse<i32>, u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Job(u64),
    Run(RunId),
}

/// All jobs.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    all: BTreeMap<u64, Job>,
    by_key: BTreeMap<JobKey, u64>,
    runs: BTreeMap<RunId, Run>,
    due: BTreeSet<(u64, Timer)>,
    ready: BTreeSet<Place>,
    /// Jobs whose time has come, and that need something.
    needing: BTreeSet<u64>,
    conditions: Conditions,
    /// How often somebody has begun to need some.
    wishes: u64,
    /// Changes of what is kept.
    pub(crate) kept_changes: u64,
    numbers: Numbers,
}

impl Jobs {
    /// Schedules a job in the place of another of its name.
    ///
    /// # Errors
    ///
    /// [`JobRefused`]; then nothing has changed.
    pub fn schedule(
        &mut self,
        asked: Asked,
        wall_ns: u64,
        cx: &mut Cx<'_>,
    ) -> Result<(), JobRefused> {
        self.look_for_room(&asked, 0)?;
        self.replace(asked, wall_ns, cx);
        self.begin_ready(cx);
        Ok(())
    }

    /// Adds work to a job; one that is not there, or was scheduled otherwise, is scheduled so.
    ///
    /// # Errors
    ///
    /// [`JobRefused`]; then nothing has changed.
    pub fn enqueue(
        &mut self,
        asked: Asked,
        (work, is_same): ((Payload, usize), bool),
        wall_ns: u64,
        cx: &mut Cx<'_>,
    ) -> Result<(), JobRefused> {
        self.look_for_room(&asked, work.1)?;
        let old = self.by_key.get(&asked.key).copied();
        let is_full = |it: &u64| self.all.get(it).is_some_and(|it| it.work.is_full());
        if old.as_ref().is_some_and(is_full) {
            return Err(JobRefused::Work);
        }
        let number = match old.filter(|_| is_same) {
            Some(number) => number,
            None => self.replace(asked, wall_ns, cx),
        };
        if let Some(job) = self.all.get_mut(&number) {
            job.work.push(work);
        }
        self.begin_ready(cx);
        Ok(())
    }

    fn look_for_room(&self, asked: &Asked, more: usize) -> Result<(), JobRefused> {
        let key = &asked.key;
        let space = key.space.as_ref().map_or(0, String::len);
        if space > SPACE_BYTES_MAX {
            return Err(JobRefused::Space(space));
        }
        let old = self.find(key);
        if old.is_none() && self.all.len() >= JOBS_MAX {
            return Err(JobRefused::OfAll);
        }
        let own = || self.of_uid(key.uid);
        if old.is_none() && own().count() >= JOBS_PER_UID_MAX {
            return Err(JobRefused::OfUid);
        }
        // Work of the one before stays.
        let all: usize = own().map(|it| it.asked.bytes + it.work.bytes()).sum();
        let replaced = old.map_or(0, |it| it.asked.bytes);
        if all - replaced + asked.bytes + more > BYTES_PER_UID_MAX {
            return Err(JobRefused::Bytes);
        }
        let Some(bytes) = &asked.kept else {
            return Ok(());
        };
        if bytes.len() > KEPT_BYTES_MAX {
            return Err(JobRefused::TooLarge(bytes.len()));
        }
        let is_kept = |it: &&Job| it.asked.kept.is_some();
        let kept = self.all.values().filter(is_kept).count();
        let has_room = kept < KEPT_MAX && own().filter(is_kept).count() < KEPT_PER_UID_MAX;
        match has_room || old.as_ref().is_some_and(is_kept) {
            true => Ok(()),
            false => Err(JobRefused::Kept),
        }
    }

    /// Work that waits for the one before goes over to it.
    fn replace(&mut self, asked: Asked, wall_ns: u64, cx: &mut Cx<'_>) -> u64 {
        let old = self.by_key.get(&asked.key).copied();
        let work = old.and_then(|it| self.all.get_mut(&it));
        let mut work = work.map(|it| std::mem::take(&mut it.work));
        if let Some(work) = &mut work {
            work.take_back();
        }
        if let Some(old) = old {
            self.remove(old, StopReason::Cancelled, cx);
        }
        let asked = Asked {
            terms: asked.terms.bounded(),
            ..asked
        };
        let (now, terms) = (cx.now, asked.terms);
        let period_end_ns = terms
            .period
            .map_or(0, |it| now.saturating_add(it.interval_ns));
        let earliest_ns = match terms.period {
            Some(period) => period_end_ns - period.flex_ns,
            None => now.saturating_add(terms.latency_ns),
        };
        self.add(
            Job {
                earliest_ns,
                latest_ns: terms.deadline_ns.map(|it| now.saturating_add(it)),
                failures: 0,
                period_end_ns,
                wall_ahead_ns: wall_ns.saturating_sub(now),
                work: work.unwrap_or_default(),
                run: None,
                timer: None,
                place: None,
                asked,
            },
            now,
        )
    }

    fn add(&mut self, job: Job, now: u64) -> u64 {
        let number = self.numbers.next();
        self.kept_changes += u64::from(job.asked.kept.is_some());
        self.by_key.insert(job.asked.key.clone(), number);
        self.all.insert(number, job);
        self.plan(number, now);
        number
    }

    /// Takes a job back; one that runs is asked to stop. False if it is not there.
    pub fn cancel(&mut self, key: &JobKey, cx: &mut Cx<'_>) -> bool {
        let Some(number) = self.by_key.get(key).copied() else {
            return false;
        };
        self.remove(number, StopReason::Cancelled, cx);
        self.begin_ready(cx);
        true
    }

    /// Takes all of a user back that are in a namespace, or in any.
    pub fn cancel_all(&mut self, uid: u32, space: Option<&Option<String>>, cx: &mut Cx<'_>) {
        let is_meant = |it: &JobKey| it.uid == uid && space.is_none_or(|space| it.space == *space);
        let own = self.by_key.iter().filter(|(key, _)| is_meant(key));
        let own: Vec<_> = own.map(|(_, number)| *number).collect();
        for number in own {
            self.remove(number, StopReason::Cancelled, cx);
        }
        self.begin_ready(cx);
    }

    /// A user's package is gone, or stopped by force: nothing of it is left.
    pub fn end_user(&mut self, uid: u32, cx: &mut Cx<'_>) {
        self.cancel_all(uid, None, cx);
        let own = self.runs.iter().filter(|(_, it)| it.key.uid == uid);
        let own: Vec<_> = own.map(|(id, _)| *id).collect();
        for id in own {
            self.forget_run(id, cx);
        }
        self.begin_ready(cx);
    }

    /// Takes those of a user back whose service is not there any more.
    pub fn keep(&mut self, uid: u32, is_there: impl Fn(&Component) -> bool, cx: &mut Cx<'_>) {
        let is_gone = |it: &Job| it.asked.key.uid == uid && !is_there(&it.asked.service.component);
        let gone = self.all.iter().filter(|(_, it)| is_gone(it));
        let gone: Vec<_> = gone.map(|(number, _)| *number).collect();
        for number in gone {
            self.remove(number, StopReason::Cancelled, cx);
        }
    }

    fn remove(&mut self, number: u64, why: StopReason, cx: &mut Cx<'_>) {
        self.unlist(number);
        self.need_no_more(number);
        let Some(job) = self.all.remove(&number) else {
            return;
        };
        self.kept_changes += u64::from(job.asked.kept.is_some());
        self.by_key.remove(&job.asked.key);
        if let Some(id) = job.run {
            if let Some(run) = self.runs.get_mut(&id) {
                run.job = None;
            }
            self.stop(id, why, cx);
        }
    }

    /// It is neither ready nor due, until it is planned.
    fn unlist(&mut self, number: u64) {
        let Some(job) = self.all.get_mut(&number) else {
            return;
        };
        if let Some(at) = job.timer.take() {
            self.due.remove(&(at, Timer::Job(number)));
        }
        if let Some(place) = job.place.take() {
            self.ready.remove(&place);
        }
    }

    /// What a job that does not run waits for: its time, its conditions, or a place.
    fn plan(&mut self, number: u64, now: u64) {
        self.unlist(number);
        let conditions = self.conditions;
        let Some(job) = self.all.get_mut(&number).filter(|it| it.run.is_none()) else {
            return;
        };
        let terms = &job.asked.terms;
        let is_early = now < job.earliest_ns && !job.is_overdue(now);
        let is_needing = !terms.needs.is_empty() && !is_early;
        if is_early {
            let latest = job.latest_ns.unwrap_or(u64::MAX);
            job.timer = Some(job.earliest_ns.min(latest));
        } else if conditions.has(terms.needs) || job.is_overdue(now) {
            let place = (
                Reverse(terms.is_expedited),
                Reverse(terms.priority),
                job.earliest_ns,
                number,
            );
            job.place = Some(place);
            self.ready.insert(place);
        } else {
            job.timer = job.latest_ns;
        }
        if let Some(at) = job.timer {
            self.due.insert((at, Timer::Job(number)));
        }
        match is_needing {
            true => {
                self.wishes += u64::from(self.needing.is_empty());
                self.needing.insert(number);
            }
            false => self.need_no_more(number),
        }
    }

    /// While nobody looks, nothing is known to hold.
    fn need_no_more(&mut self, number: u64) {
        self.needing.remove(&number);
        if self.needing.is_empty() {
            self.conditions = Conditions::NONE;
        }
    }

    /// These conditions hold from now on.
    pub fn conditions_are(&mut self, conditions: Conditions, cx: &mut Cx<'_>) {
        self.conditions = conditions;
        let needing: Vec<_> = self.needing.iter().copied().collect();
        for number in needing {
            let Some(job) = self.all.get(&number) else {
                continue;
            };
            let lacks = job.asked.terms.needs.without(conditions);
            match job.run {
                Some(id) if !lacks.is_empty() => self.lose_conditions(id, lacks, cx),
                Some(_) => {}
                None => self.plan(number, cx.now),
            }
        }
        self.begin_ready(cx);
    }

    /// Does anything wait for conditions, or run under some? Else nobody has to look.
    pub fn wants_conditions(&self) -> bool {
        !self.needing.is_empty()
    }

    /// How often that has begun.
    pub fn wishes(&self) -> u64 {
        self.wishes
    }

    /// When `tick` has something to do.
    pub fn due(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Time has passed.
    pub fn tick(&mut self, cx: &mut Cx<'_>) {
        while let Some((at, timer)) = self.due.first().copied() {
            if at > cx.now {
                break;
            }
            self.due.pop_first();
            match timer {
                Timer::Job(number) => {
                    if let Some(job) = self.all.get_mut(&number) {
                        job.timer = None;
                    }
                    self.plan(number, cx.now);
                }
                Timer::Run(id) => self.stop(id, StopReason::Timeout, cx),
            }
        }
        self.begin_ready(cx);
    }

    /// One of them.
    pub fn find(&self, key: &JobKey) -> Option<&Job> {
        self.all.get(self.by_key.get(key)?)
    }

    /// What is the job called that a run is of?
    pub fn name_of(&self, run: RunId) -> Option<&JobKey> {
        self.runs.get(&run).map(|it| &it.key)
    }

    /// All of a user.
    pub fn of_uid(&self, uid: u32) -> impl Iterator<Item = &Job> {
        let first = JobKey {
            uid,
            space: None,
            id: i32::MIN,
        };
        let own = self.by_key.range(first..);
        let own = own.take_while(move |(key, _)| key.uid == uid);
        own.filter_map(|(_, number)| self.all.get(number))
    }

    /// All, as they were scheduled.
    pub fn iter(&self) -> impl Iterator<Item = &Job> {
        self.all.values()
    }

    /// Why one does not run now.
    pub fn waits(&self, job: &Job, now: u64) -> Waits {
        if job.run.is_some() {
            return Waits::Runs;
        }
        if job.place.is_some() {
            return Waits::Place;
        }
        match now < job.earliest_ns {
            true => Waits::Time,
            false => Waits::Conditions(job.asked.terms.needs.without(self.conditions)),
        }
    }

    /// What jobs and their work name.
    pub fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        let jobs = self.all.values();
        let jobs = jobs.flat_map(|it| it.work.payloads().chain([it.asked.payload]));
        jobs.chain(self.runs.values().map(|it| it.payload))
    }

    /// How many there are, and how many run.
    pub fn counts(&self) -> (usize, usize) {
        (self.all.len(), self.runs.len())
    }

    /// How often what is kept has changed.
    pub fn kept_changes(&self) -> u64 {
        self.kept_changes
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self, processes: &crate::Processes) {
        assert!(self.all.len() <= JOBS_MAX && self.runs.len() <= RUNNING_MAX);
        assert_eq!(self.all.len(), self.by_key.len());
        let mut of_uids = BTreeMap::new();
        for (number, job) in &self.all {
            let listed = [job.run.is_some(), job.place.is_some()];
            assert!(listed != [true, true], "a job that runs is not ready");
            if let Some(id) = job.run {
                assert_eq!(self.runs[&id].job, Some(*number), "they know each other");
            }
            let (count, bytes) = of_uids.entry(job.asked.key.uid).or_insert((0, 0));
            *count += 1;
            *bytes += job.asked.bytes + job.work.bytes();
            job.work.assert_consistent();
        }
        for (count, bytes) in of_uids.into_values() {
            assert!(count <= JOBS_PER_UID_MAX && bytes <= BYTES_PER_UID_MAX);
        }
        let kept = self.all.values().filter(|it| it.asked.kept.is_some());
        assert!(kept.count() <= KEPT_MAX);
        let places = self.all.values().filter_map(|it| it.place);
        assert_eq!(places.collect::<BTreeSet<_>>(), self.ready);
        let jobs = self.all.iter();
        let jobs = jobs.filter_map(|(number, it)| Some((it.timer?, Timer::Job(*number))));
        let runs = self.runs.iter();
        let runs = runs.filter_map(|(id, it)| Some((it.until_ns?, Timer::Run(*id))));
        assert_eq!(jobs.chain(runs).collect::<BTreeSet<_>>(), self.due);
        let mut keys = BTreeSet::new();
        let mut own = BTreeMap::<u32, usize>::new();
        for (id, run) in &self.runs {
            assert!(keys.insert(&run.key), "no job twice at once");
            assert!(
                processes.get(run.process).is_some(),
                "{id:?} lives somewhere"
            );
            if run.state != RunState::Awaiting {
                assert!(processes.is_running(run.process), "{id:?} was begun");
            }
            *own.entry(run.key.uid).or_default() += 1;
        }
        assert!(own.values().all(|it| *it <= RUNNING_PER_UID_MAX));
    }
}
