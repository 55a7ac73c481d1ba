// SPDX-License-Identifier: Apache-2.0
//! [`Control`]: a native thread of the same kind in a process of its own, which does the same to memory without a heap, over
//! and over until it has worked about as long. What delays it is the system's and the host's doing, in the same window as
//! the measured thread's delays; who works for a sixth of the time is met by a sixth of what the host does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::thread::{Builder, Thread};

/// As the Java program's.
const RING: usize = 65_536;
const NODES_PER_RELEASE: usize = 64;

/// One release, nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) due_ns: u64,
    pub(super) late_ns: u64,
    pub(super) work_ns: u64,
}

/// See the module.
pub(super) struct Control {
    thread: Thread<Vec<Sample>>,
    is_stopping: Arc<AtomicBool>,
}

/// How the thread runs; nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) period_ns: u64,
    /// It wakes this long before its release and looks at the clock until then.
    pub(super) spin_ns: u64,
    /// It works at least this long in each release.
    pub(super) work_ns: u64,
    /// A run is over by then.
    pub(super) seconds_max: u64,
}

/// 64 bytes; the first two are places of others, as a node's references.
type Node = [u64; 8];

impl Control {
    /// Releases half a period beside those of a thread that began now.
    pub(super) fn start(policy: Policy, plan: Plan) -> Result<Self> {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopping);
        let thread = Builder::new("control")
            .policy(policy)
            .spawn(move || releases(&stop, plan))
            .context("cannot start the control thread")?;
        Ok(Self {
            thread,
            is_stopping,
        })
    }

    /// Ends it; what it found between two times.
    pub(super) fn stop(self, from_ns: u64, to_ns: u64) -> Vec<Sample> {
        self.is_stopping.store(true, Ordering::Relaxed);
        let mut samples = self.thread.join();
        samples.retain(|it| from_ns <= it.due_ns && it.due_ns <= to_ns);
        samples
    }
}

fn releases(is_stopping: &AtomicBool, plan: Plan) -> Vec<Sample> {
    let period_ns = plan.period_ns;
    let capacity = (plan.seconds_max * 1_000_000_000 / period_ns) as usize;
    let mut samples = vec![
        Sample {
            due_ns: 0,
            late_ns: 0,
            work_ns: 0
        };
        capacity
    ];
    samples.clear();
    // Twice the ring: a new node never lies where one of the ring is.
    let mut pool = vec![Node::default(); 2 * RING];
    let mut next = 0;
    let clock = Monotonic;
    let mut due_ns = clock.now_ns() + period_ns + period_ns / 2;
    while !is_stopping.load(Ordering::Relaxed) && samples.len() < capacity {
        clock.sleep_until(due_ns - plan.spin_ns);
        while clock.now_ns() < due_ns {
            std::hint::spin_loop();
        }
        let start_ns = clock.now_ns();
        let end_ns = loop {
            for _ in 0..NODES_PER_RELEASE {
                let old = (next + RING) % (2 * RING);
                pool[next] = [next as u64, old as u64, 0, 0, 0, 0, 0, 0];
                pool[old][1] = 0;
                next = (next + 1) % (2 * RING);
            }
            std::hint::black_box(&pool);
            let now_ns = clock.now_ns();
            if now_ns - start_ns >= plan.work_ns {
                break now_ns;
            }
        };
        samples.push(Sample {
            due_ns,
            late_ns: start_ns - due_ns,
            work_ns: end_ns - start_ns,
        });
        while due_ns < end_ns {
            due_ns += period_ns;
        }
    }
    samples
}
