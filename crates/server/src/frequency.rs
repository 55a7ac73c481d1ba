// SPDX-License-Identifier: Apache-2.0
//! The processors' frequency: which processes want it held, and at which [`Level`].
//!
//! As in RTAndroid's thesis (4.3) the first one decides the level, others join at the same one, and
//! who wants another is refused. Unlike there it is known who holds it: a process that dies holds
//! nothing, and gives back no more than it has taken.

use std::collections::BTreeMap;

use crate::{Effect, ProcessId};

/// A package that holds a frequency or changes it must ask for this in its manifest.
pub const LOCK_FREQUENCY: &str = "takt.permission.LOCK_CPU_FREQUENCY";
/// Locks of one process: more are a fault of the process, as if it never gave one back.
pub const LOCKS_MAX: u32 = 1_024;

/// A level, in percent of the way from the least to the greatest frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// None beyond 0 to 100.
    pub fn new(percent: i32) -> Option<Self> {
        let percent = u8::try_from(percent).ok()?;
        (percent <= 100).then_some(Self(percent))
    }

    /// 0 to 100.
    pub fn percent(self) -> u8 {
        self.0
    }
}

/// Why it is not held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Others hold it elsewhere.
    #[error(
        "the frequency is held at {held} percent, so not at {wanted}: {holders} processes hold it"
    )]
    Conflict {
        /// Where it is held.
        held: u8,
        /// Where it was to be.
        wanted: u8,
        /// By how many.
        holders: usize,
    },
    /// One process never gives back.
    #[error("this process holds the frequency {LOCKS_MAX} times already")]
    TooOften,
    /// The machine does not let it be.
    #[error("the frequency is not held: {0}")]
    Failed(String),
}

/// See the module. At most one record for each process.
#[derive(Clone, Debug, Default)]
pub struct Frequency {
    level: Option<Level>,
    /// How often each holds it: at least once.
    holders: BTreeMap<ProcessId, u32>,
    /// Why it was not to be had the last time.
    fault: Option<String>,
}

impl Frequency {
    /// A process wants it held. The level is there when the effect is carried out.
    ///
    /// # Errors
    ///
    /// [`LockError`]; then nothing has changed.
    pub fn lock(
        &mut self,
        process: ProcessId,
        level: Level,
        effects: &mut Vec<Effect>,
    ) -> Result<(), LockError> {
        if let Some(held) = self.level.filter(|it| *it != level) {
            return Err(LockError::Conflict {
                held: held.0,
                wanted: level.0,
                holders: self.holders.len(),
            });
        }
        let count = self.holders.entry(process).or_default();
        if *count >= LOCKS_MAX {
            return Err(LockError::TooOften);
        }
        *count += 1;
        if self.level.replace(level).is_none() {
            effects.push(Effect::Frequency);
        }
        Ok(())
    }

    /// A process gives one back; false if it has none.
    pub fn unlock(&mut self, process: ProcessId, effects: &mut Vec<Effect>) -> bool {
        let Some(count) = self.holders.get_mut(&process) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.process_died(process, effects);
        }
        true
    }

    /// A process is gone, and with it all that it has held.
    pub fn process_died(&mut self, process: ProcessId, effects: &mut Vec<Effect>) {
        let was_held = self.holders.remove(&process).is_some();
        if was_held && self.holders.is_empty() {
            self.level = None;
            effects.push(Effect::Frequency);
        }
    }

    /// The machine did not take this level: nobody holds it.
    pub fn failed(&mut self, level: Level, fault: String) {
        if self.level == Some(level) {
            self.level = None;
            self.holders.clear();
        }
        self.fault = Some(fault);
    }

    /// Whether a process holds it, once its wish was carried out.
    ///
    /// # Errors
    ///
    /// [`LockError::Failed`]
    pub fn held(&self, process: ProcessId) -> Result<(), LockError> {
        match self.holders.contains_key(&process) {
            true => Ok(()),
            false => {
                let fault = self.fault.clone();
                let fault = fault.unwrap_or_else(|| "it was given back meanwhile".to_owned());
                Err(LockError::Failed(fault))
            }
        }
    }

    /// What is to be held.
    pub fn level(&self) -> Option<Level> {
        self.level
    }

    /// Who holds it, and how often.
    pub fn holders(&self) -> impl Iterator<Item = (ProcessId, u32)> {
        self.holders.iter().map(|(id, count)| (*id, *count))
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self, processes: &crate::Processes) {
        assert_eq!(self.level.is_none(), self.holders.is_empty());
        for (process, count) in &self.holders {
            assert!(processes.get(*process).is_some(), "{process:?} is gone");
            assert!((1..=LOCKS_MAX).contains(count), "{process:?}: {count}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProcessId = ProcessId(1);
    const OTHER: ProcessId = ProcessId(2);

    fn level(percent: i32) -> Level {
        Level::new(percent).expect("a level")
    }

    #[test]
    fn levels_are_percents() {
        assert_eq!([-1, 101, 356].map(Level::new), [None; 3]);
        assert_eq!([0, 100].map(|it| level(it).percent()), [0, 100]);
    }

    #[test]
    fn the_first_decides_and_the_last_gives_back() {
        let (mut it, mut effects) = (Frequency::default(), Vec::new());
        it.lock(ONE, level(50), &mut effects).unwrap();
        it.lock(ONE, level(50), &mut effects).unwrap();
        it.lock(OTHER, level(50), &mut effects).unwrap();
        // Held once, however often it is wanted.
        assert_eq!(effects.len(), 1);
        let refused = it.lock(OTHER, level(51), &mut effects).unwrap_err();
        let (held, wanted, holders) = (50, 51, 2);
        let expected = LockError::Conflict {
            held,
            wanted,
            holders,
        };
        assert_eq!(refused, expected);
        assert!(it.unlock(ONE, &mut effects) && it.unlock(ONE, &mut effects));
        // What others have taken is not its to give back.
        assert!(!it.unlock(ONE, &mut effects));
        assert_eq!((it.level(), effects.len()), (Some(level(50)), 1));
        assert!(it.unlock(OTHER, &mut effects));
        assert_eq!((it.level(), effects.len()), (None, 2));
        it.lock(ONE, level(0), &mut effects).unwrap();
    }

    #[test]
    fn a_process_that_dies_holds_nothing_however_often_it_did() {
        let (mut it, mut effects) = (Frequency::default(), Vec::new());
        for _ in 0..LOCKS_MAX {
            it.lock(ONE, level(100), &mut effects).unwrap();
        }
        let refused = it.lock(ONE, level(100), &mut effects);
        assert_eq!(refused, Err(LockError::TooOften));
        it.process_died(OTHER, &mut effects);
        assert_eq!(it.level(), Some(level(100)));
        it.process_died(ONE, &mut effects);
        it.process_died(ONE, &mut effects);
        assert_eq!((it.level(), effects.len()), (None, 2));
    }

    #[test]
    fn what_the_machine_does_not_take_nobody_holds() {
        let (mut it, mut effects) = (Frequency::default(), Vec::new());
        it.lock(ONE, level(100), &mut effects).unwrap();
        it.failed(level(100), "no cpufreq".to_owned());
        let fault = LockError::Failed("no cpufreq".to_owned());
        assert_eq!(it.held(ONE), Err(fault));
        assert_eq!(it.level(), None);
        it.lock(OTHER, level(0), &mut effects).unwrap();
        // That was about another one.
        it.failed(level(100), String::new());
        assert_eq!(it.held(OTHER), Ok(()));
    }
}
