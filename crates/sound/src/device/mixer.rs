// SPDX-License-Identifier: Apache-2.0
//! [`Part`]: a device that several streams of this process share: what they write is added up.
//!
//! A [`Mixer`] has the true device, with a stream and a thread of its own. Each burst it takes
//! what every part has ready, and adds. A part's pointer stands where the mixer has taken frames
//! up to, so what an application sees is its own buffer; the true device's two bursts come on top.
//! A part that has nothing ready ran dry and stands, and the others play on. The mixer lives as
//! long as one of its parts. Other processes do not take part.
//!
//! Lock order: mixers, the list of parts, a part's frames. The mixer's thread holds the last two
//! for a burst at most.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Weak};

use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use rt::sync::spsc::{self, Receiver, Sender};
use rt::sync::{Event, PiMutex};

use crate::device::resample::Resampling;
use crate::device::{Backend, Device, DeviceError, Direction, Feature, Granted, Wanted};
use crate::format::{Format, convert};
use crate::published::Timestamp;
use crate::stream::{Call, Flow, Playback, Stream};

/// Streams on one device: more than anybody hears apart.
const PARTS_MAX: usize = 32;
/// Above the streams that it takes frames from.
const MIXING: Policy = Policy::fifo(81);
const SAMPLE_BYTES: usize = Format::F32.bytes();

static MIXERS: PiMutex<Vec<(Backend, Weak<Mixer>)>> = PiMutex::new(Vec::new());

struct Mixer {
    granted: Granted,
    parts: Arc<PiMutex<Vec<Arc<Shared>>>>,
    /// Ends with the mixer.
    _stream: Stream,
}

/// Between a part and the mixer.
#[derive(Debug)]
struct Shared {
    frames: PiMutex<Ready>,
    /// Frames that went into the queue.
    pushed: AtomicU64,
    is_moving: AtomicBool,
    is_dry: AtomicBool,
    /// Frames of the device's rate that the mixer took; when it last did.
    taken: AtomicU64,
    taken_ns: AtomicU64,
    took: Event,
    channels: usize,
}

/// What the mixer may take.
#[derive(Debug)]
struct Ready {
    queue: Receiver<f32>,
    /// Frames that left it.
    popped: u64,
}

impl Mixer {
    /// The one of this device; opened if there is none.
    fn of(backend: &Backend, rate: Option<u32>) -> Result<Arc<Self>, DeviceError> {
        let mut mixers = MIXERS.lock();
        mixers.retain(|(_, mixer)| mixer.strong_count() > 0);
        let known = mixers.iter().find(|(of, _)| of == backend);
        if let Some(mixer) = known.and_then(|(_, mixer)| mixer.upgrade()) {
            return Ok(mixer);
        }
        let mixer = Arc::new(Self::open(backend, rate)?);
        mixers.push((backend.clone(), Arc::downgrade(&mixer)));
        Ok(mixer)
    }

    fn open(backend: &Backend, rate: Option<u32>) -> Result<Self, DeviceError> {
        let parts = Arc::new(PiMutex::new(Vec::<Arc<Shared>>::with_capacity(PARTS_MAX)));
        let mixed = Arc::clone(&parts);
        let playback = Playback {
            callback: Box::new(move |bytes, call| mix(&mixed.lock(), bytes, call)),
            frames: None,
            policy: Some(MIXING),
            reserve: None,
            governor: None,
        };
        let wanted = Wanted {
            direction: Direction::Output,
            rate,
            channels: None,
            format: Some(Format::F32),
            capacity: None,
        };
        let stream = Stream::open(backend, &wanted, Some(playback), None)?;
        let unavailable = |error: &dyn std::fmt::Display| {
            DeviceError::Unavailable(format!("the mixer does not start: {error}"))
        };
        stream.start().map_err(|error| unavailable(&error))?;
        Ok(Self {
            granted: stream.granted(),
            parts,
            _stream: stream,
        })
    }
}

/// A burst: the sum of all parts, clipped.
fn mix(parts: &[Arc<Shared>], bytes: &mut [u8], call: Call) -> Flow {
    let now_ns = Monotonic.now_ns();
    for part in parts {
        if part.is_moving.load(Acquire) {
            part.add(bytes, call.frames, now_ns);
        }
    }
    for sample in bytes.chunks_exact_mut(SAMPLE_BYTES) {
        let value = load(sample).clamp(-1.0, 1.0);
        sample.copy_from_slice(&value.to_le_bytes());
    }
    Flow::Continue
}

fn load(sample: &[u8]) -> f32 {
    f32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]])
}

impl Shared {
    /// Adds a burst of this part, or what there is of it.
    fn add(&self, bytes: &mut [u8], frames: u32, now_ns: u64) {
        let mut ready = self.frames.lock();
        let frame_bytes = self.channels * SAMPLE_BYTES;
        // Pairs with Release in `Part::push`: whole frames alone.
        let count = (self.pushed.load(Acquire) - ready.popped).min(frames.into());
        for sample in bytes[..count as usize * frame_bytes].chunks_exact_mut(SAMPLE_BYTES) {
            let value = load(sample) + ready.queue.try_pop().unwrap_or(0.0);
            sample.copy_from_slice(&value.to_le_bytes());
        }
        ready.popped += count;
        drop(ready);
        self.taken_ns.store(now_ns, Relaxed);
        // Pairs with Acquire in `Part::position`.
        self.taken.fetch_add(count, Release);
        if count < u64::from(frames) {
            self.is_moving.store(false, Relaxed);
            self.is_dry.store(true, Release);
        }
        self.took.set();
    }
}

/// One stream's share of the device.
pub(super) struct Part {
    mixer: Arc<Mixer>,
    shared: Arc<Shared>,
    granted: Granted,
    ready: Sender<f32>,
    resampling: Option<Resampling>,
    /// Samples of a write, as floats.
    samples: Vec<f32>,
    /// Frames that the application wrote.
    moved: u64,
    /// The application's frame and the mixer's where both last were the same.
    base: u64,
    taken_base: u64,
}

impl Part {
    pub(super) fn open(
        backend: &Backend,
        plan: &Granted,
        wanted: &Wanted,
    ) -> Result<Self, DeviceError> {
        if plan.direction == Direction::Input {
            let why = "a mixer records nothing: not supported";
            return Err(DeviceError::Unavailable(why.to_owned()));
        }
        let mixer = Mixer::of(backend, wanted.rate)?;
        let true_device = mixer.granted;
        let rate = wanted.rate.unwrap_or(true_device.rate);
        let granted = Granted {
            rate,
            channels: true_device.channels,
            hardware_format: Format::F32,
            ..*plan
        };
        if wanted.channels.is_some_and(|it| it != granted.channels) {
            return Err(DeviceError::Unsupported(Feature::Channels));
        }
        let (burst, channels) = (granted.burst as usize, granted.channels as usize);
        let resampling = match rate == true_device.rate {
            true => None,
            false => Some(Resampling::new(rate, true_device.rate, burst, channels)?),
        };
        // The buffer, and what a resampler has more.
        let room = u64::from(granted.capacity) * u64::from(true_device.rate) / u64::from(rate);
        let room = (room as usize + 4 * true_device.burst as usize + 4 * burst) * channels;
        let (ready, queue) = spsc::queue(room);
        let shared = Arc::new(Shared {
            frames: PiMutex::new(Ready { queue, popped: 0 }),
            pushed: AtomicU64::new(0),
            is_moving: AtomicBool::new(false),
            is_dry: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            taken_ns: AtomicU64::new(0),
            took: Event::new(),
            channels,
        });
        let mut parts = mixer.parts.lock();
        if parts.len() == PARTS_MAX {
            let why = "the mixer has no room for another stream";
            return Err(DeviceError::Unavailable(why.to_owned()));
        }
        parts.push(Arc::clone(&shared));
        drop(parts);
        Ok(Self {
            shared,
            granted,
            ready,
            resampling,
            samples: vec![0.0; granted.capacity as usize * channels],
            moved: 0,
            base: 0,
            taken_base: 0,
            mixer,
        })
    }

    /// The application's frame that the mixer has taken all before.
    fn pointer(&self) -> u64 {
        let taken = self.shared.taken.load(Acquire) - self.taken_base;
        let rate = u64::from(self.mixer.granted.rate);
        let frames = self.base + taken * u64::from(self.granted.rate) / rate;
        frames.min(self.moved)
    }

    /// Both are where the application is.
    fn meet(&mut self) {
        self.base = self.moved;
        self.taken_base = self.shared.taken.load(Acquire);
    }

    /// Frames into the queue; there is room for a buffer's.
    fn push(shared: &Shared, ready: &mut Sender<f32>, samples: &[f32]) {
        for sample in samples {
            let is_in = ready.try_push(*sample).is_ok();
            assert!(is_in, "the queue holds more than the buffer");
        }
        let frames = samples.len() / shared.channels;
        // Pairs with Acquire in `Shared::add`.
        shared.pushed.fetch_add(frames as u64, Release);
    }
}

impl Device for Part {
    fn granted(&self) -> Granted {
        self.granted
    }

    fn position(&mut self) -> Result<Timestamp, DeviceError> {
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
            None => Self::push(shared, ready, samples),
            Some(resampling) => resampling.feed(samples, |made| Self::push(shared, ready, made)),
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
            && self.pointer() < frames
            && Monotonic.now_ns() < due_ns
        {
            let _woken = self.shared.took.wait_until(due_ns);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut parts = self.mixer.parts.lock();
        let place = parts.iter().position(|it| Arc::ptr_eq(it, &self.shared));
        let gone = place.map(|it| parts.swap_remove(it));
        drop(parts);
        drop(gone);
    }
}
