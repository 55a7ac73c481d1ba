// SPDX-License-Identifier: Apache-2.0
//! [`Control`]: two native threads of the sender's priority in a process of their own; one leaves a
//! message for the other each period and wakes it. Nothing of it is Java's or a queue's: what makes
//! it late in the same window is the system's and the host's doing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::sync::Event;
use rt::thread::{Builder, Thread};
use serde::Serialize;

/// See the module.
pub(super) struct Control {
    sender: Thread<()>,
    receiver: Thread<Vec<u64>>,
    shared: Arc<Shared>,
}

struct Shared {
    /// When each message was left.
    sent_ns: Vec<AtomicU64>,
    /// How many of them were.
    count: AtomicUsize,
    event: Event,
    is_over: AtomicBool,
}

/// Every message.
pub(super) struct Found {
    /// When it was left, and how late it was taken; nanoseconds.
    messages: Vec<(u64, u64)>,
}

/// How late the messages of some windows were taken; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Figures {
    pub(super) samples: usize,
    pub(super) p50_ns: u64,
    pub(super) p999_ns: u64,
    pub(super) max_ns: u64,
}

impl Control {
    /// Messages half a period beside those that are sent on the beat of the clock, `messages_max`
    /// at most.
    pub(super) fn start(policy: Policy, period_ns: u64, messages_max: usize) -> Result<Self> {
        let shared = Arc::new(Shared {
            sent_ns: (0..messages_max).map(|_| AtomicU64::new(0)).collect(),
            count: AtomicUsize::new(0),
            event: Event::new(),
            is_over: AtomicBool::new(false),
        });
        let thread = |name: &str| Builder::new(name).policy(policy);
        let other = Arc::clone(&shared);
        let receiver = thread("control-to")
            .spawn(move || other.receive())
            .context("cannot start the control")?;
        let other = Arc::clone(&shared);
        let sender = thread("control-from")
            .spawn(move || other.send(period_ns))
            .context("cannot start the control")?;
        Ok(Self {
            sender,
            receiver,
            shared,
        })
    }

    /// Ends it; what it found.
    pub(super) fn stop(self) -> Found {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.sender.join();
        let late_ns = self.receiver.join();
        let sent_ns = self.shared.sent_ns.iter();
        Found {
            messages: sent_ns
                .map(|it| it.load(Ordering::Relaxed))
                .zip(late_ns)
                .collect(),
        }
    }
}

impl Found {
    /// Of the messages that were sent within any of these times (from, to; CLOCK_MONOTONIC,
    /// nanoseconds). None if there are none.
    pub(super) fn within(&self, windows: &[(u64, u64)]) -> Option<Figures> {
        let is_inside = |sent_ns: u64| {
            windows
                .iter()
                .any(|(from_ns, to_ns)| (*from_ns..=*to_ns).contains(&sent_ns))
        };
        let inside = self
            .messages
            .iter()
            .filter(|(sent_ns, _)| is_inside(*sent_ns));
        figures(inside.map(|(_, late_ns)| *late_ns).collect())
    }
}

impl Shared {
    fn send(&self, period_ns: u64) {
        let clock = Monotonic;
        let mut due_ns = clock.now_ns() / period_ns * period_ns + period_ns / 2;
        for (index, sent_ns) in self.sent_ns.iter().enumerate() {
            due_ns += period_ns;
            clock.sleep_until(due_ns);
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            sent_ns.store(clock.now_ns(), Ordering::Relaxed);
            // Pairs with Acquire in `receive`: publishes the time.
            self.count.store(index + 1, Ordering::Release);
            self.event.set();
        }
        // Pairs with Acquire in `receive`: the count is whole.
        self.is_over.store(true, Ordering::Release);
        self.event.set();
    }

    /// How late each message was taken; those that came while another was taken all at once.
    fn receive(&self) -> Vec<u64> {
        let clock = Monotonic;
        let mut late_ns = Vec::with_capacity(self.sent_ns.len());
        loop {
            self.event.wait();
            let is_over = self.is_over.load(Ordering::Acquire);
            let count = self.count.load(Ordering::Acquire);
            let now_ns = clock.now_ns();
            for sent_ns in &self.sent_ns[late_ns.len()..count] {
                late_ns.push(now_ns - sent_ns.load(Ordering::Relaxed));
            }
            if is_over {
                return late_ns;
            }
        }
    }
}

fn figures(mut late_ns: Vec<u64>) -> Option<Figures> {
    late_ns.sort_unstable();
    let at = |per_mille: usize| {
        let rank = (late_ns.len() * per_mille).div_ceil(1000);
        late_ns.get(rank.saturating_sub(1)).copied()
    };
    Some(Figures {
        samples: late_ns.len(),
        p50_ns: at(500)?,
        p999_ns: at(999)?,
        max_ns: at(1000)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_least_value_that_so_many_do_not_exceed() {
        let found = figures((1..=2000).rev().collect()).unwrap();
        let expected = Figures {
            samples: 2000,
            p50_ns: 1000,
            p999_ns: 1998,
            max_ns: 2000,
        };
        assert_eq!(found, expected);
        assert_eq!(figures(Vec::new()), None);
        assert_eq!(figures(vec![7]).unwrap().p50_ns, 7);
    }

    #[test]
    fn every_message_of_the_window_is_taken_and_no_other_counts() {
        let clock = Monotonic;
        let start = || Control::start(Policy::Other { nice: 0 }, 100_000, 50).unwrap();
        let from_ns = clock.now_ns();
        let control = start();
        while !control.sender.is_finished() {
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        let found = control.stop();
        let half_ns = found.messages[25].0;
        let all = found.within(&[(from_ns, half_ns - 1), (half_ns, clock.now_ns())]);
        let all = all.unwrap();
        assert_eq!(all.samples, 50);
        assert!(all.p50_ns <= all.p999_ns && all.p999_ns <= all.max_ns);
        assert_eq!(found.within(&[(from_ns, half_ns)]).unwrap().samples, 26);
        assert_eq!(start().stop().within(&[(0, 0)]), None);
    }
}
