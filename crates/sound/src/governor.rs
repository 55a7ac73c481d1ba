// SPDX-License-Identifier: Apache-2.0
//! [`Governor`]: the processor's speed, from the sum of what is reserved on it.
//!
//! A reservation says what a burst will want before it begins, so the speed is right from its
//! first instruction on; a governor that looks back is right a few windows later. Whoever makes a
//! governor says how a level is set; [`steered`](crate::steered) does so by cpufreq. Amounts are
//! processor time at the largest speed. One processor, one speed: kinds of core are not told apart.
//! No call waits or takes memory.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Threads with a reservation under one governor: more than a processor has room for.
pub const CLAIMS_MAX: usize = 16;

/// A share of the processor at its largest speed, in 2⁻²⁰.
const WHOLE: u64 = 1 << 20;
/// What share of a level's speed may be reserved: as much as of a period.
const CEILING_PERMILLE: u64 = 940;

/// Sets a level, counted from the slowest. Runs on threads of real time.
pub type Apply = Box<dyn Fn(usize) + Send + Sync>;

/// Chooses a level for all of its claims.
pub struct Governor {
    /// Speeds, ascending, in any unit.
    speeds: Box<[u32]>,
    apply: Apply,
    is_claimed: [AtomicBool; CLAIMS_MAX],
    wanted: [AtomicU64; CLAIMS_MAX],
    level: AtomicU32,
}

/// One thread's part. Given back when it is dropped.
pub struct Claim {
    governor: Arc<Governor>,
    slot: usize,
}

/// A speed as a share of the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    now: u32,
    largest: u32,
}

impl Speed {
    /// The largest: what a processor without a governor is taken to have.
    pub const FULL: Self = Self { now: 1, largest: 1 };

    /// What so much processor time at this speed is at the largest.
    pub fn work_ns(self, time_ns: u64) -> u64 {
        time_ns * u64::from(self.now) / u64::from(self.largest)
    }

    /// The processor time that so much work takes at this speed.
    pub fn time_ns(self, work_ns: u64) -> u64 {
        (work_ns * u64::from(self.largest)).div_ceil(u64::from(self.now))
    }
}

impl Governor {
    /// At the largest of these speeds; none of them is 0.
    pub fn new(speeds: &[u32], apply: Apply) -> Arc<Self> {
        assert!(speeds.is_sorted() && speeds.first().is_some_and(|it| 0 < *it));
        let level = speeds.len() - 1;
        apply(level);
        Arc::new(Self {
            speeds: speeds.into(),
            apply,
            is_claimed: Default::default(),
            wanted: Default::default(),
            level: AtomicU32::new(level as u32),
        })
    }

    /// A part of it; `None` if all are taken.
    pub fn claim(self: &Arc<Self>) -> Option<Claim> {
        let slot = self
            .is_claimed
            .iter()
            .position(|it| it.compare_exchange(false, true, AcqRel, Relaxed).is_ok())?;
        Some(Claim {
            governor: Arc::clone(self),
            slot,
        })
    }

    /// The speed now.
    pub fn speed(&self) -> Speed {
        Speed {
            now: self.speeds[self.level.load(Acquire) as usize],
            largest: *self.largest(),
        }
    }

    /// The largest speed until the next claim changes: work has no reservation that fits.
    pub fn rush(&self) {
        self.set(self.speeds.len() - 1);
    }

    fn largest(&self) -> &u32 {
        &self.speeds[self.speeds.len() - 1]
    }

    /// The slowest level that has room for everybody.
    fn choose(&self) {
        let sum: u64 = self.wanted.iter().map(|it| it.load(Relaxed)).sum();
        let has_room = |speed: &u32| {
            let part = u64::from(*speed) * WHOLE / u64::from(*self.largest());
            sum * 1_000 <= part * CEILING_PERMILLE
        };
        let fit = self.speeds.iter().position(has_room);
        self.set(fit.unwrap_or(self.speeds.len() - 1));
    }

    fn set(&self, level: usize) {
        // Pairs with Acquire in `speed`.
        if self.level.swap(level as u32, Release) != level as u32 {
            (self.apply)(level);
        }
    }
}

impl Claim {
    /// Wants this much of each period, at the largest speed; the level follows.
    pub fn want(&self, work_ns: u64, period_ns: u64) {
        let share = work_ns * WHOLE / period_ns;
        self.governor.wanted[self.slot].store(share, Relaxed);
        self.governor.choose();
    }

    /// The speed now.
    pub fn speed(&self) -> Speed {
        self.governor.speed()
    }

    /// Whose part it is.
    pub(crate) fn governor(&self) -> &Arc<Governor> {
        &self.governor
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.governor.wanted[self.slot].store(0, Relaxed);
        self.governor.choose();
        self.governor.is_claimed[self.slot].store(false, Release);
    }
}

impl std::fmt::Debug for Governor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Governor")
            .field("speeds", &self.speeds)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rt::sync::PiMutex;

    use super::*;

    #[test]
    fn the_level_follows_the_sum_of_claims() {
        let seen = Arc::new(PiMutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let apply = move |level| log.lock().push(level);
        let governor = Governor::new(&[400, 800, 1_000], Box::new(apply));
        let (one, two) = (governor.claim().unwrap(), governor.claim().unwrap());
        one.want(300, 1_000);
        one.want(310, 1_000);
        two.want(400, 1_000);
        two.want(500, 1_000);
        assert_eq!(
            governor.speed(),
            Speed {
                now: 1_000,
                largest: 1_000
            }
        );
        drop(two);
        assert_eq!(governor.speed().work_ns(100), 40);
        assert_eq!(governor.speed().time_ns(40), 100);
        governor.rush();
        one.want(300, 1_000);
        drop(one);
        // 0.94 of 400 holds 310; of 800, 710; 810 wants all.
        assert_eq!(*seen.lock(), [2, 0, 1, 2, 0, 2, 0]);
        let claims: Vec<_> = (0..CLAIMS_MAX).filter_map(|_| governor.claim()).collect();
        assert_eq!(claims.len(), CLAIMS_MAX, "what is dropped is given back");
        assert!(governor.claim().is_none());
    }
}
