// SPDX-License-Identifier: Apache-2.0
//! [`Pacer`]: the hardware pointer of a device that is none: it moves with the clock.
//!
//! It stands when it reaches the limit, as a card's does at an underrun.

use rt::clock::Clock;

use crate::device::DeviceError;
use crate::published::Timestamp;

/// Frames since the device was opened, as far as time has carried the pointer.
#[derive(Debug)]
pub(super) struct Pacer<C> {
    clock: C,
    rate: u64,
    /// The pointer when it began to move.
    base: u64,
    /// When that was; `None` while it stands.
    since_ns: Option<u64>,
}

impl<C: Clock> Pacer<C> {
    pub(super) fn new(clock: C, rate: u32) -> Self {
        Self {
            clock,
            rate: rate.into(),
            base: 0,
            since_ns: None,
        }
    }

    /// Moves from where it stands.
    pub(super) fn run(&mut self) {
        if self.since_ns.is_none() {
            self.since_ns = Some(self.clock.now_ns());
        }
    }

    /// The pointer now; it stands at `limit` if it gets there with time to spare, and says so once.
    pub(super) fn position(&mut self, limit: u64) -> Result<Timestamp, DeviceError> {
        let at = self.now();
        if at.frames > limit {
            self.stand_at(limit);
            return Err(DeviceError::Xrun);
        }
        Ok(at)
    }

    /// Stands still.
    pub(super) fn halt(&mut self, limit: u64) {
        let frames = self.now().frames.min(limit);
        self.stand_at(frames);
    }

    /// Stands at this frame.
    pub(super) fn stand_at(&mut self, frames: u64) {
        self.base = frames;
        self.since_ns = None;
    }

    /// Sleeps until the pointer is at `frames`, at most until `due_ns`.
    pub(super) fn wait(&self, frames: u64, due_ns: u64) {
        let reached_ns = self.since_ns.map_or(due_ns, |since_ns| {
            let ahead = frames.saturating_sub(self.base);
            since_ns + (ahead * 1_000_000_000).div_ceil(self.rate)
        });
        self.clock.sleep_until(reached_ns.min(due_ns));
    }

    fn now(&self) -> Timestamp {
        let time_ns = self.clock.now_ns();
        let passed_ns = self.since_ns.map_or(0, |it| time_ns.saturating_sub(it));
        // Whole seconds apart: the product of nanoseconds and a rate ends after a day.
        let (seconds, rest_ns) = (passed_ns / 1_000_000_000, passed_ns % 1_000_000_000);
        Timestamp {
            frames: self.base + seconds * self.rate + rest_ns * self.rate / 1_000_000_000,
            time_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use rt::clock::Virtual;

    use super::*;

    #[test]
    fn it_moves_with_the_clock_and_stands_at_the_limit() {
        let mut pacer = Pacer::new(Virtual::at(5), 48_000);
        pacer.wait(64, 1_000);
        assert_eq!(pacer.position(128).unwrap().frames, 0, "it stands");
        pacer.run();
        pacer.wait(64, u64::MAX);
        let at = pacer.position(128).unwrap();
        assert_eq!((at.frames, at.time_ns), (64, 1_000 + 1_333_334));
        pacer.wait(128, u64::MAX);
        assert_eq!(
            pacer.position(128).unwrap().frames,
            128,
            "at the end, not past it"
        );
        pacer.wait(129, u64::MAX);
        assert_eq!(pacer.position(128), Err(DeviceError::Xrun));
        pacer.clock.advance(1_000_000);
        assert_eq!(pacer.position(128).unwrap().frames, 128, "said once");
        pacer.run();
        pacer.clock.advance(3 * 1_000_000_000);
        assert_eq!(pacer.position(u64::MAX).unwrap().frames, 128 + 144_000);
    }
}
