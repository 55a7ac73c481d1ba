// SPDX-License-Identifier: Apache-2.0
//! Jobs: when each comes, what it needs, how it ends.

mod scripts;
#[path = "../world/mod.rs"]
mod world;

use apk::ComponentKind;
use intent::Component;
use server::jobs::{
    Asked, BACK_OFF_NS_MAX, BYTES_PER_UID_MAX, BackOff, Conditions, JOBS_PER_UID_MAX, JobKey,
    JobRefused, JobStep, KEPT_BYTES_MAX, KEPT_PER_UID_MAX, KeptBytes, LEAST_NS, Period, RUN_NS_MAX,
    RUNNING_PER_UID_MAX, StopReason, Terms, Told, WORK_MAX, Waits,
};
use server::{Death, Effect, Payload, ProcessId, RunId, Server};
use world::{component, manifest, signed};

const SECOND: u64 = 1_000_000_000;
const WALL: u64 = 1_700_000_000 * SECOND;
const UID: u32 = 10_000;

fn name(package: &str) -> Component {
    Component {
        package: package.to_owned(),
        class: "Worker".to_owned(),
    }
}

fn install(server: &mut Server, package: &str, version: u64, now: u64) {
    let mut it = manifest(package, version);
    let mut worker = component(ComponentKind::Service, "Worker");
    worker.permission = Some("android.permission.BIND_JOB_SERVICE".to_owned());
    let open = component(ComponentKind::Service, "Open");
    it.application.components = vec![worker, open];
    it.uses_permissions = vec![
        "android.permission.RECEIVE_BOOT_COMPLETED".to_owned(),
        "android.permission.INTERNET".to_owned(),
        "android.permission.ACCESS_NETWORK_STATE".to_owned(),
    ];
    server.install(signed(it, "s"), now).expect("it fits");
}

fn plain() -> Terms {
    Terms {
        latency_ns: 0,
        deadline_ns: None,
        period: None,
        back_off: BackOff {
            first_ns: 30 * SECOND,
            is_linear: false,
        },
        needs: Conditions::NONE,
        priority: 300,
        is_expedited: false,
    }
}

fn later(latency_ns: u64) -> Terms {
    Terms {
        latency_ns,
        ..plain()
    }
}

/// A server of one package, whose process is there.
struct World {
    server: Server,
    now: u64,
    process: Option<ProcessId>,
}

impl World {
    fn new() -> Self {
        let mut server = Server::default();
        server.packages.grant_all();
        install(&mut server, "p.one", 1, 0);
        Self {
            server,
            now: SECOND,
            process: None,
        }
    }

    fn asked(&self, id: i32, terms: Terms) -> Asked {
        let service = self
            .server
            .job_service(UID, &name("p.one"), terms.needs, false);
        Asked {
            key: JobKey {
                uid: UID,
                space: None,
                id,
            },
            service: service.expect("it may"),
            payload: Payload(id.unsigned_abs().into()),
            bytes: 100,
            terms,
            kept: None,
        }
    }

    fn add(&mut self, asked: Asked) -> Result<(), JobRefused> {
        let (jobs, mut cx) = self.server.jobs(self.now);
        jobs.schedule(asked, WALL + self.now, &mut cx)
    }

    fn schedule(&mut self, id: i32, terms: Terms) {
        let asked = self.asked(id, terms);
        self.add(asked).expect("there is room");
    }

    /// What runs are asked, once the process that was wished for is there.
    fn steps(&mut self) -> Vec<(RunId, JobStep)> {
        let mut steps = Vec::new();
        loop {
            let effects = self.server.take_effects();
            if effects.is_empty() {
                self.server.assert_consistent();
                return steps;
            }
            for effect in effects {
                match effect {
                    Effect::StartProcess { process, .. } => {
                        self.process = Some(process);
                        self.server.attached(process, 7, self.now);
                    }
                    Effect::Job { run, step, .. } => steps.push((run, step)),
                    _ => {}
                }
            }
        }
    }

    /// Runs that have started, by their jobs' numbers.
    fn started(&mut self) -> Vec<(i32, RunId, bool)> {
        let steps = self.steps().into_iter();
        let started = steps.filter_map(|(run, step)| match step {
            JobStep::Start {
                payload,
                is_overdue,
                ..
            } => Some((payload.0 as i32, run, is_overdue)),
            JobStep::Stop(_) => None,
        });
        started.collect()
    }

    fn one(&mut self) -> RunId {
        let started = self.started();
        assert_eq!(started.len(), 1, "{started:?}");
        started[0].1
    }

    fn ids(&mut self) -> Vec<i32> {
        self.started().into_iter().map(|it| it.0).collect()
    }

    fn tell(&mut self, run: RunId, told: Told) {
        let process = self.process.expect("it runs somewhere");
        let (jobs, mut cx) = self.server.jobs(self.now);
        jobs.told(run, process, told, &mut cx);
    }

    fn finish(&mut self, run: RunId, again: bool) {
        self.tell(run, Told::Started { goes_on: true });
        self.tell(run, Told::Finished { again });
    }

    fn wait(&mut self, ns: u64) {
        self.now += ns;
        self.server.tick(self.now);
    }

    fn conditions(&mut self, all: Conditions) {
        let (jobs, mut cx) = self.server.jobs(self.now);
        jobs.conditions_are(all, &mut cx);
    }

    fn count(&self) -> (usize, usize) {
        self.server.jobs.counts()
    }
}

#[test]
fn a_job_comes_at_its_time_and_ends() {
    let mut world = World::new();
    world.schedule(1, later(5 * SECOND));
    assert_eq!(world.server.jobs.due(), Some(6 * SECOND));
    world.wait(5 * SECOND - 1);
    assert!(world.ids().is_empty());
    world.wait(1);
    let run = world.one();
    world.finish(run, false);
    assert_eq!(world.count(), (0, 0));
    assert_eq!(world.server.jobs.due(), None);
}

#[test]
fn what_is_urgent_goes_first_and_four_of_a_package_run() {
    let mut world = World::new();
    for id in 1..=4 {
        world.schedule(id, plain());
    }
    let running = world.started();
    assert_eq!(running.len(), RUNNING_PER_UID_MAX);
    world.schedule(5, plain());
    let important = Terms {
        priority: 400,
        ..plain()
    };
    world.schedule(6, important);
    let expedited = Terms {
        is_expedited: true,
        ..plain()
    };
    world.schedule(7, expedited);
    assert!(world.ids().is_empty());
    let mut order = Vec::new();
    for (_, run, _) in running {
        world.finish(run, false);
        order.extend(world.ids());
    }
    assert_eq!(order, [7, 6, 5]);
}

#[test]
fn a_failure_is_waited_off_longer_each_time() {
    for (is_linear, expected) in [(false, [10, 20, 40, 80]), (true, [10, 20, 30, 40])] {
        let mut world = World::new();
        let back_off = BackOff {
            first_ns: 10 * SECOND,
            is_linear,
        };
        let terms = Terms {
            back_off,
            deadline_ns: Some(SECOND),
            ..plain()
        };
        world.schedule(1, terms);
        let mut run = world.one();
        for seconds in expected {
            world.finish(run, true);
            world.wait(seconds * SECOND - 1);
            assert!(world.ids().is_empty(), "the deadline is over for good");
            world.wait(1);
            run = world.one();
        }
    }
    let long = BackOff {
        first_ns: 1,
        is_linear: false,
    };
    assert_eq!(long.wait_ns(1), LEAST_NS);
    assert_eq!(long.wait_ns(u32::MAX), BACK_OFF_NS_MAX);
}

#[test]
fn a_period_keeps_its_rhythm_and_its_last_part() {
    let mut world = World::new();
    let period = Period {
        interval_ns: 100 * SECOND,
        flex_ns: 20 * SECOND,
    };
    let terms = Terms {
        period: Some(period),
        ..plain()
    };
    world.schedule(1, terms);
    let begun = world.now;
    for at in [80, 180, 280] {
        assert_eq!(world.server.jobs.due(), Some(begun + at * SECOND));
        world.now = begun + at * SECOND + 3;
        world.server.tick(world.now);
        let run = world.one();
        world.finish(run, false);
    }
    // It has slept through two of them.
    world.now = begun + 590 * SECOND;
    world.server.tick(world.now);
    let run = world.one();
    world.finish(run, false);
    assert_eq!(world.server.jobs.due(), Some(begun + 680 * SECOND));
    // A failure puts one off, and not the rhythm.
    world.now = begun + 685 * SECOND;
    world.server.tick(world.now);
    let run = world.one();
    world.finish(run, true);
    world.wait(30 * SECOND);
    let run = world.one();
    world.finish(run, false);
    assert_eq!(world.server.jobs.due(), Some(begun + 780 * SECOND));
}

fn needing(needs: Conditions, deadline_ns: Option<u64>) -> Terms {
    Terms {
        needs,
        deadline_ns,
        ..plain()
    }
}

#[test]
fn conditions_begin_a_job_stop_it_and_begin_it_again() {
    let mut world = World::new();
    let both = Conditions::CHARGING.and(Conditions::NETWORK);
    assert!(!world.server.jobs.wants_conditions());
    world.schedule(1, needing(both, None));
    assert!(world.server.jobs.wants_conditions());
    world.conditions(Conditions::CHARGING);
    assert!(world.ids().is_empty());
    let job = world.server.jobs.iter().next().expect("it waits");
    let waits = world.server.jobs.waits(job, world.now);
    assert_eq!(waits, Waits::Conditions(Conditions::NETWORK));
    world.conditions(both);
    let run = world.one();
    world.tell(run, Told::Started { goes_on: true });
    world.conditions(Conditions::NETWORK);
    let lost = StopReason::Conditions(Conditions::CHARGING);
    assert_eq!(world.steps(), [(run, JobStep::Stop(lost))]);
    assert_eq!(lost.numbers(), (6, 1));
    world.tell(run, Told::Stopped { again: true });
    assert!(world.ids().is_empty());
    // It was not its fault: no wait.
    world.conditions(both);
    let run = world.one();
    world.finish(run, false);
    assert!(!world.server.jobs.wants_conditions());
    // Nobody looks any more, so nothing is known to hold.
    world.schedule(2, needing(Conditions::CHARGING, None));
    assert!(world.ids().is_empty());
}

#[test]
fn a_deadline_is_whatever_the_conditions_are() {
    let mut world = World::new();
    world.schedule(1, needing(Conditions::NETWORK, Some(10 * SECOND)));
    world.wait(10 * SECOND - 1);
    assert!(world.ids().is_empty());
    world.wait(1);
    let started = world.started();
    assert!(started[0].2, "it is told so");
    let run = started[0].1;
    world.tell(run, Told::Started { goes_on: true });
    world.conditions(Conditions::NONE);
    assert!(world.steps().is_empty(), "it goes on");
    world.finish(run, false);
    assert_eq!(world.count(), (0, 0));
}

#[test]
fn one_that_does_not_end_is_asked_to_and_one_that_does_not_answer_ends_with_its_process() {
    let mut world = World::new();
    world.schedule(1, plain());
    let run = world.one();
    world.tell(run, Told::Started { goes_on: true });
    world.wait(RUN_NS_MAX - 1);
    assert!(world.steps().is_empty());
    world.wait(1);
    let stop = JobStep::Stop(StopReason::Timeout);
    assert_eq!(world.steps(), [(run, stop)]);
    let answer = world.server.processes.limits.answer_ns;
    world.wait(answer);
    let ended = world.server.take_effects();
    let is_end = |it: &Effect| matches!(it, Effect::EndProcess { .. });
    assert!(ended.iter().any(is_end), "{ended:?}");
    // It has failed, and comes again in another process.
    assert_eq!(world.count(), (1, 0));
    world.wait(30 * SECOND);
    assert_eq!(world.ids(), [1]);
}

#[test]
fn one_that_was_taken_back_never_starts_and_one_that_runs_is_asked_to_stop() {
    let mut world = World::new();
    world.schedule(1, plain());
    let key = world.server.jobs.iter().next().unwrap().asked.key.clone();
    // Before its process is there.
    let (jobs, mut cx) = world.server.jobs(world.now);
    assert!(jobs.cancel(&key, &mut cx));
    assert!(!jobs.cancel(&key, &mut cx));
    assert!(world.ids().is_empty());
    world.schedule(1, plain());
    let run = world.one();
    world.tell(run, Told::Started { goes_on: true });
    // One of the same name waits until the other has stopped.
    world.schedule(1, plain());
    let stop = JobStep::Stop(StopReason::Cancelled);
    assert_eq!(world.steps(), [(run, stop)]);
    world.tell(run, Told::Stopped { again: true });
    let again = world.one();
    assert!(again != run && world.count() == (1, 1));
}

#[test]
fn a_process_that_dies_takes_no_job_with_it() {
    let mut world = World::new();
    world.schedule(1, plain());
    world.schedule(2, later(60 * SECOND));
    let run = world.one();
    world.tell(run, Told::Started { goes_on: true });
    let process = world.process.expect("it is there");
    world.server.died(process, Death::Fault, world.now);
    assert_eq!(world.count(), (2, 0));
    world.wait(30 * SECOND);
    let again = world.one();
    // What an old process says is nobody's.
    world.tell(run, Told::Finished { again: false });
    world.tell(again, Told::Started { goes_on: true });
    assert_eq!(world.count(), (2, 1));
    world.wait(30 * SECOND);
    assert_eq!(world.ids(), [2]);
}

#[test]
fn packages_take_their_jobs_with_them_and_newer_ones_keep_them() {
    let mut world = World::new();
    world.schedule(1, later(SECOND));
    world.schedule(2, plain());
    world.steps();
    install(&mut world.server, "p.one", 2, world.now);
    world.steps();
    assert_eq!(world.count(), (2, 0));
    world.server.force_stop("p.one", world.now);
    assert_eq!(world.count(), (0, 0));
    world.schedule(1, later(SECOND));
    world.server.uninstall("p.one", world.now);
    assert_eq!((world.count(), world.server.jobs.due()), ((0, 0), None));
}

#[test]
fn work_is_handed_out_again_until_it_is_done() {
    let mut world = World::new();
    let add = |world: &mut World, payload: u64| {
        let asked = world.asked(1, plain());
        let is_same = world.server.jobs.find(&asked.key).is_some();
        let (jobs, mut cx) = world.server.jobs(world.now);
        jobs.enqueue(asked, ((Payload(payload), 10), is_same), WALL, &mut cx)
    };
    add(&mut world, 10).unwrap();
    let run = world.one();
    add(&mut world, 11).unwrap();
    assert!(world.steps().is_empty(), "the same run does it");
    let take = |world: &mut World, run| {
        let process = world.process.unwrap();
        let (jobs, mut cx) = world.server.jobs(world.now);
        jobs.dequeue(run, process, &mut cx)
    };
    let first = take(&mut world, run).expect("work");
    assert_eq!((first.payload, first.deliveries), (Payload(10), 1));
    let process = world.process.unwrap();
    world.server.died(process, Death::Fault, world.now);
    world.wait(30 * SECOND);
    let run = world.one();
    let process = world.process.unwrap();
    for (payload, deliveries) in [(10, 2), (11, 1)] {
        let work = take(&mut world, run).expect("work");
        let found = (work.payload, work.deliveries);
        assert_eq!(found, (Payload(payload), deliveries));
        assert!(world.server.jobs.complete(run, process, work.id));
        assert!(!world.server.jobs.complete(run, process, work.id));
    }
    assert_eq!(world.count(), (1, 1));
    assert!(take(&mut world, run).is_none());
    assert_eq!(world.count(), (0, 0), "the last of it was the job");
    let full = (0..=WORK_MAX as u64).find_map(|it| add(&mut world, it).err());
    assert_eq!(full, Some(JobRefused::Work));
}

#[test]
fn what_is_refused_says_why() {
    let mut world = World::new();
    let server = &world.server;
    let ask = |uid, package: &str, class: &str| {
        let name = Component {
            package: package.to_owned(),
            class: class.to_owned(),
        };
        server.job_service(uid, &name, Conditions::NONE, false)
    };
    assert!(matches!(
        ask(UID, "p.one", "None"),
        Err(JobRefused::NoService(_))
    ));
    assert!(matches!(
        ask(UID, "p.one", "Open"),
        Err(JobRefused::NotGuarded(_))
    ));
    assert!(matches!(
        ask(UID + 1, "p.one", "Worker"),
        Err(JobRefused::NotOwn(..))
    ));
    for id in 0..JOBS_PER_UID_MAX as i32 {
        world.schedule(id, later(SECOND));
    }
    let more = world.asked(-1, plain());
    assert_eq!(world.add(more), Err(JobRefused::OfUid));
    world.schedule(0, later(2 * SECOND));
    let mut large = world.asked(0, plain());
    // All others have 100 each.
    large.bytes = BYTES_PER_UID_MAX - 100 * (JOBS_PER_UID_MAX - 1) + 1;
    assert_eq!(world.add(large.clone()), Err(JobRefused::Bytes));
    large.bytes -= 1;
    assert_eq!(world.add(large), Ok(()));
    let mut server = Server::default();
    install(&mut server, "p.one", 1, 0);
    let ask = |needs, is_kept| server.job_service(UID, &name("p.one"), needs, is_kept);
    assert_eq!(ask(Conditions::NONE, true), Err(JobRefused::MayNotStay));
    let network = ask(Conditions::UNMETERED, false);
    assert!(
        matches!(network, Err(JobRefused::NoNetwork(_))),
        "{network:?}"
    );
}

fn kept(bytes: usize) -> Option<KeptBytes> {
    Some(KeptBytes(vec![0xa7; bytes].into()))
}

#[test]
fn what_is_kept_comes_again_at_its_time() {
    let mut world = World::new();
    let asked = Asked {
        kept: kept(3),
        ..world.asked(1, later(100 * SECOND))
    };
    world.add(asked).unwrap();
    world.schedule(2, later(100 * SECOND));
    let all = world.server.jobs.kept();
    assert_eq!(all.len(), 1);
    let text = serde_json::to_string(&all).expect("JSON");
    assert!(text.contains("\"a7a7a7\""), "{text}");
    let read: Vec<server::jobs::KeptJob> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(read, all);
    // The next server's clock begins elsewhere; 40 s have gone by.
    let mut next = World::new();
    next.now = 7 * SECOND;
    let wall = WALL + world.now + 40 * SECOND;
    let again = |next: &mut World| {
        next.server
            .restore_job(&read[0], Payload(1), wall, next.now)
    };
    assert!(again(&mut next));
    assert!(!again(&mut next), "once");
    assert_eq!(next.server.jobs.due(), Some(67 * SECOND));
    next.wait(60 * SECOND);
    assert_eq!(next.ids(), [1]);
    let large = Asked {
        kept: kept(KEPT_BYTES_MAX + 1),
        ..world.asked(3, plain())
    };
    let size = KEPT_BYTES_MAX + 1;
    assert_eq!(world.add(large), Err(JobRefused::TooLarge(size)));
    let many = (10..).find_map(|id| {
        let asked = Asked {
            kept: kept(1),
            ..world.asked(id, later(SECOND))
        };
        world.add(asked).err().map(|error| (id, error))
    });
    let last = 10 + KEPT_PER_UID_MAX as i32 - 1;
    assert_eq!(many, Some((last, JobRefused::Kept)));
}

#[test]
fn what_is_kept_goes_on_where_it_was_after_a_run() {
    let mut world = World::new();
    let period = Period {
        interval_ns: 100 * SECOND,
        flex_ns: 20 * SECOND,
    };
    let terms = Terms {
        period: Some(period),
        ..plain()
    };
    let asked = Asked {
        kept: kept(3),
        ..world.asked(1, terms)
    };
    world.add(asked).unwrap();
    let begun = world.now;
    world.wait(80 * SECOND);
    let run = world.one();
    let before = world.server.jobs.kept_changes();
    world.finish(run, false);
    assert!(world.server.jobs.kept_changes() > before, "it is written");
    let kept = world.server.jobs.kept();
    // The next server begins at once: the next run is that of the next period.
    let mut next = World::new();
    next.now = world.now;
    let wall = WALL + world.now;
    let is_taken = next
        .server
        .restore_job(&kept[0], Payload(1), wall, next.now);
    assert!(is_taken);
    assert_eq!(next.server.jobs.due(), Some(begun + 180 * SECOND));
}
