// SPDX-License-Identifier: Apache-2.0
//! [`Periodic`]: a release every period, without drift, with overruns counted.

use crate::clock::Clock;

/// Releases at `start + n × period`. A loop that comes late is released at once, at the latest
/// release that is past; those it missed are counted as overruns and never made up for in a burst.
#[derive(Debug)]
pub struct Periodic<'c, C: Clock> {
    clock: &'c C,
    period_ns: u64,
    next_ns: u64,
    release_count: u64,
    overrun_count: u64,
}

/// One release: when it was due and when the loop ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Counts from zero; missed releases count too.
    pub index: u64,
    /// When it was due.
    pub due_ns: u64,
    /// When the thread ran again.
    pub woken_ns: u64,
}

impl Release {
    /// How late the thread ran.
    pub fn latency_ns(&self) -> u64 {
        self.woken_ns.saturating_sub(self.due_ns)
    }
}

impl<'c, C: Clock> Periodic<'c, C> {
    /// First release at `start_ns`. Panics if the period is zero.
    pub fn new(clock: &'c C, start_ns: u64, period_ns: u64) -> Self {
        assert!(period_ns > 0, "a period is longer than zero");
        Self {
            clock,
            period_ns,
            next_ns: start_ns,
            release_count: 0,
            overrun_count: 0,
        }
    }

    /// Sleeps to the next release. O(1); one absolute sleep, two readings of the clock, no
    /// allocation.
    pub fn wait(&mut self) -> Release {
        let missed = self.clock.now_ns().saturating_sub(self.next_ns) / self.period_ns;
        self.overrun_count += missed;
        self.release_count += missed;
        let due_ns = self.next_ns + missed * self.period_ns;
        self.clock.sleep_until(due_ns);
        let release = Release {
            index: self.release_count,
            due_ns,
            woken_ns: self.clock.now_ns(),
        };
        self.release_count += 1;
        self.next_ns = due_ns + self.period_ns;
        release
    }

    /// Releases that passed while the loop was still busy with an earlier one.
    pub fn overrun_count(&self) -> u64 {
        self.overrun_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Virtual;

    #[test]
    fn releases_do_not_drift() {
        let clock = Virtual::at(1_000);
        let mut periodic = Periodic::new(&clock, 2_000, 500);
        for index in 0..10 {
            let release = periodic.wait();
            assert_eq!(
                (release.index, release.due_ns),
                (index, 2_000 + index * 500)
            );
            assert_eq!(release.latency_ns(), 0);
            clock.advance(499);
        }
        assert_eq!(periodic.overrun_count(), 0);
    }

    #[test]
    fn missed_releases_are_counted_not_made_up() {
        let clock = Virtual::at(0);
        let mut periodic = Periodic::new(&clock, 0, 100);
        assert_eq!(periodic.wait().index, 0);
        clock.advance(350);
        let late = periodic.wait();
        assert_eq!((late.index, late.due_ns, late.latency_ns()), (3, 300, 50));
        assert_eq!(periodic.overrun_count(), 2);
        assert_eq!(periodic.wait().due_ns, 400);
    }
}
