// SPDX-License-Identifier: Apache-2.0
//! [`Reserving`]: a callback's thread under SCHED_DEADLINE, with a runtime that follows its work.
//!
//! Before the thread sleeps, a predictor says what its next call will want; after a call, what it
//! took is learned: all processor time of the thread since the call before. A change is one system
//! call. The kernel fills a budget up at a wake-up only, so a call that wants more than is left of
//! it runs under FIFO, and so does one that turns out to: `watch` sees to that. Then the thread
//! gets its reservation back. When the kernel refuses, the thread goes back to the policy that it
//! started with, for good, and the grant says why.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use rt::affinity::CpuSet;
use rt::clock::{Clock as _, Monotonic, thread_time_ns};
use rt::policy::{Policy, PolicyError, Priority, Refusal, Reservation, Tid};
use rt::sync::PiMutex;

use crate::governor::{Claim, Governor, Speed};
use crate::predict::{CEILING_PERMILLE, Envelope, Predictor, Smoothed};
use crate::stream::Grant;
use crate::stream::budget::Budget;
use crate::stream::watch::{Met, Watch};

/// Who predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// [`Smoothed`]: the paper's.
    Paper,
    /// [`Envelope`]: ours.
    Ours,
}

/// Calls that did not fit what was reserved for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overruns {
    /// Took longer than was reserved, and ended under FIFO.
    pub freed: u64,
    /// Took longer than was reserved, which was seen only after the call: the kernel may have held
    /// it back.
    pub late: u64,
    /// Were known to want more before they began, and ran under FIFO: work that was announced
    /// after the wake-up, and calls that catch up.
    pub raised: u64,
}

/// The same, for everybody.
#[derive(Debug, Default)]
pub(super) struct Counts {
    freed: AtomicU64,
    late: AtomicU64,
    raised: AtomicU64,
}

impl Counts {
    pub(super) fn read(&self) -> Overruns {
        Overruns {
            freed: self.freed.load(Relaxed),
            late: self.late.load(Relaxed),
            raised: self.raised.load(Relaxed),
        }
    }
}

/// A runtime is given back when it is too large by a sixteenth: less is not worth the call.
const SLACK_SHARE: u64 = 16;
/// What a call beyond its budget runs under, unless its thread started under FIFO.
const RESCUE: Policy = Policy::fifo(80);

/// Freed with less than this left, a thread may have been held back first: reading its time and
/// the call take so long.
const FREED_EARLY_NS: i64 = 5_000;

/// A thread asks again in this many periods, then takes the refusal for good.
const REFUSALS_MAX: u32 = 64;

/// Whether a thread may go from its reservation to FIFO and back: on kernels of Debian 12, where
/// that was tried. On 6.18 one thread of some hundred got its reservation back and never ran
/// again: the kernel still took it for held back, and its timer was over. There the kernel alone
/// fills a budget up.
fn may_free() -> bool {
    static MAY_FREE: OnceLock<bool> = OnceLock::new();
    *MAY_FREE.get_or_init(|| {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        release.is_ok_and(|it| it.starts_with("6.1."))
    })
}

/// What the thread runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Under {
    /// The policy that it started with, or FIFO; a reservation is due at this time.
    Fixed { until_ns: u64 },
    /// Its reservation.
    Reserved,
    /// The policy that it started with, for good.
    Refused,
}

/// What a call takes is counted as work: its time at the processor's largest speed.
pub(super) struct Reserving {
    governor: Option<Arc<Governor>>,
    /// While the thread lives.
    claim: Option<Claim>,
    /// Which kind of processor the thread was last seen on, and its speed.
    kind: usize,
    speed: Speed,
    predictor: Box<dyn Predictor + Send>,
    budget: Budget,
    under: Under,
    rescue: Policy,
    watch: Option<Watch>,
    /// The watcher has been about to free a call when that ended.
    is_taken: bool,
    /// Times that the thread asked again for a reservation, and in vain.
    refusals: u32,
    woken_ns: u64,
    /// A call has ended, so the next one has a beginning.
    is_known: bool,
    /// The thread's processor time then.
    ended_ns: u64,
    /// Work since the end of the last call, up to the last change of the speed.
    work_ns: u64,
    /// The thread's processor time up to which work is counted.
    spent_ns: Option<u64>,
}

impl Reserving {
    pub(super) fn new(model: Model, period_ns: u64, governor: Option<Arc<Governor>>) -> Self {
        Self {
            governor,
            claim: None,
            kind: 0,
            speed: Speed::FULL,
            is_known: false,
            ended_ns: 0,
            work_ns: 0,
            predictor: match model {
                Model::Paper => Box::new(Smoothed::new(period_ns)),
                Model::Ours => Box::new(Envelope::new(period_ns)),
            },
            budget: Budget::new(period_ns),
            under: Under::Fixed { until_ns: 0 },
            rescue: RESCUE,
            watch: None,
            is_taken: false,
            refusals: 0,
            woken_ns: 0,
            spent_ns: None,
        }
    }

    /// A new thread begins, under `started`; what is learned stays. Starts its watcher; without
    /// one the kernel may hold a call back.
    pub(super) fn begin(&mut self, started: Option<Policy>) {
        self.budget = Budget::new(self.budget.period_ns);
        (self.under, self.spent_ns) = (Under::Fixed { until_ns: 0 }, None);
        (self.is_taken, self.is_known, self.refusals, self.work_ns) = (false, false, 0, 0);
        self.rescue = match started {
            Some(fifo @ Policy::Fifo(_)) => fifo,
            _ => RESCUE,
        };
        let level = self.rescue.priority().map_or(0, Priority::get);
        let above = Policy::Fifo(Priority::new(level + 1).unwrap_or(Priority::MAX));
        let cpus = CpuSet::of(Tid::current()).ok();
        self.claim = self
            .governor
            .as_ref()
            .and_then(|it| it.claim(cpus.as_ref()));
        (self.kind, self.speed) = self.here();
        let rush = self.claim.as_ref().map(Claim::rush);
        self.watch = may_free()
            .then(|| Watch::start(above, self.rescue, self.budget.period_ns, rush).ok())
            .flatten();
    }

    /// The thread ends.
    pub(super) fn end(&mut self) {
        (self.watch, self.claim) = (None, None);
        self.speed = Speed::FULL;
    }

    /// The thread woke up.
    pub(super) fn wake(&mut self) {
        self.woken_ns = Monotonic.now_ns();
        if self.under == Under::Reserved {
            self.budget.wake(self.woken_ns, thread_time_ns());
        }
    }

    /// A call is about to begin.
    pub(super) fn before(&mut self, units: u32, counts: &Counts) {
        let work_ns = self.predictor.reserve_ns(units);
        let (now_ns, spent_ns) = (Monotonic.now_ns(), thread_time_ns());
        if self.under != Under::Reserved {
            self.want(work_ns, spent_ns);
            return;
        }
        self.follow(spent_ns);
        let wanted_ns = self.slowest().time_ns(work_ns);
        // What the wake-up itself took is in every prediction.
        let wake_ns = spent_ns.saturating_sub(self.ended_ns);
        if wanted_ns.saturating_sub(wake_ns) as i64 > self.budget.left_ns(spent_ns) {
            counts.raised.fetch_add(1, Relaxed);
            self.want(work_ns, spent_ns);
            if may_free() {
                self.leave(spent_ns, 0);
            }
        } else if let Some(watch) = &self.watch {
            watch.begin(now_ns, spent_ns, self.budget.end_ns());
        }
    }

    /// Learns what the call and the wait before it took. A thread that used more than it had runs
    /// under FIFO until the kernel has forgotten it.
    pub(super) fn after(&mut self, units: u32, counts: &Counts) {
        let spent_ns = thread_time_ns();
        let met = match self.under {
            Under::Reserved => self.watch.as_ref().map_or(Met::Nothing, Watch::end),
            _ => Met::Nothing,
        };
        if let Met::Freed { spent_ns: freed_ns } = met {
            self.work_until(freed_ns);
            (self.kind, self.speed) = self.here();
        }
        self.follow(spent_ns);
        self.work_until(spent_ns);
        if self.is_known {
            self.predictor.learn(units, self.work_ns);
        }
        (self.is_known, self.work_ns, self.ended_ns) = (true, 0, spent_ns);
        if self.under != Under::Reserved {
            return;
        }
        let over_ns = self.budget.left_ns(spent_ns).min(0).unsigned_abs();
        match met {
            Met::Nothing if over_ns == 0 => {}
            Met::Nothing => {
                counts.late.fetch_add(1, Relaxed);
                if may_free() {
                    self.leave(spent_ns, over_ns);
                }
            }
            Met::Freed { spent_ns: freed_ns } => {
                counts.freed.fetch_add(u64::from(over_ns > 0), Relaxed);
                self.freed(freed_ns);
            }
            Met::Taken => {
                counts.freed.fetch_add(u64::from(over_ns > 0), Relaxed);
                self.is_taken = true;
                self.freed(spent_ns);
            }
        }
    }

    /// Before the thread sleeps: reserves for the call that is announced. At once what is missing,
    /// and less if there is much too much.
    pub(super) fn settle(&mut self, units: u32, grant: &PiMutex<Grant>) {
        let (now_ns, spent_ns) = (Monotonic.now_ns(), thread_time_ns());
        let is_due = match self.under {
            Under::Refused => false,
            Under::Fixed { until_ns } => until_ns <= now_ns && !self.is_being_freed(),
            Under::Reserved => true,
        };
        if !is_due {
            return;
        }
        let work_ns = self.predictor.reserve_ns(units);
        self.want(work_ns, spent_ns);
        let most_ns = self.budget.period_ns * CEILING_PERMILLE / 1_000;
        let wanted_ns = self.slowest().time_ns(work_ns).min(most_ns);
        let runtime_ns = self.budget.runtime_ns;
        let is_fit = wanted_ns <= runtime_ns && runtime_ns <= wanted_ns + wanted_ns / SLACK_SHARE;
        if self.under != Under::Reserved || !is_fit {
            self.reserve(wanted_ns, now_ns, spent_ns, grant);
        }
        if let Some(watch) = &self.watch {
            watch.expect(self.woken_ns, self.budget.runtime_ns);
        }
    }

    fn reserve(&mut self, runtime_ns: u64, now_ns: u64, spent_ns: u64, grant: &PiMutex<Grant>) {
        let policy = Policy::Deadline(Reservation {
            runtime_ns,
            deadline_ns: self.budget.period_ns,
            period_ns: self.budget.period_ns,
        });
        match policy.apply(Tid::current()) {
            Ok(()) => {
                if self.under == Under::Reserved {
                    self.budget.charge(spent_ns);
                }
                (self.under, self.refusals) = (Under::Reserved, 0);
                self.budget.reserve(runtime_ns, now_ns, spent_ns);
                grant.lock().granted = Some(policy);
            }
            // Where the thread comes back early, the kernel still counts what it had before.
            Err(error)
                if error.refusal == Refusal::Admission
                    && self.under != Under::Reserved
                    && self.refusals < REFUSALS_MAX =>
            {
                self.refusals += 1;
                let until_ns = now_ns + self.budget.period_ns / 2;
                self.under = Under::Fixed { until_ns };
            }
            Err(error) => self.fall_back(&error, grant),
        }
    }

    /// Has the processors' speeds fit this much work of each period.
    fn want(&mut self, work_ns: u64, spent_ns: u64) {
        if let Some(claim) = &self.claim {
            claim.want(work_ns, self.budget.period_ns);
            self.follow(spent_ns);
        }
    }

    fn here(&self) -> (usize, Speed) {
        self.claim.as_ref().map_or((0, Speed::FULL), Claim::here)
    }

    /// The speed that a reservation must do with.
    fn slowest(&self) -> Speed {
        self.claim.as_ref().map_or(Speed::FULL, Claim::slowest)
    }

    /// Counts what was used at the speed until now. A thread that went to another kind of processor
    /// did so at some time before: all of it counts at the larger speed.
    fn follow(&mut self, spent_ns: u64) {
        let (kind, speed) = self.here();
        if (kind, speed) == (self.kind, self.speed) {
            return;
        }
        if kind != self.kind {
            self.speed = self.speed.max(speed);
        }
        self.work_until(spent_ns);
        (self.kind, self.speed) = (kind, speed);
    }

    /// Counts what was used at this speed.
    fn work_until(&mut self, spent_ns: u64) {
        if let Some(before_ns) = self.spent_ns.replace(spent_ns) {
            self.work_ns += self.speed.work_ns(spent_ns.saturating_sub(before_ns));
        }
    }

    /// From the reservation to FIFO, after so much too much.
    fn leave(&mut self, spent_ns: u64, over_ns: u64) {
        // Refused, the thread keeps its reservation, and is held back as without this.
        if self.rescue.apply(Tid::current()).is_ok() {
            self.budget.charge(spent_ns);
            let until_ns = match over_ns {
                0 => 0,
                over_ns => self.budget.forgiven_ns(over_ns),
            };
            self.under = Under::Fixed { until_ns };
        }
    }

    /// The watcher did that, when the thread had used `spent_ns`.
    fn freed(&mut self, spent_ns: u64) {
        self.budget.charge(spent_ns);
        let left_ns = self.budget.left_ns(spent_ns);
        // So close to the end the kernel may have taken it first.
        let until_ns = match left_ns {
            FREED_EARLY_NS.. => 0,
            _ => self
                .budget
                .forgiven_ns(left_ns.min(0).unsigned_abs() + FREED_EARLY_NS as u64),
        };
        self.under = Under::Fixed { until_ns };
    }

    fn is_being_freed(&mut self) -> bool {
        if self.is_taken {
            let met = self.watch.as_ref().map_or(Met::Nothing, Watch::end);
            self.is_taken = met == Met::Taken;
        }
        self.is_taken
    }

    /// Off the path: the stream may run dry here, and takes memory for the reason.
    #[cold]
    fn fall_back(&mut self, error: &PolicyError, grant: &PiMutex<Grant>) {
        self.under = Under::Refused;
        let reason = error.to_string();
        let mut grant = grant.lock();
        let first = grant.started;
        if let Some(policy) = first {
            // Refused as well, it keeps what it has.
            let _ = policy.apply(Tid::current());
        }
        grant.granted = Policy::of_current().ok();
        grant.refusal = Some(reason);
    }
}
