// SPDX-License-Identifier: Apache-2.0
//! [`Null`]: takes frames and gives silence, paced by the monotonic clock. For machines without a
//! card, and for tests: its underruns are those that a card would have.

use rt::clock::Monotonic;

use crate::device::pacer::Pacer;
use crate::device::{Device, DeviceError, Direction, Granted};
use crate::published::Timestamp;

pub(super) struct Null {
    granted: Granted,
    pacer: Pacer<Monotonic>,
    /// Frames that the application wrote or read.
    moved: u64,
}

impl Null {
    pub(super) fn open(granted: Granted) -> Self {
        Self {
            granted,
            pacer: Pacer::new(Monotonic, granted.rate),
            moved: 0,
        }
    }

    /// Where the pointer may not pass.
    fn limit(&self) -> u64 {
        match self.granted.direction {
            Direction::Output => self.moved,
            Direction::Input => self.moved + u64::from(self.granted.capacity),
        }
    }
}

impl Device for Null {
    fn granted(&self) -> Granted {
        self.granted
    }

    fn position(&mut self) -> Result<Timestamp, DeviceError> {
        self.pacer.position(self.limit())
    }

    fn run(&mut self) -> Result<bool, DeviceError> {
        let is_ready = self.position()?.frames < self.limit();
        if is_ready {
            self.pacer.run();
        }
        Ok(is_ready)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, DeviceError> {
        let fill = self.moved - self.position()?.frames;
        let room = u64::from(self.granted.capacity) - fill;
        let frames = (bytes.len() / self.granted.frame_bytes()).min(room as usize);
        self.moved += frames as u64;
        Ok(frames)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, DeviceError> {
        let fill = self.position()?.frames - self.moved;
        let frame_bytes = self.granted.frame_bytes();
        let frames = (bytes.len() / frame_bytes).min(fill as usize);
        bytes[..frames * frame_bytes].fill(0);
        self.moved += frames as u64;
        Ok(frames)
    }

    fn halt(&mut self) {
        self.pacer.halt(self.limit());
    }

    fn discard(&mut self) -> u64 {
        // An output's pointer moves past what is dropped, an input's application does.
        if self.granted.direction == Direction::Input {
            self.halt();
            self.moved = self.position().map_or(self.moved, |at| at.frames);
        }
        self.pacer.stand_at(self.moved);
        self.moved
    }

    fn wait(&mut self, frames: u64, due_ns: u64) {
        self.pacer.wait(frames, due_ns);
    }
}
