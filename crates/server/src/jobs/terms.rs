// SPDX-License-Identifier: Apache-2.0
//! What a job is asked to be: when, under which conditions, and how soon again.

use serde::{Deserialize, Serialize};

/// The shortest period and the first wait after a failure: each run makes and ends a service.
/// Android takes 15 minutes and 10 seconds.
pub const LEAST_NS: u64 = 100_000_000;
/// The longest wait after a failure, as on Android.
pub const BACK_OFF_NS_MAX: u64 = 5 * 3_600_000_000_000;

/// What a job needs, or what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Conditions(pub u32);

impl Conditions {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A network.
    pub const NETWORK: Self = Self(1);
    /// A network that costs nothing by the byte.
    pub const UNMETERED: Self = Self(1 << 1);
    /// A network that is no foreign one.
    pub const NOT_ROAMING: Self = Self(1 << 2);
    /// Power that is no battery's.
    pub const CHARGING: Self = Self(1 << 3);
    /// A battery that has enough.
    pub const BATTERY_NOT_LOW: Self = Self(1 << 4);
    /// Room on the disk.
    pub const STORAGE_NOT_LOW: Self = Self(1 << 5);
    /// Each of them.
    pub const ALL: [Self; 6] = [
        Self::NETWORK,
        Self::UNMETERED,
        Self::NOT_ROAMING,
        Self::CHARGING,
        Self::BATTERY_NOT_LOW,
        Self::STORAGE_NOT_LOW,
    ];

    /// Is all of the other among these?
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without the other.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Are there none?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// For a person.
    pub fn words(self) -> Vec<&'static str> {
        let words = [
            "network",
            "unmetered network",
            "network that is not roaming",
            "charging",
            "battery not low",
            "storage not low",
        ];
        let all = Self::ALL.into_iter().zip(words);
        all.filter(|(it, _)| self.has(*it))
            .map(|(_, word)| word)
            .collect()
    }
}

/// How often, and in which last part of each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// The period.
    pub interval_ns: u64,
    /// At its end.
    pub flex_ns: u64,
}

/// How long a job waits after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackOff {
    /// The first wait.
    pub first_ns: u64,
    /// Each wait is longer by the first one, not twice as long.
    pub is_linear: bool,
}

impl BackOff {
    /// After so many failures in a row.
    pub fn wait_ns(self, failures: u32) -> u64 {
        let first = self.first_ns.max(LEAST_NS);
        let wait = match (self.is_linear, failures.saturating_sub(1)) {
            (true, more) => first.saturating_mul(u64::from(more) + 1),
            (false, more) => first.saturating_mul(1 << more.min(32)),
        };
        wait.min(BACK_OFF_NS_MAX)
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Not sooner.
    pub latency_ns: u64,
    /// Then whatever its conditions are; not of one with a period.
    pub deadline_ns: Option<u64>,
    /// Again and again.
    pub period: Option<Period>,
    /// After failures.
    pub back_off: BackOff,
    /// Its conditions.
    pub needs: Conditions,
    /// Those of more go first: 100 to 500.
    pub priority: i32,
    /// It goes before all that are not.
    pub is_expedited: bool,
}

impl Terms {
    /// As they are kept to: with the shortest period and flex that there are.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        if let Some(period) = &mut self.period {
            period.interval_ns = period.interval_ns.max(LEAST_NS);
            period.flex_ns = period.flex_ns.clamp(1, period.interval_ns);
            self.deadline_ns = None;
        }
        self
    }
}
