// SPDX-License-Identifier: Apache-2.0
//! [`Summary`]: the figures that stand for a distribution.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Figures of one distribution, nanoseconds. Percentiles are of values recorded, nearest rank, to
/// 0.1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many values.
    pub count: u64,
    /// The smallest.
    pub min_ns: u64,
    /// The arithmetic mean.
    pub avg_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// One in a hundred is larger.
    pub p99_ns: u64,
    /// One in a thousand is larger.
    pub p99_9_ns: u64,
    /// One in ten thousand is larger.
    pub p99_99_ns: u64,
    /// The largest, exact.
    pub max_ns: u64,
}

impl Summary {
    pub(crate) fn of(histogram: &Histogram<u64>, max_ns: u64) -> Self {
        // A bucket stands for its highest value, which must not exceed the largest value seen.
        let quantile = |q| histogram.value_at_quantile(q).min(max_ns);
        let is_empty = histogram.is_empty();
        Self {
            count: histogram.len(),
            min_ns: if is_empty { 0 } else { histogram.min() },
            avg_ns: if is_empty { 0.0 } else { histogram.mean() },
            p50_ns: quantile(0.50),
            p99_ns: quantile(0.99),
            p99_9_ns: quantile(0.999),
            p99_99_ns: quantile(0.9999),
            max_ns,
        }
    }

    /// The header of [`Self::cells`].
    pub const COLUMNS: [&'static str; 8] = [
        "count", "min", "avg", "p50", "p99", "p99.9", "p99.99", "max",
    ];

    /// The figures for a table, in microseconds.
    pub fn cells(&self) -> [String; 8] {
        let micros = |ns: f64| format!("{:.1}", ns / 1000.0);
        [
            self.count.to_string(),
            micros(self.min_ns as f64),
            micros(self.avg_ns),
            micros(self.p50_ns as f64),
            micros(self.p99_ns as f64),
            micros(self.p99_9_ns as f64),
            micros(self.p99_99_ns as f64),
            micros(self.max_ns as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_the_distribution_s() {
        let mut histogram = Histogram::new(3).unwrap();
        for value in 1..=1000_u64 {
            histogram.record(value * 1000).unwrap();
        }
        let summary = Summary::of(&histogram, 1_000_000);
        assert_eq!(
            (summary.count, summary.min_ns, summary.max_ns),
            (1000, 1000, 1_000_000)
        );
        assert!((499_000..=501_000).contains(&summary.p50_ns), "{summary:?}");
        assert!((989_000..=991_000).contains(&summary.p99_ns), "{summary:?}");
        assert_eq!(summary.p99_99_ns, 1_000_000);
        assert_eq!(
            Summary::of(&Histogram::new(3).unwrap(), 0).cells()[1],
            "0.0"
        );
    }
}
