// SPDX-License-Identifier: Apache-2.0
//! [`Reactive`]: a governor that looks back, as Android's does: each window it sets the speed that
//! would have carried the last one, and a quarter more.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI32};

use anyhow::{Context, Result};
use rt::clock::{Clock as _, Monotonic, thread_time_ns_of};
use rt::policy::{Policy, Tid};
use rt::thread::{Builder, Thread};

use crate::processor::{LARGEST, Processor, SPEEDS, level_for};

const WINDOW_NS: u64 = 20_000_000;
/// What is asked for of 1,000 that were used.
const HEADROOM_PERMILLE: u64 = 1_250;
/// Above the thread that it looks at.
const OWN: Policy = Policy::fifo(81);

/// The thread of the governor.
pub(crate) struct Reactive {
    thread: Thread<()>,
    is_ended: Arc<AtomicBool>,
}

impl Reactive {
    /// Looks at the thread with the number in `watched`, once it is there.
    pub(crate) fn start(processor: Arc<Processor>, watched: Arc<AtomicI32>) -> Result<Self> {
        let is_ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_ended);
        let govern = move || {
            let (mut due_ns, mut before_ns) = (Monotonic.now_ns(), None);
            while !end.load(Relaxed) {
                due_ns += WINDOW_NS;
                Monotonic.sleep_until(due_ns);
                let spent_ns = Tid::new(watched.load(Relaxed)).and_then(thread_time_ns_of);
                let (Some(now_ns), Some(then_ns)) = (spent_ns, before_ns) else {
                    before_ns = spent_ns;
                    continue;
                };
                before_ns = Some(now_ns);
                let used_ns: u64 = now_ns - then_ns;
                let at = u64::from(SPEEDS[processor.level()]);
                let used = used_ns * at / u64::from(SPEEDS[LARGEST]);
                processor.set(level_for(used * HEADROOM_PERMILLE / WINDOW_NS));
            }
        };
        let thread = Builder::new("governor").policy(OWN).spawn(govern);
        Ok(Self {
            thread: thread.context("no thread for the governor")?,
            is_ended,
        })
    }

    pub(crate) fn end(self) {
        self.is_ended.store(true, Relaxed);
        self.thread.join();
    }
}
