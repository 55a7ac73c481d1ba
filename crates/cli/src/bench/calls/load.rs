// SPDX-License-Identifier: Apache-2.0
//! [`Ordinary`]: threads without a priority that call the same node without a pause.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use anyhow::{Result, bail};
use binder::{Binder, CallError, Parcel};
use rt::clock::{Clock, Monotonic};
use rt::thread::{Builder, Thread};

use super::codes;

const PATIENCE_NS: u64 = 10_000_000_000;

/// See the module. They end with this.
pub(crate) struct Ordinary {
    threads: Vec<Thread<Result<(), CallError>>>,
    has_ended: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
}

impl Ordinary {
    /// So many, each of which may have called twice when this returns.
    pub(crate) fn start(remote: &Binder, count: u32) -> Result<Self> {
        let mut load = Self {
            threads: Vec::new(),
            has_ended: Arc::default(),
            served: Arc::default(),
        };
        for index in 0..count {
            let (remote, has_ended) = (remote.clone(), Arc::clone(&load.has_ended));
            let served = Arc::clone(&load.served);
            let builder = Builder::new(format!("ordinary/{index}"));
            let thread = builder.spawn(move || call_on(&remote, &has_ended, &served))?;
            load.threads.push(thread);
        }
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        while load.served() < u64::from(count) * 2 {
            if Monotonic.now_ns() > due_ns {
                bail!("ordinary threads' calls are not served");
            }
            Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
        }
        Ok(load)
    }

    /// Their calls that were answered.
    pub(crate) fn served(&self) -> u64 {
        self.served.load(Relaxed)
    }

    /// Ends them; says how many calls were answered.
    pub(crate) fn stop(mut self) -> Result<u64> {
        self.has_ended.store(true, Relaxed);
        for thread in std::mem::take(&mut self.threads) {
            thread.join()?;
        }
        Ok(self.served())
    }
}

impl Drop for Ordinary {
    fn drop(&mut self) {
        self.has_ended.store(true, Relaxed);
    }
}

fn call_on(remote: &Binder, has_ended: &AtomicBool, served: &AtomicU64) -> Result<(), CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    while !has_ended.load(Relaxed) {
        remote.transact(codes::TIMESTAMP, &mut data, &mut reply, None)?;
        served.fetch_add(1, Relaxed);
    }
    Ok(())
}
