// SPDX-License-Identifier: Apache-2.0
//! Random scripts, after each event of which the rules hold. A failing one prints the number that
//! replays it.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use server::jobs::{Asked, BackOff, Conditions, JobKey, JobStep, Period, Terms, Told};
use server::{Death, Effect, Payload, ProcessId, RunId, Server};

use crate::{SECOND, UID, WALL, install, kept, name};

const SCRIPTS: u64 = 100;
const EVENTS: usize = 200;
const SEED: u64 = 2_300;

/// Random events of three packages, and what is known of runs beside the room.
struct Script {
    server: Server,
    rng: Rng,
    now: u64,
    processes: Vec<ProcessId>,
    /// Of each run that was asked to start: where, and by which payload.
    runs: BTreeMap<RunId, (ProcessId, u64)>,
    /// Payloads of jobs that were taken back.
    gone: BTreeSet<u64>,
    last: u64,
    started: usize,
}

impl Script {
    fn new(seed: u64) -> Self {
        let mut server = Server::default();
        server.packages.grant_all();
        for package in ["p.one", "p.two", "p.three"] {
            install(&mut server, package, 1, 0);
        }
        Self {
            server,
            rng: Rng::with_seed(seed),
            now: SECOND,
            processes: Vec::new(),
            runs: BTreeMap::new(),
            gone: BTreeSet::new(),
            last: 0,
            started: 0,
        }
    }

    fn key(&mut self) -> JobKey {
        let space = self.rng.u8(..3) == 0;
        JobKey {
            uid: UID + self.rng.u32(..3),
            space: space.then(|| "s".to_owned()),
            id: self.rng.i32(..8),
        }
    }

    fn terms(&mut self) -> Terms {
        let span = |it: u64| it * SECOND / 4;
        let rng = &mut self.rng;
        let period = (rng.u8(..4) == 0).then(|| Period {
            interval_ns: span(rng.u64(..40)),
            flex_ns: span(rng.u64(..50)),
        });
        Terms {
            latency_ns: span(rng.u64(..20)),
            deadline_ns: rng.bool().then(|| span(rng.u64(..60))),
            period,
            back_off: BackOff {
                first_ns: span(rng.u64(..40)),
                is_linear: rng.bool(),
            },
            needs: Conditions(rng.u32(..8) & rng.u32(..8)),
            priority: rng.i32(1..6) * 100,
            is_expedited: rng.u8(..5) == 0,
        }
    }

    fn forget(&mut self, key: &JobKey) {
        let old = self.server.jobs.find(key);
        self.gone.extend(old.map(|it| it.asked.payload.0));
    }

    fn schedule(&mut self) {
        let (key, terms) = (self.key(), self.terms());
        let packages = ["p.one", "p.two", "p.three"];
        let package = packages[(key.uid - UID) as usize];
        let service = self
            .server
            .job_service(key.uid, &name(package), terms.needs, false);
        self.last += 1;
        let payload = Payload(self.last);
        let Ok(service) = service else {
            return;
        };
        self.forget(&key);
        let asked = Asked {
            key,
            service,
            payload,
            bytes: 100,
            terms,
            kept: (self.rng.u8(..4) == 0).then(|| kept(4)).flatten(),
        };
        let has_work = self.rng.u8(..4) == 0;
        let (jobs, mut cx) = self.server.jobs(self.now);
        let taken = match has_work {
            true => jobs.enqueue(asked, ((payload, 10), false), WALL, &mut cx),
            false => jobs.schedule(asked, WALL, &mut cx),
        };
        taken.expect("there is room");
    }

    fn run_event(&mut self) {
        let all: Vec<_> = self.runs.iter().map(|(id, it)| (*id, it.0)).collect();
        let Some((id, process)) = self.rng.choice(all) else {
            return;
        };
        let (kind, again) = (self.rng.u8(..6), self.rng.bool());
        let (jobs, mut cx) = self.server.jobs(self.now);
        match kind {
            0 | 1 => jobs.told(id, process, Told::Started { goes_on: true }, &mut cx),
            2 => jobs.told(id, process, Told::Started { goes_on: false }, &mut cx),
            3 => jobs.told(id, process, Told::Stopped { again }, &mut cx),
            4 => jobs.told(id, process, Told::Finished { again }, &mut cx),
            _ => {
                if let Some(work) = jobs.dequeue(id, process, &mut cx) {
                    assert!(jobs.complete(id, process, work.id) || !again);
                }
            }
        }
    }

    fn other_event(&mut self) {
        let (now, key) = (self.now, self.key());
        match self.rng.u8(..12) {
            0..3 => {
                self.forget(&key);
                let (jobs, mut cx) = self.server.jobs(now);
                jobs.cancel(&key, &mut cx);
            }
            3..6 => {
                let conditions = Conditions(self.rng.u32(..8));
                let (jobs, mut cx) = self.server.jobs(now);
                jobs.conditions_are(conditions, &mut cx);
            }
            6..8 => {
                if let Some(process) = self.rng.choice(self.processes.clone()) {
                    let how = [Death::Exit, Death::Fault][self.rng.usize(..2)];
                    self.server.died(process, how, now);
                }
            }
            8 => _ = self.server.force_stop("p.two", now),
            _ => {
                let due = self.server.jobs.due();
                self.now = due.map_or(now, |it| it.max(now)).min(now + 700 * SECOND);
            }
        }
    }

    fn event(&mut self) {
        match self.rng.u8(..10) {
            0..3 => self.schedule(),
            3..6 => self.run_event(),
            _ => self.other_event(),
        }
        self.now += self.rng.u64(..SECOND);
        self.server.tick(self.now);
        let due = self.server.jobs.due();
        assert!(due.is_none_or(|it| it > self.now), "what is due was done");
        for effect in self.server.take_effects() {
            match effect {
                Effect::StartProcess { process, .. } => {
                    self.processes.push(process);
                    if self.rng.u8(..4) > 0 {
                        self.server.attached(process, 7, self.now);
                    }
                }
                Effect::Job { process, run, step } => self.step(process, run, &step),
                _ => {}
            }
        }
    }

    fn step(&mut self, process: ProcessId, run: RunId, step: &JobStep) {
        match step {
            JobStep::Start { payload, .. } => {
                let is_gone = self.gone.contains(&payload.0);
                assert!(!is_gone, "{run:?} of a job that was taken back");
                let before = self.runs.insert(run, (process, payload.0));
                assert!(before.is_none(), "{run:?} starts twice");
                self.started += 1;
            }
            JobStep::Stop(_) => {
                let was_started = self.runs.get(&run).map(|it| it.0);
                assert_eq!(was_started, Some(process), "{run:?} stops and never began");
            }
        }
    }
}

#[test]
fn rules_hold_after_each_event() {
    let mut started = 0;
    for script in 0..SCRIPTS {
        let seed = SEED + script;
        let mut it = Script::new(seed);
        for at in 0..EVENTS {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                it.event();
                it.server.assert_consistent();
            }));
            assert!(outcome.is_ok(), "seed {seed}, event {at}");
        }
        started += it.started;
    }
    assert!(started > SCRIPTS as usize * 10, "only {started} runs");
}
