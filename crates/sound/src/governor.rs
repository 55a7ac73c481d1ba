// SPDX-License-Identifier: Apache-2.0
//! [`Governor`]: the processors' speed, from the sum of what is reserved on them.
//!
//! A reservation says what a burst will want before it begins, so the speed is right from its
//! first instruction on; a governor that looks back is right a few windows later. The maker of a
//! governor says how a level is set; [`steered`](crate::steered) does so by cpufreq. Amounts are
//! processor time at the largest speed of the fastest processor.
//!
//! A thread with a reservation may wake up on any processor that it is allowed on, and the kernel
//! chooses. So each kind of processor has room for all claims that may come there. Where the kernel
//! knows what its processors can do, those that are too slow for a claim are not among them.
//! No call waits or takes memory.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use rt::affinity::{CpuSet, current_cpu};

/// Threads with a reservation under one governor: more than a processor has room for.
pub const CLAIMS_MAX: usize = 16;
/// Kinds of processor under one governor.
pub const KINDS_MAX: usize = rt::frequency::KINDS_MAX;

/// A share of the fastest processor at its largest speed, in 2⁻²⁰.
const WHOLE: u64 = 1 << 20;
/// What share of a level's speed may be reserved: as much as of a period.
const CEILING_PERMILLE: u64 = 940;

/// Sets a level of a kind, both counted from zero, levels from the slowest. Runs on threads of
/// real time.
pub type Apply = Box<dyn Fn(usize, usize) + Send + Sync>;

/// Processors that do the same work at the same level, and change it together.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Speeds, ascending, in a unit that is the same for all kinds.
    pub speeds: Vec<u32>,
    /// Its processors.
    pub cpus: CpuSet,
}

/// Chooses levels for all of its claims.
pub struct Governor {
    kinds: Box<[Kind]>,
    /// The level of each.
    levels: [AtomicU32; KINDS_MAX],
    /// The largest speed of all.
    largest: u32,
    /// The kernel puts no thread where its runtime does not fit.
    is_placing: bool,
    apply: Apply,
    is_claimed: [AtomicBool; CLAIMS_MAX],
    wanted: [AtomicU64; CLAIMS_MAX],
    /// A bit for each kind where the claim's thread is allowed.
    allowed: [AtomicU32; CLAIMS_MAX],
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

    /// The larger of two of one governor.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if self.now < other.now { other } else { self }
    }
}

impl Governor {
    /// Of one kind, at the largest of these speeds; none of them is 0.
    pub fn new(speeds: &[u32], apply: impl Fn(usize) + Send + Sync + 'static) -> Arc<Self> {
        let kind = Kind {
            speeds: speeds.to_vec(),
            cpus: CpuSet::EMPTY,
        };
        Self::of_kinds(vec![kind], false, Box::new(move |_, level| apply(level)))
    }

    /// Of several, each at its largest speed. `is_placing`: the kernel knows their capacities, and
    /// puts no thread where its reservation does not fit. Panics without a speed, and beyond
    /// [`KINDS_MAX`].
    pub fn of_kinds(kinds: Vec<Kind>, is_placing: bool, apply: Apply) -> Arc<Self> {
        assert!((1..=KINDS_MAX).contains(&kinds.len()));
        let levels: [AtomicU32; KINDS_MAX] = Default::default();
        let mut largest = 0;
        for (place, Kind { speeds, .. }) in kinds.iter().enumerate() {
            assert!(speeds.is_sorted() && speeds.first().is_some_and(|it| 0 < *it));
            let level = speeds.len() - 1;
            largest = largest.max(speeds[level]);
            apply(place, level);
            levels[place].store(level as u32, Relaxed);
        }
        Arc::new(Self {
            kinds: kinds.into(),
            levels,
            largest,
            is_placing,
            apply,
            is_claimed: Default::default(),
            wanted: Default::default(),
            allowed: Default::default(),
        })
    }

    /// A part of it for a thread that may run on these processors, or anywhere; `None` if all parts
    /// are taken.
    pub fn claim(self: &Arc<Self>, cpus: Option<&CpuSet>) -> Option<Claim> {
        let slot = self
            .is_claimed
            .iter()
            .position(|it| it.compare_exchange(false, true, AcqRel, Relaxed).is_ok())?;
        let everywhere = (1 << self.kinds.len()) - 1;
        let met = |cpus: &CpuSet| {
            let kinds = self.kinds.iter().enumerate();
            let met = kinds.filter(|it| it.1.cpus.meets(cpus));
            met.map(|it| 1 << it.0).sum()
        };
        let allowed = cpus.map_or(everywhere, met);
        let allowed = if allowed == 0 { everywhere } else { allowed };
        self.allowed[slot].store(allowed, Relaxed);
        Some(Claim {
            governor: Arc::clone(self),
            slot,
        })
    }

    /// The speed of a kind now.
    fn speed(&self, kind: usize) -> Speed {
        // Pairs with the exchange in `set`.
        let level = self.levels[kind].load(Acquire);
        Speed {
            now: self.kinds[kind].speeds[level as usize],
            largest: self.largest,
        }
    }

    /// Whether a level of this speed has room for so much.
    fn has_room(&self, speed: u32, wanted: u64) -> bool {
        let part = u64::from(speed) * WHOLE / u64::from(self.largest);
        wanted * 1_000 <= part * CEILING_PERMILLE
    }

    /// Where a thread that wants so much may wake up: a bit for each kind.
    fn places(&self, allowed: u32, wanted: u64) -> u32 {
        if !self.is_placing {
            return allowed;
        }
        let (mut fit, mut fastest) = (0, (0, 0));
        for (place, kind) in self.kinds.iter().enumerate() {
            let (bit, most) = (1 << place, kind.speeds[kind.speeds.len() - 1]);
            if allowed & bit == 0 {
                continue;
            }
            fastest = fastest.max((most, bit));
            fit |= if self.has_room(most, wanted) { bit } else { 0 };
        }
        if fit == 0 { fastest.1 } else { fit }
    }

    /// The slowest level of a kind that has room for everybody who may come.
    fn fit(&self, place: usize) -> usize {
        let claims = self.wanted.iter().zip(&self.allowed);
        let sum: u64 = claims
            .map(|(wanted, allowed)| (wanted.load(SeqCst), allowed.load(Relaxed)))
            .filter(|it| self.places(it.1, it.0) & (1 << place) != 0)
            .map(|it| it.0)
            .sum();
        let speeds = &self.kinds[place].speeds;
        let fit = speeds.iter().position(|it| self.has_room(*it, sum));
        fit.unwrap_or(speeds.len() - 1)
    }

    /// Sets what fits. Who is overtaken by another claim's change looks again, as often as there
    /// are others.
    fn choose(&self) {
        for place in 0..self.kinds.len() {
            let mut level = self.fit(place);
            for _ in 0..CLAIMS_MAX {
                self.set(place, level);
                let now = self.fit(place);
                if now == level {
                    break;
                }
                level = now;
            }
        }
    }

    fn set(&self, place: usize, level: usize) {
        // After the claim's own store, and before `fit` looks again: so one of two that change
        // their claims at once sees both. Pairs with Acquire in `speed`.
        if self.levels[place].swap(level as u32, SeqCst) != level as u32 {
            (self.apply)(place, level);
        }
    }
}

impl Claim {
    /// Wants this much of each period, at the largest speed; the levels follow.
    pub fn want(&self, work_ns: u64, period_ns: u64) {
        let share = work_ns * WHOLE / period_ns;
        self.governor.wanted[self.slot].store(share, SeqCst);
        self.governor.choose();
    }

    /// The speed of the processor that the calling thread is on, and which kind that is.
    pub fn here(&self) -> (usize, Speed) {
        let kinds = &self.governor.kinds;
        let place = match kinds.len() {
            1 => 0,
            _ => {
                let cpu = current_cpu();
                kinds
                    .iter()
                    .position(|it| it.cpus.contains(cpu))
                    .unwrap_or(0)
            }
        };
        (place, self.governor.speed(place))
    }

    /// The slowest speed that the thread may wake up at: what a reservation must do with.
    pub fn slowest(&self) -> Speed {
        let governor = &self.governor;
        let allowed = governor.allowed[self.slot].load(Relaxed);
        let places = governor.places(allowed, governor.wanted[self.slot].load(Relaxed));
        let kinds = (0..governor.kinds.len()).filter(|it| places & (1 << it) != 0);
        let speeds = kinds.map(|it| governor.speed(it));
        speeds.min_by_key(|it| it.now).unwrap_or(Speed::FULL)
    }

    /// For another thread, which is to hurry this one.
    pub fn rush(&self) -> Rush {
        Rush {
            governor: Arc::clone(&self.governor),
            allowed: self.governor.allowed[self.slot].load(Relaxed),
        }
    }
}

/// The way to the largest speeds where one thread may run.
pub struct Rush {
    governor: Arc<Governor>,
    allowed: u32,
}

impl Rush {
    /// Until the next claim changes: work has no reservation that fits.
    pub fn begin(&self) {
        let kinds = self.governor.kinds.iter().enumerate();
        for (place, kind) in kinds.filter(|it| self.allowed & (1 << it.0) != 0) {
            self.governor.set(place, kind.speeds.len() - 1);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.governor.wanted[self.slot].store(0, SeqCst);
        self.governor.choose();
        self.governor.is_claimed[self.slot].store(false, Release);
    }
}

impl std::fmt::Debug for Governor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Governor")
            .field("kinds", &self.kinds)
            .field("levels", &&self.levels[..self.kinds.len()])
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
        let governor = Governor::new(&[400, 800, 1_000], move |level| log.lock().push(level));
        let (one, two) = (governor.claim(None).unwrap(), governor.claim(None).unwrap());
        one.want(300, 1_000);
        one.want(310, 1_000);
        two.want(400, 1_000);
        two.want(500, 1_000);
        let all = Speed {
            now: 1_000,
            largest: 1_000,
        };
        assert_eq!((one.here(), two.slowest()), ((0, all), all));
        drop(two);
        assert_eq!(one.slowest().work_ns(100), 40);
        assert_eq!(one.slowest().time_ns(40), 100);
        one.rush().begin();
        one.want(300, 1_000);
        drop(one);
        // 0.94 of 400 holds 310; of 800, 710; 810 wants all.
        assert_eq!(*seen.lock(), [2, 0, 1, 2, 0, 2, 0]);
        let claims: Vec<_> = (0..CLAIMS_MAX)
            .filter_map(|_| governor.claim(None))
            .collect();
        assert_eq!(claims.len(), CLAIMS_MAX, "what is dropped is given back");
        assert!(governor.claim(None).is_none());
    }

    /// The paper's board: four little cores, four big ones, and what they do beside each other.
    fn board(is_placing: bool) -> Arc<Governor> {
        let kind = |speeds: &[u32], cpus: &str| Kind {
            speeds: speeds.to_vec(),
            cpus: cpus.parse().unwrap(),
        };
        let little = kind(&[134, 250, 351, 428, 462], "0-3");
        let big = kind(&[391, 616, 782, 915, 1_024], "4-7");
        Governor::of_kinds(vec![little, big], is_placing, Box::new(|_, _| {}))
    }

    fn levels(governor: &Governor) -> [u32; 2] {
        [0, 1].map(|it| governor.levels[it].load(Relaxed))
    }

    #[test]
    fn each_kind_has_room_for_who_may_come() {
        let governor = board(true);
        let anywhere = governor.claim(None).unwrap();
        // A tenth of a big core is a quarter of a little one.
        anywhere.want(100, 1_000);
        assert_eq!(levels(&governor), [0, 0]);
        anywhere.want(300, 1_000);
        assert_eq!(levels(&governor), [2, 0], "0.94 of 351 / 1024 holds it");
        assert_eq!(anywhere.slowest().time_ns(100), 292);
        // No little core is fast enough, so none has to be fast.
        anywhere.want(500, 1_000);
        assert_eq!(levels(&governor), [0, 1]);
        assert_eq!(anywhere.slowest().time_ns(100), 167);
        // Who is kept on little ones changes nothing for the big ones.
        let little = governor.claim(Some(&"0-1".parse().unwrap())).unwrap();
        little.want(420, 1_000);
        assert_eq!(levels(&governor), [4, 1]);
        little.want(900, 1_000);
        assert_eq!(levels(&governor), [4, 1], "as fast as they go");
        little.want(0, 1_000);
        little.rush().begin();
        assert_eq!(levels(&governor), [4, 1], "big ones do not hurry for it");
        drop(little);
        let big = governor.claim(Some(&CpuSet::single(4))).unwrap();
        big.want(300, 1_000);
        assert_eq!(levels(&governor), [0, 3]);
        drop(anywhere);
        assert_eq!(levels(&governor), [0, 0]);
    }

    #[test]
    fn a_kernel_that_knows_no_capacity_may_put_it_anywhere() {
        let governor = board(false);
        let claim = governor.claim(None).unwrap();
        claim.want(500, 1_000);
        assert_eq!(levels(&governor), [4, 1]);
        assert_eq!(claim.slowest().time_ns(100), 222);
    }
}
