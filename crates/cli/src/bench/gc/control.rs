// SPDX-License-Identifier: Apache-2.0
//! [`Control`]: a native thread of the same kind in a process of its own, which does the same to memory without a heap.
//! What delays it is the system's and the host's doing, in the same window as the measured thread's delays.

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

/// 64 bytes; the first two are places of others, as a node's references.
type Node = [u64; 8];

impl Control {
    /// Releases half a period beside those of a thread that began now.
    pub(super) fn start(
        policy: Policy,
        period_ns: u64,
        spin_ns: u64,
        seconds_max: u64,
    ) -> Result<Self> {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopping);
        let thread = Builder::new("control")
            .policy(policy)
            .spawn(move || releases(&stop, period_ns, spin_ns, seconds_max))
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

fn releases(
    is_stopping: &AtomicBool,
    period_ns: u64,
    spin_ns: u64,
    seconds_max: u64,
) -> Vec<Sample> {
    let capacity = (seconds_max * 1_000_000_000 / period_ns) as usize;
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
        clock.sleep_until(due_ns - spin_ns);
        while clock.now_ns() < due_ns {
            std::hint::spin_loop();
        }
        let start_ns = clock.now_ns();
        for _ in 0..NODES_PER_RELEASE {
            let old = (next + RING) % (2 * RING);
            pool[next] = [next as u64, old as u64, 0, 0, 0, 0, 0, 0];
            pool[old][1] = 0;
            next = (next + 1) % (2 * RING);
        }
        std::hint::black_box(&pool);
        let end_ns = clock.now_ns();
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
