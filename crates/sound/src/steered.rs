// SPDX-License-Identifier: Apache-2.0
//! [`governor`]: one that sets the speed of this machine's processors, by cpufreq.
//!
//! A write to the kernel's files may wait for others that change the same policy. So a thread of
//! its own writes, more urgent than those that play, and who changes a claim only wakes it. Levels
//! that were chosen meanwhile are passed over: the last one counts.

use std::sync::{Arc, Weak};

use rt::frequency::{FrequencyError, KINDS_MAX, Kind, Steering};
use rt::policy::Policy;
use rt::sync::{PiCondvar, PiMutex};
use rt::thread::{Builder, SpawnError, Thread};

use crate::governor::{self, Governor};

/// Above those that play, and below those that watch them.
const POLICY: Policy = Policy::fifo(88);
const NAME: &str = "sound-governor";
/// Of a capacity, for the speeds of its points.
const CAPACITY_UNIT: u64 = 1_000;

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
    let it = governor_over(Steering::begin()?)?;
    *shared = Arc::downgrade(&it);
    Ok(it)
}

/// One of its own over processors that were taken, which it gives back at its end.
///
/// # Errors
///
/// [`SteeredError::Thread`].
pub fn governor_over(steering: Steering) -> Result<Arc<Governor>, SteeredError> {
    let (kinds, is_placing) = speeds(steering.kinds());
    let desk = Arc::new(Desk::default());
    let (shared, policy) = (Arc::clone(&desk), POLICY);
    let builder = Builder::new(NAME).policy(policy);
    let writer = Writer {
        thread: Some(builder.spawn(move || shared.write(&steering))?),
        desk,
    };
    let apply = move |kind, level| writer.desk.want(kind, level);
    Ok(Governor::of_kinds(kinds, is_placing, Box::new(apply)))
}

/// What the points of each kind do, in one unit, and whether the kernel knows that. Where it does
/// not, a frequency is taken to do the same on all of them.
fn speeds(kinds: &[Kind]) -> (Vec<governor::Kind>, bool) {
    let is_known = kinds.iter().all(|it| it.capacity.is_some());
    let speed = |kind: &Kind, khz: u64| match (kind.capacity, kind.points.last()) {
        (Some(capacity), Some(most)) if is_known => {
            (u64::from(capacity) * CAPACITY_UNIT * khz / most).max(1)
        }
        _ => khz,
    };
    let of = |kind: &Kind| governor::Kind {
        speeds: kind
            .points
            .iter()
            .map(|it| speed(kind, *it) as u32)
            .collect(),
        cpus: kind.cpus,
    };
    (kinds.iter().map(of).collect(), is_known && kinds.len() > 1)
}

/// Where levels lie until they are written.
#[derive(Default)]
struct Desk {
    wanted: PiMutex<Wanted>,
    changed: PiCondvar,
}

#[derive(Clone, Copy, Default)]
struct Wanted {
    /// Of each kind.
    levels: [Option<usize>; KINDS_MAX],
    is_over: bool,
}

impl Desk {
    fn want(&self, kind: usize, level: usize) {
        let mut wanted = self.wanted.lock();
        wanted.levels[kind] = Some(level);
        self.changed.notify_all(&wanted);
    }

    fn end(&self) {
        let mut wanted = self.wanted.lock();
        wanted.is_over = true;
        self.changed.notify_all(&wanted);
    }

    /// Writes what is wanted, until it is over.
    fn write(&self, steering: &Steering) {
        let nothing = [None; KINDS_MAX];
        loop {
            let mut wanted = self.wanted.lock();
            while wanted.levels == nothing && !wanted.is_over {
                self.changed.wait(&mut wanted);
            }
            if wanted.is_over {
                return;
            }
            let levels = std::mem::replace(&mut wanted.levels, nothing);
            drop(wanted);
            for (place, kind) in steering.kinds().iter().enumerate() {
                if let Some(khz) = levels[place].and_then(|it| kind.points.get(it)) {
                    // A processor that went offline takes none; the others have it.
                    let _ = steering.set(place, *khz);
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_make_speeds_of_frequencies() {
        let kind = |points: &[u64], capacity| Kind {
            points: points.to_vec(),
            capacity,
            cpus: rt::affinity::CpuSet::EMPTY,
        };
        let little = kind(&[533_000, 1_844_000], Some(462));
        let big = kind(&[903_000, 2_362_000], Some(1_024));
        let (known, is_placing) = speeds(&[little.clone(), big]);
        assert_eq!(known[0].speeds, [133_539, 462_000]);
        assert_eq!(known[1].speeds, [391_478, 1_024_000]);
        assert!(is_placing);
        let (unknown, is_placing) = speeds(&[little, kind(&[903_000], None)]);
        assert_eq!(unknown[0].speeds, [533_000, 1_844_000]);
        assert!(!is_placing);
    }
}
