// SPDX-License-Identifier: Apache-2.0
//! One measured run: a heap with one collector, the measured thread, the control, and the load
//! beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abi::address_map::{AddressMap, CEILING};
use anyhow::{Context, Result};
use heap::{CollectorKind, Heap, HeapConfig, NoBinding, Running};
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::memory::page_faults;
use rt::periodic::Periodic;
use rt::policy::{Policy, Tid};
use rt::recorder::Recorder;
use rt::thread::Builder;

use crate::workload::{Background, Kinds, Load, Measured, NODE_BYTES};
use crate::{Args, CollectorName};

const LIMIT_NS: u64 = 10_000_000_000;
/// What one own handshake may take, with a stack of 100 frames.
pub(crate) const HANDSHAKE_NS_MAX: u64 = 50_000;

/// What one run showed.
pub(crate) struct Window {
    pub(crate) collector: CollectorName,
    pub(crate) load: Load,
    pub(crate) work: Recorder,
    /// From the release to the end of the work.
    pub(crate) lateness: Recorder,
    /// From the release to where the work may begin: awake, and back from native code.
    pub(crate) ready: Recorder,
    pub(crate) worst: Worst,
    pub(crate) control: Recorder,
    /// From the control's release to its start.
    pub(crate) control_ready: Recorder,
    /// Longest answers of the measured thread to H1, H2, H3; or zero.
    pub(crate) answer_ns_max: [u64; 3],
    /// Their means.
    pub(crate) answer_ns_mean: [u64; 3],
    pub(crate) pause_ns_max: u64,
    pub(crate) counts: Counts,
    pub(crate) rss_mb: u64,
    pub(crate) is_real_time: bool,
}

/// The release whose work took longest: where its time went.
#[derive(Clone, Copy, Default)]
pub(crate) struct Worst {
    pub(crate) work_ns: u64,
    /// Of it, the way back from native code.
    back_ns: u64,
    /// Processor time of the thread from before its sleep on. Work without it was spent off the
    /// processor.
    processor_ns: u64,
    page_faults: u64,
}

/// Counters over the measured time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) epochs: u64,
    pub(crate) traces: u64,
    pub(crate) pauses: u64,
    pub(crate) allocated: u64,
    pub(crate) freed: u64,
    pub(crate) waits: u64,
    pub(crate) reserve_exhausted: u64,
    pub(crate) collector_ns: u64,
}

impl Counts {
    fn of(heap: &Heap) -> Self {
        let it = heap.counters();
        Self {
            epochs: it.epochs.get(),
            traces: it.traces.get(),
            pauses: it.pauses.get(),
            allocated: it.allocated_bytes.get(),
            freed: it.freed_bytes.get(),
            waits: it.allocation_waits.get(),
            reserve_exhausted: it.reserve_exhausted.get(),
            collector_ns: it.collector_ns.get(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            epochs: self.epochs - before.epochs,
            traces: self.traces - before.traces,
            pauses: self.pauses - before.pauses,
            allocated: self.allocated - before.allocated,
            freed: self.freed - before.freed,
            waits: self.waits - before.waits,
            reserve_exhausted: self.reserve_exhausted - before.reserve_exhausted,
            collector_ns: self.collector_ns - before.collector_ns,
        }
    }
}

impl Window {
    /// The longest that the collector itself kept the measured thread.
    pub(crate) fn collector_ns_max(&self) -> u64 {
        self.answer_ns_longest().max(self.pause_ns_max)
    }

    /// The longest handshake of the measured thread's own, by whomever it was answered.
    pub(crate) fn answer_ns_longest(&self) -> u64 {
        self.answer_ns_max.iter().copied().max().unwrap_or(0)
    }

    /// What a release may be late by: an own handshake; where there are none, what one may take at
    /// most.
    fn handshake_ns(&self) -> u64 {
        match self.answer_ns_longest() {
            0 => HANDSHAKE_NS_MAX,
            longest => longest,
        }
    }

    /// Releases that were ready later than the control usually is by more than an own handshake: by
    /// the collector's doing, then, if nothing else disturbs the machine. (The control's latest
    /// would hide it: where the measured thread lends its priority to a collector, that keeps the
    /// control waiting too.)
    pub(crate) fn late_count(&self) -> usize {
        let control_ns = self.control_ready.histogram().value_at_quantile(0.5);
        let bound_ns = control_ns + self.handshake_ns();
        let samples = self.ready.samples_ns();
        samples.iter().filter(|&&it| it > bound_ns).count()
    }

    /// Who was late, and what the longest work consisted of.
    pub(crate) fn explanation(&self) -> String {
        let micros = |ns: u64| ns as f64 / 1000.0;
        format!(
            "ready at most {:.1} µs after a release (control p50 {:.1}); later than that and an own handshake of {:.1} µs: \
             {} of {}; longest work {:.1} µs: {:.1} back from native, {:.1} on the processor, {} page faults",
            micros(self.ready.max_ns()),
            micros(self.control_ready.histogram().value_at_quantile(0.5)),
            micros(self.handshake_ns()),
            self.late_count(),
            self.ready.samples_ns().len(),
            micros(self.worst.work_ns),
            micros(self.worst.back_ns),
            micros(self.worst.processor_ns),
            self.worst.page_faults,
        )
    }

    /// A run on one line.
    pub(crate) fn line(&self, run: u32) -> String {
        let micros = |ns: u64| ns as f64 / 1000.0;
        let it = &self.counts;
        format!(
            "{} {} run {run}: work max {:.1} µs (control {:.1}), collector max {:.1} µs; {} epochs, {} traces, {} \
             pauses; allocated {} MB, freed {} MB; waits {}, reserve empty {}; collector CPU {:.2} s; RSS {} MB{}",
            self.collector.name(),
            self.load.name(),
            micros(self.work.max_ns()),
            micros(self.control.max_ns()),
            micros(self.collector_ns_max()),
            it.epochs,
            it.traces,
            it.pauses,
            it.allocated / 1_000_000,
            it.freed / 1_000_000,
            it.waits,
            it.reserve_exhausted,
            it.collector_ns as f64 / 1e9,
            self.rss_mb,
            if self.is_real_time {
                ""
            } else {
                "; DEGRADED: no real-time policy granted"
            },
        )
    }
}

/// The heap of an experiment.
pub(crate) fn start_heap(args: &Args, kind: CollectorKind) -> Result<Running> {
    let map = AddressMap::plan(u64::from(args.heap_mb) << 20, CEILING)?;
    let mut config = HeapConfig::new(map, kind);
    config.heap_bytes_start = config.map.heap.bytes;
    // Slack scheduling: the collector runs below real time. Ordinary, it shares with the load; a
    // system that grants FIFO gives it FIFO 1.
    let fifo = Policy::fifo(1);
    // All of it is there before anyone is measured: a page fault is not the collector's doing.
    config.is_locked = args.priority > 0 && is_granted(fifo);
    config.collector_policy = (args.priority > 0 && is_granted(fifo)).then_some(fifo);
    Running::start(config, Box::new(NoBinding)).context("the heap does not start")
}

/// Whether this process may have a thread of this policy.
pub(crate) fn is_granted(policy: Policy) -> bool {
    Builder::new("probe")
        .policy(policy)
        .spawn(|| ())
        .map(rt::thread::Thread::join)
        .is_ok()
}

/// Runs one load under one collector.
pub(crate) fn measure(args: &Args, collector: CollectorName, load: Load) -> Result<Window> {
    let heap = start_heap(args, collector.kind())?;
    let kinds = Kinds::new(&heap)?;
    let is_stopping = Arc::new(AtomicBool::new(false));
    let background = (load == Load::Heavy)
        .then(|| spawn_background(args, &heap, kinds, &is_stopping))
        .transpose()?;
    let is_real_time = args.priority > 0 && is_granted(Policy::fifo(args.priority));
    let policy = if is_real_time {
        Policy::fifo(args.priority)
    } else {
        Policy::Other { nice: 0 }
    };
    let plan = Plan {
        warmup: args.warmup * 1_000_000 / args.period_us,
        releases: args.seconds * 1_000_000 / args.period_us,
        period_ns: args.period_us * 1000,
        roots: args.roots,
    };
    let control = Builder::new("control")
        .policy(policy)
        .spawn(move || control(plan))?;
    let shared = Arc::clone(&heap);
    let measured = Builder::new("measured")
        .policy(policy)
        .stack_bytes(1 << 20)
        .spawn(move || measured(&shared, kinds, load, plan, is_real_time))?;
    let samples = measured.join()?;
    let (control, control_ready) = control.join();
    is_stopping.store(true, Ordering::SeqCst);
    if let Some(thread) = background {
        thread.join()?;
    }
    Ok(Window {
        collector,
        load,
        work: samples.work,
        lateness: samples.lateness,
        ready: samples.ready,
        worst: samples.worst,
        control,
        control_ready,
        answer_ns_max: samples.answers.ns_max,
        answer_ns_mean: samples.answers.ns_mean,
        pause_ns_max: heap.counters().pause_ns_max.get(),
        counts: samples.counts,
        rss_mb: rss_mb(),
        is_real_time,
    })
}

#[derive(Clone, Copy)]
struct Plan {
    warmup: u64,
    releases: u64,
    period_ns: u64,
    roots: u32,
}

struct Samples {
    work: Recorder,
    lateness: Recorder,
    ready: Recorder,
    worst: Worst,
    answers: heap::Answers,
    counts: Counts,
}

fn measured(
    heap: &Arc<Heap>,
    kinds: Kinds,
    load: Load,
    plan: Plan,
    is_real_time: bool,
) -> Result<Samples> {
    let mut mutator = heap.attach(is_real_time, &[]);
    let mut work = Recorder::new(LIMIT_NS, plan.releases as usize);
    let mut lateness = Recorder::new(LIMIT_NS, 0);
    let mut ready = Recorder::new(LIMIT_NS, plan.releases as usize);
    let mut worst = Worst::default();
    let mut load = Measured::new(&mut mutator, kinds, load, plan.roots)?;
    let clock = Monotonic;
    let mut periodic = Periodic::new(&clock, clock.now_ns() + plan.period_ns, plan.period_ns);
    let mut before = Counts::default();
    for index in 0..plan.warmup + plan.releases {
        if index == plan.warmup {
            before = Counts::of(heap);
        }
        mutator.enter_native();
        let (processor_ns, (faults, _)) = (thread_time_ns(), page_faults());
        let release = periodic.wait();
        let start_ns = clock.now_ns();
        // The way back is part of the work: a scan on this thread's behalf may be under way.
        mutator.leave_native();
        let ready_ns = clock.now_ns();
        load.release(&mut mutator)?;
        let end_ns = clock.now_ns();
        if index >= plan.warmup {
            work.record(end_ns - start_ns);
            lateness.record(end_ns - release.due_ns);
            ready.record(ready_ns - release.due_ns);
            if end_ns - start_ns > worst.work_ns {
                worst = Worst {
                    work_ns: end_ns - start_ns,
                    back_ns: ready_ns - start_ns,
                    processor_ns: thread_time_ns() - processor_ns,
                    page_faults: page_faults().0 - faults,
                };
            }
        }
    }
    let own = Tid::current().raw() as u32;
    let answers = heap
        .answers()
        .into_iter()
        .find(|it| it.tid == own)
        .unwrap_or_default();
    Ok(Samples {
        work,
        lateness,
        ready,
        worst,
        answers,
        counts: Counts::of(heap).since(before),
    })
}

/// The same thread without a heap: what the machine itself does to it.
fn control(plan: Plan) -> (Recorder, Recorder) {
    let mut work = Recorder::new(LIMIT_NS, plan.releases as usize);
    let mut ready = Recorder::new(LIMIT_NS, 0);
    let clock = Monotonic;
    let start_ns = clock.now_ns() + plan.period_ns + plan.period_ns / 2;
    let mut periodic = Periodic::new(&clock, start_ns, plan.period_ns);
    let mut table = vec![0_u64; 8192];
    for index in 0..plan.warmup + plan.releases {
        let release = periodic.wait();
        let start_ns = clock.now_ns();
        // About as long as the measured thread's work.
        for step in 0..512_usize {
            table[(step * 37 + index as usize) % 8192] += step as u64;
        }
        std::hint::black_box(&table);
        let end_ns = clock.now_ns();
        if index >= plan.warmup {
            work.record(end_ns - start_ns);
            ready.record(start_ns - release.due_ns);
        }
    }
    (work, ready)
}

type Beside = rt::thread::Thread<Result<()>>;

fn spawn_background(
    args: &Args,
    heap: &Arc<Heap>,
    kinds: Kinds,
    is_stopping: &Arc<AtomicBool>,
) -> Result<Beside> {
    let (heap, is_stopping) = (Arc::clone(heap), Arc::clone(is_stopping));
    let (live_mb, nodes_per_ms) = (args.live_mb, args.garbage_mb * 1000 / NODE_BYTES);
    let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
    let thread = Builder::new("background").spawn(move || {
        let mut mutator = heap.attach(false, &[]);
        let built = Background::new(&mut mutator, kinds, live_mb);
        let _ = ready.send(());
        let mut background = built?;
        let clock = Monotonic;
        let mut due_ns = clock.now_ns();
        while !is_stopping.load(Ordering::Relaxed) {
            background.run(&mut mutator, nodes_per_ms)?;
            due_ns += 1_000_000;
            let now_ns = clock.now_ns();
            if due_ns > now_ns {
                mutator.native(|| clock.sleep_until(due_ns));
            }
            // What a pause kept it from allocating it allocates afterwards, up to a second's worth.
            due_ns = due_ns.max(now_ns.saturating_sub(1_000_000_000));
        }
        Ok(())
    })?;
    // Its own error comes with its end.
    let _ = is_ready.recv();
    Ok(thread)
}

/// Resident memory of this process.
pub(crate) fn rss_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
