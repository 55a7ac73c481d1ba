// SPDX-License-Identifier: Apache-2.0
//! Android's numbers for results, formats and modes; and their names.

use std::ffi::{CStr, c_char};

use sound::{DeviceError, Feature, Format, Refusal, StreamError};

/// A result: zero or more is good.
pub type Code = i32;

/// It went well.
pub const OK: Code = 0;
/// The device is gone.
pub const DISCONNECTED: Code = -899;
/// An argument means nothing.
pub const ILLEGAL_ARGUMENT: Code = -898;
/// The machine did not do its part.
pub const INTERNAL: Code = -896;
/// Not in this state.
pub const INVALID_STATE: Code = -895;
/// Not supported for this stream.
pub const UNIMPLEMENTED: Code = -890;
/// There is none, or somebody else has it.
pub const UNAVAILABLE: Code = -889;
/// A null pointer.
pub const NULL: Code = -886;
/// Not in time.
pub const TIMEOUT: Code = -885;
/// No such samples.
pub const INVALID_FORMAT: Code = -883;
/// Too small or too large.
pub const OUT_OF_RANGE: Code = -882;
/// No such rate.
pub const INVALID_RATE: Code = -880;

/// Left open.
pub const UNSPECIFIED: i32 = 0;
/// A shared device is mixed with others'.
pub const SHARED: i32 = 1;
/// Nobody else has it.
pub const EXCLUSIVE: i32 = 0;
/// No wish for latency.
pub const MODE_NONE: i32 = 10;
/// Latency before power.
pub const MODE_LOW_LATENCY: i32 = 12;
/// The last of the modes: decoded by the hardware.
pub const MODE_OFFLOADED: i32 = 13;
/// Mapped memory is used where there is some.
pub const POLICY_AUTO: i32 = 2;
/// Mapped memory or nothing.
pub const POLICY_ALWAYS: i32 = 3;

const RESULTS: [(Code, &CStr); 16] = [
    (OK, c"AAUDIO_OK"),
    (DISCONNECTED, c"AAUDIO_ERROR_DISCONNECTED"),
    (ILLEGAL_ARGUMENT, c"AAUDIO_ERROR_ILLEGAL_ARGUMENT"),
    (INTERNAL, c"AAUDIO_ERROR_INTERNAL"),
    (INVALID_STATE, c"AAUDIO_ERROR_INVALID_STATE"),
    (-892, c"AAUDIO_ERROR_INVALID_HANDLE"),
    (UNIMPLEMENTED, c"AAUDIO_ERROR_UNIMPLEMENTED"),
    (UNAVAILABLE, c"AAUDIO_ERROR_UNAVAILABLE"),
    (-888, c"AAUDIO_ERROR_NO_FREE_HANDLES"),
    (-887, c"AAUDIO_ERROR_NO_MEMORY"),
    (NULL, c"AAUDIO_ERROR_NULL"),
    (TIMEOUT, c"AAUDIO_ERROR_TIMEOUT"),
    (-884, c"AAUDIO_ERROR_WOULD_BLOCK"),
    (INVALID_FORMAT, c"AAUDIO_ERROR_INVALID_FORMAT"),
    (OUT_OF_RANGE, c"AAUDIO_ERROR_OUT_OF_RANGE"),
    (INVALID_RATE, c"AAUDIO_ERROR_INVALID_RATE"),
];

const STATES: [&CStr; 14] = [
    c"AAUDIO_STREAM_STATE_UNINITIALIZED",
    c"AAUDIO_STREAM_STATE_UNKNOWN",
    c"AAUDIO_STREAM_STATE_OPEN",
    c"AAUDIO_STREAM_STATE_STARTING",
    c"AAUDIO_STREAM_STATE_STARTED",
    c"AAUDIO_STREAM_STATE_PAUSING",
    c"AAUDIO_STREAM_STATE_PAUSED",
    c"AAUDIO_STREAM_STATE_FLUSHING",
    c"AAUDIO_STREAM_STATE_FLUSHED",
    c"AAUDIO_STREAM_STATE_STOPPING",
    c"AAUDIO_STREAM_STATE_STOPPED",
    c"AAUDIO_STREAM_STATE_CLOSING",
    c"AAUDIO_STREAM_STATE_CLOSED",
    c"AAUDIO_STREAM_STATE_DISCONNECTED",
];

const UNKNOWN: &CStr = c"Unrecognized AAudio value";

/// The name of a result.
#[unsafe(no_mangle)]
pub extern "C" fn AAudio_convertResultToText(code: Code) -> *const c_char {
    let found = RESULTS.iter().find(|it| it.0 == code);
    found.map_or(UNKNOWN, |it| it.1).as_ptr()
}

/// The name of a state.
#[unsafe(no_mangle)]
pub extern "C" fn AAudio_convertStreamStateToText(state: i32) -> *const c_char {
    let found = usize::try_from(state).ok().and_then(|it| STATES.get(it));
    found.copied().unwrap_or(UNKNOWN).as_ptr()
}

/// The format with Android's number; none for those that are not plain samples.
pub(crate) const fn format_of(number: i32) -> Option<Format> {
    match number {
        1 => Some(Format::I16),
        2 => Some(Format::F32),
        3 => Some(Format::I24),
        4 => Some(Format::I32),
        _ => None,
    }
}

pub(crate) const fn number_of(format: Format) -> i32 {
    match format {
        Format::I16 => 1,
        Format::F32 => 2,
        Format::I24 => 3,
        Format::I32 => 4,
    }
}

pub(crate) fn code_of_device(error: &DeviceError) -> Code {
    match error {
        DeviceError::Xrun => INTERNAL,
        DeviceError::Disconnected => DISCONNECTED,
        DeviceError::Unavailable(_) => UNAVAILABLE,
        DeviceError::Unsupported(Feature::Rate) => INVALID_RATE,
        DeviceError::Unsupported(Feature::Channels | Feature::CallbackFrames) => OUT_OF_RANGE,
        DeviceError::Unsupported(Feature::Format) => INVALID_FORMAT,
        DeviceError::Unsupported(Feature::Mapping) => UNAVAILABLE,
    }
}

pub(crate) fn code_of<T>(result: Result<T, StreamError>) -> Code {
    match result {
        Ok(_) => OK,
        Err(StreamError::Refused(Refusal::WrongState)) => INVALID_STATE,
        Err(StreamError::Refused(Refusal::NotForInput)) => UNIMPLEMENTED,
        Err(StreamError::Refused(Refusal::Disconnected)) => DISCONNECTED,
        Err(StreamError::Device(error)) => code_of_device(&error),
        Err(StreamError::Thread(_)) => INTERNAL,
        Err(StreamError::TimedOut) => TIMEOUT,
    }
}
