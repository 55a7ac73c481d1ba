// SPDX-License-Identifier: Apache-2.0
//! [`Vsync`]: the display's beat, for who asked for the next one.

/// So many receivers; an application has a Choreographer for each looper with views.
const RECEIVERS_MAX: usize = 64;

/// Beats at multiples of a period, from the clock's zero on.
#[derive(Debug)]
pub struct Vsync {
    period_ns: u64,
    /// Who waits for the next beat, once each.
    waiting: Vec<u64>,
    /// When that beat is; none if nobody waits.
    due_ns: Option<u64>,
}

/// One beat for one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Who asked for it.
    pub receiver: u64,
    /// When the beat was.
    pub at_ns: u64,
    /// Its number: how many periods after the clock's zero.
    pub number: u64,
}

impl Vsync {
    /// Beats for a display.
    pub fn new(refresh_hz: u32) -> Self {
        Self {
            period_ns: 1_000_000_000 / u64::from(refresh_hz.max(1)),
            waiting: Vec::with_capacity(RECEIVERS_MAX),
            due_ns: None,
        }
    }

    /// Between two beats.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// A receiver wants the next beat; false if too many wait.
    pub fn request(&mut self, receiver: u64, now_ns: u64) -> bool {
        if self.waiting.contains(&receiver) {
            return true;
        }
        if self.waiting.len() == RECEIVERS_MAX {
            return false;
        }
        self.waiting.push(receiver);
        self.due_ns
            .get_or_insert((now_ns / self.period_ns + 1) * self.period_ns);
        true
    }

    /// A receiver is gone.
    pub fn forget(&mut self, receiver: u64) {
        self.waiting.retain(|it| *it != receiver);
        if self.waiting.is_empty() {
            self.due_ns = None;
        }
    }

    /// Does nobody wait?
    pub fn is_quiet(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When somebody must hear of the next beat.
    pub fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// The next who hears of a beat that is over. A beat that was missed is not made up for: its
    /// receivers get the latest one.
    pub fn next(&mut self, now_ns: u64) -> Option<Tick> {
        if now_ns < self.due_ns? {
            return None;
        }
        let number = now_ns / self.period_ns;
        let receiver = self.waiting.pop()?;
        if self.waiting.is_empty() {
            self.due_ns = None;
        }
        Some(Tick {
            receiver,
            at_ns: number * self.period_ns,
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_for_who_asked_and_once() {
        let mut vsync = Vsync::new(100);
        assert!(vsync.is_quiet());
        assert!(vsync.request(1, 3) && vsync.request(1, 4));
        assert_eq!(vsync.due_ns(), Some(10_000_000));
        assert_eq!(vsync.next(9_999_999), None);
        let tick = Tick {
            receiver: 1,
            at_ns: 10_000_000,
            number: 1,
        };
        assert_eq!(vsync.next(10_000_001), Some(tick));
        assert_eq!(vsync.next(10_000_001), None);
        assert!(vsync.is_quiet() && vsync.due_ns().is_none());
    }

    #[test]
    fn missed_beats_are_one() {
        let mut vsync = Vsync::new(100);
        vsync.request(7, 0);
        assert_eq!(vsync.next(55_000_000).map(|it| it.number), Some(5));
        vsync.request(7, 55_000_000);
        vsync.forget(7);
        assert_eq!(vsync.next(99_000_000), None);
    }

    #[test]
    fn receivers_are_bounded() {
        let mut vsync = Vsync::new(60);
        assert!((0..RECEIVERS_MAX as u64).all(|it| vsync.request(it, 0)));
        assert!(!vsync.request(1_000, 0));
    }
}
