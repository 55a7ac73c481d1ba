// SPDX-License-Identifier: Apache-2.0
//! [`governor`]: one that sets the speed of this machine's processors, by cpufreq.
//!
//! A write to the kernel's files may wait for others that change the same policy. So a thread of
//! its own writes, more urgent than those that play, and who changes a claim only wakes it. Levels
//! that were chosen meanwhile are passed over: the last one counts.

use std::sync::{Arc, Weak};

use rt::frequency::{FrequencyError, Steering};
use rt::policy::Policy;
use rt::sync::{PiCondvar, PiMutex};
use rt::thread::{Builder, SpawnError, Thread};

use crate::governor::Governor;

/// Above those that play, and below those that watch them.
const POLICY: Policy = Policy::fifo(88);
const NAME: &str = "sound-governor";

/// Why the speed stays the kernel's business.
#[derive(Debug, thiserror::Error)]
pub enum SteeredError {
    /// Of the kernel's files.
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// For a thread that writes.
    #[error(transparent)]
    Thread(#[from] SpawnError),
}

/// The one of this process, while somebody has it.
static SHARED: PiMutex<Weak<Governor>> = PiMutex::new(Weak::new());

/// The governor of this process's streams. The processors are the kernel's again when the last one
/// lets go of it. Not for a thread of real time: it waits for the kernel's governors to change.
///
/// # Errors
///
/// [`SteeredError`]; then the kernel's governors are those of before.
pub fn governor() -> Result<Arc<Governor>, SteeredError> {
    let mut shared = SHARED.lock();
    if let Some(it) = shared.upgrade() {
        return Ok(it);
    }
    let it = over(Steering::begin()?)?;
    *shared = Arc::downgrade(&it);
    Ok(it)
}

/// One over processors that were taken.
fn over(steering: Steering) -> Result<Arc<Governor>, SteeredError> {
    let speeds: Vec<u32> = steering.points().iter().map(|it| *it as u32).collect();
    let desk = Arc::new(Desk::default());
    let (shared, policy) = (Arc::clone(&desk), POLICY);
    let builder = Builder::new(NAME).policy(policy);
    let writer = Writer {
        thread: Some(builder.spawn(move || shared.write(&steering))?),
        desk,
    };
    Ok(Governor::new(
        &speeds,
        Box::new(move |level| writer.desk.want(level)),
    ))
}

/// Where a level lies until it is written.
#[derive(Default)]
struct Desk {
    wanted: PiMutex<Wanted>,
    changed: PiCondvar,
}

#[derive(Clone, Copy, Default)]
struct Wanted {
    level: Option<usize>,
    is_over: bool,
}

impl Desk {
    fn want(&self, level: usize) {
        let mut wanted = self.wanted.lock();
        wanted.level = Some(level);
        self.changed.notify_all(&wanted);
    }

    fn end(&self) {
        let mut wanted = self.wanted.lock();
        wanted.is_over = true;
        self.changed.notify_all(&wanted);
    }

    /// Writes what is wanted, until it is over.
    fn write(&self, steering: &Steering) {
        loop {
            let mut wanted = self.wanted.lock();
            while wanted.level.is_none() && !wanted.is_over {
                self.changed.wait(&mut wanted);
            }
            if wanted.is_over {
                return;
            }
            let level = wanted.level.take();
            drop(wanted);
            if let Some(khz) = level.and_then(|it| steering.points().get(it)) {
                // A processor that went offline takes none; the others have it.
                let _ = steering.set(*khz);
            }
        }
    }
}

/// The thread; ended with what wakes it.
struct Writer {
    desk: Arc<Desk>,
    thread: Option<Thread<()>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.desk.end();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}
