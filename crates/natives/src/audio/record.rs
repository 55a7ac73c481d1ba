// SPDX-License-Identifier: Apache-2.0
//! android.media.AudioRecord: a [`Stream`] of `sound` that the application's own thread empties.
//!
//! Java holds a number of [`RECORDS`], so a call that comes after the release finds none. A read
//! copies pieces through its stack and takes no memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use jni_sys::{
    JNI_FALSE, JNI_TRUE, jboolean, jbyteArray, jclass, jfloat, jfloatArray, jint, jintArray, jlong,
    jobject, jshortArray, jstring,
};
use rt::clock::{Clock as _, Monotonic};
use rt::sync::PiMutex;
use sound::{Direction, State, Stream, Wanted};

use super::marks::{self, Marks, Moving};
use super::{
    BAD_VALUE, DEAD_OBJECT, INVALID_OPERATION, SUCCESS, WOULD_BLOCK, backend, code_of, format_of,
    least_bytes, next_session, remember, say,
};
use crate::env::Env;

/// AudioRecord's results of a setup.
const SETUP_CHANNELS: jint = -17;
const SETUP_FORMAT: jint = -18;
const SETUP_FAILED: jint = -20;

/// AudioTimestamp.TIMEBASE_MONOTONIC, and MediaSyncEvent.SYNC_EVENT_NONE.
const MONOTONIC: jint = 0;
const NO_EVENT: jint = 0;

/// Records of a process at once.
const RECORDS_MAX: usize = 16;
/// What a read copies at once.
const PIECE_BYTES: usize = 4096;
/// How long a blocking read sleeps before it sees that somebody stopped it.
const LOOK_NS: u64 = 20_000_000;

/// By the number that Java holds. The lock covers look-ups alone.
static RECORDS: PiMutex<BTreeMap<jlong, Arc<Record>>> = PiMutex::new(BTreeMap::new());
static NEXT_RECORD: AtomicI64 = AtomicI64::new(1);

struct Record {
    stream: Stream,
    marks: Marks,
    /// The stream's frame at which the last start found it.
    base: AtomicU64,
}

impl Moving for Record {
    fn head(&self) -> u64 {
        self.stream.look();
        let base = self.base.load(Ordering::Relaxed);
        self.stream.frames_written().saturating_sub(base)
    }

    fn duration_ns(&self, frames: u64) -> Option<u64> {
        let is_active = self.stream.state().is_active();
        is_active.then(|| self.stream.granted().duration_ns(frames))
    }

    fn marks(&self) -> &Marks {
        &self.marks
    }
}

impl Record {
    /// What Java's object holds; none after its release.
    fn of(env: Env, this: jobject) -> Option<Arc<Self>> {
        let number = env.long_field(this, c"mNativeAudioRecordHandle");
        RECORDS.lock().get(&number).map(Arc::clone)
    }

    /// Reads whole frames of `bytes` bytes, which `put` takes to an offset; returns the bytes read,
    /// or an error. A record that stands gives nothing.
    fn read(&self, bytes: usize, is_blocking: bool, put: impl Fn(usize, &[u8])) -> jint {
        if self.stream.state() == State::Disconnected {
            return DEAD_OBJECT;
        }
        let frame = self.stream.granted().frame_bytes();
        let total = bytes / frame * frame;
        let mut piece = [0; PIECE_BYTES];
        let mut done = 0;
        while done < total && self.stream.state().is_active() {
            let piece = &mut piece[..(total - done).min(PIECE_BYTES / frame * frame)];
            let now_ns = Monotonic.now_ns();
            let due_ns = if is_blocking {
                now_ns + LOOK_NS
            } else {
                now_ns
            };
            match self.stream.read(piece, due_ns) {
                Ok(0) if !is_blocking => break,
                Ok(frames) => {
                    put(done, &piece[..frames * frame]);
                    done += frames * frame;
                }
                Err(_) if done > 0 => break,
                Err(error) => return code_of(&error),
            }
        }
        jint::try_from(done).unwrap_or(jint::MAX)
    }
}

/// Whether the application's user let it record: 1 or 0, by Java's own check.
fn may_record(env: Env) -> bool {
    env.call_static_long("takt/framework/Recording", c"isAllowed", c"()J", &[]) == 1
}

/// On Android it looks fields up. AudioRecord.Builder names MediaRecorder's constants, whose other
/// native methods are not there.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_MediaRecorder_native_1init(_: Env, _: jclass) {}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1setup(
    env: Env,
    this: jobject,
    weak_this: jobject,
    _attributes: jobject,
    rates: jintArray,
    mask: jint,
    index_mask: jint,
    encoding: jint,
    buffer_bytes: jint,
    sessions: jintArray,
    _attribution: jobject,
    native_record: jlong,
    _flags: jint,
    _history_ms: jint,
) -> jint {
    if native_record != 0 {
        env.throw_unsupported("AudioRecord from native code");
        return SETUP_FAILED;
    }
    if !may_record(env) {
        let text = "refused: android.permission.RECORD_AUDIO is not granted";
        crate::log::error("AudioRecord", text);
        return SETUP_FAILED;
    }
    let mask = if mask == 0 { index_mask } else { mask };
    let wanted = match wanted(env, rates, mask, encoding, buffer_bytes) {
        Ok(wanted) => wanted,
        Err(code) => return code,
    };
    let opened = backend(Direction::Input).and_then(|it| Stream::open(&it, &wanted, None, None));
    let stream = match opened {
        Ok(stream) => stream,
        Err(error) => {
            say(Direction::Input, &error.to_string());
            return SETUP_FAILED;
        }
    };
    let granted = stream.granted();
    let Some(marks) = Marks::new(env, "android/media/AudioRecord", weak_this) else {
        return SETUP_FAILED;
    };
    let base = AtomicU64::new(0);
    let kept = keep(
        env,
        this,
        Record {
            stream,
            marks,
            base,
        },
    );
    if kept == SUCCESS {
        remember(granted);
        env.write_ints(rates, &[granted.rate.cast_signed()]);
        if env.ints(sessions).first() == Some(&0) {
            env.write_ints(sessions, &[next_session()]);
        }
    }
    kept
}

/// What is to be recorded, or why it is not.
fn wanted(
    env: Env,
    rates: jintArray,
    mask: jint,
    encoding: jint,
    buffer_bytes: jint,
) -> Result<Wanted, jint> {
    let Some(format) = format_of(encoding) else {
        let text = "only PCM of 16, 24, 32 bits and floats is recorded";
        say(Direction::Input, text);
        return Err(SETUP_FORMAT);
    };
    let channels = mask.count_ones();
    if channels == 0 {
        return Err(SETUP_CHANNELS);
    }
    let frames = u32::try_from(buffer_bytes).unwrap_or(0) / (channels * format.bytes() as u32);
    let rate = env.ints(rates).first().map_or(0, |it| it.unsigned_abs());
    Ok(Wanted {
        direction: Direction::Input,
        rate: (rate > 0).then_some(rate),
        channels: Some(channels),
        format: Some(format),
        capacity: Some(frames),
    })
}

/// Java's object gets its number.
fn keep(env: Env, this: jobject, record: Record) -> jint {
    let number = NEXT_RECORD.fetch_add(1, Ordering::Relaxed);
    {
        let mut records = RECORDS.lock();
        if records.len() >= RECORDS_MAX {
            drop(records);
            let text = "too many records are open, 16: release one";
            say(Direction::Input, text);
            return SETUP_FAILED;
        }
        records.insert(number, Arc::new(record));
    }
    env.set_long_field(this, c"mNativeAudioRecordHandle", number);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1release(env: Env, this: jobject) {
    let number = env.long_field(this, c"mNativeAudioRecordHandle");
    let removed = RECORDS.lock().remove(&number);
    if let Some(record) = removed {
        record.marks.end();
        // Never from a callback: a record has none.
        let _released = record.stream.release();
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1finalize(env: Env, this: jobject) {
    Java_android_media_AudioRecord_native_1release(env, this);
}

fn throw_released(env: Env) {
    let text = "Unable to retrieve AudioRecord pointer: it is released";
    env.throw("java/lang/IllegalStateException", text);
}

/// What a record answers.
fn with(env: Env, this: jobject, answer: impl FnOnce(&Arc<Record>) -> jint) -> jint {
    match Record::of(env, this) {
        Some(record) => answer(&record),
        None => {
            throw_released(env);
            INVALID_OPERATION
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1start(
    env: Env,
    this: jobject,
    event: jint,
    _session: jint,
) -> jint {
    if event != NO_EVENT {
        env.throw_unsupported("AudioRecord.startRecording with an event");
        return INVALID_OPERATION;
    }
    with(env, this, |record| {
        let written = record.stream.frames_written();
        match record.stream.start() {
            Ok(()) => {
                record.base.store(written, Ordering::Relaxed);
                record.marks.moved(0);
                SUCCESS
            }
            Err(error) => code_of(&error),
        }
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1stop(env: Env, this: jobject) {
    with(env, this, |record| {
        // Android's answers nothing either.
        let _stopped = record.stream.stop();
        SUCCESS
    });
}

/// Java has checked that the elements lie in the array.
fn read(
    env: Env,
    this: jobject,
    count: jint,
    size: usize,
    is_blocking: jboolean,
    put: impl Fn(usize, &[u8]),
) -> jint {
    let Ok(count) = usize::try_from(count) else {
        return BAD_VALUE;
    };
    with(env, this, |record| {
        let done = record.read(count * size, is_blocking == JNI_TRUE, put);
        if done < 0 { done } else { done / size as jint }
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1read_1in_1byte_1array(
    env: Env,
    this: jobject,
    array: jbyteArray,
    offset: jint,
    count: jint,
    is_blocking: jboolean,
) -> jint {
    read(env, this, count, 1, is_blocking, |done, piece| {
        env.write_bytes(array, offset + done as jint, piece);
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1read_1in_1short_1array(
    env: Env,
    this: jobject,
    array: jshortArray,
    offset: jint,
    count: jint,
    is_blocking: jboolean,
) -> jint {
    read(env, this, count, 2, is_blocking, |done, piece| {
        let mut shorts = [0; PIECE_BYTES / 2];
        let shorts = &mut shorts[..piece.len() / 2];
        for (short, bytes) in shorts.iter_mut().zip(piece.chunks_exact(2)) {
            *short = i16::from_le_bytes([bytes[0], bytes[1]]);
        }
        env.write_shorts(array, offset + (done / 2) as jint, shorts);
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1read_1in_1float_1array(
    env: Env,
    this: jobject,
    array: jfloatArray,
    offset: jint,
    count: jint,
    is_blocking: jboolean,
) -> jint {
    read(env, this, count, 4, is_blocking, |done, piece| {
        let mut floats = [0.0; PIECE_BYTES / 4];
        let floats = &mut floats[..piece.len() / 4];
        for (float, bytes) in floats.iter_mut().zip(piece.chunks_exact(4)) {
            *float = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        env.write_floats(array, offset + (done / 4) as jint, floats);
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1read_1in_1direct_1buffer(
    env: Env,
    this: jobject,
    buffer: jobject,
    count: jint,
    is_blocking: jboolean,
) -> jint {
    // Java sets the position afterwards, and bytes go from the buffer's beginning, as on Android.
    let Some((_, size)) = env.direct_buffer(buffer) else {
        return BAD_VALUE;
    };
    let count = count.min(jint::try_from(size).unwrap_or(jint::MAX));
    read(env, this, count, 1, is_blocking, |done, piece| {
        env.write_direct(buffer, done, piece);
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1get_1buffer_1size_1in_1frames(
    env: Env,
    this: jobject,
) -> jint {
    with(env, this, |it| it.stream.granted().capacity.cast_signed())
}

/// What Java sets of the marks: SUCCESS, or that there is no thread to look.
fn mark(env: Env, this: jobject, set: impl Fn(&Arc<Record>) -> bool) -> jint {
    with(env, this, |record| match set(record) {
        true => SUCCESS,
        false => INVALID_OPERATION,
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1set_1marker_1pos(
    env: Env,
    this: jobject,
    frame: jint,
) -> jint {
    mark(env, this, |it| marks::set_marker(it, frame.cast_unsigned()))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1get_1marker_1pos(
    env: Env,
    this: jobject,
) -> jint {
    with(env, this, |it| it.marks.marker().cast_signed())
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1set_1pos_1update_1period(
    env: Env,
    this: jobject,
    frames: jint,
) -> jint {
    mark(env, this, |it| {
        marks::set_period(it, frames.cast_unsigned())
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1get_1pos_1update_1period(
    env: Env,
    this: jobject,
) -> jint {
    with(env, this, |it| it.marks.period().cast_signed())
}

/// Two bursts, as the device grants them.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1get_1min_1buff_1size(
    _: Env,
    _: jclass,
    rate: jint,
    channels: jint,
    encoding: jint,
) -> jint {
    least_bytes(Direction::Input, rate, channels, encoding)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1get_1timestamp(
    env: Env,
    this: jobject,
    into: jobject,
    base: jint,
) -> jint {
    if base != MONOTONIC {
        env.throw_unsupported("AudioTimestamp.TIMEBASE_BOOTTIME");
        return BAD_VALUE;
    }
    with(env, this, |record| {
        let Some(at) = record.stream.timestamp() else {
            return WOULD_BLOCK;
        };
        let base = record.base.load(Ordering::Relaxed);
        let frames = at.frames.saturating_sub(base);
        env.set_long_field(into, c"framePosition", frames.cast_signed());
        env.set_long_field(into, c"nanoTime", at.time_ns.cast_signed());
        SUCCESS
    })
}

/// The one device, or none by name.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1setInputDevice(
    _: Env,
    _: jobject,
    device: jint,
) -> jboolean {
    if device == 0 { JNI_TRUE } else { JNI_FALSE }
}

/// None, as on Android for a record that has not been routed.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1getRoutedDeviceId(
    _: Env,
    _: jobject,
) -> jint {
    0
}

/// The route never changes, so nobody is told.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1enableDeviceCallback(_: Env, _: jobject) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1disableDeviceCallback(
    _: Env,
    _: jobject,
) {
}

/// Calls that throw by their names.
macro_rules! unsupported {
    ($($function:ident($($argument:ty),*) -> $answer:expr, $type:ty, $name:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "system" fn $function(env: Env, _: jobject $(, _: $argument)*) -> $type {
            env.throw_unsupported(concat!("AudioRecord.", $name));
            $answer
        }
    )*};
}

unsupported! {
    Java_android_media_AudioRecord_native_1getMetrics() -> core::ptr::null_mut(), jobject, "getMetrics";
    Java_android_media_AudioRecord_native_1get_1active_1microphones(jobject) -> INVALID_OPERATION, jint, "getActiveMicrophones";
    Java_android_media_AudioRecord_native_1set_1preferred_1microphone_1direction(jint) -> INVALID_OPERATION, jint, "setPreferredMicrophoneDirection";
    Java_android_media_AudioRecord_native_1set_1preferred_1microphone_1field_1dimension(jfloat) -> INVALID_OPERATION, jint, "setPreferredMicrophoneFieldDimension";
    Java_android_media_AudioRecord_native_1setLogSessionId(jstring) -> (), (), "setLogSessionId";
    Java_android_media_AudioRecord_native_1shareAudioHistory(jstring, jlong) -> INVALID_OPERATION, jint, "shareAudioHistory";
}
