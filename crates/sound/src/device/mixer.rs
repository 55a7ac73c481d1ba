// SPDX-License-Identifier: Apache-2.0
//! A device that several streams of this process share: what they write is added up.
//!
//! A [`Mixer`] has the true device, with a stream and a thread of its own. Each burst it takes
//! what every part has ready, and adds. The true device's two bursts come on top of what a part's
//! pointer says. A part that has nothing ready ran dry and stands, and the others play on. The
//! mixer lives as long as one of its parts. Other processes do not take part.
//!
//! Lock order: mixers, the list of parts, a part's frames. The mixer's thread holds the last two
//! for a burst at most.

use std::sync::{Arc, Weak};

use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use rt::sync::PiMutex;

use crate::device::queue::{Ends, Queue, Shared, load};
use crate::device::resample::Resampling;
use crate::device::{Backend, DeviceError, Direction, Feature, Granted, Wanted};
use crate::format::Format;
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
        if part.is_moving() {
            part.add(bytes, call.frames.into(), now_ns);
        }
    }
    for sample in bytes.chunks_exact_mut(SAMPLE_BYTES) {
        let value = load(sample).clamp(-1.0, 1.0);
        sample.copy_from_slice(&value.to_le_bytes());
    }
    Flow::Continue
}

/// A stream's place in a mixer.
pub(super) struct Part {
    mixer: Arc<Mixer>,
    shared: Arc<Shared>,
}

/// Opens a stream's share of the device.
pub(super) fn open(
    backend: &Backend,
    plan: &Granted,
    wanted: &Wanted,
) -> Result<Queue<Part>, DeviceError> {
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
    let room = room as usize + 4 * true_device.burst as usize + 4 * burst;
    let ends = Ends::new(room, channels);
    let mut parts = mixer.parts.lock();
    if parts.len() == PARTS_MAX {
        let why = "the mixer has no room for another stream";
        return Err(DeviceError::Unavailable(why.to_owned()));
    }
    let shared = Arc::clone(&ends.shared);
    parts.push(Arc::clone(&shared));
    drop(parts);
    Ok(ends.kept(
        granted,
        true_device.rate,
        resampling,
        Part { mixer, shared },
    ))
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
