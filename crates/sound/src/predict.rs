// SPDX-License-Identifier: Apache-2.0
//! [`Predictor`]: how much processor time the next burst of a stream will want, from what bursts
//! with as many work units wanted before.
//!
//! A work unit is whatever the application counts, such as a note that sounds. [`Smoothed`] is the
//! predictor of the paper on deadline audio, its section 5.2, and stands here to be beaten.
//! [`Envelope`] is ours. Both are pure: times come in, a reservation's runtime goes out. All memory
//! is taken at the start; a step is a search among at most [`UNITS_MAX`] entries.

/// Numbers of work units that a table keeps apart: more than notes that any hand can hold.
pub const UNITS_MAX: usize = 256;

/// What share of a period is reserved before anything is known, and at most ever.
const CEILING_PERMILLE: u64 = 940;
/// The kernel takes no runtime below this.
const RUNTIME_NS_MIN: u64 = 1_024;

/// Says what to reserve for each burst.
pub trait Predictor {
    /// The runtime to reserve for a burst with so many work units, which is about to begin.
    fn reserve_ns(&mut self, units: u32) -> u64;

    /// What that burst took.
    fn learn(&mut self, units: u32, measured_ns: u64);
}

/// A value for each number of work units, in their order.
#[derive(Debug)]
struct Table<T> {
    entries: Vec<(u32, T)>,
    /// Numbers that found no room.
    dropped: u64,
}

impl<T> Table<T> {
    fn new() -> Self {
        Self {
            entries: Vec::with_capacity(UNITS_MAX),
            dropped: 0,
        }
    }

    /// The value for `units`; made of `first` if there is none yet. `None` if the table is full.
    fn entry(&mut self, units: u32, first: T) -> Option<&mut T> {
        let at = match self.find(units) {
            Ok(at) => at,
            Err(_) if self.entries.len() == UNITS_MAX => {
                self.dropped += 1;
                return None;
            }
            Err(at) => {
                self.entries.insert(at, (units, first));
                at
            }
        };
        Some(&mut self.entries[at].1)
    }

    /// Where `units` is, or would be.
    fn find(&self, units: u32) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&units, |entry| entry.0)
    }
}

/// The paper's predictor: an average for each number of work units, fast up and slow down; a line
/// through all of them beyond the largest; margins; a new reservation when the number changes, and
/// every thirty bursts.
///
/// The paper leaves open what a number between two known ones gets. The larger one's value is the
/// one in its spirit.
#[derive(Debug)]
pub struct Smoothed {
    period_ns: u64,
    table: Table<f64>,
    reserved: Option<(u32, u64)>,
    age: u32,
}

impl Smoothed {
    const RISING: f64 = 0.95;
    const FALLING: f64 = 0.1;
    const MARGIN: f64 = 1.005;
    /// Of the period.
    const OFFSET: f64 = 0.041;
    const BURSTS: u32 = 30;

    /// Knows nothing.
    pub fn new(period_ns: u64) -> Self {
        Self {
            period_ns,
            table: Table::new(),
            reserved: None,
            age: 0,
        }
    }

    fn estimate_ns(&self, units: u32) -> Option<f64> {
        let entries = &self.table.entries;
        let largest = entries.last()?;
        match self.table.find(units) {
            Ok(at) | Err(at) if at < entries.len() => Some(entries[at].1),
            _ => Some(line_at(entries, units).max(largest.1)),
        }
    }
}

/// The line of least squares through the entries, at `units`; level through a single one.
fn line_at(entries: &[(u32, f64)], units: u32) -> f64 {
    let count = entries.len() as f64;
    let mean_x = entries.iter().map(|it| f64::from(it.0)).sum::<f64>() / count;
    let mean_y = entries.iter().map(|it| it.1).sum::<f64>() / count;
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (x, y) in entries {
        let distance = f64::from(*x) - mean_x;
        covariance += distance * (y - mean_y);
        variance += distance * distance;
    }
    let slope = if variance > 0.0 { covariance / variance } else { 0.0 };
    mean_y + slope * (f64::from(units) - mean_x)
}

impl Predictor for Smoothed {
    fn reserve_ns(&mut self, units: u32) -> u64 {
        self.age += 1;
        if let Some((of, runtime_ns)) = self.reserved
            && of == units
            && self.age < Self::BURSTS
        {
            return runtime_ns;
        }
        let runtime_ns = match self.estimate_ns(units) {
            Some(estimate_ns) => {
                let offset_ns = Self::OFFSET * self.period_ns as f64;
                bounded((Self::MARGIN * estimate_ns + offset_ns) as u64, self.period_ns)
            }
            None => bounded(u64::MAX, self.period_ns),
        };
        self.reserved = Some((units, runtime_ns));
        self.age = 0;
        runtime_ns
    }

    fn learn(&mut self, units: u32, measured_ns: u64) {
        let measured = measured_ns as f64;
        if let Some(average) = self.table.entry(units, measured) {
            let share = match measured > *average {
                true => Self::RISING,
                false => Self::FALLING,
            };
            *average += share * (measured - *average);
        }
    }
}

/// What bursts with one number of work units took.
#[derive(Clone, Copy, Debug)]
struct Peak {
    /// Never below the last burst; sinks slowly.
    peak_ns: f64,
    /// The mean of late.
    mean_ns: f64,
    bursts: u32,
}

/// Ours: the peak for each number of work units, which a burst above it lifts at once and others
/// let sink; a straight line between two known numbers. Beyond the largest, the time grows at most
/// in proportion: a burst has a part that does not depend on the work.
///
/// The margin is no share of the period but follows the spread that was seen, so a light load is
/// reserved little. Every burst may change the reservation.
#[derive(Debug)]
pub struct Envelope {
    period_ns: u64,
    table: Table<Peak>,
}

impl Envelope {
    /// A peak sinks by this share of its distance to a burst.
    const SINKING: f64 = 1.0 / 512.0;
    const MEAN: f64 = 1.0 / 32.0;
    /// Above the peak: a third of the spread between mean and peak, and this share.
    const SPREAD: f64 = 1.0 / 3.0;
    const MARGIN: f64 = 1.005;
    /// While a number is new, its spread is not known.
    const NEW_MARGIN: f64 = 1.08;
    const NEW_BURSTS: u32 = 16;
    /// What the measuring itself takes.
    const OFFSET_NS: f64 = 2_000.0;

    /// Knows nothing.
    pub fn new(period_ns: u64) -> Self {
        Self {
            period_ns,
            table: Table::new(),
        }
    }

    /// What one entry asks for.
    fn want_ns(peak: &Peak) -> f64 {
        let spread_ns = peak.peak_ns - peak.mean_ns;
        let known_ns = peak.peak_ns * Self::MARGIN + spread_ns * Self::SPREAD;
        match peak.bursts < Self::NEW_BURSTS {
            true => known_ns.max(peak.peak_ns * Self::NEW_MARGIN),
            false => known_ns,
        }
    }

    fn estimate_ns(&self, units: u32) -> Option<f64> {
        let entries = &self.table.entries;
        let last = entries.last()?;
        let at = match self.table.find(units) {
            Ok(at) => return Some(Self::want_ns(&entries[at].1)),
            Err(at) => at,
        };
        if at == entries.len() {
            let ratio = f64::from(units) / f64::from(last.0.max(1));
            return Some(Self::want_ns(&last.1) * ratio * Self::NEW_MARGIN);
        }
        let above = &entries[at];
        let above_ns = Self::want_ns(&above.1);
        let Some(below) = at.checked_sub(1).map(|below| &entries[below]) else {
            return Some(above_ns);
        };
        let below_ns = Self::want_ns(&below.1);
        let part = f64::from(units - below.0) / f64::from(above.0 - below.0);
        let between_ns = below_ns + part * (above_ns - below_ns);
        Some(between_ns * Self::NEW_MARGIN)
    }
}

impl Predictor for Envelope {
    fn reserve_ns(&mut self, units: u32) -> u64 {
        match self.estimate_ns(units) {
            Some(estimate_ns) => bounded((estimate_ns + Self::OFFSET_NS) as u64, self.period_ns),
            None => bounded(u64::MAX, self.period_ns),
        }
    }

    fn learn(&mut self, units: u32, measured_ns: u64) {
        let measured = measured_ns as f64;
        let first = Peak {
            peak_ns: measured,
            mean_ns: measured,
            bursts: 0,
        };
        if let Some(entry) = self.table.entry(units, first) {
            entry.peak_ns = measured.max(entry.peak_ns - (entry.peak_ns - measured) * Self::SINKING);
            entry.mean_ns += (measured - entry.mean_ns) * Self::MEAN;
            entry.bursts = entry.bursts.saturating_add(1);
        }
    }
}

/// Within what the kernel takes.
fn bounded(runtime_ns: u64, period_ns: u64) -> u64 {
    let most_ns = period_ns * CEILING_PERMILLE / 1_000;
    runtime_ns.clamp(RUNTIME_NS_MIN, most_ns.max(RUNTIME_NS_MIN))
}
