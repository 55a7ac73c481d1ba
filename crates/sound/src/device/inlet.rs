// SPDX-License-Identifier: Apache-2.0
//! [`Inlet`]: an input whose frames another thread gives, as a sound server does: [`queue`]'s
//! other way round.
//!
//! Its pointer stands where the giver has given frames up to. An inlet that has no room for all
//! that is given takes what fits, ran over and stands.
//!
//! The lock of the giver's end is held for what is given at once at most.
//!
//! [`queue`]: crate::device::queue

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use rt::clock::{Clock as _, Monotonic};
use rt::sync::spsc::{self, Receiver, Sender};
use rt::sync::{Event, PiMutex};

use crate::device::queue::load;
use crate::device::{Device, DeviceError, Granted};
use crate::format::{Format, convert};
use crate::published::Timestamp;

const SAMPLE_BYTES: usize = Format::F32.bytes();

/// Between who gives frames and a stream.
pub(super) struct Shared {
    giver: PiMutex<Sender<f32>>,
    is_moving: AtomicBool,
    is_over: AtomicBool,
    is_gone: AtomicBool,
    /// Frames that went in, and when they last did.
    given: AtomicU64,
    given_ns: AtomicU64,
    /// Frames that the application took, or dropped.
    moved: AtomicU64,
    gave: Event,
    channels: usize,
    /// Frames that there is room for.
    capacity: u64,
}

impl Shared {
    /// Takes whole frames, or what there is room for. What comes while it stands is passed over.
    pub(super) fn give(&self, bytes: &[u8], now_ns: u64) {
        let mut giver = self.giver.lock();
        if !self.is_moving.load(Acquire) {
            return;
        }
        let frame_bytes = self.channels * SAMPLE_BYTES;
        let frames = (bytes.len() / frame_bytes) as u64;
        // Pairs with Release in `read`: the places are empty.
        let fill = self.given.load(Relaxed) - self.moved.load(Acquire);
        let count = frames.min(self.capacity - fill);
        for sample in bytes[..count as usize * frame_bytes].chunks_exact(SAMPLE_BYTES) {
            let is_in = giver.try_push(load(sample)).is_ok();
            assert!(is_in, "the queue holds the buffer");
        }
        self.given_ns.store(now_ns, Relaxed);
        // Pairs with Acquire in `Inlet::pointer`: whole frames alone.
        self.given.fetch_add(count, Release);
        if count < frames {
            self.is_moving.store(false, Relaxed);
            self.is_over.store(true, Release);
        }
        drop(giver);
        self.gave.set();
    }

    /// Nobody gives any more.
    pub(super) fn end(&self) {
        self.is_gone.store(true, Release);
        self.gave.set();
    }
}

/// An inlet that nobody keeps yet.
pub(super) struct Ends {
    pub(super) shared: Arc<Shared>,
    taker: Receiver<f32>,
}

impl Ends {
    /// With room for so many frames.
    pub(super) fn new(frames: usize, channels: usize) -> Self {
        let (queue, taker) = spsc::queue(frames * channels);
        let shared = Arc::new(Shared {
            giver: PiMutex::new(queue),
            is_moving: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            given: AtomicU64::new(0),
            given_ns: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            gave: Event::new(),
            channels,
            capacity: frames as u64,
        });
        Self { shared, taker }
    }

    /// The stream's end; its capacity is at most the room.
    pub(super) fn kept<K>(self, granted: Granted, keeper: K) -> Inlet<K> {
        Inlet {
            shared: self.shared,
            taker: self.taker,
            granted,
            _keeper: keeper,
        }
    }
}

/// The stream's end. What keeps the other one goes with it.
pub(super) struct Inlet<K> {
    shared: Arc<Shared>,
    taker: Receiver<f32>,
    granted: Granted,
    _keeper: K,
}

impl<K> Inlet<K> {
    fn pointer(&self) -> u64 {
        self.shared.given.load(Acquire)
    }

    fn moved(&self) -> u64 {
        self.shared.moved.load(Relaxed)
    }
}

impl<K: Send> Device for Inlet<K> {
    fn granted(&self) -> Granted {
        self.granted
    }

    fn position(&mut self) -> Result<Timestamp, DeviceError> {
        if self.shared.is_gone.load(Acquire) {
            return Err(DeviceError::Disconnected);
        }
        if self.shared.is_over.swap(false, Acquire) {
            return Err(DeviceError::Xrun);
        }
        let given_ns = self.shared.given_ns.load(Relaxed);
        Ok(Timestamp {
            frames: self.pointer(),
            time_ns: if given_ns == 0 {
                Monotonic.now_ns()
            } else {
                given_ns
            },
        })
    }

    fn run(&mut self) -> Result<bool, DeviceError> {
        if self.shared.is_moving.load(Relaxed) {
            return Ok(true);
        }
        let is_ready = self.position()?.frames < self.moved() + self.shared.capacity;
        if is_ready {
            self.shared.is_moving.store(true, Release);
        }
        Ok(is_ready)
    }

    fn write(&mut self, _: &[u8]) -> Result<usize, DeviceError> {
        Ok(0)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, DeviceError> {
        let fill = self.position()?.frames - self.moved();
        let frames = (bytes.len() / self.granted.frame_bytes()).min(fill as usize);
        let samples = bytes.chunks_exact_mut(self.granted.format.bytes());
        for sample in samples.take(frames * self.granted.channels as usize) {
            let value = self.taker.try_pop().unwrap_or(0.0).to_le_bytes();
            convert(Format::F32, &value, self.granted.format, sample);
        }
        // Pairs with Acquire in `give`.
        self.shared.moved.fetch_add(frames as u64, Release);
        Ok(frames)
    }

    fn halt(&mut self) {
        self.shared.is_moving.store(false, Release);
    }

    fn discard(&mut self) -> u64 {
        // Nobody is giving while the lock is held, and nobody begins behind it.
        let giver = self.shared.giver.lock();
        self.shared.is_moving.store(false, Release);
        drop(giver);
        while self.taker.try_pop().is_some() {}
        self.shared.is_over.store(false, Relaxed);
        let frames = self.pointer();
        self.shared.moved.store(frames, Release);
        frames
    }

    fn wait(&mut self, frames: u64, due_ns: u64) {
        while self.shared.is_moving.load(Relaxed)
            && !self.shared.is_gone.load(Acquire)
            && self.pointer() < frames
            && Monotonic.now_ns() < due_ns
        {
            let _woken = self.shared.gave.wait_until(due_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Direction;

    fn bytes(frames: std::ops::Range<u32>) -> Vec<u8> {
        let sample = |it: u32| (it as f32 / 32_768.0).to_le_bytes();
        frames.flat_map(sample).collect()
    }

    #[test]
    fn what_is_given_comes_out_in_order_and_too_much_is_said_once() {
        let ends = Ends::new(8, 1);
        let shared = Arc::clone(&ends.shared);
        let granted = Granted {
            direction: Direction::Input,
            rate: 48_000,
            channels: 1,
            format: Format::I16,
            hardware_format: Format::F32,
            burst: 4,
            capacity: 8,
            is_mapped: false,
        };
        let mut inlet = ends.kept(granted, ());
        shared.give(&bytes(0..4), 1);
        assert_eq!(inlet.position().unwrap().frames, 0, "it stands");
        assert!(inlet.run().unwrap());
        shared.give(&bytes(0..4), 7);
        let at = inlet.position().unwrap();
        assert_eq!((at.frames, at.time_ns), (4, 7));
        let mut out = [0; 6];
        assert_eq!(inlet.read(&mut out), Ok(3));
        assert_eq!(out, [0, 0, 1, 0, 2, 0]);
        // Seven fit: the eighth of these has no place.
        shared.give(&bytes(4..12), 8);
        assert_eq!(inlet.position(), Err(DeviceError::Xrun));
        assert_eq!(inlet.position().unwrap().frames, 11);
        shared.give(&bytes(50..51), 9);
        assert_eq!(inlet.position().unwrap().frames, 11, "it stands");
        let mut out = [0; 32];
        assert_eq!(inlet.read(&mut out), Ok(8));
        assert_eq!(out[14], 10);
        assert!(inlet.run().unwrap());
        shared.give(&bytes(20..22), 10);
        assert_eq!(inlet.discard(), 13);
        assert_eq!(inlet.read(&mut out), Ok(0));
        assert!(inlet.run().unwrap());
        shared.give(&bytes(30..31), 11);
        assert_eq!(inlet.read(&mut out), Ok(1));
        assert_eq!(out[0], 30);
        shared.end();
        assert_eq!(inlet.read(&mut out), Err(DeviceError::Disconnected));
    }
}
