// SPDX-License-Identifier: Apache-2.0
//! Memory: who is needed how much, who is told that it runs short, and who is ended for it.
//!
//! - [`Importance`]: a process's place, by what it does and who depends on it. A real-time process
//!   is above all others, and so is who must live for it: nobody ends them.
//! - [`kill_order`]: the same place as the kernel's number, for when the kernel ends somebody.
//! - [`Claims`]: what real-time packages declare, against what the machine has.
//!
//! What is not here: who measures, and when. An assembler says what is left ([`Left`]).

mod claims;
mod importance;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::processes::ProcessState;
use crate::{Effect, EndReason, ProcessId, Server};

pub use claims::{Claims, DECLARATION, MemoryError, RESERVED_SHARE};
pub use importance::Importance;

/// Below a quarter of the machine, processes hear of it when the kernel says that threads wait for
/// memory. With more than that left it is a group of the kernel's that has too little.
pub const SCARCE_SHARE: u64 = 4;
/// Below an eighth, processes end that nobody would miss.
pub const LOW_SHARE: u64 = 8;
/// Below a sixteenth, any other ends.
pub const CRITICAL_SHARE: u64 = 16;
/// Nobody hears the same again within this time.
pub const TOLD_NS: u64 = 10_000_000_000;

/// `ComponentCallbacks2.TRIM_MEMORY_…`, each for scarce, low and critical.
const OF_RUNNING: [i32; 3] = [5, 10, 15];
const OF_CACHED: [i32; 3] = [40, 60, 80];

/// The kernel's numbers of each importance; within the last, one more for each that is older.
const REAL_TIME_ORDER: i32 = -900;
const CACHED_ORDER: i32 = 900;
const CACHED_ORDER_MAX: i32 = 999;

/// What is left of the machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Bytes that can be had without harm.
    pub available: u64,
    /// All.
    pub total: u64,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shortage {
    Scarce,
    Low,
    Critical,
}

impl Left {
    fn shortage(self) -> Option<Shortage> {
        let is_below = |share| self.available < self.total / share;
        match () {
            () if is_below(CRITICAL_SHARE) => Some(Shortage::Critical),
            () if is_below(LOW_SHARE) => Some(Shortage::Low),
            () if is_below(SCARCE_SHARE) => Some(Shortage::Scarce),
            () => None,
        }
    }
}

/// A process's place among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which process.
    pub process: ProcessId,
    /// How much it is needed.
    pub importance: Importance,
    /// Since when so much.
    pub since: u64,
    /// The kernel's `oom_score_adj` for it.
    pub kill_order: i32,
}

/// Who was what when somebody looked last, and who was told what.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What real-time packages declare.
    pub claims: Claims,
    since: BTreeMap<ProcessId, (Importance, u64)>,
    told: BTreeMap<ProcessId, (Shortage, u64)>,
}

impl Memory {
    pub(crate) fn process_died(&mut self, process: ProcessId) {
        self.since.remove(&process);
        self.told.remove(&process);
    }

    /// Whether a process is to hear of it. What it has heard stays with it for a while.
    fn tells(&mut self, process: ProcessId, shortage: Shortage, now: u64) -> bool {
        let told = self.told.get(&process);
        let has_heard =
            told.is_some_and(|(what, at)| *what >= shortage && now.saturating_sub(*at) < TOLD_NS);
        if !has_heard {
            self.told.insert(process, (shortage, now));
        }
        !has_heard
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self, processes: &crate::Processes) {
        for process in self.since.keys().chain(self.told.keys()) {
            assert!(processes.get(*process).is_some(), "the place of nobody");
        }
    }
}

impl Server {
    /// Every process that the kernel may have, the first to be ended first. Among equals that is
    /// who has been one for the longest time. Called after what changes it, and not rarely: what it
    /// has not seen happen, it dates when it looks.
    pub fn standings(&mut self, now: u64) -> Vec<Standing> {
        let places = self.importances();
        let mut all: Vec<Standing> = places
            .into_iter()
            .map(|(process, importance)| {
                let since = self.memory.since.entry(process);
                let since = since.or_insert((importance, now));
                if since.0 != importance {
                    *since = (importance, now);
                }
                Standing {
                    process,
                    importance,
                    since: since.1,
                    kill_order: importance.kill_order(),
                }
            })
            .collect();
        all.sort_by_key(|it| (Reverse(it.importance), it.since, it.process));
        let cached = all.iter_mut();
        let cached = cached.take_while(|it| it.importance == Importance::Cached);
        for (it, order) in cached.zip((CACHED_ORDER..=CACHED_ORDER_MAX).rev()) {
            it.kill_order = order;
        }
        all
    }

    /// Threads wait for memory, and so much is left: who is to hear of it does. Says whether
    /// somebody would be ended if it stays so.
    pub fn tell_of_shortage(&mut self, left: Left, now: u64) -> bool {
        let Some(shortage) = left.shortage() else {
            return false;
        };
        let standings = self.standings(now);
        for it in &standings {
            let levels = match it.importance {
                Importance::Cached => OF_CACHED,
                _ => OF_RUNNING,
            };
            // Who has not attached has nothing to give up.
            let is_there = self.processes.is_running(it.process);
            if is_there && self.memory.tells(it.process, shortage, now) {
                self.effects.push(Effect::Trim {
                    process: it.process,
                    level: levels[shortage as usize],
                });
            }
        }
        victim(&standings, shortage).is_some()
    }

    /// A person's word, whatever is left: a package's processes are to give up memory. How many.
    pub fn trim(&mut self, package: &str, level: i32) -> usize {
        let all = self.processes.iter();
        let own = all.filter(|(_, it)| it.package == package && it.state == ProcessState::Running);
        let own: Vec<ProcessId> = own.map(|(id, _)| id).collect();
        let told = own.iter().map(|&process| Effect::Trim { process, level });
        self.effects.extend(told);
        own.len()
    }

    /// It has stayed so: ends the one that is missed least, and says its name and which it was.
    /// Nobody ends for memory that is there, and no real-time process for any.
    pub fn end_for_memory(&mut self, left: Left, now: u64) -> Option<(String, Standing)> {
        let standings = self.standings(now);
        let victim = victim(&standings, left.shortage()?)?;
        // Its record goes with it.
        let name = self.processes.get(victim.process)?.key.name.clone();
        self.end_process(victim.process, EndReason::Memory, now);
        Some((name, victim))
    }
}

fn victim(standings: &[Standing], shortage: Shortage) -> Option<Standing> {
    let first = standings.first()?;
    let may_end = match shortage {
        Shortage::Scarce => false,
        Shortage::Low => first.importance == Importance::Cached,
        Shortage::Critical => first.importance != Importance::RealTime,
    };
    may_end.then_some(*first)
}
