// SPDX-License-Identifier: Apache-2.0
//! [`Record`]: what the machine keeps of a real-time thread: its policy, its releases and its jitter [`Ledger`].
//!
//! `javax.realtime` (in `java/`) is the face, `natives/realtime` the way in. A record is made by the thread that starts
//! the other one, with all its memory, and is never freed: Java code holds its number. Its own thread counts; others
//! read. `closure` does early what `Ledger` would have to name as late.

mod closure;
mod ledger;
pub(crate) mod profile;
mod purity;
pub(crate) mod table;

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Priority, Tid};

use closure::{Closure, METHODS_MAX, Reached};
pub(crate) use ledger::{Ledger, timed};

use crate::classes::class::Class;
use crate::classes::known::{self, offset};
use crate::classes::object::ObjectRef;
use crate::console;
use crate::link::resolve;
use crate::memory::table::Table;
use crate::monitors::java_thread;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::options;
use crate::sync::lock::Lock;
use crate::sync::park::Parker;
use crate::threads::thread::Thread;

/// Threads with a ledger of their own: a ledger is some 400 KB.
const LEDGERS_MAX: usize = 256;

/// See the module.
pub(crate) struct Record {
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
static RECORDS: Lock<Vec<&'static Record>> = Lock::new(Vec::new());
/// Those and all others, by number. What reflection makes of a number is another record or none: all that a record has
/// may be used by any thread.
static NUMBERED: Table<OnceLock<&'static Record>> = Table::new();
/// Threads that found no room there.
static UNRECORDED: AtomicU32 = AtomicU32::new(0);
/// `RealtimeThread` and the offset of its field `record`.
static FACE: OnceLock<(&'static Class, u32)> = OnceLock::new();

/// Every record so far, and how many threads have a ledger without histograms.
pub(crate) fn records() -> (Vec<&'static Record>, u32) {
    (RECORDS.lock().clone(), UNRECORDED.load(Ordering::Relaxed))
}

/// Makes the record of a thread object that is about to start; `roots` are the objects whose methods it will run.
pub(crate) fn prepare(
    thread: &Thread,
    object: ObjectRef,
    roots: ObjectRef,
    priority: i32,
) -> &'static Record {
    let class = class_of(object, roots);
    let reached = reach(thread, class, roots);
    if reached.left_out > 0 {
        console::warn(&format!(
            "{} reaches more than {METHODS_MAX} methods: {} and what they lead to are compiled when they are called first",
            class.java_name(),
            reached.left_out
        ));
    }
    make(object, class, priority, reached)
}

/// Compiles and links what the thread can reach.
fn reach(thread: &Thread, class: &'static Class, roots: ObjectRef) -> Reached {
    let mut closure = Closure::new(thread);
    let kinds: Vec<&'static Class> = roots
        .ref_elements()
        .filter_map(ObjectRef::some)
        .map(ObjectRef::class)
        .collect();
    for kind in kinds {
        for name in ["run", "handleAsyncEvent"] {
            if let Some(method) = kind.method_named(name, "()V") {
                closure.add(method);
            }
        }
    }
    profile::apply(thread, &mut closure, class);
    closure.run()
}

/// The class that stands for what a thread does: its own, or that of what it runs.
fn class_of(object: ObjectRef, roots: ObjectRef) -> &'static Class {
    let all = roots.ref_elements().filter_map(ObjectRef::some);
    let theirs = all
        .map(ObjectRef::class)
        .filter(|class| !resolve::is_boot(class))
        .last();
    let class = theirs.unwrap_or_else(|| object.class());
    // A lambda's class is made anew in each run.
    class.info.host.unwrap_or(class)
}

fn make(
    object: ObjectRef,
    class: &'static Class,
    priority: i32,
    reached: Reached,
) -> &'static Record {
    FACE.get_or_init(|| {
        lock_memory();
        rt::lines::prepare();
        heap_binding::heap().expect_real_time();
        let face = known::loaded("javax/realtime/RealtimeThread").expect("its start calls this");
        (face, offset(face, "record"))
    });
    let name = string::text(object.get_ref(offset(object.class(), "name")));
    let mut records = RECORDS.lock();
    let has_room = records.len() < LEDGERS_MAX;
    let index = NUMBERED.take();
    let record: &'static Record = Box::leak(Box::new(Record {
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

/// Pages that are there stay there. Those to come are locked as they are touched: populating all would take the
/// whole heap at once.
fn lock_memory() {
    static HELD: OnceLock<Option<ProcessLock>> = OnceLock::new();
    HELD.get_or_init(|| {
        let lock = ProcessLock::acquire(LockScope::OnFault);
        lock.map_err(|error| {
            console::warn(&format!("real-time threads may wait for pages: {error}"));
        })
        .ok()
    });
}

/// The record of a thread object, if it is a real-time thread's.
pub(crate) fn record_of(object: ObjectRef) -> Option<&'static Record> {
    let (face, field) = FACE.get()?;
    let is_one = object.class().is_subtype_of(face);
    is_one.then(|| Record::find(object.get(*field)))?
}

/// The calling thread has a real-time thread's policy from its creator, and is no real-time thread.
pub(crate) fn be_ordinary() {
    // Lowering oneself is never refused.
    let _ = Policy::Other { nice: 0 }.apply(Tid::current());
}

impl Record {
    pub(crate) fn number(&self) -> u64 {
        u64::from(self.number)
    }

    /// The record under a number, if there is one.
    #[inline]
    pub(crate) fn find(number: u64) -> Option<&'static Record> {
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

    /// Ends the work on a release and waits for the next; true if instead a missed deadline is to be told.
    pub(crate) fn wait_for_next_period(&self, thread: &Thread, is_interruptible: bool) -> bool {
        let mut due_ns = self.due_ns.load(Ordering::Acquire);
        if self.is_working.load(Ordering::Acquire) {
            if self.tell_miss(due_ns) {
                return true;
            }
            self.end_work();
            due_ns = due_ns.saturating_add(self.period_ns.load(Ordering::Acquire));
            self.due_ns.store(due_ns, Ordering::Release);
        }
        if is_interruptible {
            if !sleep_until(thread, due_ns) {
                return false;
            }
        } else if Monotonic.now_ns() < due_ns {
            thread.expect_work(Some(due_ns));
            thread.outside(|| Monotonic.sleep_until(due_ns));
        }
        self.begin_work(Some(due_ns));
        false
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
            // Before the first release, or behind a deadline that is told or kept: once a period is often enough.
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

/// Sleeps in native state; false if an interrupt ended it, which stays pending.
pub(crate) fn sleep_until(thread: &Thread, due_ns: u64) -> bool {
    loop {
        if java_thread::is_interrupted(thread) {
            return false;
        }
        if Monotonic.now_ns() >= due_ns {
            return true;
        }
        thread.expect_work(Some(due_ns));
        java_thread::waiting(
            thread,
            java_thread::Wait::Sleep,
            crate::classes::object::ObjectRef::NULL,
            || thread.waiter.park_until(Some(due_ns)),
        );
    }
}
