// SPDX-License-Identifier: Apache-2.0
//! [`Sweep`]: one job under many seeds. One run is one sample; a worst case wants many.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

use crate::error::LabError;
use crate::job::{Job, Mode};
use crate::lab::Lab;
use crate::outcome::Outcome;
use crate::stream::Captured;

/// Which seeds, and how many guests at a time. A deterministic guest does not notice its
/// neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// How many seeds, counted up from the job's.
    pub seed_count: u64,
    /// Guests at a time.
    pub jobs: usize,
}

/// What one seed gave.
#[derive(Debug)]
pub struct Sample {
    /// Which.
    pub seed: u64,
    /// How it ended.
    pub outcome: Result<Outcome, LabError>,
    /// What it said.
    pub streams: Captured,
}

impl Lab {
    /// Runs `job` for every seed. With `out`, each seed's streams and files go to OUT/seed-K.
    /// Samples reach `each` in the order of their seeds, as soon as that order allows.
    pub fn sweep(&self, job: &Job, sweep: Sweep, mut each: impl FnMut(Sample)) {
        // In real time guests would disturb each other.
        let jobs = match job.mode {
            Mode::Deterministic => sweep.jobs.max(1),
            Mode::HostRoot => 1,
        };
        let next = AtomicU64::new(0);
        let (sender, receiver) = sync_channel(jobs);
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while !self.is_stopped() {
                        // Relaxed: a ticket; the channel orders everything else.
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= sweep.seed_count
                            || sender.send((index, self.sample(job, index))).is_err()
                        {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut early = std::collections::BTreeMap::new();
            let mut due = 0;
            for (index, sample) in receiver {
                early.insert(index, sample);
                while let Some(sample) = early.remove(&due) {
                    each(sample);
                    due += 1;
                }
            }
        });
    }

    fn sample(&self, job: &Job, index: u64) -> Sample {
        let seed = job.seed.wrapping_add(index);
        let place = job.out.as_ref().map(|it| it.join(format!("seed-{seed}")));
        let job = Job {
            seed,
            out: place.as_ref().map(|it| it.join("out")),
            console: None,
            ..job.clone()
        };
        let mut streams = Captured::default();
        let mut outcome = self.run(&job, &mut streams);
        if let Some(place) = place {
            let kept = keep(&place, &streams);
            outcome = outcome.and_then(|it| kept.map(|()| it));
        }
        Sample {
            seed,
            outcome,
            streams,
        }
    }
}

fn keep(place: &Path, streams: &Captured) -> Result<(), LabError> {
    fs::create_dir_all(place).map_err(LabError::io("create", place))?;
    for (name, bytes) in [("stdout", &streams.stdout), ("stderr", &streams.stderr)] {
        let path = place.join(name);
        fs::write(&path, bytes).map_err(LabError::io("write", &path))?;
    }
    Ok(())
}
