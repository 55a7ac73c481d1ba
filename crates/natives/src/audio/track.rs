// SPDX-License-Identifier: Apache-2.0
//! android.media.AudioTrack: a [`Stream`] of `sound`. In MODE_STREAM the application's own thread
//! fills it; in MODE_STATIC a callback's thread does, from a [`Still`].
//!
//! A write copies pieces through its stack and takes no memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jni_sys::{
    JNI_FALSE, JNI_TRUE, jboolean, jbyteArray, jclass, jfloat, jfloatArray, jint, jintArray, jlong,
    jlongArray, jobject, jshortArray, jstring,
};
use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use sound::{Backend, DeviceError, Direction, Playback, State, Stream, StreamError};

use super::gain::Gain;
use super::marks::{self, Marks, Moving};
use super::pieces::{self, LOOK_NS, PIECE_BYTES};
use super::setup::{self, Asked};
use super::still::Still;
use super::table::Table;
use super::{
    BAD_VALUE, INVALID_OPERATION, SUCCESS, WOULD_BLOCK, code_of, least_bytes, say, throw_released,
};
use crate::env::Env;

const CLASS: &str = "AudioTrack";
const MODE_STATIC: jint = 0;
/// AudioAttributes.FLAG_LOW_LATENCY, and AUDIO_OUTPUT_FLAG_FAST, which AudioTrack reads it from.
const ATTRIBUTE_LOW_LATENCY: jint = 0x100;
const FLAG_FAST: jint = 4;
/// What the thread that plays a static buffer asks for then: as AAudio's callbacks.
const LOW_LATENCY: Policy = Policy::fifo(80);

/// Tracks of a process at once; Android has as many.
const TRACKS_MAX: usize = 40;
/// What a stop of a static track waits for its last bursts at most.
const STOP_NS: u64 = 500_000_000;

static TRACKS: Table<Track> = Table::new(c"mNativeTrackInJavaObj", TRACKS_MAX);

struct Track {
    stream: Stream,
    /// In MODE_STATIC.
    still: Option<Arc<Still>>,
    gain: Arc<Gain>,
    marks: Marks,
    flags: jint,
    /// AudioManager's number of the kind of stream.
    kind: jint,
    /// The stream's frame at which the head was zero: moves at a stop and at a flush.
    base: AtomicU64,
}

impl Moving for Track {
    fn head(&self) -> u64 {
        self.stream.look();
        let base = self.base.load(Ordering::Relaxed);
        self.stream.frames_read().saturating_sub(base)
    }

    fn duration_ns(&self, frames: u64) -> Option<u64> {
        let is_active = self.stream.state().is_active();
        is_active.then(|| self.stream.granted().duration_ns(frames))
    }

    fn marks(&self) -> &Marks {
        &self.marks
    }
}

impl Track {
    /// What was written so far is before the head from now on.
    fn restart(&self) {
        let written = self.stream.frames_written();
        self.base.store(written, Ordering::Relaxed);
    }

    /// What a buffer's thread has in hand is played, then all begins anew.
    fn stop(&self) -> Result<(), StreamError> {
        self.stream.stop()?;
        if let Some(still) = &self.still {
            let due_ns = Monotonic.now_ns() + STOP_NS;
            // A device that hangs is no reason to keep the caller.
            let _settled = self.stream.wait_for_change(State::Stopping, due_ns);
            still.rewind();
        }
        self.restart();
        Ok(())
    }

    /// Writes whole frames of `bytes` bytes, which `copy` brings from an offset; returns the bytes
    /// written, or an error.
    fn write(&self, bytes: usize, is_blocking: bool, copy: impl Fn(usize, &mut [u8])) -> jint {
        let granted = self.stream.granted();
        let frame = granted.frame_bytes();
        let total = bytes / frame * frame;
        let mut piece = [0; PIECE_BYTES];
        let mut done = 0;
        if let Some(still) = &self.still {
            let total = total.min(still.bytes());
            while done < total {
                let piece = &mut piece[..(total - done).min(PIECE_BYTES / frame * frame)];
                copy(done, piece);
                still.write(done, piece);
                done += piece.len();
            }
            return jint::try_from(done).unwrap_or(jint::MAX);
        }
        while done < total {
            let piece = &mut piece[..(total - done).min(PIECE_BYTES / frame * frame)];
            copy(done, piece);
            self.gain
                .apply(granted.format, granted.channels as usize, piece);
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

/// Whether a track of this kind of stream moves.
pub(super) fn is_playing(kind: jint) -> jboolean {
    let is_playing = TRACKS.any(|it| it.kind == kind && it.stream.state().is_active());
    if is_playing { JNI_TRUE } else { JNI_FALSE }
}

/// AudioManager's kind of stream for AudioAttributes' usage.
fn kind_of(usage: jint) -> jint {
    match usage {
        2 => 0,          // a call
        3 => 8,          // its tones
        13 => 1,         // the system
        6 => 2,          // ringing
        4 => 4,          // an alarm
        5 | 7..=10 => 5, // notifications
        11 => 10,        // accessibility
        16 => 11,        // an assistant
        _ => 3,          // music
    }
}

/// What is to play.
struct Setup {
    asked: Asked,
    is_low: bool,
}

impl Setup {
    /// A buffer of silence for MODE_STATIC; none without memory for it.
    fn buffer(&self) -> Option<Arc<Still>> {
        let frame = self.asked.channels as usize * self.asked.format.bytes();
        Still::new(self.asked.frames as usize, frame).map(Arc::new)
    }

    fn streaming(&self) -> Result<Stream, DeviceError> {
        let stream = Stream::open(
            &Backend::of_environment(Direction::Output)?,
            &self.asked.wanted(Some(self.asked.frames)),
            None,
            None,
        )?;
        let _size = stream.set_buffer_size(self.asked.frames);
        Ok(stream)
    }

    /// A stream whose callback's thread plays the buffer: two bursts ahead for who asks for a low
    /// latency, else as far as the device holds.
    fn still(&self, still: &Arc<Still>, gain: &Arc<Gain>) -> Result<Stream, DeviceError> {
        let (still, gain) = (Arc::clone(still), Arc::clone(gain));
        let (format, channels) = (self.asked.format, self.asked.channels as usize);
        let playback = Playback {
            callback: Box::new(move |bytes, _| {
                let flow = still.play(bytes);
                gain.apply(format, channels, bytes);
                flow
            }),
            frames: None,
            policy: self.is_low.then_some(LOW_LATENCY),
            reserve: None,
            governor: None,
        };
        let stream = Stream::open(
            &Backend::of_environment(Direction::Output)?,
            &self.asked.wanted(None),
            Some(playback),
            None,
        )?;
        if !self.is_low {
            let _size = stream.set_buffer_size(stream.granted().capacity);
        }
        Ok(stream)
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1setup(
    env: Env,
    this: jobject,
    weak_this: jobject,
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
    if native_track != 0 || is_offloaded == JNI_TRUE || !tuner.is_null() {
        env.throw_unsupported("AudioTrack that is offloaded, from a tuner or from native code");
        return setup::FAILED;
    }
    let masks = [mask, index_mask];
    let asked = Asked::of(env, Direction::Output, rates, masks, encoding, buffer_bytes);
    let asked = match asked {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    let number = |name| env.int_field(attributes, name).unwrap_or(0);
    let is_low = number(c"mFlags") & ATTRIBUTE_LOW_LATENCY != 0;
    let kind = kind_of(number(c"mUsage"));
    let setup = Setup { asked, is_low };
    let Some(track) = open(env, weak_this, &setup, mode == MODE_STATIC, kind) else {
        return setup::FAILED;
    };
    let granted = track.stream.granted();
    if !TRACKS.keep(env, this, track) {
        say(
            Direction::Output,
            "too many tracks are open, 40: release one",
        );
        return setup::FAILED;
    }
    setup::settle(env, granted, rates, sessions);
    SUCCESS
}

/// Opens what is asked for; or the log, or an exception, says why not.
fn open(env: Env, weak_this: jobject, setup: &Setup, is_static: bool, kind: jint) -> Option<Track> {
    let gain = Arc::new(Gain::full());
    let still = match is_static {
        true => {
            let buffer = setup.buffer();
            if buffer.is_none() {
                say(Direction::Output, "no memory for the buffer");
            }
            Some(buffer?)
        }
        false => None,
    };
    let opened = match &still {
        Some(still) => setup.still(still, &gain),
        None => setup.streaming(),
    };
    let opened = opened.inspect_err(|error| say(Direction::Output, &error.to_string()));
    Some(Track {
        stream: opened.ok()?,
        still,
        gain,
        marks: Marks::new(env, "android/media/AudioTrack", weak_this)?,
        flags: if setup.is_low { FLAG_FAST } else { 0 },
        kind,
        base: AtomicU64::new(0),
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1release(env: Env, this: jobject) {
    if let Some(track) = TRACKS.remove(env, this) {
        track.marks.end();
        // Never from a callback: that is ours.
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
    match TRACKS.of(env, this) {
        Some(track) => drop(request(&track)),
        None => throw_released(env, CLASS),
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1start(env: Env, this: jobject) {
    request(env, this, |track| {
        track.stream.start()?;
        track.marks.moved(track.head());
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1stop(env: Env, this: jobject) {
    request(env, this, Track::stop);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1pause(env: Env, this: jobject) {
    request(env, this, |track| track.stream.pause());
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1flush(env: Env, this: jobject) {
    // A static buffer is not flushed, on Android neither.
    request(env, this, |track| match track.still {
        Some(_) => Ok(()),
        None => {
            track.stream.flush()?;
            track.restart();
            Ok(())
        }
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
    let Some(track) = TRACKS.of(env, this) else {
        throw_released(env, CLASS);
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
        pieces::take_shorts(env, array, offset + (done / 2) as jint, piece);
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
        pieces::take_floats(env, array, offset + (done / 4) as jint, piece);
    })
}

/// What a track answers to a question.
fn ask(env: Env, this: jobject, answer: impl Fn(&Track) -> u32) -> jint {
    let Some(track) = TRACKS.of(env, this) else {
        throw_released(env, CLASS);
        return INVALID_OPERATION;
    };
    answer(&track).cast_signed()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1buffer_1size_1frames(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| match &track.still {
        Some(still) => still.frames() as u32,
        None => track.stream.buffer_size(),
    })
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
    ask(env, this, |track| match &track.still {
        // AOSP refuses it: the buffer is the sound.
        Some(_) => INVALID_OPERATION.cast_unsigned(),
        None => track.stream.set_buffer_size(frames),
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1buffer_1capacity_1frames(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| match &track.still {
        Some(still) => still.frames() as u32,
        None => track.stream.granted().capacity,
    })
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

/// Of what is written from now on; what a static track plays next.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1setVolume(
    env: Env,
    this: jobject,
    left: jfloat,
    right: jfloat,
) {
    match TRACKS.of(env, this) {
        Some(track) => track.gain.set(left, right),
        None => throw_released(env, CLASS),
    }
}

/// Frames and nanoseconds; Java answers false unless the track moves.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1timestamp(
    env: Env,
    this: jobject,
    into: jlongArray,
) -> jint {
    let Some(track) = TRACKS.of(env, this) else {
        throw_released(env, CLASS);
        return INVALID_OPERATION;
    };
    let Some(at) = track.stream.timestamp() else {
        return WOULD_BLOCK;
    };
    let frames = at.frames.saturating_sub(track.base.load(Ordering::Relaxed));
    env.write_longs(into, &[frames.cast_signed(), at.time_ns.cast_signed()]);
    SUCCESS
}

/// Two bursts, as the device grants them.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1min_1buff_1size(
    _: Env,
    _: jclass,
    rate: jint,
    channels: jint,
    encoding: jint,
) -> jint {
    least_bytes(Direction::Output, rate, channels, encoding)
}

/// Milliseconds until a frame that is written now is the device's.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1latency(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| {
        let frames = track.stream.buffer_size();
        (track.stream.granted().duration_ns(frames.into()) / 1_000_000) as u32
    })
}

/// What a static track is asked; AudioTrack's result for another.
fn of_still(env: Env, this: jobject, answer: impl Fn(&Track, &Still) -> bool) -> jint {
    let Some(track) = TRACKS.of(env, this) else {
        throw_released(env, CLASS);
        return INVALID_OPERATION;
    };
    match &track.still {
        Some(_) if track.stream.state().is_active() => INVALID_OPERATION,
        Some(still) if answer(&track, still) => SUCCESS,
        Some(_) => BAD_VALUE,
        None => INVALID_OPERATION,
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1set_1loop(
    env: Env,
    this: jobject,
    start: jint,
    end: jint,
    count: jint,
) -> jint {
    of_still(env, this, |_, still| still.set_loop(start, end, count))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1reload_1static(
    env: Env,
    this: jobject,
) -> jint {
    of_still(env, this, |_, still| still.seek(0))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1set_1position(
    env: Env,
    this: jobject,
    frame: jint,
) -> jint {
    of_still(env, this, |_, still| {
        usize::try_from(frame).is_ok_and(|it| still.seek(it))
    })
}

/// What Java sets of the marks: SUCCESS, or that there is no thread to look.
fn mark(env: Env, this: jobject, set: impl Fn(&Arc<Track>) -> bool) -> jint {
    match TRACKS.of(env, this) {
        Some(track) if set(&track) => SUCCESS,
        Some(_) => INVALID_OPERATION,
        None => {
            throw_released(env, CLASS);
            INVALID_OPERATION
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1set_1marker_1pos(
    env: Env,
    this: jobject,
    frame: jint,
) -> jint {
    mark(env, this, |it| marks::set_marker(it, frame.cast_unsigned()))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1marker_1pos(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.marks.marker())
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1set_1pos_1update_1period(
    env: Env,
    this: jobject,
    frames: jint,
) -> jint {
    mark(env, this, |it| {
        marks::set_period(it, frames.cast_unsigned())
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1pos_1update_1period(
    env: Env,
    this: jobject,
) -> jint {
    ask(env, this, |track| track.marks.period())
}

/// The device's own rate alone.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1set_1playback_1rate(
    env: Env,
    this: jobject,
    rate: jint,
) -> jint {
    let own = ask(env, this, |track| track.stream.granted().rate);
    if own == rate {
        return SUCCESS;
    }
    env.throw_unsupported("AudioTrack.setPlaybackRate to another than its own");
    INVALID_OPERATION
}

/// The one device, or none by name.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1setOutputDevice(
    _: Env,
    _: jobject,
    device: jint,
) -> jboolean {
    if device == 0 { JNI_TRUE } else { JNI_FALSE }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1write_1native_1bytes(
    env: Env,
    this: jobject,
    buffer: jobject,
    offset: jint,
    count: jint,
    _encoding: jint,
    is_blocking: jboolean,
) -> jint {
    let Ok(offset) = usize::try_from(offset) else {
        return BAD_VALUE;
    };
    let end = usize::try_from(count)
        .ok()
        .and_then(|it| it.checked_add(offset));
    let size = env.direct_buffer(buffer).map(|it| it.1);
    if end.is_none_or(|end| size.is_none_or(|size| size < end)) {
        return BAD_VALUE;
    }
    write(env, this, count, 1, is_blocking, |done, piece| {
        env.copy_direct(buffer, offset + done, piece);
    })
}

/// As on a device without decoders: nothing plays but PCM.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1is_1direct_1output_1supported(
    _: Env,
    _: jclass,
    _encoding: jint,
    _rate: jint,
    _mask: jint,
    _index_mask: jint,
    _content: jint,
    _usage: jint,
    _flags: jint,
) -> jboolean {
    JNI_FALSE
}

/// It plays from the first frames on.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1getStartThresholdInFrames(
    _: Env,
    _: jobject,
) -> jint {
    1
}

unsupported! {
    "AudioTrack";
    Java_android_media_AudioTrack_native_1set_1playback_1params(jobject) -> (), (), "setPlaybackParams";
    Java_android_media_AudioTrack_native_1get_1playback_1params() -> core::ptr::null_mut(), jobject, "getPlaybackParams";
    Java_android_media_AudioTrack_native_1attachAuxEffect(jint) -> INVALID_OPERATION, jint, "attachAuxEffect";
    Java_android_media_AudioTrack_native_1setAuxEffectSendLevel(jfloat) -> INVALID_OPERATION, jint, "setAuxEffectSendLevel";
    Java_android_media_AudioTrack_native_1applyVolumeShaper(jobject, jobject) -> INVALID_OPERATION, jint, "createVolumeShaper";
    Java_android_media_AudioTrack_native_1getVolumeShaperState(jint) -> core::ptr::null_mut(), jobject, "VolumeShaper.getVolume";
    Java_android_media_AudioTrack_native_1setPresentation(jint, jint) -> INVALID_OPERATION, jint, "setPresentation";
    Java_android_media_AudioTrack_native_1getMetrics() -> core::ptr::null_mut(), jobject, "getMetrics";
    Java_android_media_AudioTrack_native_1setLogSessionId(jstring) -> (), (), "setLogSessionId";
    Java_android_media_AudioTrack_native_1setStartThresholdInFrames(jint) -> INVALID_OPERATION, jint, "setStartThresholdInFrames";
    Java_android_media_AudioTrack_native_1set_1audio_1description_1mix_1level_1db(jfloat) -> INVALID_OPERATION, jint, "setAudioDescriptionMixLeveldB";
    Java_android_media_AudioTrack_native_1set_1dual_1mono_1mode(jint) -> INVALID_OPERATION, jint, "setDualMonoMode";
}
