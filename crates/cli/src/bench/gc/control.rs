// SPDX-License-Identifier: Apache-2.0
//! [`Control`]: a native thread of the same kind in a process of its own, which does the same to
//! memory without a heap and works about as long. What delays it is the system's and the host's
//! doing, in the same window as the measured thread's delays; who works for a sixth of the time is
//! met by a sixth of what the host does.
//!
//! What it touches is as cold and lies as far apart as what the measured thread touches: 64 new
//! nodes in a row within a block, blocks all over 256 MB and each again after four seconds, and the
//! 64 nodes that were new a ring ago. Then it goes over the same nodes again. How often is found
//! out at first and stays, so that slow memory makes its release longer, as it does the other's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::memory::{Mapping, PageKind};
use rt::policy::Policy;
use rt::thread::{Builder, Thread};

/// As the Java program's.
const RING: usize = 65_536;
const NODES_PER_RELEASE: usize = 64;
const NODE_BYTES: usize = 64;
/// As Takt's blocks.
const NODES_PER_BLOCK: usize = 512;
const BLOCKS: usize = 512;
/// From one block to the next in time: odd, so that all have their turn.
const BLOCK_STRIDE: usize = 203;
const BLOCK_DISTANCE_BYTES: usize = 512 << 10;
/// Releases in which it is found out how often the work fits.
const CALIBRATION: usize = 1000;

/// One release, nanoseconds.
#[derive(Clone, Copy)]
pub(in crate::bench) struct Sample {
    pub(in crate::bench) due_ns: u64,
    pub(in crate::bench) late_ns: u64,
    pub(in crate::bench) work_ns: u64,
    /// Processor time that the kernel counts for the release; of the control alone.
    pub(in crate::bench) processor_ns: Option<u64>,
}

/// See the module.
pub(in crate::bench) struct Control {
    thread: Thread<Vec<Sample>>,
    is_stopping: Arc<AtomicBool>,
}

/// How the thread runs; nanoseconds.
#[derive(Clone, Copy)]
pub(in crate::bench) struct Plan {
    pub(in crate::bench) period_ns: u64,
    /// It is released so long after each multiple of the period on the monotonic clock.
    pub(in crate::bench) phase_ns: u64,
    /// It wakes this long before its release and looks at the clock until then.
    pub(in crate::bench) spin_ns: u64,
    /// It works about this long in each release.
    pub(in crate::bench) work_ns: u64,
    /// A run is over by then.
    pub(in crate::bench) seconds_max: u64,
}

/// Nodes without a heap.
struct Pool {
    memory: Mapping,
    next: usize,
}

impl Pool {
    fn new() -> Result<Self> {
        let memory = Mapping::populated(BLOCKS * BLOCK_DISTANCE_BYTES, PageKind::TransparentHuge)?;
        // Refused: the measured thread's memory is not locked then either.
        let _ = memory.lock();
        Ok(Self { memory, next: RING })
    }

    /// Writes 64 new nodes and takes a reference from 64 old ones; the same ones until
    /// [`Self::advance`].
    fn work(&mut self) {
        let bytes = self.memory.bytes_mut();
        for node in self.next..self.next + NODES_PER_RELEASE {
            let (new, old) = (place(node), place(node - RING));
            bytes[new..][..NODE_BYTES].fill(node as u8);
            bytes[old..][..8].fill(0);
        }
        std::hint::black_box(bytes);
    }

    fn advance(&mut self) {
        self.next += NODES_PER_RELEASE;
    }
}

/// Where a node lies: in a row within a block, blocks far apart.
fn place(node: usize) -> usize {
    let block = node / NODES_PER_BLOCK * BLOCK_STRIDE % BLOCKS;
    block * BLOCK_DISTANCE_BYTES + node % NODES_PER_BLOCK * NODE_BYTES
}

impl Control {
    /// Its first release is the plan's next but one.
    pub(in crate::bench) fn start(policy: Policy, plan: Plan) -> Result<Self> {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopping);
        let pool = Pool::new()?;
        let thread = Builder::new("control")
            .policy(policy)
            .spawn(move || releases(&stop, plan, pool))
            .context("cannot start the control thread")?;
        Ok(Self {
            thread,
            is_stopping,
        })
    }

    /// Ends it; what it found between two times.
    pub(in crate::bench) fn stop(self, from_ns: u64, to_ns: u64) -> Vec<Sample> {
        self.is_stopping.store(true, Ordering::Relaxed);
        let mut samples = self.thread.join();
        samples.retain(|it| from_ns <= it.due_ns && it.due_ns <= to_ns);
        samples
    }
}

fn releases(is_stopping: &AtomicBool, plan: Plan, mut pool: Pool) -> Vec<Sample> {
    let period_ns = plan.period_ns;
    let capacity = (plan.seconds_max * 1_000_000_000 / period_ns) as usize;
    let mut samples = vec![
        Sample {
            due_ns: 0,
            late_ns: 0,
            work_ns: 0,
            processor_ns: None,
        };
        capacity
    ];
    samples.clear();
    let mut turns = Vec::with_capacity(CALIBRATION);
    let mut fixed_turns = None;
    let clock = Monotonic;
    let mut due_ns = (clock.now_ns() / period_ns + 2) * period_ns + plan.phase_ns;
    while !is_stopping.load(Ordering::Relaxed) && samples.len() < capacity {
        clock.sleep_until(due_ns - plan.spin_ns);
        while clock.now_ns() < due_ns {
            std::hint::spin_loop();
        }
        let used_ns = thread_time_ns();
        let start_ns = clock.now_ns();
        let mut turn = 0;
        let end_ns = loop {
            pool.work();
            turn += 1;
            let now_ns = clock.now_ns();
            let is_done = match fixed_turns {
                Some(turns) => turn >= turns,
                None => now_ns - start_ns >= plan.work_ns,
            };
            if is_done {
                break now_ns;
            }
        };
        pool.advance();
        if fixed_turns.is_none() {
            turns.push(turn);
            if turns.len() == CALIBRATION {
                turns.sort_unstable();
                fixed_turns = Some(turns[CALIBRATION / 2]);
            }
        }
        samples.push(Sample {
            due_ns,
            late_ns: start_ns - due_ns,
            work_ns: end_ns - start_ns,
            processor_ns: Some(thread_time_ns() - used_ns),
        });
        while due_ns < end_ns {
            due_ns += period_ns;
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_nodes_lie_far_apart_and_never_where_one_of_the_ring_is() {
        let count = BLOCKS * NODES_PER_BLOCK;
        let mut is_seen = vec![false; BLOCKS];
        for node in (0..count).step_by(NODES_PER_BLOCK) {
            let block = place(node) / BLOCK_DISTANCE_BYTES;
            assert!(
                !std::mem::replace(&mut is_seen[block], true),
                "each block once per turn"
            );
            assert_eq!(place(node + 1), place(node) + NODE_BYTES);
            assert!(place(node).abs_diff(place(node + NODES_PER_BLOCK)) >= 2 << 20);
        }
        assert_eq!(place(count), place(0));
        assert!(count > RING + NODES_PER_RELEASE);
    }
}
