// SPDX-License-Identifier: Apache-2.0
//! [`Recorder`]: figures without allocation while they are taken.
//!
//! An HdrHistogram (Tene) of fixed range holds the distribution, a pre-allocated array the first
//! samples one by one. Crate `report` turns both into tables, files and pictures.

use hdrhistogram::Histogram;

/// Significant decimal digits of the histogram: 0.1 % of a value.
const DIGITS: u8 = 3;

/// Records nanoseconds. `record` is O(1), allocates nothing and makes no system call.
#[derive(Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    samples_ns: Vec<u64>,
    above_limit_count: u64,
    unsampled_count: u64,
    max_ns: u64,
}

impl Recorder {
    /// For values up to `limit_ns` (larger ones are counted, and kept exactly in [`Self::max_ns`]);
    /// the first `sample_capacity` values are also kept singly. All memory is taken and touched
    /// here.
    pub fn new(limit_ns: u64, sample_capacity: usize) -> Self {
        let histogram = Histogram::new_with_bounds(1, limit_ns.max(2), DIGITS)
            .expect("1 ≤ limit/2 and at most 5 digits");
        // Writing each element faults its page in now, not at the first late sample.
        let mut samples_ns = vec![u64::MAX; sample_capacity];
        samples_ns.clear();
        Self {
            histogram,
            samples_ns,
            above_limit_count: 0,
            unsampled_count: 0,
            max_ns: 0,
        }
    }

    /// Takes one value.
    pub fn record(&mut self, value_ns: u64) {
        self.max_ns = self.max_ns.max(value_ns);
        if self.histogram.record(value_ns).is_err() {
            self.histogram.saturating_record(value_ns);
            self.above_limit_count += 1;
        }
        if self.samples_ns.len() < self.samples_ns.capacity() {
            self.samples_ns.push(value_ns);
        } else {
            self.unsampled_count += 1;
        }
    }

    /// Takes over everything that another recorder of the same limit or a lower one saw; panics on
    /// a higher one with values beyond ours. Allocates: for afterwards.
    pub fn absorb(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("both have the same limit");
        self.samples_ns.extend_from_slice(&other.samples_ns);
        self.above_limit_count += other.above_limit_count;
        self.unsampled_count += other.unsampled_count;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The distribution. Values above the limit lie in its last bucket.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// The first values, one by one, in the order taken.
    pub fn samples_ns(&self) -> &[u64] {
        &self.samples_ns
    }

    /// The largest value, exact.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Values beyond the histogram's limit.
    pub fn above_limit_count(&self) -> u64 {
        self.above_limit_count
    }

    /// Values that came after the sample array was full: they are in the histogram alone.
    pub fn unsampled_count(&self) -> u64 {
        self.unsampled_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_beyond_a_limit() {
        let mut recorder = Recorder::new(1_000_000, 2);
        for value in [10, 20, 5_000_000] {
            recorder.record(value);
        }
        assert_eq!(recorder.histogram().len(), 3);
        assert_eq!(recorder.samples_ns(), [10, 20]);
        assert_eq!(
            (recorder.above_limit_count(), recorder.unsampled_count()),
            (1, 1)
        );
        assert_eq!(recorder.max_ns(), 5_000_000);
    }

    #[test]
    fn absorbing_adds_up() {
        let (mut one, mut other) = (Recorder::new(1_000_000, 1), Recorder::new(1_000_000, 4));
        one.record(10);
        other.record(5);
        other.record(2_000_000);
        one.absorb(&other);
        assert_eq!(one.histogram().len(), 3);
        assert_eq!(one.samples_ns(), [10, 5, 2_000_000]);
        assert_eq!((one.max_ns(), one.above_limit_count()), (2_000_000, 1));
    }
}
