// SPDX-License-Identifier: Apache-2.0
//! [`RealTimeRecord`]: a real-time thread's priority, its releases and its ledger.
//!
//! Made by `realtime` before the thread starts, and kept for ever: any thread may use it.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::policy::{Policy, Priority, Tid};

use crate::classes::class::Class;
use crate::classes::object::ObjectRef;
use crate::console;
use crate::memory::table::Table;
use crate::options;
use crate::sync::lock::Lock;
use crate::sync::park::Parker;
use crate::threads::ledger::Ledger;
use crate::threads::thread::Thread;

/// Threads with a ledger of their own: a ledger is some 400 KB.
const LEDGERS_MAX: usize = 256;

/// What was done early.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reached {
    /// Methods reached, and those among them that had to be compiled or fetched.
    pub(crate) methods: u32,
    pub(crate) compiled: u32,
    /// Classes loaded and initialised for this.
    pub(crate) loaded: u32,
    pub(crate) initialized: u32,
    /// Methods beyond the limit (those that they lead to are not known), calls with too many
    /// callees, classes whose initialisers can be seen.
    pub(crate) left_out: u32,
    pub(crate) open_calls: u32,
    pub(crate) uninitialized: u32,
    pub(crate) ns: u64,
}

/// One real-time thread.
pub(crate) struct RealTimeRecord {
    /// Under which Java code finds it; not 0.
    number: u32,
    pub(crate) name: String,
    /// The class whose `run` it is.
    pub(crate) class: &'static Class,
    /// Asked for: 1 to 99.
    priority: AtomicI32,
    /// In force; 0 where that was refused.
    granted: AtomicI32,
    /// Why.
    refusal: OnceLock<String>,
    /// 0 before it runs.
    tid: AtomicU32,
    has_ended: AtomicBool,
    start_ns: AtomicU64,
    period_ns: AtomicU64,
    cost_ns: AtomicU64,
    deadline_ns: AtomicU64,
    /// The release that is worked on, or else the next one.
    due_ns: AtomicU64,
    is_working: AtomicBool,
    /// The release whose missed deadline was told.
    told_ns: AtomicU64,
    /// Processor time at the start of the current release.
    cost_start_ns: AtomicU64,
    cost_overruns_untold: AtomicU32,
    /// When a handler was released; 0 if it is not.
    fired_ns: AtomicU64,
    /// Where a handler waits.
    parker: Parker,
    /// What was done before it started.
    reached: Reached,
    pub(crate) ledger: Ledger,
}

/// Every record, in the order of starting.
static RECORDS: Lock<Vec<&'static RealTimeRecord>> = Lock::new(Vec::new());
/// Those and all others, by number. What reflection makes of a number is another record or none:
/// all that a record has may be used by any thread.
static NUMBERED: Table<OnceLock<&'static RealTimeRecord>> = Table::new();
/// Threads that found no room there.
static UNRECORDED: AtomicU32 = AtomicU32::new(0);
/// `RealtimeThread` and the offset of its field `record`.
pub(crate) static FACE: OnceLock<(&'static Class, u32)> = OnceLock::new();

/// Every record so far, and how many threads have a ledger without histograms.
pub(crate) fn records() -> (Vec<&'static RealTimeRecord>, u32) {
    (RECORDS.lock().clone(), UNRECORDED.load(Ordering::Relaxed))
}

/// The record of a thread object, if it is a real-time thread's.
pub(crate) fn record_of(object: ObjectRef) -> Option<&'static RealTimeRecord> {
    let (face, field) = FACE.get()?;
    let is_one = object.class().is_subtype_of(face);
    is_one.then(|| RealTimeRecord::find(object.get(*field)))?
}

/// The calling thread has a real-time thread's policy from its creator, and is no real-time thread.
pub(crate) fn be_ordinary() {
    // Lowering oneself is never refused.
    let _ = Policy::ordinary().apply(Tid::current());
}

impl RealTimeRecord {
    /// Makes the record of a thread that is about to start.
    pub(crate) fn add(
        name: String,
        class: &'static Class,
        priority: i32,
        reached: Reached,
    ) -> &'static RealTimeRecord {
        let mut records = RECORDS.lock();
        let has_room = records.len() < LEDGERS_MAX;
        let index = NUMBERED.take();
        let record: &'static RealTimeRecord = Box::leak(Box::new(RealTimeRecord {
            number: index + 1,
            name,
            class,
            priority: AtomicI32::new(priority),
            granted: AtomicI32::new(0),
            refusal: OnceLock::new(),
            tid: AtomicU32::new(0),
            has_ended: AtomicBool::new(false),
            start_ns: AtomicU64::new(0),
            period_ns: AtomicU64::new(0),
            cost_ns: AtomicU64::new(0),
            deadline_ns: AtomicU64::new(0),
            due_ns: AtomicU64::new(0),
            is_working: AtomicBool::new(false),
            told_ns: AtomicU64::new(0),
            cost_start_ns: AtomicU64::new(0),
            cost_overruns_untold: AtomicU32::new(0),
            fired_ns: AtomicU64::new(0),
            parker: Parker::new(),
            reached,
            ledger: Ledger::new(has_room),
        }));
        let _ = NUMBERED.at(index).set(record);
        if has_room {
            records.push(record);
        } else {
            UNRECORDED.fetch_add(1, Ordering::Relaxed);
        }
        record
    }

    pub(crate) fn number(&self) -> u64 {
        u64::from(self.number)
    }

    /// The record under a number, if there is one.
    #[inline]
    pub(crate) fn find(number: u64) -> Option<&'static RealTimeRecord> {
        let index = u32::try_from(number.checked_sub(1)?).ok()?;
        NUMBERED.find(index)?.get().copied()
    }

    /// On the new thread, before it attaches: its stack and its policy. False if it must not run.
    pub(crate) fn enter(&self) -> bool {
        let tid = Tid::current();
        self.tid.store(tid.raw() as u32, Ordering::Release);
        if let Err(error) = rt::memory::populate_stack() {
            console::warn(&format!("the stack of {} may fault: {error}", self.name));
        }
        self.apply(self.priority.load(Ordering::Acquire)) || !options::get().is_strictly_real_time
    }

    /// Why the policy was refused, if it was and that must not be.
    pub(crate) fn strict_refusal(&self) -> Option<&str> {
        let refusal = self.refusal.get()?;
        options::get()
            .is_strictly_real_time
            .then_some(refusal.as_str())
    }

    /// Why the policy was refused.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.get().map(String::as_str)
    }

    /// The priority asked for, and the one in force.
    pub(crate) fn priorities(&self) -> (i32, i32) {
        (
            self.priority.load(Ordering::Acquire),
            self.granted.load(Ordering::Acquire),
        )
    }

    pub(crate) fn reached(&self) -> Reached {
        self.reached
    }

    /// Period, cost and deadline in nanoseconds; 0 where there is none.
    pub(crate) fn times_ns(&self) -> [u64; 3] {
        [&self.period_ns, &self.cost_ns, &self.deadline_ns].map(|it| it.load(Ordering::Acquire))
    }

    pub(crate) fn tid(&self) -> u32 {
        self.tid.load(Ordering::Acquire)
    }

    /// Asks for a priority; at once if the thread runs. False if it was refused.
    pub(crate) fn set_priority(&self, priority: i32) -> bool {
        self.priority.store(priority, Ordering::Release);
        let is_running = self.tid() != 0 && !self.has_ended.load(Ordering::Acquire);
        !is_running || self.apply(priority)
    }

    fn apply(&self, priority: i32) -> bool {
        let level = u8::try_from(priority).ok().and_then(Priority::new);
        let tid = Tid::new(self.tid() as i32);
        let (Some(level), Some(tid)) = (level, tid) else {
            return false;
        };
        match Policy::Fifo(level).apply(tid) {
            Ok(()) => {
                self.granted.store(priority, Ordering::Release);
                true
            }
            Err(error) => {
                self.granted.store(0, Ordering::Release);
                self.degrade(&error.to_string());
                false
            }
        }
    }

    fn degrade(&self, why: &str) {
        static IS_TOLD: AtomicBool = AtomicBool::new(false);
        let _ = self.refusal.set(why.to_owned());
        if !options::get().is_strictly_real_time && !IS_TOLD.swap(true, Ordering::AcqRel) {
            let name = &self.name;
            console::warn(&format!(
                "DEGRADED: real-time threads run as ordinary ones, {name} first: {why}"
            ));
        }
    }

    /// Release times; a start of 0 is when the thread starts.
    pub(crate) fn set_release(&self, start_ns: u64, [period, cost, deadline]: [u64; 3]) {
        self.period_ns.store(period, Ordering::Release);
        self.cost_ns.store(cost, Ordering::Release);
        self.deadline_ns.store(deadline, Ordering::Release);
        if self.tid() == 0 {
            self.start_ns.store(start_ns, Ordering::Release);
        }
    }

    /// On the thread itself, before `run`: waits for the first release.
    pub(crate) fn begin(&self, thread: &Thread) {
        let start_ns = self.start_ns.load(Ordering::Acquire);
        let now_ns = Monotonic.now_ns();
        self.due_ns.store(
            if start_ns == 0 { now_ns } else { start_ns },
            Ordering::Release,
        );
        if start_ns > now_ns {
            thread.expect_work(Some(start_ns));
            thread.outside(|| Monotonic.sleep_until(start_ns));
        }
        self.ledger.open();
        let is_periodic = self.period_ns.load(Ordering::Acquire) != 0;
        if is_periodic {
            let is_timed = start_ns != 0;
            let due_ns = self.due_ns.load(Ordering::Acquire);
            self.begin_work(is_timed.then_some(due_ns));
        }
    }

    /// On the thread itself, behind `run`.
    pub(crate) fn end(&self) {
        if self.is_working.load(Ordering::Acquire) {
            self.end_work();
        }
        self.ledger.close();
        self.has_ended.store(true, Ordering::Release);
    }

    /// `due_ns`: the release whose lateness counts.
    fn begin_work(&self, due_ns: Option<u64>) {
        if self.cost_ns.load(Ordering::Acquire) != 0 {
            self.cost_start_ns
                .store(thread_time_ns(), Ordering::Relaxed);
        }
        self.is_working.store(true, Ordering::Release);
        self.ledger.begin_work(due_ns, Monotonic.now_ns());
    }

    /// Gives the time.
    fn end_work(&self) -> u64 {
        let now_ns = Monotonic.now_ns();
        self.is_working.store(false, Ordering::Release);
        let cost_ns = self.cost_ns.load(Ordering::Acquire);
        let start_ns = self.cost_start_ns.load(Ordering::Relaxed);
        let is_over = cost_ns != 0 && thread_time_ns().saturating_sub(start_ns) > cost_ns;
        if is_over {
            self.cost_overruns_untold.fetch_add(1, Ordering::AcqRel);
        }
        self.ledger
            .end_work(self.due_ns.load(Ordering::Acquire), now_ns, is_over);
        now_ns
    }

    /// Says once that the release worked on is not done by its deadline.
    fn tell_miss(&self, due_ns: u64) -> bool {
        let deadline_ns = self.deadline_ns.load(Ordering::Acquire);
        let is_late = deadline_ns != 0
            && self.is_working.load(Ordering::Acquire)
            && Monotonic.now_ns() > due_ns.saturating_add(deadline_ns);
        let is_told = is_late && self.told_ns.swap(due_ns, Ordering::AcqRel) != due_ns;
        if is_told {
            self.ledger.miss_deadline();
        }
        is_told
    }

    /// Ends the work on a release; when the next one is. None if instead a missed deadline is to be
    /// told.
    pub(crate) fn end_period(&self) -> Option<u64> {
        let due_ns = self.due_ns.load(Ordering::Acquire);
        if !self.is_working.load(Ordering::Acquire) {
            return Some(due_ns);
        }
        if self.tell_miss(due_ns) {
            return None;
        }
        self.end_work();
        let next_ns = due_ns.saturating_add(self.period_ns.load(Ordering::Acquire));
        self.due_ns.store(next_ns, Ordering::Release);
        Some(next_ns)
    }

    /// The release of `due_ns` is worked on from now on.
    pub(crate) fn begin_period(&self, due_ns: u64) {
        self.begin_work(Some(due_ns));
    }

    /// The next release is the first one from now on.
    pub(crate) fn resume(&self) {
        if self.is_working.load(Ordering::Acquire) {
            self.end_work();
        }
        let period_ns = self.period_ns.load(Ordering::Acquire).max(1);
        let due_ns = self.due_ns.load(Ordering::Acquire);
        let passed_ns = Monotonic.now_ns().saturating_sub(due_ns);
        let count = passed_ns.div_ceil(period_ns);
        let next_ns = due_ns.saturating_add(count.saturating_mul(period_ns));
        self.due_ns.store(next_ns, Ordering::Release);
        self.ledger.skip(count);
    }

    /// For a monitor: when to look again; 0 once the thread has ended.
    pub(crate) fn next_deadline(&self) -> u64 {
        if self.has_ended.load(Ordering::Acquire) {
            return 0;
        }
        let [period_ns, _, deadline_ns] = self.times_ns();
        let due_ns = self.due_ns.load(Ordering::Acquire);
        let is_told = self.told_ns.load(Ordering::Acquire) == due_ns;
        let now_ns = Monotonic.now_ns();
        if due_ns == 0 || is_told || due_ns.saturating_add(deadline_ns) <= now_ns {
            // Before the first release, or behind a deadline that is told or kept: once a period is
            // often enough.
            return now_ns.saturating_add(period_ns.max(deadline_ns).max(1));
        }
        due_ns.saturating_add(deadline_ns)
    }

    /// For a monitor: whether the release that must be done at `deadline_ns` is not; once.
    pub(crate) fn is_missed(&self, deadline_ns: u64) -> bool {
        let due_ns = self.due_ns.load(Ordering::Acquire);
        due_ns.saturating_add(self.deadline_ns.load(Ordering::Acquire)) == deadline_ns
            && self.tell_miss(due_ns)
    }

    pub(crate) fn take_cost_overruns(&self) -> u32 {
        self.cost_overruns_untold.swap(0, Ordering::AcqRel)
    }

    /// Releases a handler's thread. One system call if that waits.
    pub(crate) fn fire(&self) {
        let now_ns = Monotonic.now_ns();
        let _ = self
            .fired_ns
            .compare_exchange(0, now_ns, Ordering::AcqRel, Ordering::Relaxed);
        self.parker.unpark();
    }

    /// On a handler's thread: ends the work on a release and waits for the next.
    pub(crate) fn wait_for_fire(&self, thread: &Thread) {
        if self.is_working.load(Ordering::Acquire) {
            self.end_work();
        }
        thread.outside(|| self.parker.park_until(None));
        let fired_ns = self.fired_ns.swap(0, Ordering::AcqRel);
        self.begin_work((fired_ns != 0).then_some(fired_ns));
    }
}
