// SPDX-License-Identifier: Apache-2.0
//! Histograms and samples as tables, CSV, `.hgrm`, JSON, SVG and PNG. Bytes and values only: no
//! I/O.
//!
//! [`Series`] is what was measured, [`Summary`] its figures, [`Table`] what a terminal shows,
//! [`picture`] what a paper shows. The unit is nanoseconds throughout; [`TimeBase`] says whose.
#![forbid(unsafe_code)]

pub mod export;
pub mod picture;
mod summary;
mod table;

use hdrhistogram::Histogram;
use serde::Serialize;

pub use summary::Summary;
pub use table::Table;

/// Whose nanoseconds: the world's, or a deterministic guest's, where one is one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeBase {
    /// Time as the world has it.
    Real,
    /// An instruction clock: path length and preemption, never caches.
    Virtual,
}

impl TimeBase {
    /// The unit that tables and axes print.
    pub fn microseconds(self) -> &'static str {
        match self {
            Self::Real => "µs",
            Self::Virtual => "virtual µs",
        }
    }
}

/// One measured distribution under its name.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// What the legend and the table call it.
    pub name: &'a str,
    /// Its distribution, nanoseconds.
    pub histogram: &'a Histogram<u64>,
    /// Its largest value, exact even where the histogram's range ended before.
    pub max_ns: u64,
}

impl Series<'_> {
    /// The figures of this distribution; all zero when nothing was measured.
    pub fn summary(&self) -> Summary {
        Summary::of(self.histogram, self.max_ns)
    }
}
