// SPDX-License-Identifier: Apache-2.0
//! [`Ledger`]: what made a real-time thread late, or could have.
//!
//! Filled by its own thread between [`Ledger::open`] and [`Ledger::close`], without allocation, and
//! without a lock that anyone holds for long: the histograms' is shared with the report alone. Read
//! by others at any time.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rt::clock::thread_time_ns;
use rt::memory::{Usage, usage};
use rt::recorder::Recorder;
use rt::sync::PiMutex;

use crate::classes::class::{Class, Method};
use crate::console;
use crate::threads::thread::Thread;
use crate::threads::totals::{self, Total};

/// Names kept per kind; more are counted.
pub(crate) const NAMES_MAX: usize = 256;
/// Times beyond this are counted and their maximum is exact.
const TIME_NS_MAX: u64 = 1_000_000_000;

/// Releases in which the machine itself used more processor time than this are kept one by one.
pub(crate) const MACHINE_NS_USUAL: u64 = 100_000;
/// So many of them; more are counted.
const MACHINE_RELEASES_MAX: usize = 256;

/// Things done late: how many, which, and how long all of them took.
pub(crate) struct Late {
    count: AtomicU64,
    ns_sum: AtomicU64,
    addresses: Box<[AtomicU64]>,
}

/// Waits: how many, how long, and for what the longest was.
#[derive(Default)]
pub(crate) struct Wait {
    count: AtomicU64,
    ns_sum: AtomicU64,
    ns_max: AtomicU64,
    /// Address of the class of what the longest was for; 0 if nobody can say.
    worst: AtomicU64,
}

/// Processor time that the machine used in a release for what the ledger names: its own causes, not
/// the program's work.
pub(crate) struct MachineTime {
    /// What is timed lies within something that is timed.
    depth: AtomicU32,
    /// In the release under way.
    current_ns: AtomicU64,
    ns_max: AtomicU64,
    /// Releases above [`MACHINE_NS_USUAL`]: how many, and of the first ones the due time and the
    /// processor time.
    count: AtomicU64,
    releases: Box<[[AtomicU64; 2]]>,
}

/// See the module.
pub(crate) struct Ledger {
    is_open: AtomicBool,
    pub(crate) machine: MachineTime,
    /// Methods that had to be compiled, or fetched from the code cache.
    pub(crate) methods: Late,
    /// Classes that had to be loaded.
    pub(crate) classes: Late,
    /// Classes that had to be initialised.
    pub(crate) initializations: Late,
    /// Constants that had to be resolved: by class.
    pub(crate) sites: Late,
    /// For monitors that others held.
    pub(crate) monitors: Wait,
    /// For locks of java.util.concurrent whose owner is known: priority is lent.
    pub(crate) locks: Wait,
    /// For what nobody owns: conditions, latches, queues.
    pub(crate) ownerless: Wait,
    /// For the machine's own locks.
    pub(crate) machine_locks: Wait,
    /// For allocation beyond the thread's own block.
    pub(crate) allocations: Wait,
    /// For answering the collector.
    pub(crate) handshakes: Wait,
    barriers: AtomicU64,
    releases: AtomicU64,
    skipped: AtomicU64,
    deadline_misses: AtomicU64,
    cost_overruns: AtomicU64,
    /// When the work on the current release began.
    woken_ns: AtomicU64,
    times: PiMutex<Times>,
}

struct Times {
    lateness: Option<Recorder>,
    work: Option<Recorder>,
    /// At the first release, and last seen.
    usage_first: Usage,
    usage_last: Usage,
}

/// Some figures of a distribution, in nanoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quantiles {
    pub(crate) count: u64,
    /// In the order of [`QUANTILES`].
    pub(crate) ns: [u64; 5],
    pub(crate) ns_max: u64,
}

pub(crate) const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

impl Late {
    fn new(has_names: bool) -> Self {
        let names = if has_names { NAMES_MAX } else { 0 };
        Self {
            count: AtomicU64::new(0),
            ns_sum: AtomicU64::new(0),
            addresses: (0..names).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn add(&self, address: u64, ns: u64) {
        let index = self.count.fetch_add(1, Ordering::AcqRel) as usize;
        self.ns_sum.fetch_add(ns, Ordering::Relaxed);
        if let Some(place) = self.addresses.get(index) {
            place.store(address, Ordering::Release);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    pub(crate) fn ns(&self) -> u64 {
        self.ns_sum.load(Ordering::Relaxed)
    }

    fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        let all = self.addresses.iter();
        all.map(|place| place.load(Ordering::Acquire))
            .filter(|&address| address != 0)
    }

    /// Of [`Ledger::methods`].
    pub(crate) fn methods(&self) -> impl Iterator<Item = &'static Method> + '_ {
        self.addresses().map(Method::at)
    }

    /// Of the others.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &'static Class> + '_ {
        self.addresses().map(|address| Class::at(address as u32))
    }
}

impl Wait {
    pub(crate) fn add(&self, ns: u64, what: Option<&'static Class>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.ns_sum.fetch_add(ns, Ordering::Relaxed);
        if ns > self.ns_max.load(Ordering::Relaxed) {
            self.ns_max.store(ns, Ordering::Relaxed);
            let what = what.map_or(0, |class| u64::from(class.address()));
            self.worst.store(what, Ordering::Relaxed);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// All together, and the longest.
    pub(crate) fn ns(&self) -> (u64, u64) {
        (
            self.ns_sum.load(Ordering::Relaxed),
            self.ns_max.load(Ordering::Relaxed),
        )
    }

    /// What the longest was for.
    pub(crate) fn worst(&self) -> Option<&'static Class> {
        match self.worst.load(Ordering::Relaxed) {
            0 => None,
            address => Some(Class::at(address as u32)),
        }
    }
}

impl MachineTime {
    fn new(has_releases: bool) -> Self {
        let kept = if has_releases {
            MACHINE_RELEASES_MAX
        } else {
            0
        };
        Self {
            depth: AtomicU32::new(0),
            current_ns: AtomicU64::new(0),
            ns_max: AtomicU64::new(0),
            count: AtomicU64::new(0),
            releases: (0..kept).map(|_| Default::default()).collect(),
        }
    }

    /// On the ledger's own thread: charges the processor time of `work`, unless it lies within
    /// other such work.
    fn charge<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.depth.fetch_add(1, Ordering::Relaxed) > 0 {
            let result = work();
            self.depth.fetch_sub(1, Ordering::Relaxed);
            return result;
        }
        let started_ns = thread_time_ns();
        let result = work();
        let used_ns = thread_time_ns() - started_ns;
        self.current_ns.fetch_add(used_ns, Ordering::Relaxed);
        self.depth.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// The release that was due then is over.
    fn close_release(&self, due_ns: u64) {
        let ns = self.current_ns.swap(0, Ordering::Relaxed);
        self.ns_max.fetch_max(ns, Ordering::Relaxed);
        if ns <= MACHINE_NS_USUAL {
            return;
        }
        let index = self.count.load(Ordering::Relaxed);
        if let Some([due, used]) = self.releases.get(index as usize) {
            due.store(due_ns, Ordering::Relaxed);
            used.store(ns, Ordering::Relaxed);
        }
        // Pairs with Acquire in `releases`: publishes the entry.
        self.count.store(index + 1, Ordering::Release);
    }

    /// The most of one release, and how many were above [`MACHINE_NS_USUAL`].
    pub(crate) fn most(&self) -> (u64, u64) {
        (
            self.ns_max.load(Ordering::Relaxed),
            self.count.load(Ordering::Relaxed),
        )
    }

    /// Of the first of those: when it was due, and its processor time.
    pub(crate) fn releases(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let count = self.count.load(Ordering::Acquire) as usize;
        let kept = self.releases.iter().take(count);
        kept.map(|[due, ns]| (due.load(Ordering::Relaxed), ns.load(Ordering::Relaxed)))
    }
}

impl Ledger {
    /// With histograms and names, or with counts alone.
    pub(crate) fn new(is_whole: bool) -> Self {
        let recorder = || is_whole.then(|| Recorder::new(TIME_NS_MAX, 0));
        Self {
            is_open: AtomicBool::new(false),
            machine: MachineTime::new(is_whole),
            methods: Late::new(is_whole),
            classes: Late::new(is_whole),
            initializations: Late::new(is_whole),
            sites: Late::new(is_whole),
            monitors: Wait::default(),
            locks: Wait::default(),
            ownerless: Wait::default(),
            machine_locks: Wait::default(),
            allocations: Wait::default(),
            handshakes: Wait::default(),
            barriers: AtomicU64::new(0),
            releases: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            deadline_misses: AtomicU64::new(0),
            cost_overruns: AtomicU64::new(0),
            woken_ns: AtomicU64::new(0),
            times: PiMutex::new(Times {
                lateness: recorder(),
                work: recorder(),
                usage_first: Usage::default(),
                usage_last: Usage::default(),
            }),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// From here on everything counts.
    pub(crate) fn open(&self) {
        let mut times = self.times.lock();
        times.usage_first = usage();
        times.usage_last = times.usage_first;
        drop(times);
        self.is_open.store(true, Ordering::Release);
    }

    pub(crate) fn close(&self) {
        self.is_open.store(false, Ordering::Release);
        self.times.lock().usage_last = usage();
    }

    /// A release that was due at `due_ns`, if that counts, is worked on from now.
    pub(crate) fn begin_work(&self, due_ns: Option<u64>, now_ns: u64) {
        let count = self.releases.fetch_add(1, Ordering::Relaxed);
        totals::add(Total::Releases, 1);
        self.woken_ns.store(now_ns, Ordering::Relaxed);
        let mut times = self.times.lock();
        if count == 1 {
            // The first release, at which everything is touched for the first time, is behind.
            times.usage_first = usage();
        }
        if let (Some(due_ns), Some(recorder)) = (due_ns, &mut times.lateness) {
            recorder.record(now_ns.saturating_sub(due_ns));
        }
    }

    /// The release that was due at `due_ns` is done.
    pub(crate) fn end_work(&self, due_ns: u64, now_ns: u64, is_over_cost: bool) {
        self.machine.close_release(due_ns);
        let woken_ns = self.woken_ns.load(Ordering::Relaxed);
        if is_over_cost {
            self.cost_overruns.fetch_add(1, Ordering::Relaxed);
            totals::add(Total::CostOverruns, 1);
        }
        let mut times = self.times.lock();
        times.usage_last = usage();
        if let Some(recorder) = &mut times.work {
            recorder.record(now_ns.saturating_sub(woken_ns));
        }
    }

    pub(crate) fn miss_deadline(&self) {
        self.deadline_misses.fetch_add(1, Ordering::Relaxed);
        totals::add(Total::DeadlineMisses, 1);
    }

    pub(crate) fn skip(&self, count: u64) {
        self.skipped.fetch_add(count, Ordering::Relaxed);
        totals::add(Total::Skipped, count);
    }

    pub(crate) fn pass_barrier(&self) {
        self.barriers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn late_method(&self, method: &'static Method, ns: u64) {
        self.methods.add(method.address(), ns);
    }

    pub(crate) fn late_class(&self, class: &'static Class, ns: u64) {
        self.classes.add(u64::from(class.address()), ns);
    }

    pub(crate) fn late_initialization(&self, class: &'static Class, ns: u64) {
        self.initializations.add(u64::from(class.address()), ns);
    }

    pub(crate) fn late_site(&self, class: &'static Class, ns: u64) {
        self.sites.add(u64::from(class.address()), ns);
    }

    /// Releases, releases skipped, deadlines missed, costs overrun, slow paths of the write
    /// barrier.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 5] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("releases", of(&self.releases)),
            ("skipped", of(&self.skipped)),
            ("deadline_misses", of(&self.deadline_misses)),
            ("cost_overruns", of(&self.cost_overruns)),
            ("barrier_slow_paths", of(&self.barriers)),
        ]
    }

    /// Lateness and time in work.
    pub(crate) fn quantiles(&self) -> [Quantiles; 2] {
        let times = self.times.lock();
        [&times.lateness, &times.work]
            .map(|recorder| recorder.as_ref().map_or_else(Quantiles::default, quantiles))
    }

    /// The same as histograms: values up to so many nanoseconds, and how many there were; only
    /// those that there were.
    pub(crate) fn histograms(&self) -> [Vec<(u64, u64)>; 2] {
        let times = self.times.lock();
        [&times.lateness, &times.work].map(|recorder| {
            let steps = recorder
                .iter()
                .flat_map(|it| it.histogram().iter_recorded());
            steps
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect()
        })
    }

    /// What the kernel counted since the first release ended, or since `run` began if there was
    /// none.
    pub(crate) fn usage(&self) -> Usage {
        let times = self.times.lock();
        let (first, last) = (times.usage_first, times.usage_last);
        let since = |of: fn(&Usage) -> u64| of(&last).saturating_sub(of(&first));
        Usage {
            minor_faults: since(|it| it.minor_faults),
            major_faults: since(|it| it.major_faults),
            voluntary_switches: since(|it| it.voluntary_switches),
            involuntary_switches: since(|it| it.involuntary_switches),
        }
    }
}

fn quantiles(recorder: &Recorder) -> Quantiles {
    let histogram = recorder.histogram();
    Quantiles {
        count: histogram.len(),
        ns: QUANTILES.map(|(_, quantile)| histogram.value_at_quantile(quantile)),
        ns_max: recorder.max_ns(),
    }
}

/// Times `work` if `thread`, the calling one, keeps a ledger, and hands it the time.
pub(crate) fn timed<T>(
    thread: &Thread,
    work: impl FnOnce() -> T,
    note: impl FnOnce(&'static Ledger, u64, &T),
) -> T {
    let Some(ledger) = thread.ledger() else {
        return work();
    };
    let started_ns = console::now_ns();
    let result = ledger.machine.charge(work);
    note(ledger, console::now_ns() - started_ns, &result);
    result
}
