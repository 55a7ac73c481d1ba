// SPDX-License-Identifier: Apache-2.0
//! android.os.PerformanceHintManager on reservations: the threads of a session run under
//! SCHED_DEADLINE, with a runtime that follows what they used of each cycle.
//!
//! A report is the end of a cycle. What each thread used since the one before is learned, and
//! reserved with the predictor's margin, in each target duration. Where the kernel refuses, there
//! is no session, as on an Android device whose hardware takes no hints, and the log says why.
//! A report takes no memory but at a refusal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jni_sys::{jboolean, jclass, jint, jintArray, jlong};
use rt::clock::thread_time_ns_of;
use rt::policy::{Policy, PolicyError, Reservation, Tid};
use rt::sync::PiMutex;
use sound::predict::{Envelope, Predictor as _};

use crate::env::Env;

const TAG: &str = "PerformanceHint";
/// What stands for the manager: not null.
const MANAGER: jlong = 1;
/// The shortest period that the kernel takes unless told otherwise.
const RATE_NS: jlong = 100_000;
/// Session.CPU_LOAD_UP and CPU_LOAD_RESET.
const LOAD_UP: jint = 0;
const LOAD_RESET: jint = 2;

/// Sessions of a process, and threads of one: more than a machine's processors have room for.
const SESSIONS_MAX: usize = 32;
const THREADS_MAX: usize = 32;
/// Of a period, shared by a session's threads, before anything is known of them.
const FIRST_PERMILLE: u64 = 940;
/// The kernel takes no runtime below this.
const RUNTIME_NS_MIN: u64 = 1_024;
/// A runtime is given back when it is too large by this share.
const SLACK_SHARE: u64 = 16;
/// There is one kind of work: Android's reports have no units.
const UNITS: u32 = 0;

type Shared = Arc<PiMutex<Session>>;

/// By the number that Java holds. The lock covers look-ups alone.
static SESSIONS: PiMutex<BTreeMap<jlong, Shared>> = PiMutex::new(BTreeMap::new());
static NEXT_SESSION: AtomicI64 = AtomicI64::new(1);

struct Session {
    target_ns: u64,
    workers: Vec<Worker>,
    has_complained: bool,
}

/// A thread of a session.
struct Worker {
    tid: Tid,
    before: Policy,
    predictor: Envelope,
    /// Its processor time at the last report; none before the first.
    spent_ns: Option<u64>,
    used_ns: Option<u64>,
    runtime_ns: u64,
}

/// Why there is no session.
enum Refused {
    /// One of its threads is none of this process's.
    Foreign(jint),
    Kernel(PolicyError),
    Many,
}

impl Worker {
    fn reserve(&mut self, runtime_ns: u64, period_ns: u64) -> Result<(), PolicyError> {
        let reservation = Reservation {
            runtime_ns,
            deadline_ns: period_ns,
            period_ns,
        };
        Policy::Deadline(reservation).apply(self.tid)?;
        self.runtime_ns = runtime_ns;
        Ok(())
    }

    /// Learns a cycle, and reserves what the next will want: what is missing at once, and less if
    /// there is much too much.
    fn report(&mut self, period_ns: u64) -> Result<(), PolicyError> {
        // A thread that has ended has nothing to reserve.
        let Some(spent_ns) = thread_time_ns_of(self.tid) else {
            return Ok(());
        };
        if let Some(before_ns) = self.spent_ns.replace(spent_ns) {
            let used_ns = spent_ns.saturating_sub(before_ns);
            self.used_ns = Some(used_ns);
            self.predictor.learn(UNITS, used_ns);
        }
        if self.used_ns.is_none() {
            return Ok(());
        }
        let wanted_ns = self.predictor.reserve_ns(UNITS);
        let (least_ns, most_ns) = (wanted_ns, wanted_ns + wanted_ns / SLACK_SHARE);
        if least_ns <= self.runtime_ns && self.runtime_ns <= most_ns {
            return Ok(());
        }
        self.reserve(wanted_ns, period_ns)
    }

    /// Knows nothing but the last cycle.
    fn forget(&mut self, period_ns: u64) {
        self.predictor = Envelope::new(period_ns);
        if let Some(used_ns) = self.used_ns {
            self.predictor.learn(UNITS, used_ns);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A thread that has ended needs none, and its number may be another process's by now.
        if is_ours(self.tid) {
            let _restored = self.before.apply(self.tid);
        }
    }
}

/// Whether a thread is of this process: the kernel tells nobody else's time.
fn is_ours(tid: Tid) -> bool {
    thread_time_ns_of(tid).is_some()
}

impl Session {
    /// All its threads get a reservation, or none.
    fn new(threads: &[jint], target_ns: u64) -> Result<Self, Refused> {
        let mut session = Self {
            target_ns,
            workers: Vec::with_capacity(threads.len()),
            has_complained: false,
        };
        session.set_threads(threads)?;
        Ok(session)
    }

    /// Those that stay keep what is known of them.
    fn set_threads(&mut self, threads: &[jint]) -> Result<(), Refused> {
        if threads.len() > THREADS_MAX {
            return Err(Refused::Many);
        }
        for thread in threads {
            if !Tid::new(*thread).is_some_and(is_ours) {
                return Err(Refused::Foreign(*thread));
            }
        }
        let first_ns = self.first_ns(threads.len());
        let mut added = Vec::with_capacity(threads.len());
        for tid in threads.iter().filter_map(|it| Tid::new(*it)) {
            if self.workers.iter().chain(&added).all(|it| it.tid != tid) {
                let before = Policy::of(tid).map_err(Refused::Kernel)?;
                let mut worker = Worker {
                    tid,
                    before,
                    predictor: Envelope::new(self.target_ns),
                    spent_ns: None,
                    used_ns: None,
                    runtime_ns: 0,
                };
                let reserved = worker.reserve(first_ns, self.target_ns);
                reserved.map_err(Refused::Kernel)?;
                added.push(worker);
            }
        }
        self.workers.retain(|it| threads.contains(&it.tid.raw()));
        self.workers.append(&mut added);
        Ok(())
    }

    fn first_ns(&self, threads: usize) -> u64 {
        let all_ns = self.target_ns * FIRST_PERMILLE / 1_000;
        (all_ns / threads.max(1) as u64).max(RUNTIME_NS_MIN)
    }

    fn each(&mut self, mut work: impl FnMut(&mut Worker, u64) -> Result<(), PolicyError>) {
        let mut refused = None;
        for worker in &mut self.workers {
            if let Err(error) = work(worker, self.target_ns) {
                refused = Some(error);
            }
        }
        if let Some(error) = refused.filter(|_| !self.has_complained) {
            self.has_complained = true;
            let text = format!("{error}; the thread keeps what it had. Said once");
            crate::log::error(TAG, &text);
        }
    }
}

fn of(session: jlong) -> Option<Shared> {
    SESSIONS.lock().get(&session).map(Arc::clone)
}

/// What was refused, as Android says it: an exception for a thread of others, else a line.
fn tell(env: Env, refused: &Refused) {
    match refused {
        Refused::Foreign(thread) => {
            let text = format!("thread {thread} does not belong to the application");
            env.throw("java/lang/SecurityException", &text);
        }
        Refused::Kernel(error) => {
            crate::log::error(TAG, &format!("no session: {error}"));
        }
        Refused::Many => {
            let text = "no session: 32 sessions of 32 threads are the most";
            crate::log::error(TAG, text);
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeAcquireManager(
    _: Env,
    _: jclass,
) -> jlong {
    MANAGER
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeGetPreferredUpdateRateNanos(
    _: Env,
    _: jclass,
    _manager: jlong,
) -> jlong {
    RATE_NS
}

/// 0: createHintSession answers null.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeCreateSession(
    env: Env,
    _: jclass,
    _manager: jlong,
    threads: jintArray,
    target_ns: jlong,
) -> jlong {
    let made = Session::new(&env.ints(threads), target_ns.unsigned_abs());
    let session = match made {
        Ok(session) => session,
        Err(refused) => {
            tell(env, &refused);
            return 0;
        }
    };
    let number = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
    let mut sessions = SESSIONS.lock();
    if sessions.len() >= SESSIONS_MAX {
        drop(sessions);
        tell(env, &Refused::Many);
        return 0;
    }
    sessions.insert(number, Arc::new(PiMutex::new(session)));
    number
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeGetThreadIds(
    env: Env,
    _: jclass,
    session: jlong,
) -> jintArray {
    let threads = of(session).map(|it| {
        let session = it.lock();
        let ids = session.workers.iter().map(|it| it.tid.raw());
        ids.collect::<Vec<_>>()
    });
    env.int_array(&threads.unwrap_or_default())
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeUpdateTargetWorkDuration(
    _: Env,
    _: jclass,
    session: jlong,
    target_ns: jlong,
) {
    let Some(session) = of(session) else { return };
    let mut session = session.lock();
    session.target_ns = target_ns.unsigned_abs();
    let first_ns = session.first_ns(session.workers.len());
    session.each(|worker, period_ns| {
        worker.forget(period_ns);
        let runtime_ns = match worker.used_ns {
            Some(_) => worker.predictor.reserve_ns(UNITS),
            None => first_ns,
        };
        worker.reserve(runtime_ns, period_ns)
    });
}

fn report(session: jlong) {
    if let Some(session) = of(session) {
        session.lock().each(Worker::report);
    }
}

/// A cycle has ended. The kernel knows what its threads used; how long it took by the clock does
/// not change that.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeReportActualWorkDuration__JJ(
    _: Env,
    _: jclass,
    session: jlong,
    _actual_ns: jlong,
) {
    report(session);
}

/// As above.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeReportActualWorkDuration__JJJJJ(
    _: Env,
    _: jclass,
    session: jlong,
    _begun_ns: jlong,
    _actual_ns: jlong,
    _cpu_ns: jlong,
    _gpu_ns: jlong,
) {
    report(session);
}

/// Its threads get back the policies that they had.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeCloseSession(
    _: Env,
    _: jclass,
    session: jlong,
) {
    let removed = SESSIONS.lock().remove(&session);
    drop(removed);
}

/// More work, or other work: all is reserved until the next report. Other hints change nothing.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeSendHint(
    _: Env,
    _: jclass,
    session: jlong,
    hint: jint,
) {
    let Some(session) = of(session).filter(|_| matches!(hint, LOAD_UP | LOAD_RESET)) else {
        return;
    };
    let mut session = session.lock();
    let first_ns = session.first_ns(session.workers.len());
    session.each(|worker, period_ns| {
        worker.used_ns = None;
        worker.forget(period_ns);
        worker.reserve(first_ns.max(worker.runtime_ns.min(period_ns)), period_ns)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeSetThreads(
    env: Env,
    _: jclass,
    session: jlong,
    threads: jintArray,
) {
    let Some(session) = of(session) else { return };
    let threads = env.ints(threads);
    let set = session.lock().set_threads(&threads);
    if let Err(refused) = set {
        tell(env, &refused);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeSetPreferPowerEfficiency(
    env: Env,
    _: jclass,
    _session: jlong,
    _is_preferred: jboolean,
) {
    env.throw_unsupported("PerformanceHintManager.Session.setPreferPowerEfficiency");
}
