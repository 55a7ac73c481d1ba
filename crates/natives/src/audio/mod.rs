// SPDX-License-Identifier: Apache-2.0
//! android.media's sound on streams of `sound`: which device, and what the classes share.
//!
//! `track` is AudioTrack; `still` what MODE_STATIC plays, `gain` its volume. `record` is
//! AudioRecord. Both have `setup`, a `table` of what Java's objects hold, `pieces` of samples, and
//! `marks`, the positions that Java hears of. `system` is what AudioSystem answers, `limits` its
//! constants.

/// Calls of a class that throw by their names.
macro_rules! unsupported {
    ($class:literal; $($function:ident($($argument:ty),*) -> $answer:expr, $type:ty, $name:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "system" fn $function(env: Env, _: jobject $(, _: $argument)*) -> $type {
            env.throw_unsupported(concat!($class, ".", $name));
            $answer
        }
    )*};
}

mod gain;
mod limits;
mod marks;
mod pieces;
mod record;
mod setup;
mod still;
mod system;
mod table;
mod track;

use std::sync::atomic::{AtomicI32, Ordering};

use jni_sys::jint;
use rt::sync::PiMutex;
use sound::device::{INPUT_VARIABLE, VARIABLE};
use sound::{Backend, DeviceError, Direction, Format, Granted, Refusal, StreamError, Wanted};

use crate::env::Env;

/// AudioSystem's results.
const SUCCESS: jint = 0;
const ERROR: jint = -1;
const BAD_VALUE: jint = -2;
const INVALID_OPERATION: jint = -3;
const DEAD_OBJECT: jint = -6;
const WOULD_BLOCK: jint = -7;

static NEXT_SESSION: AtomicI32 = AtomicI32::new(1);

/// What each direction's last stream was granted: a card that this process has answers nobody.
static GRANTED: [PiMutex<Option<Granted>>; 2] = [PiMutex::new(None), PiMutex::new(None)];

/// What a device would grant to this wish. A card is opened for it, and given back.
fn ask(wanted: &Wanted) -> Result<Granted, DeviceError> {
    match Backend::of_environment(wanted.direction)?.probe(wanted) {
        Err(error @ DeviceError::Unavailable(_)) => {
            GRANTED[wanted.direction as usize].lock().ok_or(error)
        }
        answer => answer,
    }
}

/// What [`ask`] answers while the device is taken.
fn remember(granted: Granted) {
    *GRANTED[granted.direction as usize].lock() = Some(granted);
}

/// Bytes of two bursts, as the device grants them.
fn least_bytes(direction: Direction, rate: jint, channels: jint, encoding: jint) -> jint {
    let Some(format) = format_of(encoding) else {
        return ERROR;
    };
    let asked = ask(&Wanted {
        direction,
        rate: u32::try_from(rate).ok(),
        channels: u32::try_from(channels).ok(),
        format: Some(format),
        capacity: None,
    });
    match asked {
        Ok(granted) => 2 * granted.burst.cast_signed() * granted.frame_bytes() as jint,
        Err(error) => {
            say(direction, &error.to_string());
            ERROR
        }
    }
}

/// A fault, in the log under Android's tag.
fn say(direction: Direction, text: &str) {
    let (tag, variables) = match direction {
        Direction::Output => ("AudioTrack", VARIABLE.to_owned()),
        Direction::Input => ("AudioRecord", format!("{INPUT_VARIABLE} or {VARIABLE}")),
    };
    crate::log::error(tag, &format!("{text}; {variables} names the device"));
}

fn next_session() -> jint {
    NEXT_SESSION.fetch_add(1, Ordering::Relaxed)
}

fn code_of(error: &StreamError) -> jint {
    match error {
        StreamError::Refused(Refusal::Disconnected) | StreamError::Device(_) => DEAD_OBJECT,
        _ => INVALID_OPERATION,
    }
}

/// Of AudioFormat's encodings; eight bits are not among the stream's forms.
fn format_of(encoding: jint) -> Option<Format> {
    match encoding {
        2 => Some(Format::I16),
        4 => Some(Format::F32),
        21 => Some(Format::I24),
        22 => Some(Format::I32),
        _ => None,
    }
}

/// By Android's words for `class`.
fn throw_released(env: Env, class: &str) {
    let text = format!("Unable to retrieve {class} pointer: it is released");
    env.throw("java/lang/IllegalStateException", &text);
}
