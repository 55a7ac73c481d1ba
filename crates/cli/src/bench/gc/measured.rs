// SPDX-License-Identifier: Apache-2.0
//! [`Measured`]: what one window on one machine showed. `child` measures it, `figures` judges it.

use std::collections::HashMap;

use anyhow::{Context, Result};

use super::control::Sample;

/// What the window showed.
pub(super) struct Measured {
    pub(super) samples: Vec<Sample>,
    pub(super) control: Vec<Sample>,
    /// Empty unless it was asked for.
    pub(super) second_control: Vec<Sample>,
    /// `name=value` of the program, and counters of Takt's report.
    pub(super) figures: HashMap<String, u64>,
    pub(super) collections: Collections,
    pub(super) rss_mb: u64,
    /// Pages that are mapped several times (ZGC before 21) counted once.
    pub(super) pss_mb: u64,
    pub(super) is_real_time: bool,
}

impl Measured {
    pub(super) fn figure(&self, name: &str) -> Result<u64> {
        let found = self.figures.get(name).copied();
        found.with_context(|| format!("the program says no {name}"))
    }
}

/// What the machine logged within the window.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Collections {
    /// Takt: epochs. HotSpot: collections by their numbers.
    pub(super) count: u64,
    /// Takt: complete cycle traces.
    pub(super) traces: u64,
    /// Takt: pauses. HotSpot: safepoints.
    pub(super) stops: u64,
    /// HotSpot: the longest safepoint.
    pub(super) stop_ns_max: u64,
}
