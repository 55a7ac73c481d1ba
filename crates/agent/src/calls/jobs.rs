// SPDX-License-Identifier: Apache-2.0
//! Jobs: what processes schedule, and what they say of what runs.

use binder::stub::{Answer, Exception, Failure};
use rt::clock::wall_ns;
use server::jobs::{
    Asked, BackOff, Conditions, JobKey, JobRefused, JobStep, KeptBytes, KeptJob, Period, Terms,
    Told, Waits,
};
use server::services::ServiceDeclaration;
use server::{Payload, ProcessId, RunId};

use super::alarms::nanos;
use super::{Event, ISystemProxy, Job, Step, Whole, Wish, Work, full, security};
use crate::payloads::{component, flat, size};
use crate::state::State;

fn unfit(text: &str) -> Failure {
    Exception::new(Exception::ILLEGAL_ARGUMENT, text).into()
}

fn refused(error: &JobRefused) -> Failure {
    match error {
        JobRefused::NoService(_)
        | JobRefused::NotOwn(..)
        | JobRefused::NotGuarded(_)
        | JobRefused::MayNotStay
        | JobRefused::TooLarge(_)
        | JobRefused::Space(_) => unfit(&error.to_string()),
        JobRefused::NoNetwork(_) => security(error),
        JobRefused::OfUid
        | JobRefused::OfAll
        | JobRefused::Kept
        | JobRefused::Bytes
        | JobRefused::Work => full(error),
    }
}

fn terms(job: &Job) -> Terms {
    let period = (job.interval > 0).then(|| Period {
        interval_ns: nanos(job.interval),
        flex_ns: nanos(job.flex),
    });
    Terms {
        latency_ns: nanos(job.latency),
        deadline_ns: (job.deadline >= 0).then(|| nanos(job.deadline)),
        period,
        back_off: BackOff {
            first_ns: nanos(job.back_off),
            is_linear: job.is_linear,
        },
        needs: Conditions(job.needs.cast_unsigned()),
        priority: job.priority,
        is_expedited: job.is_expedited,
    }
}

/// Its bytes, for one that is to be kept.
fn kept(job: &Job) -> Answer<Option<KeptBytes>> {
    if !job.is_kept {
        return Ok(None);
    }
    let whole = &job.whole.whole;
    if !whole.binders.is_empty() || !whole.files.is_empty() {
        return Err(unfit("a persisted job cannot have binders or files"));
    }
    Ok(Some(KeptBytes(whole.bytes.as_slice().into())))
}

impl Event<'_> {
    fn job_key(&self, space: Option<&str>, id: i32) -> JobKey {
        JobKey {
            uid: self.uid,
            space: space.map(str::to_owned),
            id,
        }
    }

    pub(super) fn schedule(&mut self, job: &Job, work: Option<&Wish>) -> Answer<()> {
        let name = component(&job.service);
        let name = name.ok_or_else(|| unfit("a job without a service"))?;
        let (terms, kept) = (terms(job), kept(job)?);
        let needed = Conditions::ALL
            .into_iter()
            .fold(terms.needs, Conditions::without);
        if !needed.is_empty() {
            return Err(unfit("a job that needs what nobody knows"));
        }
        if work.is_some() && job.is_kept {
            let text = "JobScheduler.enqueue of a persisted job is not supported by Takt yet";
            return Err(Exception::new(Exception::UNSUPPORTED_OPERATION, text).into());
        }
        let server = &self.state.server;
        let service = server.job_service(self.uid, &name, terms.needs, job.is_kept);
        let service = service.map_err(|it| refused(&it))?;
        let key = self.job_key(job.space.as_deref(), job.id);
        let is_same = self.is_scheduled(&key, &service, terms, job);
        let payload = self.keep(&job.whole)?;
        let work = work.map(|it| Ok::<_, Failure>((self.keep(it)?, size(it))));
        let work = work.transpose()?;
        let asked = Asked {
            key,
            service,
            payload,
            bytes: size(&job.whole),
            terms,
            kept,
        };
        let (jobs, mut cx) = self.state.server.jobs(self.now);
        let taken = match work {
            Some(work) => jobs.enqueue(asked, (work, is_same), wall_ns(), &mut cx),
            None => jobs.schedule(asked, wall_ns(), &mut cx),
        };
        taken.map_err(|it| refused(&it))
    }

    /// Is it there as it is asked for?
    fn is_scheduled(
        &self,
        key: &JobKey,
        service: &ServiceDeclaration,
        terms: Terms,
        job: &Job,
    ) -> bool {
        let Some(old) = self.state.server.jobs.find(key) else {
            return false;
        };
        let stored = self.state.payloads.get(old.asked.payload);
        let is_same_rest = stored.is_some_and(|it| it.wish.whole.bytes == job.whole.whole.bytes);
        is_same_rest && old.asked.service == *service && old.asked.terms == terms.bounded()
    }

    pub(super) fn cancel_job(&mut self, space: Option<&str>, id: i32) {
        let key = self.job_key(space, id);
        let (jobs, mut cx) = self.state.server.jobs(self.now);
        jobs.cancel(&key, &mut cx);
    }

    pub(super) fn cancel_jobs(&mut self, space: Option<Option<&str>>) {
        let space = space.map(|it| it.map(str::to_owned));
        let uid = self.uid;
        let (jobs, mut cx) = self.state.server.jobs(self.now);
        jobs.cancel_all(uid, space.as_ref(), &mut cx);
    }

    pub(super) fn job_spaces(&self) -> Vec<String> {
        let own = self.state.server.jobs.of_uid(self.uid);
        let mut all: Vec<_> = own
            .map(|it| it.asked.key.space.clone().unwrap_or_default())
            .collect();
        all.dedup();
        all
    }

    pub(super) fn jobs_in(&self, space: Option<&str>) -> Vec<i32> {
        let own = self.state.server.jobs.of_uid(self.uid);
        let own = own.filter(|it| it.asked.key.space.as_deref() == space);
        own.map(|it| it.asked.key.id).collect()
    }

    pub(super) fn job_whole(&self, space: Option<&str>, id: i32) -> Option<Wish> {
        let job = self.state.server.jobs.find(&self.job_key(space, id))?;
        let stored = self.state.payloads.get(job.asked.payload)?;
        Some(stored.wish.clone())
    }

    pub(super) fn job_waits(&self, space: Option<&str>, id: i32) -> i32 {
        let jobs = &self.state.server.jobs;
        let Some(job) = jobs.find(&self.job_key(space, id)) else {
            return ISystemProxy::WAITS_NOT_THERE;
        };
        match jobs.waits(job, self.now) {
            Waits::Runs => ISystemProxy::WAITS_RUNS,
            Waits::Time => ISystemProxy::WAITS_TIME,
            Waits::Place => ISystemProxy::WAITS_PLACE,
            Waits::Conditions(lacks) => lacks.0.cast_signed(),
        }
    }

    pub(super) fn job_told(&mut self, run: i64, what: i32, is: bool) {
        let told = match what {
            ISystemProxy::JOB_STARTED => Told::Started { goes_on: is },
            ISystemProxy::JOB_STOPPED => Told::Stopped { again: is },
            _ => Told::Finished { again: is },
        };
        let process = self.process;
        let (jobs, mut cx) = self.state.server.jobs(self.now);
        jobs.told(RunId(run.cast_unsigned()), process, told, &mut cx);
    }

    pub(super) fn dequeue_work(&mut self, run: i64) -> Option<Work> {
        let process = self.process;
        let (jobs, mut cx) = self.state.server.jobs(self.now);
        let work = jobs.dequeue(RunId(run.cast_unsigned()), process, &mut cx)?;
        let stored = self.state.payloads.get(work.payload)?;
        Some(Work {
            id: work.id,
            deliveries: work.deliveries,
            whole: stored.wish.clone(),
        })
    }

    pub(super) fn complete_work(&mut self, run: i64, id: i32) -> bool {
        let jobs = &mut self.state.server.jobs;
        jobs.complete(RunId(run.cast_unsigned()), self.process, id)
    }
}

impl State {
    /// Takes up what the last server had; how many jobs are not taken up.
    pub fn restore_jobs(&mut self, all: &[KeptJob], now: u64) -> usize {
        let wall = wall_ns();
        let is_refused = |it: &&KeptJob| {
            let wish = Wish {
                whole: Whole {
                    bytes: it.bytes.0.to_vec(),
                    ..Whole::default()
                },
                ..Wish::default()
            };
            let payload = self.keep(wish).unwrap_or_default();
            payload == Payload::default() || !self.server.restore_job(it, payload, wall, now)
        };
        all.iter().filter(is_refused).count()
    }

    /// What the machine has, for jobs that wait for it.
    pub fn conditions_are(&mut self, conditions: Conditions, now: u64) {
        let (jobs, mut cx) = self.server.jobs(now);
        jobs.conditions_are(conditions, &mut cx);
    }

    pub(crate) fn run_job(&mut self, process: ProcessId, run: RunId, step: JobStep) {
        let number = run.0.cast_signed();
        let mut told = Step {
            kind: ISystemProxy::STEP_JOB,
            ..Step::default()
        };
        match step {
            JobStep::Start {
                service,
                payload,
                is_overdue,
            } => {
                told.numbers = vec![number, ISystemProxy::START_JOB.into(), is_overdue.into()];
                told.component = Some(flat(&service));
                let space = self.server.jobs.name_of(run);
                told.texts = space.and_then(|it| it.space.clone()).into_iter().collect();
                self.name(&mut told, payload);
            }
            JobStep::Stop(why) => {
                let (reason, own) = why.numbers();
                let stop = ISystemProxy::STOP_JOB;
                told.numbers = vec![number, stop.into(), reason.into(), own.into()];
            }
        }
        self.push(process, told);
    }
}
