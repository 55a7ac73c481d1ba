// SPDX-License-Identifier: Apache-2.0
//! What the host takes from a virtual machine: a counter, and a [`Watch`] that says when it rose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::thread::{Builder, Thread};

/// Time that the host gave to others while this machine's processors were ready, all processors
/// together, since it started; 0 if it does not say.
pub(super) fn since_start_ms() -> u64 {
    const TICK_MS: u64 = 10;
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default();
    let ticks = all.split_whitespace().nth(8);
    ticks.and_then(|it| it.parse().ok()).unwrap_or(0) * TICK_MS
}

/// How often a [`Watch`] looks.
const LOOK_NS: u64 = 1_000_000;

/// A thread that looks at the counter each millisecond, above ordinary threads and below those that
/// are measured.
pub(super) struct Watch {
    thread: Thread<Vec<(u64, u64)>>,
    is_over: Arc<AtomicBool>,
}

impl Watch {
    pub(super) fn start() -> Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = Builder::new("steal")
            .policy(Policy::fifo(1))
            .spawn(move || rises(&over))
            .context("cannot start the thread that watches the host")?;
        Ok(Self { thread, is_over })
    }

    /// Ends it; the times (from, to; CLOCK_MONOTONIC, nanoseconds) in which the counter rose.
    pub(super) fn stop(self) -> Vec<(u64, u64)> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join()
    }
}

fn rises(is_over: &AtomicBool) -> Vec<(u64, u64)> {
    let clock = Monotonic;
    let mut rises = Vec::new();
    let (mut seen_ms, mut seen_ns) = (since_start_ms(), clock.now_ns());
    while !is_over.load(Ordering::Relaxed) {
        clock.sleep_until(clock.now_ns() + LOOK_NS);
        let now_ms = since_start_ms();
        let now_ns = clock.now_ns();
        if now_ms != seen_ms {
            rises.push((seen_ns, now_ns));
        }
        (seen_ms, seen_ns) = (now_ms, now_ns);
    }
    rises
}
