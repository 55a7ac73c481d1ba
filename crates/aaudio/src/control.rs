// SPDX-License-Identifier: Apache-2.0
//! [`AAudioStream`]: opens, moves and closes a stream; its frames.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use sound::{
    Backend, Call, Direction, Flow, Governor, Model, OnDisconnect, Playback, State, Stream, Wanted,
};

use crate::builder::AAudioStreamBuilder;
use crate::numbers::{
    Code, DISCONNECTED, ILLEGAL_ARGUMENT, INVALID_FORMAT, INVALID_RATE, INVALID_STATE,
    MODE_LOW_LATENCY, MODE_NONE, MODE_OFFLOADED, NULL, OK, OUT_OF_RANGE, POLICY_ALWAYS,
    POLICY_AUTO, SHARED, TIMEOUT, UNAVAILABLE, UNSPECIFIED, code_of, code_of_device, format_of,
};

/// `cpufreq`: what is reserved sets the processors' speed.
const GOVERNOR_VARIABLE: &str = "TAKT_SOUND_GOVERNOR";
/// What a stream of low latency asks for: above applications' threads, below the kernel's that
/// time and interrupts come from, where those are raised.
const LOW_LATENCY: Policy = Policy::fifo(80);

/// How mapped memory is wanted; as Android, for all streams.
static MMAP_POLICY: AtomicI32 = AtomicI32::new(POLICY_AUTO);
/// Sessions are numbered from one.
static SESSIONS: AtomicI32 = AtomicI32::new(1);

/// An open stream, with what was asked for. C knows its address alone.
#[derive(Debug)]
pub struct AAudioStream {
    pub(crate) stream: Stream,
    pub(crate) asked: AAudioStreamBuilder,
    pub(crate) session_id: i32,
    /// Why a governor that was asked for is not there.
    pub(crate) unsteered: Option<String>,
}

impl AAudioStream {
    /// What so many frames take, below 2³⁷; none if the number is negative.
    fn bytes_of(&self, frames: i32) -> Option<usize> {
        Some(usize::try_from(frames).ok()? * self.stream.granted().frame_bytes())
    }
}

/// Where a stream lies, for its callbacks: known before it can be started.
type Place = Arc<AtomicPtr<AAudioStream>>;

/// How mapped memory is wanted.
#[unsafe(no_mangle)]
pub extern "C" fn AAudio_getMMapPolicy() -> i32 {
    MMAP_POLICY.load(Ordering::Relaxed)
}

/// Says how mapped memory is wanted. A card always maps, so only "always" changes anything: a
/// device that does not map is refused.
#[unsafe(no_mangle)]
pub extern "C" fn AAudio_setMMapPolicy(policy: i32) -> Code {
    if !(UNSPECIFIED..=POLICY_ALWAYS).contains(&policy) {
        return ILLEGAL_ARGUMENT;
    }
    MMAP_POLICY.store(policy, Ordering::Relaxed);
    OK
}

/// Whether such devices map memory: cards do.
#[unsafe(no_mangle)]
pub extern "C" fn AAudio_getPlatformMMapPolicy(device: i32, direction: i32) -> i32 {
    let is_known = (1..=31).contains(&device) && (0..=1).contains(&direction);
    if is_known {
        POLICY_AUTO
    } else {
        ILLEGAL_ARGUMENT
    }
}

/// Whether they do for one client alone: so they always do.
#[unsafe(no_mangle)]
pub extern "C" fn AAudio_getPlatformMMapExclusivePolicy(device: i32, direction: i32) -> i32 {
    AAudio_getPlatformMMapPolicy(device, direction)
}

/// Opens a stream.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_openStream(
    builder: Option<&AAudioStreamBuilder>,
    stream: Option<&mut *mut AAudioStream>,
) -> Code {
    let (Some(builder), Some(target)) = (builder, stream) else {
        return NULL;
    };
    match open(builder) {
        Ok((opened, place)) => {
            *target = Box::into_raw(Box::new(opened));
            // Pairs with Acquire in the callbacks: their thread starts after this.
            place.store(*target, Ordering::Release);
            OK
        }
        Err(code) => {
            *target = std::ptr::null_mut();
            code
        }
    }
}

/// Who sets the processors' speed for a stream with a reservation, or why nobody does.
fn steered(builder: &AAudioStreamBuilder) -> Result<Option<Arc<Governor>>, String> {
    let name = std::env::var(GOVERNOR_VARIABLE).unwrap_or_default();
    match name.as_str() {
        "" => Ok(None),
        "cpufreq" if builder.is_reserved && builder.data.is_some() => {
            let governor = sound::steered::governor().map_err(|error| error.to_string());
            governor.map(Some)
        }
        "cpufreq" => Err("only a callback with a reservation has a governor".to_owned()),
        other => Err(format!(
            "{GOVERNOR_VARIABLE} is '{other}'; cpufreq is known"
        )),
    }
}

fn open(builder: &AAudioStreamBuilder) -> Result<(AAudioStream, Place), Code> {
    let wanted = wanted(builder)?;
    let (governor, unsteered) = match steered(builder) {
        Ok(governor) => (governor, None),
        Err(why) => (None, Some(why)),
    };
    let backend =
        Backend::of_environment(wanted.direction).map_err(|error| code_of_device(&error))?;
    let place = Place::default();
    let playback = builder.data.map(|(callback, data)| {
        let at = Arc::clone(&place);
        let call = move |bytes: &mut [u8], of: Call| {
            // The whole of it: a closure takes a pointer alone otherwise, which may not be sent.
            let data = &data;
            let stream = at.load(Ordering::Acquire);
            match callback(stream, data.0, bytes.as_mut_ptr().cast(), of.frames as i32) {
                0 => Flow::Continue,
                _ => Flow::Stop,
            }
        };
        Playback {
            callback: Box::new(call),
            frames: positive(builder.callback_frames),
            policy: (builder.performance_mode == MODE_LOW_LATENCY).then_some(LOW_LATENCY),
            reserve: builder.is_reserved.then_some(Model::Ours),
            governor,
        }
    });
    let on_disconnect = builder.error.map(|(callback, data)| {
        let at = Arc::clone(&place);
        Box::new(move || {
            let data = &data;
            callback(at.load(Ordering::Acquire), data.0, DISCONNECTED);
        }) as OnDisconnect
    });
    let stream = Stream::open(&backend, &wanted, playback, on_disconnect)
        .map_err(|error| code_of_device(&error))?;
    if AAudio_getMMapPolicy() == POLICY_ALWAYS && !stream.granted().is_mapped {
        return Err(UNAVAILABLE);
    }
    let session_id = match builder.session_id {
        0 => SESSIONS.fetch_add(1, Ordering::Relaxed),
        id => id,
    };
    let opened = AAudioStream {
        stream,
        asked: builder.clone(),
        session_id,
        unsteered,
    };
    Ok((opened, place))
}

/// What was asked for, if it means anything.
fn wanted(builder: &AAudioStreamBuilder) -> Result<Wanted, Code> {
    let numbers = [
        builder.device_id,
        builder.capacity,
        builder.channels,
        builder.callback_frames,
    ];
    if numbers.iter().any(|it| *it < 0) {
        return Err(OUT_OF_RANGE);
    }
    if builder.rate < 0 {
        return Err(INVALID_RATE);
    }
    let is_known = (0..=SHARED).contains(&builder.sharing_mode)
        && (MODE_NONE..=MODE_OFFLOADED).contains(&builder.performance_mode);
    if !is_known {
        return Err(ILLEGAL_ARGUMENT);
    }
    let direction = match builder.direction {
        0 => Direction::Output,
        1 => Direction::Input,
        _ => return Err(ILLEGAL_ARGUMENT),
    };
    let format = match builder.format {
        UNSPECIFIED => None,
        number => Some(format_of(number).ok_or(INVALID_FORMAT)?),
    };
    Ok(Wanted {
        direction,
        rate: positive(builder.rate),
        channels: positive(builder.channels),
        format,
        capacity: positive(builder.capacity),
    })
}

fn positive(number: i32) -> Option<u32> {
    u32::try_from(number).ok().filter(|it| *it > 0)
}

/// Gives the device back; queries still answer.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_release(stream: Option<&AAudioStream>) -> Code {
    stream.map_or(NULL, |it| code_of(it.stream.release()))
}

/// Ends a stream and frees it; from its own callback it is refused.
///
/// # Safety
///
/// `stream` is null or was given by `AAudioStreamBuilder_openStream`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AAudioStream_close(stream: Option<NonNull<AAudioStream>>) -> Code {
    let Some(stream) = stream else { return NULL };
    // SAFETY: the caller's obligation: it lives.
    if unsafe { stream.as_ref() }.stream.is_caller() {
        return INVALID_STATE;
    }
    // SAFETY:
    // 1. It was boxed in `AAudioStreamBuilder_openStream`.
    // 2. Nobody uses it any more, so it is freed once. Its callback's thread is joined in `drop`,
    //    while the box still stands.
    drop(unsafe { Box::from_raw(stream.as_ptr()) });
    OK
}

/// Moves.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_requestStart(stream: Option<&AAudioStream>) -> Code {
    stream.map_or(NULL, |it| code_of(it.stream.start()))
}

/// Stands, and keeps what was written.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_requestPause(stream: Option<&AAudioStream>) -> Code {
    stream.map_or(NULL, |it| code_of(it.stream.pause()))
}

/// Drops what was written.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_requestFlush(stream: Option<&AAudioStream>) -> Code {
    stream.map_or(NULL, |it| code_of(it.stream.flush()))
}

/// Plays what was written, and stands.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_requestStop(stream: Option<&AAudioStream>) -> Code {
    stream.map_or(NULL, |it| code_of(it.stream.stop()))
}

/// The state.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_getState(stream: Option<&AAudioStream>) -> i32 {
    stream.map_or(0, |it| it.stream.state() as i32)
}

/// Waits until the state is another than `seen`.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_waitForStateChange(
    stream: Option<&AAudioStream>,
    seen: i32,
    next: Option<&mut i32>,
    timeout_ns: i64,
) -> Code {
    let Some(it) = stream else { return NULL };
    let seen = u32::try_from(seen).ok().and_then(State::from_number);
    // A state that no stream is in: look, and do not wait.
    let (seen, due_ns) = match seen {
        Some(seen) => (seen, due(timeout_ns)),
        None => (State::Closed, 0),
    };
    let changed = it.stream.wait_for_change(seen, due_ns);
    if let Some(next) = next {
        *next = changed.clone().unwrap_or_else(|_| it.stream.state()) as i32;
    }
    if changed.is_ok() { OK } else { TIMEOUT }
}

/// Takt's own: how much work the next call back will have, in the application's unit, such as notes
/// that sound. The reservation follows before that call begins. The callback may say it too.
#[unsafe(no_mangle)]
pub extern "C" fn takt_AAudioStream_setWorkUnits(
    stream: Option<&AAudioStream>,
    units: i32,
) -> Code {
    let Some(it) = stream else { return NULL };
    let Ok(units) = u32::try_from(units) else {
        return ILLEGAL_ARGUMENT;
    };
    it.stream.set_work_units(units);
    OK
}

/// Plays frames; returns how many.
///
/// # Safety
///
/// `buffer` is null or holds so many frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AAudioStream_write(
    stream: Option<&AAudioStream>,
    buffer: *const c_void,
    frames: i32,
    timeout_ns: i64,
) -> i32 {
    let Some(it) = stream.filter(|_| !buffer.is_null()) else {
        return NULL;
    };
    let Some(size) = it.bytes_of(frames) else {
        return ILLEGAL_ARGUMENT;
    };
    // SAFETY: the caller's obligation; `size` is below 2³⁷.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), size) };
    match it.stream.write(bytes, due(timeout_ns)) {
        Ok(count) => count as i32,
        error => code_of(error),
    }
}

/// Records frames; returns how many.
///
/// # Safety
///
/// `buffer` is null or has room for so many frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AAudioStream_read(
    stream: Option<&AAudioStream>,
    buffer: *mut c_void,
    frames: i32,
    timeout_ns: i64,
) -> i32 {
    let Some(it) = stream.filter(|_| !buffer.is_null()) else {
        return NULL;
    };
    let Some(size) = it.bytes_of(frames) else {
        return ILLEGAL_ARGUMENT;
    };
    // SAFETY: the caller's obligation, and the bytes are only written to; `size` is below 2³⁷.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size) };
    match it.stream.read(bytes, due(timeout_ns)) {
        Ok(count) => count as i32,
        error => code_of(error),
    }
}

/// When so long a time is over; none has passed if it is not positive.
fn due(timeout_ns: i64) -> u64 {
    match u64::try_from(timeout_ns) {
        Ok(0) | Err(_) => 0,
        Ok(timeout_ns) => Monotonic.now_ns().saturating_add(timeout_ns),
    }
}
