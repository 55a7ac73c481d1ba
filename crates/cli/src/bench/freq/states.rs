// SPDX-License-Identifier: Apache-2.0
//! What the kernel says of its frequencies: [`Limits`] and [`States`], read from its own files and
//! not by who holds them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// Of each policy the least and the greatest, in kHz.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Limits(BTreeMap<String, (u64, u64)>);

impl Limits {
    /// As they are.
    pub(super) fn read() -> Result<Self> {
        let mut all = BTreeMap::new();
        for policy in policies()? {
            let khz = |name: &str| -> Result<u64> {
                let path = policy.join(name);
                let text = std::fs::read_to_string(&path);
                let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                text.trim().parse().context("a frequency")
            };
            let pair = (khz("scaling_min_freq")?, khz("scaling_max_freq")?);
            let name = policy.file_name().context("a name")?;
            all.insert(name.to_string_lossy().into_owned(), pair);
        }
        Ok(Self(all))
    }

    #[cfg(test)]
    pub(super) fn of(all: &[(&str, u64, u64)]) -> Self {
        let all = all.iter();
        Self(all.map(|it| (it.0.to_owned(), (it.1, it.2))).collect())
    }

    /// The frequency that all are held at; none if one may change.
    pub(super) fn level(&self) -> Option<u64> {
        let mut all = self.0.values();
        let (least, most) = all.next()?;
        let is_one = least == most && all.all(|it| it == &(*least, *most));
        is_one.then_some(*least)
    }

    /// Policies, which count their time each for itself.
    pub(super) fn processors(&self) -> u64 {
        self.0.len() as u64
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<String> = self
            .0
            .values()
            .map(|it| format!("{}–{}", it.0, it.1))
            .collect();
        all.dedup();
        f.write_str(&all.join(", "))
    }
}

/// For how long the processors ran at which frequency: kHz, and hundredths of a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct States(BTreeMap<u64, u64>);

impl States {
    /// Of all policies, since the boot.
    pub(super) fn read() -> Result<Self> {
        let mut all = BTreeMap::new();
        for policy in policies()? {
            let path = policy.join("stats/time_in_state");
            let text = std::fs::read_to_string(&path);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            for line in text.lines() {
                let (khz, ticks) = line.split_once(' ').context("a state")?;
                *all.entry(khz.parse()?).or_default() += ticks.parse::<u64>()?;
            }
        }
        Ok(Self(all))
    }

    #[cfg(test)]
    pub(super) fn of(all: &[(u64, u64)]) -> Self {
        Self(all.iter().copied().collect())
    }

    /// What came since.
    pub(super) fn since(&self, before: &Self) -> Self {
        let of = |khz: &u64| before.0.get(khz).copied().unwrap_or(0);
        let all = self.0.iter();
        Self(
            all.map(|(khz, ticks)| (*khz, ticks.saturating_sub(of(khz))))
                .collect(),
        )
    }

    /// Those that have any time.
    pub(super) fn grown(&self) -> Vec<(u64, u64)> {
        let all = self.0.iter().filter(|(_, ticks)| **ticks > 0);
        all.map(|(khz, ticks)| (*khz, *ticks)).collect()
    }

    /// In words: `1805: 100 %`.
    pub(super) fn shares(&self) -> String {
        let sum: u64 = self.0.values().sum();
        let share = |(khz, ticks): (u64, u64)| {
            format!(
                "{}: {:.0} %",
                khz / 1000,
                ticks as f64 * 100.0 / sum.max(1) as f64
            )
        };
        let all: Vec<String> = self.grown().into_iter().map(share).collect();
        all.join(", ")
    }
}

fn policies() -> Result<Vec<PathBuf>> {
    let is_policy = |path: &Path| {
        let name = path.file_name().map(|it| it.to_string_lossy().into_owned());
        name.is_some_and(|it| it.starts_with("policy"))
    };
    let entries = std::fs::read_dir(POLICIES).into_iter().flatten();
    let paths = entries.filter_map(|it| Some(it.ok()?.path()));
    let mut all: Vec<PathBuf> = paths.filter(|it| is_policy(it)).collect();
    all.sort();
    ensure!(
        !all.is_empty(),
        "no cpufreq on this machine: {POLICIES} has no policy; --lab has a virtual one"
    );
    Ok(all)
}
