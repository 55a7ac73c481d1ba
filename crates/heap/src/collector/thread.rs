// SPDX-License-Identifier: Apache-2.0
//! [`Running`]: a heap with its collector thread.

use std::ops::Deref;
use std::sync::Arc;

use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::policy::Policy;
use rt::thread::{Builder, SpawnError, Thread};

use abi::alloc::BLOCK_SHIFT;

use crate::binding::Binding;
use crate::collector::pacing::{Resource, Rest, sleep_ns};
use crate::collector::ticker::Ticker;
use crate::cycle::TraceKind;
use crate::events::EventKind;
use crate::heap::{CollectorKind, Heap, HeapConfig};
use crate::limits::GROWTH_BEFORE_TRACE;
use crate::rc::{Rc, RcRest};
use crate::stw::Stw;
use crate::sys::reserve::ReserveError;
use rt::sync::PiMutex;

/// Of the stack of a collector that is an ordinary thread, what is there from the start.
const STACK_BYTES_THERE: usize = 128 << 10;

/// Why a heap did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its memory.
    #[error(transparent)]
    Reserve(#[from] ReserveError),
    /// Its threads.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// A heap whose collector runs, or will ([`Running::begin`]). Dropping it ends the collector;
/// mutators must have detached
/// before.
#[derive(Debug)]
pub struct Running {
    heap: Arc<Heap>,
    /// Those of this process; none before [`Running::begin`].
    threads: PiMutex<Vec<Thread<()>>>,
}

impl Running {
    /// Reserves the address space and starts the collector.
    pub fn start(config: HeapConfig, binding: Box<dyn Binding>) -> Result<Self, StartError> {
        let running = Self::reserve(config, binding)?;
        running.begin()?;
        Ok(running)
    }

    /// Reserves the address space. Nothing is collected before [`Self::begin`]: who would wait for
    /// a collection gets none,
    /// and an OutOfMemory where the heap is full.
    pub fn reserve(config: HeapConfig, binding: Box<dyn Binding>) -> Result<Self, StartError> {
        Ok(Self {
            heap: Arc::new(Heap::reserve(config, binding)?),
            threads: PiMutex::new(Vec::with_capacity(2)),
        })
    }

    /// Starts the collector, once. It may be behind a fork of a process with one thread: each child
    /// starts its own, after
    /// its mutator has said [`crate::Mutator::note_fork`].
    ///
    /// # Panics
    /// When it was begun already, in this process or before the fork.
    pub fn begin(&self) -> Result<(), StartError> {
        let heap = &self.heap;
        assert!(!heap.pace.begin(), "the collector begins once");
        let builder = |name: &str| {
            let builder = Builder::new(name);
            match heap.config.collector_policy {
                Some(policy) => builder.policy(policy),
                None => builder,
            }
        };
        let is_real_time = heap
            .config
            .collector_policy
            .is_some_and(Policy::is_real_time);
        let collector = Arc::clone(heap);
        let mut of_collector = builder("collector").stack_bytes(1 << 20);
        if !is_real_time {
            of_collector = of_collector.populated_bytes(STACK_BYTES_THERE);
        }
        let thread = of_collector.spawn(move || run(collector))?;
        self.threads.lock().push(thread);
        if is_real_time {
            let lender = Arc::clone(heap);
            let thread = builder("lender")
                .stack_bytes(64 << 10)
                .spawn(move || lender.lender.run(&lender.stock()))?;
            heap.lender.enter(thread.tid());
            self.threads.lock().push(thread);
        }
        Ok(())
    }

    /// Ends the collector's threads until [`Self::begin`]. What it knew is kept, and free memory is
    /// given back: for a process that is about to be copied, each of whose copies begins its own.
    /// Not in managed state.
    pub fn rest(&self) {
        self.end();
        self.heap.pace.rest();
        self.heap.free.discard(&self.heap.memory);
    }

    fn end(&self) {
        self.heap.pace.stop();
        self.heap.lender.stop();
        let threads = core::mem::take(&mut *self.threads.lock());
        threads.into_iter().for_each(Thread::join);
    }

    /// The heap, to share with mutator threads.
    pub fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }
}

impl Deref for Running {
    type Target = Arc<Heap>;

    fn deref(&self) -> &Arc<Heap> {
        &self.heap
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a collector that has come to rest leaves to the next one.
#[derive(Debug, Default)]
pub(crate) struct AtRest {
    rc: RcRest,
    stw_marked: Option<u8>,
}

/// A collector that found its own state broken must not leave mutators waiting for ever, nor memory
/// unsafe.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

fn run(heap: Arc<Heap>) {
    let _guard = AbortOnPanic;
    heap.pace.enter();
    let ticker = Ticker::new(heap.config.collector_budget);
    let mut at_rest = core::mem::take(&mut *heap.at_rest.lock());
    match heap.config.collector {
        CollectorKind::Rc => {
            let rc = Rc::new(&heap, ticker, core::mem::take(&mut at_rest.rc));
            at_rest.rc = run_rc(&heap, rc);
        }
        CollectorKind::Stw => {
            let stw = Stw::new(&heap, ticker, at_rest.stw_marked);
            at_rest.stw_marked = Some(run_stw(&heap, stw));
        }
    }
    *heap.at_rest.lock() = at_rest;
}

fn run_rc(heap: &Heap, mut rc: Rc<'_>) -> RcRest {
    let pace = &heap.pace;
    pace.set_threshold(heap.config.epoch_bytes >> BLOCK_SHIFT);
    let mut schedule = Schedule::new(heap);
    loop {
        let seen = pace.rings();
        if pace.is_stopping() {
            pace.announce();
            return rc.rest();
        }
        if let Some(work) = schedule.next(heap) {
            let start_ns = Monotonic.now_ns();
            heap.note_policies();
            pace.epochs.start();
            match work {
                Work::Epoch(trace) => rc.run_epoch(trace),
                Work::Full => {
                    pace.fulls.start();
                    rc.is_thorough = true;
                    rc.run_epoch(Some(if pace.take_clears_soft() {
                        TraceKind::ClearSoft
                    } else {
                        TraceKind::Ordinary
                    }));
                    // What was young, or a root, or enqueued in the first may go now.
                    rc.run_epoch(None);
                    rc.is_thorough = false;
                    pace.fulls.complete();
                }
                Work::Verify => rc.verify_now(),
            }
            pace.epochs.complete();
            pace.announce();
            heap.counters.collector_ns.set(thread_time_ns());
            heap.after_collection();
            schedule.done(heap, work, start_ns);
        } else {
            schedule.wait(heap, seen);
        }
    }
}

fn run_stw(heap: &Heap, mut stw: Stw<'_>) -> u8 {
    let pace = &heap.pace;
    let blocks = heap.blocks.count();
    // The sweep after the pause must not let mutators run dry.
    let reserve = blocks / 8 + (heap.config.reserve_bytes >> BLOCK_SHIFT);
    let mut rest = Rest::default();
    loop {
        let seen = pace.rings();
        if pace.is_stopping() {
            pace.announce();
            return stw.rest();
        }
        if heap.verifier.is_asked() {
            stw.verify_now(heap);
        }
        // Who takes the block that makes it full rings. What is taken meanwhile is seen by the look
        // that follows.
        let ahead = match heap.takeable_blocks().saturating_sub(reserve) {
            0 => reserve / 4,
            blocks => blocks,
        };
        pace.set_threshold(pace.blocks() + ahead);
        let is_full = heap.takeable_blocks() <= reserve;
        let is_idle = pace.blocks() == 0;
        let start_ns = Monotonic.now_ns();
        let rest_ns = rest.left_ns(pace, start_ns);
        let is_wanted = pace.epochs.is_wanted() || (pace.fulls.is_wanted() && rest_ns == 0);
        if is_wanted || (is_full && !is_idle) {
            heap.note_policies();
            pace.epochs.start();
            pace.fulls.start();
            pace.take_blocks();
            stw.collect(pace.take_clears_soft());
            pace.fulls.complete();
            pace.epochs.complete();
            pace.announce();
            heap.counters.collector_ns.set(thread_time_ns());
            heap.after_collection();
            rest.begin(start_ns, Monotonic.now_ns());
        } else if rest_ns != 0 {
            // Who waits would look again at once, and ring.
            pace.sleep(seen, rest_ns);
        } else {
            pace.announce();
            pace.sleep(seen, crate::limits::SLEEP_NS_MAX);
        }
    }
}

/// Blocks in use at which the next trace begins, when the last one left `used` of `all`.
///
/// Twice as many: traces then cost no more than what the program allocated meanwhile, and memory
/// that was touched before is used again. At most half of what is left: the trace itself takes time
/// in which nothing is freed.
fn trace_blocks(used: u32, all: u32) -> u32 {
    let left = all.saturating_sub(used) / 2;
    used + left.min(used.max(GROWTH_BEFORE_TRACE >> BLOCK_SHIFT))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Epoch(Option<TraceKind>),
    Full,
    Verify,
}

/// When the next epoch begins and whether a cycle trace is part of it.
#[derive(Debug)]
struct Schedule {
    resources: [Resource; 2],
    slept_ns: u64,
    last_epoch_ns: u64,
    last_trace_ns: u64,
    /// Blocks in use at which a trace begins: counts alone did not free enough.
    trace_blocks: u32,
    rest: Rest,
}

impl Schedule {
    fn new(heap: &Heap) -> Self {
        let now_ns = Monotonic.now_ns();
        Self {
            resources: [Resource {
                current: 0,
                before: 0,
                limit: 0,
            }; 2],
            slept_ns: 1_000_000,
            last_epoch_ns: now_ns,
            last_trace_ns: now_ns,
            trace_blocks: trace_blocks(0, heap.blocks.count()),
            rest: Rest::default(),
        }
    }

    fn next(&self, heap: &Heap) -> Option<Work> {
        let pace = &heap.pace;
        let now_ns = Monotonic.now_ns();
        if pace.fulls.is_wanted() && self.rest.left_ns(pace, now_ns) == 0 {
            return Some(Work::Full);
        }
        if heap.verifier.is_asked() {
            return Some(Work::Verify);
        }
        let blocks = pace.blocks();
        let log = heap.log.used_count();
        let is_stale =
            now_ns - self.last_epoch_ns > heap.config.epoch_interval_ns && (blocks | log) != 0;
        let is_trace_late = now_ns - self.last_trace_ns > heap.config.trace_interval_ns;
        // A program that rests would else never finalize what it dropped last.
        let awaits_trace = is_trace_late && heap.counters.finalizable.get() != 0;
        let is_due = blocks >= pace.threshold()
            || log > heap.log.shared_count() / 4
            || heap.free.is_reserve_low() && blocks != 0
            || pace.epochs.is_wanted()
            || is_stale
            || awaits_trace;
        if !is_due {
            return None;
        }
        let used = heap.free.used_count();
        let is_trace_due = used > self.trace_blocks || is_trace_late;
        Some(Work::Epoch(is_trace_due.then_some(TraceKind::Ordinary)))
    }

    fn done(&mut self, heap: &Heap, work: Work, start_ns: u64) {
        self.last_epoch_ns = Monotonic.now_ns();
        heap.set_growth();
        if work == Work::Full {
            self.rest.begin(start_ns, self.last_epoch_ns);
        }
        if work != Work::Epoch(None) && work != Work::Verify {
            self.last_trace_ns = self.last_epoch_ns;
            self.trace_blocks = trace_blocks(heap.free.used_count(), heap.blocks.count());
        }
    }

    fn wait(&mut self, heap: &Heap, seen: u32) {
        let rest_ns = self.rest.left_ns(&heap.pace, Monotonic.now_ns());
        if rest_ns != 0 {
            // Who waits would look again at once, and ring.
            return heap.pace.sleep(seen, rest_ns);
        }
        heap.pace.announce();
        self.sleep(heap, seen);
    }

    fn sleep(&mut self, heap: &Heap, seen: u32) {
        let current = [
            u64::from(heap.pace.blocks()),
            u64::from(heap.log.used_count()),
        ];
        let limits = [
            u64::from(heap.pace.threshold()),
            u64::from(heap.log.shared_count() / 4),
        ];
        for (index, resource) in self.resources.iter_mut().enumerate() {
            let before = resource.current.min(current[index]);
            *resource = Resource {
                current: current[index],
                before,
                limit: limits[index],
            };
        }
        let start_ns = Monotonic.now_ns();
        let planned_ns = sleep_ns(&self.resources, self.slept_ns);
        heap.pace.sleep(seen, planned_ns);
        heap.events.add(EventKind::Sleep, start_ns, planned_ns);
        self.slept_ns = (Monotonic.now_ns() - start_ns).max(1);
    }
}
