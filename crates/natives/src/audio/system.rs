// SPDX-License-Identifier: Apache-2.0
//! android.media.AudioSystem: what AudioManager asks it of the device, and of this process's
//! tracks. Tracks of other processes are not known here.

use jni_sys::{JNI_FALSE, jboolean, jclass, jint, jobject};
use sound::{Direction, Granted, Wanted};

use super::{ask, next_session, say, track};
use crate::env::Env;

/// What the device gives to who has no wishes.
fn primary() -> Option<Granted> {
    let asked = ask(&Wanted {
        direction: Direction::Output,
        rate: None,
        channels: None,
        format: None,
        capacity: None,
    });
    asked
        .inspect_err(|error| say(Direction::Output, &error.to_string()))
        .ok()
}

/// 0 without a device: AudioManager.getProperty answers null then.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_getPrimaryOutputSamplingRate(
    _: Env,
    _: jclass,
) -> jint {
    primary().map_or(0, |it| it.rate.cast_signed())
}

/// As above: the frames of a burst.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_getPrimaryOutputFrameCount(
    _: Env,
    _: jclass,
) -> jint {
    primary().map_or(0, |it| it.burst.cast_signed())
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioTrack_native_1get_1output_1sample_1rate(
    _: Env,
    _: jclass,
    _stream: jint,
) -> jint {
    primary().map_or(super::ERROR, |it| it.rate.cast_signed())
}

/// Whether a track of this kind of stream moves now. What was before is not kept.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_isStreamActive(
    env: Env,
    _: jclass,
    stream: jint,
    past_ms: jint,
) -> jboolean {
    if past_ms > 0 {
        env.throw_unsupported("AudioSystem.isStreamActive in the past");
        return JNI_FALSE;
    }
    track::is_playing(stream)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_newAudioSessionId(_: Env, _: jclass) -> jint {
    next_session()
}

/// No strategies: AudioAttributes take AOSP's own table for the old kinds of stream then.
#[unsafe(no_mangle)]
extern "system" fn Java_android_media_audiopolicy_AudioProductStrategy_native_1list_1audio_1product_1strategies(
    _: Env,
    _: jclass,
    _list: jobject,
) -> jint {
    super::SUCCESS
}
