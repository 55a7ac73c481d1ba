// SPDX-License-Identifier: Apache-2.0
//! android.media.AudioTrack in MODE_STREAM: a [`Stream`] of `sound` that the application's own
//! thread fills.
//!
//! Java holds a number of [`TRACKS`], so a call that comes after the release finds none. A write
//! copies pieces through its stack and takes no memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

use jni_sys::{
    JNI_TRUE, jboolean, jbyteArray, jclass, jfloat, jfloatArray, jint, jintArray, jlong,
    jlongArray, jobject, jshortArray, jstring,
};
use rt::clock::{Clock as _, Monotonic};
use rt::sync::PiMutex;
use sound::{Backend, Direction, Format, Refusal, Stream, StreamError, Wanted};

use crate::env::Env;

const DEVICE_VARIABLE: &str = "TAKT_SOUND";
/// As libaaudio's.
const DEVICE_DEFAULT: &str = "alsa:hw:0,0";

/// AudioTrack's and AudioSystem's results.
const SUCCESS: jint = 0;
const BAD_VALUE: jint = -2;
const INVALID_OPERATION: jint = -3;
const DEAD_OBJECT: jint = -6;
const WOULD_BLOCK: jint = -7;
const SETUP_CHANNELS: jint = -17;
const SETUP_FORMAT: jint = -18;
const SETUP_FAILED: jint = -20;

const MODE_STREAM: jint = 1;
/// AudioAttributes.FLAG_LOW_LATENCY, and AUDIO_OUTPUT_FLAG_FAST, which AudioTrack reads it from.
const ATTRIBUTE_LOW_LATENCY: jint = 0x100;
const FLAG_FAST: jint = 4;

/// Tracks of a process at once; Android has as many.
const TRACKS_MAX: usize = 40;
/// What a write copies at once.
const PIECE_BYTES: usize = 4096;
/// How long a blocking write sleeps before it sees that somebody paused the track.
const LOOK_NS: u64 = 20_000_000;

/// By the number that Java holds. The lock covers look-ups alone.
static TRACKS: PiMutex<BTreeMap<jlong, Arc<Track>>> = PiMutex::new(BTreeMap::new());
static NEXT_TRACK: AtomicI64 = AtomicI64::new(1);
static NEXT_SESSION: AtomicI32 = AtomicI32::new(1);

struct Track {
    stream: Stream,
    flags: jint,
    /// The stream's frame at which the head was zero: moves at a stop and at a flush.
    base: AtomicU64,
}

impl Track {
    /// What Java's object holds; none after its release.
    fn of(env: Env, this: jobject) -> Option<Arc<Self>> {
        let number = env.long_field(this, c"mNativeTrackInJavaObj");
        TRACKS.lock().get(&number).map(Arc::clone)
    }

    fn head(&self) -> u64 {
        let base = self.base.load(Ordering::Relaxed);
        self.stream.frames_read().saturating_sub(base)
    }

    /// What was written so far is before the head from now on.
    fn restart(&self) {
        self.base
            .store(self.stream.frames_written(), Ordering::Relaxed);
    }

    /// Writes whole frames of `bytes` bytes, which `copy` brings from an offset; returns the bytes
    /// written, or an error.
    fn write(&self, bytes: usize, is_blocking: bool, copy: impl Fn(usize, &mut [u8])) -> jint {
        let frame = self.stream.granted().frame_bytes();
        let total = bytes / frame * frame;
        let mut piece = [0; PIECE_BYTES];
        let mut done = 0;
        while done < total {
            let piece = &mut piece[..(total - done).min(PIECE_BYTES / frame * frame)];
            copy(done, piece);
            let now_ns = Monotonic.now_ns();
            // A track that stands takes what fits: nobody makes room.
            let waits = is_blocking && self.stream.state().is_active();
            let due_ns = if waits { now_ns + LOOK_NS } else { now_ns };
            match self.stream.write(piece, due_ns) {
                Ok(0) if !waits => break,
                Ok(frames) => done += frames * frame,
                Err(_) if done > 0 => break,
                Err(error) => return code_of(&error),
            }
        }
        jint::try_from(done).unwrap_or(jint::MAX)
    }
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

fn backend() -> Result<Backend, sound::DeviceError> {
    let name = std::env::var(DEVICE_VARIABLE).unwrap_or_else(|_| DEVICE_DEFAULT.to_owned());
    Backend::parse(&name)
}

fn open(
    rate: u32,
    channels: u32,
    format: Format,
    bytes: jint,
) -> Result<Stream, sound::DeviceError> {
    let frame = channels * format.bytes() as u32;
    let frames = u32::try_from(bytes).unwrap_or(0) / frame;
    let wanted = Wanted {
        direction: Direction::Output,
        rate: (rate > 0).then_some(rate),
        channels: Some(channels),
        format: Some(format),
        capacity: Some(frames),
    };
    let stream = Stream::open(&backend()?, &wanted, None, None)?;
    let _size = stream.set_buffer_size(frames);
    Ok(stream)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1setup(
    env: Env,
    this: jobject,
    _weak_this: jobject,
    attributes: jobject,
    rates: jintArray,
    mask: jint,
    index_mask: jint,
    encoding: jint,
    buffer_bytes: jint,
    mode: jint,
    sessions: jintArray,
    _attribution: jobject,
    native_track: jlong,
    is_offloaded: jboolean,
    _encapsulation: jint,
    tuner: jobject,
    _package: jstring,
) -> jint {
    if mode != MODE_STREAM {
        env.throw_unsupported("AudioTrack.MODE_STATIC");
        return SETUP_FAILED;
    }
    if native_track != 0 || is_offloaded == JNI_TRUE || !tuner.is_null() {
        env.throw_unsupported("AudioTrack that is offloaded, from a tuner or from native code");
        return SETUP_FAILED;
    }
    let Some(format) = format_of(encoding) else {
        return SETUP_FORMAT;
    };
    let channels = if mask == 0 { index_mask } else { mask }.count_ones();
    if channels == 0 {
        return SETUP_CHANNELS;
    }
    let rate = env.ints(rates).first().copied().unwrap_or(0);
    let stream = match open(rate.unsigned_abs(), channels, format, buffer_bytes) {
        Ok(stream) => stream,
        Err(error) => {
            eprintln!("AudioTrack: {error}; {DEVICE_VARIABLE} names the device");
            return SETUP_FAILED;
        }
    };
    env.write_ints(rates, &[stream.granted().rate.cast_signed()]);
    if env.ints(sessions).first() == Some(&0) {
        env.write_ints(sessions, &[next_session()]);
    }
    let asked = env.int_field(attributes, c"mFlags").unwrap_or(0);
    let is_low = asked & ATTRIBUTE_LOW_LATENCY != 0;
    let track = Arc::new(Track {
        stream,
        flags: if is_low { FLAG_FAST } else { 0 },
        base: AtomicU64::new(0),
    });
    let number = NEXT_TRACK.fetch_add(1, Ordering::Relaxed);
    {
        let mut tracks = TRACKS.lock();
        if tracks.len() >= TRACKS_MAX {
            drop(tracks);
            eprintln!("AudioTrack: {TRACKS_MAX} tracks are open; release one");
            return SETUP_FAILED;
        }
        tracks.insert(number, track);
    }
    env.set_long_field(this, c"mNativeTrackInJavaObj", number);
    SUCCESS
}

fn next_session() -> jint {
    NEXT_SESSION.fetch_add(1, Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_newAudioSessionId(_: Env, _: jclass) -> jint {
    next_session()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1release(env: Env, this: jobject) {
    let number = env.long_field(this, c"mNativeTrackInJavaObj");
    let removed = TRACKS.lock().remove(&number);
    if let Some(track) = removed {
        // Never from a callback: a track has none.
        let _released = track.stream.release();
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1finalize(env: Env, this: jobject) {
    Java_android_media_AudioTrack_native_1release(env, this);
}

/// A request, which the state may refuse: Android's answers nothing either, and the next write
/// says that a device is gone.
fn request(env: Env, this: jobject, request: impl Fn(&Track) -> Result<(), StreamError>) {
    match Track::of(env, this) {
        Some(track) => drop(request(&track)),
        None => throw_released(env),
    }
}

fn throw_released(env: Env) {
    let text = "Unable to retrieve AudioTrack pointer: it is released";
    env.throw("java/lang/IllegalStateException", text);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1start(env: Env, this: jobject) {
    request(env, this, |track| track.stream.start());
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1stop(env: Env, this: jobject) {
    request(env, this, |track| {
        track.stream.stop()?;
        track.restart();
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1pause(env: Env, this: jobject) {
    request(env, this, |track| track.stream.pause());
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1flush(env: Env, this: jobject) {
    request(env, this, |track| {
        track.stream.flush()?;
        track.restart();
        Ok(())
    });
}

/// Java has checked that the elements lie in the array.
fn write(
    env: Env,
    this: jobject,
    count: jint,
    size: usize,
    is_blocking: jboolean,
    copy: impl Fn(usize, &mut [u8]),
) -> jint {
    let Some(track) = Track::of(env, this) else {
        throw_released(env);
        return 0;
    };
    let Ok(count) = usize::try_from(count) else {
        return BAD_VALUE;
    };
    let done = track.write(count * size, is_blocking == JNI_TRUE, copy);
    if done < 0 { done } else { done / size as jint }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1write_1byte(
    env: Env,
    this: jobject,
    array: jbyteArray,
    offset: jint,
    count: jint,
    _encoding: jint,
    is_blocking: jboolean,
) -> jint {
    write(env, this, count, 1, is_blocking, |done, piece| {
        env.copy_bytes(array, offset + done as jint, piece);
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1write_1short(
    env: Env,
    this: jobject,
    array: jshortArray,
    offset: jint,
    count: jint,
    _encoding: jint,
    is_blocking: jboolean,
) -> jint {
    write(env, this, count, 2, is_blocking, |done, piece| {
        let mut shorts = [0; PIECE_BYTES / 2];
        let shorts = &mut shorts[..piece.len() / 2];
        env.copy_shorts(array, offset + (done / 2) as jint, shorts);
        for (bytes, short) in piece.chunks_exact_mut(2).zip(shorts) {
            bytes.copy_from_slice(&short.to_le_bytes());
        }
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1write_1float(
    env: Env,
    this: jobject,
    array: jfloatArray,
    offset: jint,
    count: jint,
    _encoding: jint,
    is_blocking: jboolean,
) -> jint {
    write(env, this, count, 4, is_blocking, |done, piece| {
        let mut floats = [0.0; PIECE_BYTES / 4];
        let floats = &mut floats[..piece.len() / 4];
        env.copy_floats(array, offset + (done / 4) as jint, floats);
        for (bytes, float) in piece.chunks_exact_mut(4).zip(floats) {
            bytes.copy_from_slice(&float.to_le_bytes());
        }
    })
}

/// What a track answers to a question.
fn ask(env: Env, this: jobject, answer: impl Fn(&Track) -> u32) -> jint {
    let Some(track) = Track::of(env, this) else {
        throw_released(env);
        return INVALID_OPERATION;
    };
    answer(&track).cast_signed()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1buffer_1size_1frames(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.stream.buffer_size())
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1set_1buffer_1size_1frames(
    env: Env,
    this: jobject,
    frames: jint,
) -> jint {
    let Ok(frames) = u32::try_from(frames) else {
        return BAD_VALUE;
    };
    ask(env, this, |track| track.stream.set_buffer_size(frames))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1buffer_1capacity_1frames(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.stream.granted().capacity)
}

/// Wraps as Android's does.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1position(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.head() as u32)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1underrun_1count(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.stream.xruns())
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1playback_1rate(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.stream.granted().rate)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1flags(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.flags.cast_unsigned())
}

/// None, as on Android for a track that has not been routed.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1getRoutedDeviceId(
    _: Env,
    _: jobject,
) -> jint {
    0
}

/// The route of a track never changes, so nobody is told.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1enableDeviceCallback(_: Env, _: jobject) {}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1disableDeviceCallback(_: Env, _: jobject) {
}

/// Nobody here lists players, so nobody asks for the number.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1setPlayerIId(
    _: Env,
    _: jobject,
    _player: jint,
) {
}

/// Full volume alone.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1setVolume(
    env: Env,
    _: jobject,
    left: jfloat,
    right: jfloat,
) {
    if left != 1.0 || right != 1.0 {
        env.throw_unsupported("AudioTrack.setVolume to another than 1");
    }
}

/// Frames and nanoseconds; Java answers false unless the track moves.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1timestamp(
    env: Env,
    this: jobject,
    into: jlongArray,
) -> jint {
    let Some(track) = Track::of(env, this) else {
        throw_released(env);
        return INVALID_OPERATION;
    };
    let Some(at) = track.stream.timestamp() else {
        return WOULD_BLOCK;
    };
    let frames = at.frames.saturating_sub(track.base.load(Ordering::Relaxed));
    env.write_longs(into, &[frames.cast_signed(), at.time_ns.cast_signed()]);
    SUCCESS
}

/// Two bursts of the device, which is not opened for it.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1min_1buff_1size(
    _: Env,
    _: jclass,
    _rate: jint,
    channels: jint,
    encoding: jint,
) -> jint {
    let Ok(backend) = backend() else { return -1 };
    match format_of(encoding) {
        Some(format) => 2 * backend.burst().cast_signed() * channels * format.bytes() as jint,
        None => -1,
    }
}
