// SPDX-License-Identifier: Apache-2.0
//! [`window`]: periodic threads for a while, and what they saw.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use rt::affinity::CpuSet;
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::periodic::Periodic;
use rt::policy::Policy;
use rt::recorder::Recorder;
use rt::section::RtSection;
use rt::stop::StopFlag;
use rt::thread::{Builder, SpawnError, Thread};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) policy: Policy,
    pub(crate) period_ns: u64,
    pub(crate) thread_count: usize,
    pub(crate) affinity: Option<CpuSet>,
}

/// What one window showed.
pub(crate) struct Window {
    /// The policy that was granted.
    pub(crate) policy: Policy,
    /// What was asked for and not had, each with the way to mend it.
    pub(crate) remarks: Vec<String>,
    /// One for each thread.
    pub(crate) threads: Vec<Measured>,
}

/// What one thread recorded.
pub(crate) struct Measured {
    pub(crate) recorder: Recorder,
    pub(crate) overrun_count: u64,
    pub(crate) page_fault_count: u64,
}

/// Beyond this a latency is still counted and its maximum kept, but not told apart from others in
/// the histogram.
const LATENCY_LIMIT_NS: u64 = 10_000_000_000;

/// Samples kept singly for each thread and window: 40 MB, an hour at 1 ms.
const SAMPLES_MAX: u64 = 5_000_000;

/// Time between a thread's start and its first release.
const LEAD_NS: u64 = 1_000_000;

/// Measures for `length` or until interrupted.
pub(crate) fn window(
    plan: &Plan,
    length: Duration,
    is_strict: bool,
    stop: &StopFlag,
    progress: &mut Progress,
) -> Result<Window> {
    let mut remarks = Vec::new();
    let _pages = match ProcessLock::acquire(LockScope::All) {
        Ok(lock) => Some(lock),
        Err(error) if is_strict => return Err(error.into()),
        Err(error) => {
            remarks.push(error.to_string());
            None
        }
    };
    let _awake = keep_awake();
    let release_count = (length.as_nanos() as u64 / plan.period_ns).max(1);
    let board = Arc::new(Board::default());
    let work = Work {
        plan: *plan,
        release_count,
        stop: stop.clone(),
        board,
    };
    let (policy, threads) = match start_all(&work, plan.policy) {
        Ok(threads) => (plan.policy, threads),
        Err(SpawnError::Policy { source, .. }) if !is_strict => {
            remarks.push(source.to_string());
            let fallback = Policy::Other { nice: 0 };
            (fallback, start_all(&work, fallback)?)
        }
        Err(error) => return Err(error).context("nothing was measured"),
    };
    while !threads.iter().all(Thread::is_finished) {
        Monotonic
            .sleep_until(Monotonic.now_ns() + Progress::INTERVAL_NS.min(length.as_nanos() as u64));
        progress.show(&work.board);
    }
    progress.end_window(length);
    Ok(Window {
        policy,
        remarks,
        threads: threads.into_iter().map(Thread::join).collect(),
    })
}

/// Deep idle states add their way out to every wake-up; holding this file open at zero forbids
/// them, as cyclictest does. Without the right to it the machine's own setting is measured.
fn keep_awake() -> Option<File> {
    let mut file = OpenOptions::new()
        .write(true)
        .open("/dev/cpu_dma_latency")
        .ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// What every measured thread is given.
#[derive(Clone)]
struct Work {
    plan: Plan,
    release_count: u64,
    stop: StopFlag,
    board: Arc<Board>,
}

/// Figures of the running window, written by the measured threads without waiting.
#[derive(Default)]
pub(crate) struct Board {
    last_ns: AtomicU64,
    max_ns: AtomicU64,
}

/// For latencies, with room for this many single samples.
pub(crate) fn recorder(sample_capacity: usize) -> Recorder {
    Recorder::new(LATENCY_LIMIT_NS, sample_capacity)
}

fn start_all(work: &Work, policy: Policy) -> Result<Vec<Thread<Measured>>, SpawnError> {
    let cpus: Vec<usize> = work.plan.affinity.iter().flat_map(CpuSet::iter).collect();
    let mut threads = Vec::with_capacity(work.plan.thread_count);
    for index in 0..work.plan.thread_count {
        let work = work.clone();
        let mut builder = Builder::new(format!("latency-{index}")).policy(policy);
        if !cpus.is_empty() {
            builder = builder.affinity(CpuSet::single(cpus[index % cpus.len()]));
        }
        let recorder = recorder(work.release_count.min(SAMPLES_MAX) as usize);
        match builder.spawn(move || measure(&work, recorder)) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                // The others run their window and end; nobody looks at what they saw.
                threads.into_iter().for_each(|thread| drop(thread.join()));
                return Err(error);
            }
        }
    }
    Ok(threads)
}

/// The measured loop: one absolute sleep, two readings of the clock and a few stores for each
/// release.
fn measure(work: &Work, mut recorder: Recorder) -> Measured {
    let faults_before = rt::memory::page_faults();
    // The thread's own clock reading: its starter may have waited long for the processor.
    let start_ns = Monotonic.now_ns() + LEAD_NS;
    let mut periodic = Periodic::new(&Monotonic, start_ns, work.plan.period_ns);
    loop {
        let release = periodic.wait();
        if release.index >= work.release_count || work.stop.is_set() {
            break;
        }
        RtSection::enter(|rt| take(release.latency_ns(), &mut recorder, &work.board, rt));
    }
    let (minor, major) = rt::memory::page_faults();
    Measured {
        recorder,
        overrun_count: periodic.overrun_count(),
        page_fault_count: (minor + major) - (faults_before.0 + faults_before.1),
    }
}

/// What the measured thread does with a value.
fn take(latency_ns: u64, recorder: &mut Recorder, board: &Board, _: &RtSection<'_>) {
    recorder.record(latency_ns);
    // Relaxed: figures for a person to look at.
    board.last_ns.store(latency_ns, Ordering::Relaxed);
    board.max_ns.fetch_max(latency_ns, Ordering::Relaxed);
}

/// A line that shows that something goes on, where somebody looks.
pub(crate) struct Progress {
    total: Duration,
    before: Duration,
    started_ns: u64,
    max_ns: u64,
    is_shown: bool,
}

impl Progress {
    const INTERVAL_NS: u64 = 200_000_000;

    pub(crate) fn new(total: Duration, is_quiet: bool) -> Self {
        Self {
            total,
            before: Duration::ZERO,
            started_ns: Monotonic.now_ns(),
            max_ns: 0,
            is_shown: !is_quiet && std::io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, board: &Board) {
        self.max_ns = self.max_ns.max(board.max_ns.load(Ordering::Relaxed));
        if !self.is_shown {
            return;
        }
        let in_window = Duration::from_nanos(Monotonic.now_ns() - self.started_ns);
        eprint!(
            "\r{:6.1} of {:.0} s   last {:8.1}   max {:8.1} µs ",
            (self.before + in_window).min(self.total).as_secs_f64(),
            self.total.as_secs_f64(),
            board.last_ns.load(Ordering::Relaxed) as f64 / 1000.0,
            self.max_ns as f64 / 1000.0,
        );
    }

    fn end_window(&mut self, length: Duration) {
        self.before += length;
        self.started_ns = Monotonic.now_ns();
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if self.is_shown {
            eprint!("\r{:70}\r", "");
        }
    }
}
