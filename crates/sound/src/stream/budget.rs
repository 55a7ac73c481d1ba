// SPDX-License-Identifier: Apache-2.0
//! [`Budget`]: what the kernel has left for a thread under SCHED_DEADLINE, kept along with it.
//!
//! Kernels before 7.1 do not tell. Their rule (the constant bandwidth server) is short enough to
//! keep: a wake-up gets a full runtime if the old deadline is past, or if what is left would be
//! more than the reservation's share until then. A change of the runtime in mid-period changes
//! nothing of what is left. Pure: times come in.

/// The server of one thread, as far as its thread knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) period_ns: u64,
    pub(super) runtime_ns: u64,
    deadline_ns: u64,
    /// What was left when the thread's processor time was `mark_ns`.
    left_ns: i64,
    mark_ns: u64,
}

impl Budget {
    /// Nothing is reserved yet.
    pub(super) fn new(period_ns: u64) -> Self {
        Self {
            period_ns,
            ..Self::default()
        }
    }

    /// What is left at this processor time of the thread; below zero the kernel holds it back.
    pub(super) fn left_ns(&self, spent_ns: u64) -> i64 {
        self.left_ns - (spent_ns - self.mark_ns) as i64
    }

    /// The thread's processor time at which nothing is left.
    pub(super) fn end_ns(&self) -> u64 {
        self.mark_ns.saturating_add_signed(self.left_ns)
    }

    /// The thread woke up.
    pub(super) fn wake(&mut self, now_ns: u64, spent_ns: u64) {
        self.charge(spent_ns);
        let until_ns = self.deadline_ns.saturating_sub(now_ns);
        let left = i128::from(self.left_ns) * i128::from(self.period_ns);
        if until_ns == 0 || left > i128::from(until_ns) * i128::from(self.runtime_ns) {
            self.fill(now_ns);
        }
    }

    /// The thread got this runtime: in place of another, or after a time under another policy,
    /// from `spent_ns` on.
    pub(super) fn reserve(&mut self, runtime_ns: u64, now_ns: u64, spent_ns: u64) {
        self.runtime_ns = runtime_ns;
        self.mark_ns = spent_ns;
        if self.deadline_ns < now_ns {
            self.fill(now_ns);
        }
    }

    /// Takes off what was used so far.
    pub(super) fn charge(&mut self, spent_ns: u64) {
        self.left_ns = self.left_ns(spent_ns);
        self.mark_ns = spent_ns;
    }

    /// When a thread that used this much too much is as good as one that used nothing. Before
    /// that the kernel takes it for held back; a thread that comes back too early waits for a
    /// timer that nobody sets.
    pub(super) fn forgiven_ns(&self, over_ns: u64) -> u64 {
        let delay_ns = over_ns * self.period_ns / self.runtime_ns.max(1);
        self.deadline_ns + delay_ns + self.period_ns
    }

    fn fill(&mut self, now_ns: u64) {
        self.left_ns = self.runtime_ns as i64;
        self.deadline_ns = now_ns + self.period_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_fills_and_a_change_in_between_does_not() {
        let mut budget = Budget::new(1_000);
        budget.reserve(100, 5, 0);
        assert_eq!(budget.left_ns(0), 100, "after the old deadline");
        budget.charge(60);
        budget.reserve(900, 300, 60);
        assert_eq!(
            budget.left_ns(60),
            40,
            "the kernel refuses an early recharge"
        );
        assert_eq!(budget.end_ns(), 100);
        budget.wake(1_100, 60);
        assert_eq!(budget.left_ns(60), 900);
        // Early, with less left than its share until the deadline at 2,100.
        budget.wake(1_900, 860);
        assert_eq!(budget.left_ns(860), 100);
        // Early, with more than its share.
        budget.wake(2_090, 860);
        assert_eq!(budget.left_ns(860), 900);
    }

    #[test]
    fn too_much_is_forgiven_late() {
        let mut budget = Budget::new(1_000);
        budget.reserve(100, 5, 0);
        assert_eq!(budget.left_ns(150), -50);
        assert_eq!(budget.forgiven_ns(50), 1_005 + 500 + 1_000);
    }
}
