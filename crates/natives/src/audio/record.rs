// SPDX-License-Identifier: Apache-2.0
//! android.media.AudioRecord: a [`Stream`] of `sound` that the application's own thread empties.
//!
//! A read copies pieces through its stack and takes no memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jni_sys::{
    JNI_FALSE, JNI_TRUE, jboolean, jbyteArray, jclass, jfloat, jfloatArray, jint, jintArray, jlong,
    jobject, jshortArray, jstring,
};
use rt::clock::{Clock as _, Monotonic};
use sound::{Backend, Direction, State, Stream};

use super::marks::{self, Marks, Moving};
use super::pieces::{self, LOOK_NS, PIECE_BYTES};
use super::setup::{self, Asked};
use super::table::Table;
use super::{
    BAD_VALUE, DEAD_OBJECT, INVALID_OPERATION, SUCCESS, WOULD_BLOCK, code_of, least_bytes, say,
    throw_released,
};
use crate::env::Env;

/// AudioTimestamp.TIMEBASE_MONOTONIC, and MediaSyncEvent.SYNC_EVENT_NONE.
const MONOTONIC: jint = 0;
const NO_EVENT: jint = 0;

/// Records of a process at once.
const RECORDS_MAX: usize = 16;
static RECORDS: Table<Record> = Table::new(c"mNativeAudioRecordHandle", RECORDS_MAX);

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
        return setup::FAILED;
    }
    if !may_record(env) {
        let text = "refused: android.permission.RECORD_AUDIO is not granted";
        crate::log::error("AudioRecord", text);
        return setup::FAILED;
    }
    let masks = [mask, index_mask];
    let asked = Asked::of(env, Direction::Input, rates, masks, encoding, buffer_bytes);
    let asked = match asked {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    let wanted = asked.wanted(Some(asked.frames));
    let opened = Backend::of_environment(Direction::Input);
    let opened = opened.and_then(|it| Stream::open(&it, &wanted, None, None));
    let stream = match opened {
        Ok(stream) => stream,
        Err(error) => {
            say(Direction::Input, &error.to_string());
            return setup::FAILED;
        }
    };
    let granted = stream.granted();
    let Some(marks) = Marks::new(env, "android/media/AudioRecord", weak_this) else {
        return setup::FAILED;
    };
    let base = AtomicU64::new(0);
    let record = Record {
        stream,
        marks,
        base,
    };
    if !RECORDS.keep(env, this, record) {
        let text = "too many records are open, 16: release one";
        say(Direction::Input, text);
        return setup::FAILED;
    }
    setup::settle(env, granted, rates, sessions);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1release(env: Env, this: jobject) {
    if let Some(record) = RECORDS.remove(env, this) {
        record.marks.end();
        // Never from a callback: a record has none.
        let _released = record.stream.release();
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioRecord_native_1finalize(env: Env, this: jobject) {
    Java_android_media_AudioRecord_native_1release(env, this);
}

/// What a record answers.
fn with(env: Env, this: jobject, answer: impl FnOnce(&Arc<Record>) -> jint) -> jint {
    match RECORDS.of(env, this) {
        Some(record) => answer(&record),
        None => {
            throw_released(env, "AudioRecord");
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
        pieces::give_shorts(env, array, offset + (done / 2) as jint, piece);
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
        pieces::give_floats(env, array, offset + (done / 4) as jint, piece);
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

unsupported! {
    "AudioRecord";
    Java_android_media_AudioRecord_native_1getMetrics() -> core::ptr::null_mut(), jobject, "getMetrics";
    Java_android_media_AudioRecord_native_1get_1active_1microphones(jobject) -> INVALID_OPERATION, jint, "getActiveMicrophones";
    Java_android_media_AudioRecord_native_1set_1preferred_1microphone_1direction(jint) -> INVALID_OPERATION, jint, "setPreferredMicrophoneDirection";
    Java_android_media_AudioRecord_native_1set_1preferred_1microphone_1field_1dimension(jfloat) -> INVALID_OPERATION, jint, "setPreferredMicrophoneFieldDimension";
    Java_android_media_AudioRecord_native_1setLogSessionId(jstring) -> (), (), "setLogSessionId";
    Java_android_media_AudioRecord_native_1shareAudioHistory(jstring, jlong) -> INVALID_OPERATION, jint, "shareAudioHistory";
}
