// SPDX-License-Identifier: Apache-2.0
//! What became of a stream. Every answer is given without a wait, to a callback too; a null stream
//! gets `AAUDIO_ERROR_NULL` or nothing.

use std::ffi::c_char;

use rt::clock::{Clock as _, Monotonic, since_start_ns};
use sound::Direction;

use crate::control::AAudioStream;
use crate::numbers::{
    Code, EXCLUSIVE, ILLEGAL_ARGUMENT, INVALID_STATE, MODE_LOW_LATENCY, MODE_NONE, NULL, OK,
    OUT_OF_RANGE, UNIMPLEMENTED, number_of,
};

const CLOCK_MONOTONIC: i32 = 1;
const CLOCK_BOOTTIME: i32 = 7;

/// There is one device; its number.
const DEVICE: i32 = 1;

/// One function a question.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident($it:ident) -> $type:ty = $none:expr, $answer:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(stream: Option<&AAudioStream>) -> $type {
            stream.map_or($none, |$it| $answer)
        }
    )*};
}

getters! {
    /// Frames that may lie in the buffer.
    AAudioStream_getBufferSizeInFrames(it) -> i32 = NULL, it.stream.buffer_size() as i32;
    /// Frames of each call back; nothing if that was left open.
    AAudioStream_getFramesPerDataCallback(it) -> i32 = NULL, it.asked.callback_frames;
    /// Frames between two wake-ups.
    AAudioStream_getFramesPerBurst(it) -> i32 = NULL, it.stream.granted().burst as i32;
    /// Frames that the buffer holds.
    AAudioStream_getBufferCapacityInFrames(it) -> i32 = NULL, it.stream.granted().capacity as i32;
    /// Times that the hardware ran dry.
    AAudioStream_getXRunCount(it) -> i32 = NULL,
        i32::try_from(it.stream.xruns()).unwrap_or(i32::MAX);
    /// Frames a second.
    AAudioStream_getSampleRate(it) -> i32 = NULL, it.stream.granted().rate as i32;
    /// The same of the hardware: nothing is resampled.
    AAudioStream_getHardwareSampleRate(it) -> i32 = NULL, it.stream.granted().rate as i32;
    /// Samples of a frame.
    AAudioStream_getChannelCount(it) -> i32 = NULL, it.stream.granted().channels as i32;
    /// The same under its old name.
    AAudioStream_getSamplesPerFrame(it) -> i32 = NULL, it.stream.granted().channels as i32;
    /// The same of the hardware: nothing is mixed.
    AAudioStream_getHardwareChannelCount(it) -> i32 = NULL, it.stream.granted().channels as i32;
    /// The form of samples.
    AAudioStream_getFormat(it) -> i32 = NULL, number_of(it.stream.granted().format);
    /// The form that the hardware takes.
    AAudioStream_getHardwareFormat(it) -> i32 = NULL,
        number_of(it.stream.granted().hardware_format);
    /// The places of a frame's samples, if they were given.
    AAudioStream_getChannelMask(it) -> u32 = 0, it.asked.channel_mask;
    /// Low latency if it was asked for; of others there is one kind.
    AAudioStream_getPerformanceMode(it) -> i32 = NULL, match it.asked.performance_mode {
        MODE_LOW_LATENCY => MODE_LOW_LATENCY,
        _ => MODE_NONE,
    };
    /// Alone, whatever was asked for: there is no mixer.
    AAudioStream_getSharingMode(_it) -> i32 = NULL, EXCLUSIVE;
    /// The device.
    AAudioStream_getDeviceId(_it) -> i32 = NULL, DEVICE;
    /// Out or in.
    AAudioStream_getDirection(it) -> i32 = NULL, match it.stream.granted().direction {
        Direction::Output => 0,
        Direction::Input => 1,
    };
    /// What the sound is for, as it was said.
    AAudioStream_getUsage(it) -> i32 = NULL, it.asked.usage;
    /// What the sound is, as it was said.
    AAudioStream_getContentType(it) -> i32 = NULL, it.asked.content_type;
    /// As it was said.
    AAudioStream_getSpatializationBehavior(it) -> i32 = NULL, it.asked.spatialization;
    /// As it was said.
    AAudioStream_isContentSpatialized(it) -> bool = false, it.asked.is_spatialized;
    /// As it was said.
    AAudioStream_getInputPreset(it) -> i32 = NULL, it.asked.input_preset;
    /// As it was said.
    AAudioStream_getAllowedCapturePolicy(it) -> i32 = NULL, it.asked.capture_policy;
    /// As it was said; else voice calls and films are.
    AAudioStream_isPrivacySensitive(it) -> bool = false,
        it.asked.is_private.unwrap_or(matches!(it.asked.input_preset, 5 | 7))
            && it.asked.direction == 1;
    /// The session of effects.
    AAudioStream_getSessionId(it) -> i32 = NULL, it.session_id;
    /// Whether frames go to memory that the hardware reads.
    AAudioStream_isMMapUsed(it) -> bool = false, it.stream.granted().is_mapped;
    /// Frames that went in.
    AAudioStream_getFramesWritten(it) -> i64 = NULL.into(), it.stream.frames_written() as i64;
    /// Frames that came out.
    AAudioStream_getFramesRead(it) -> i64 = NULL.into(), it.stream.frames_read() as i64;
    /// No stream is offloaded.
    AAudioStream_getOffloadDelay(_it) -> i32 = NULL, UNIMPLEMENTED;
    /// No stream is offloaded.
    AAudioStream_getOffloadPadding(_it) -> i32 = NULL, UNIMPLEMENTED;
    /// No stream is offloaded.
    AAudioStream_setOffloadEndOfStream(_it) -> i32 = NULL, UNIMPLEMENTED;
}

/// No stream is offloaded.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_setOffloadDelayPadding(
    stream: Option<&AAudioStream>,
    delay: i32,
    padding: i32,
) -> Code {
    match stream {
        None => NULL,
        Some(_) if delay < 0 || padding < 0 => ILLEGAL_ARGUMENT,
        Some(_) => UNIMPLEMENTED,
    }
}

/// Sets how many frames may lie in the buffer; returns what it became.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_setBufferSizeInFrames(
    stream: Option<&AAudioStream>,
    frames: i32,
) -> i32 {
    let Some(it) = stream else { return NULL };
    match u32::try_from(frames) {
        Ok(frames) => it.stream.set_buffer_size(frames) as i32,
        Err(_) => ILLEGAL_ARGUMENT,
    }
}

/// The device's number, in an array.
///
/// # Safety
///
/// `ids` is null or has room for `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AAudioStream_getDeviceIds(
    stream: Option<&AAudioStream>,
    ids: *mut i32,
    count: Option<&mut i32>,
) -> Code {
    let (Some(_), Some(count)) = (stream, count) else {
        return ILLEGAL_ARGUMENT;
    };
    let room = std::mem::replace(count, 1);
    if room < 1 {
        return OUT_OF_RANGE;
    }
    if ids.is_null() {
        return ILLEGAL_ARGUMENT;
    }
    // SAFETY: the caller's obligation: there is room for one.
    unsafe { ids.write(DEVICE) };
    OK
}

/// The hardware pointer, and when it was there.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStream_getTimestamp(
    stream: Option<&AAudioStream>,
    clock: i32,
    frames: Option<&mut i64>,
    time_ns: Option<&mut i64>,
) -> Code {
    let (Some(it), Some(frames), Some(time_ns)) = (stream, frames, time_ns) else {
        return NULL;
    };
    let asleep_ns = match clock {
        CLOCK_MONOTONIC => 0,
        CLOCK_BOOTTIME => since_start_ns().saturating_sub(Monotonic.now_ns()),
        _ => return ILLEGAL_ARGUMENT,
    };
    let Some(at) = it.stream.timestamp() else {
        return INVALID_STATE;
    };
    (*frames, *time_ns) = (at.frames as i64, (at.time_ns + asleep_ns) as i64);
    OK
}

/// Takt's own: calls back that did not fit their reservation.
#[unsafe(no_mangle)]
pub extern "C" fn takt_AAudioStream_getOverruns(stream: Option<&AAudioStream>) -> i64 {
    let Some(it) = stream else { return NULL.into() };
    let found = it.stream.overruns();
    i64::try_from(found.freed + found.late + found.raised).unwrap_or(i64::MAX)
}

/// Takt's own: the policy that the callback's thread runs under, and why it is not the one asked
/// for. A text that ends with a zero, cut to `size` bytes; returns its whole length.
///
/// # Safety
///
/// `text` is null or has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn takt_AAudioStream_getPolicy(
    stream: Option<&AAudioStream>,
    text: *mut c_char,
    size: i32,
) -> i32 {
    let Some(it) = stream else { return NULL };
    let grant = it.stream.grant();
    let mut said = match grant.granted {
        Some(policy) => policy.to_string(),
        None => "not started".to_owned(),
    };
    if let Some(refusal) = grant.refusal {
        said += "; ";
        said += &refusal;
    }
    if let Some(why) = &it.unsteered {
        said += "; the kernel's governor stays: ";
        said += why;
    }
    let room = usize::try_from(size).unwrap_or(0);
    if !text.is_null() && room > 0 {
        let count = said.len().min(room - 1);
        // SAFETY: the caller's obligation: `count` bytes and a zero fit, and `said` is ours.
        unsafe {
            text.copy_from_nonoverlapping(said.as_ptr().cast(), count);
            text.add(count).write(0);
        }
    }
    said.len() as i32
}
