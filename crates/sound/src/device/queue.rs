// SPDX-License-Identifier: Apache-2.0
//! [`Queue`]: an output whose frames another thread takes, as a mixer does or a sound server.
//!
//! Its pointer stands where the taker has taken frames up to, so what an application sees is its
//! own buffer; what the taker needs comes on top. A queue that has not all that the taker wants
//! gives what it has, ran dry and stands.
//!
//! The lock of a queue's frames is held for what is taken at once at most.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use rt::clock::{Clock as _, Monotonic};
use rt::sync::spsc::{self, Receiver, Sender};
use rt::sync::{Event, PiMutex};

use crate::device::resample::Resampling;
use crate::device::{Device, DeviceError, Granted};
use crate::format::{Format, convert};
use crate::published::Timestamp;

const SAMPLE_BYTES: usize = Format::F32.bytes();

/// Between a stream and who takes its frames.
#[derive(Debug)]
pub(super) struct Shared {
    frames: PiMutex<Ready>,
    /// Frames that went into the queue.
    pushed: AtomicU64,
    is_moving: AtomicBool,
    is_dry: AtomicBool,
    is_gone: AtomicBool,
    /// Frames of the taker's rate that were taken; when they last were.
    taken: AtomicU64,
    taken_ns: AtomicU64,
    took: Event,
    channels: usize,
}

/// What may be taken.
#[derive(Debug)]
struct Ready {
    queue: Receiver<f32>,
    /// Frames that left it.
    popped: u64,
}

impl Shared {
    /// Is there something to take?
    pub(super) fn is_moving(&self) -> bool {
        self.is_moving.load(Acquire)
    }

    /// Adds so many frames to samples, or what there is of them.
    pub(super) fn add(&self, bytes: &mut [u8], frames: u64, now_ns: u64) {
        let mut ready = self.frames.lock();
        let frame_bytes = self.channels * SAMPLE_BYTES;
        // Pairs with Release in `push`: whole frames alone.
        let count = (self.pushed.load(Acquire) - ready.popped).min(frames);
        for sample in bytes[..count as usize * frame_bytes].chunks_exact_mut(SAMPLE_BYTES) {
            let value = load(sample) + ready.queue.try_pop().unwrap_or(0.0);
            sample.copy_from_slice(&value.to_le_bytes());
        }
        ready.popped += count;
        drop(ready);
        self.taken_ns.store(now_ns, Relaxed);
        // Pairs with Acquire in `Queue::pointer`.
        self.taken.fetch_add(count, Release);
        if count < frames {
            self.is_moving.store(false, Relaxed);
            self.is_dry.store(true, Release);
        }
        self.took.set();
    }

    /// Nobody takes any more.
    #[cfg_attr(
        not(feature = "pipewire"),
        expect(dead_code, reason = "a mixer does not end")
    )]
    pub(super) fn end(&self) {
        self.is_gone.store(true, Release);
        self.took.set();
    }

    /// Frames into the queue; there is room for a buffer's.
    fn push(&self, ready: &mut Sender<f32>, samples: &[f32]) {
        for sample in samples {
            let is_in = ready.try_push(*sample).is_ok();
            assert!(is_in, "the queue holds more than the buffer");
        }
        let frames = samples.len() / self.channels;
        // Pairs with Acquire in `add`.
        self.pushed.fetch_add(frames as u64, Release);
    }
}

/// A sample as it lies in a buffer.
pub(super) fn load(sample: &[u8]) -> f32 {
    f32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]])
}

/// The stream's end. What keeps the other one goes with it.
pub(super) struct Queue<K> {
    shared: Arc<Shared>,
    granted: Granted,
    /// Frames a second of the taker.
    rate: u64,
    ready: Sender<f32>,
    resampling: Option<Resampling>,
    /// Samples of a write, as floats.
    samples: Vec<f32>,
    /// Frames that the application wrote.
    moved: u64,
    /// The application's frame and the taker's where both last were the same.
    base: u64,
    taken_base: u64,
    _keeper: K,
}

/// A queue that nobody keeps yet.
pub(super) struct Ends {
    pub(super) shared: Arc<Shared>,
    ready: Sender<f32>,
}

impl Ends {
    /// With room for so many frames.
    pub(super) fn new(frames: usize, channels: usize) -> Self {
        let (ready, queue) = spsc::queue(frames * channels);
        let shared = Arc::new(Shared {
            frames: PiMutex::new(Ready { queue, popped: 0 }),
            pushed: AtomicU64::new(0),
            is_moving: AtomicBool::new(false),
            is_dry: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            taken_ns: AtomicU64::new(0),
            took: Event::new(),
            channels,
        });
        Self { shared, ready }
    }

    /// For a taker of this rate. There must be room for the buffer and what a resampler adds.
    pub(super) fn kept<K>(
        self,
        granted: Granted,
        rate: u32,
        resampling: Option<Resampling>,
        keeper: K,
    ) -> Queue<K> {
        let samples = granted.capacity as usize * granted.channels as usize;
        Queue {
            shared: self.shared,
            granted,
            rate: rate.into(),
            ready: self.ready,
            resampling,
            samples: vec![0.0; samples],
            moved: 0,
            base: 0,
            taken_base: 0,
            _keeper: keeper,
        }
    }
}

impl<K> Queue<K> {
    /// The application's frame that all before was taken of.
    fn pointer(&self) -> u64 {
        let taken = self.shared.taken.load(Acquire) - self.taken_base;
        let frames = self.base + taken * u64::from(self.granted.rate) / self.rate;
        frames.min(self.moved)
    }

    /// Both are where the application is.
    fn meet(&mut self) {
        self.base = self.moved;
        self.taken_base = self.shared.taken.load(Acquire);
    }
}

impl<K: Send> Device for Queue<K> {
    fn granted(&self) -> Granted {
        self.granted
    }

    fn position(&mut self) -> Result<Timestamp, DeviceError> {
        if self.shared.is_gone.load(Acquire) {
            return Err(DeviceError::Disconnected);
        }
        if self.shared.is_dry.swap(false, Acquire) {
            self.meet();
            return Err(DeviceError::Xrun);
        }
        let taken_ns = self.shared.taken_ns.load(Relaxed);
        Ok(Timestamp {
            frames: self.pointer(),
            time_ns: if taken_ns == 0 {
                Monotonic.now_ns()
            } else {
                taken_ns
            },
        })
    }

    fn run(&mut self) -> Result<bool, DeviceError> {
        if self.shared.is_moving.load(Relaxed) {
            return Ok(true);
        }
        let is_ready = self.position()?.frames < self.moved;
        if is_ready {
            self.shared.is_moving.store(true, Release);
        }
        Ok(is_ready)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, DeviceError> {
        let room = u64::from(self.granted.capacity) - (self.moved - self.position()?.frames);
        let channels = self.granted.channels as usize;
        let frames = (bytes.len() / self.granted.frame_bytes()).min(room as usize);
        let samples = &mut self.samples[..frames * channels];
        for (sample, from) in samples
            .iter_mut()
            .zip(bytes.chunks_exact(self.granted.format.bytes()))
        {
            let mut value = [0; SAMPLE_BYTES];
            convert(self.granted.format, from, Format::F32, &mut value);
            *sample = f32::from_le_bytes(value);
        }
        let (shared, ready) = (&self.shared, &mut self.ready);
        match &mut self.resampling {
            None => shared.push(ready, samples),
            Some(resampling) => resampling.feed(samples, |made| shared.push(ready, made)),
        }
        self.moved += frames as u64;
        Ok(frames)
    }

    fn read(&mut self, _: &mut [u8]) -> Result<usize, DeviceError> {
        Ok(0)
    }

    fn halt(&mut self) {
        self.shared.is_moving.store(false, Release);
    }

    fn discard(&mut self) -> u64 {
        self.halt();
        let mut frames = self.shared.frames.lock();
        while frames.queue.try_pop().is_some() {}
        frames.popped = self.shared.pushed.load(Relaxed);
        drop(frames);
        self.shared.is_dry.store(false, Relaxed);
        if let Some(resampling) = &mut self.resampling {
            resampling.reset();
        }
        self.meet();
        self.moved
    }

    fn wait(&mut self, frames: u64, due_ns: u64) {
        while self.shared.is_moving.load(Relaxed)
            && !self.shared.is_gone.load(Acquire)
            && self.pointer() < frames
            && Monotonic.now_ns() < due_ns
        {
            let _woken = self.shared.took.wait_until(due_ns);
        }
    }
}
