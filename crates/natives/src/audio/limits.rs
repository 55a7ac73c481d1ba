// SPDX-License-Identifier: Apache-2.0
//! android.media.AudioSystem: the limits that its static fields, and those of AudioFormat, come of.
//! No device is asked. Those who name these classes need them: a window that plays the sound of a
//! key, for one.

use jni_sys::{jclass, jint};

use crate::env::Env;

/// AOSP's FCC_LIMIT is a device's own; this is FCC_12.
const CHANNELS_MAX: jint = 12;
/// AOSP's SAMPLE_RATE_HZ_MAX and SAMPLE_RATE_HZ_MIN.
const RATE_MAX: jint = 192_000;
const RATE_MIN: jint = 4000;

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_native_1getMaxChannelCount(
    _: Env,
    _: jclass,
) -> jint {
    CHANNELS_MAX
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_native_1getMaxSampleRate(
    _: Env,
    _: jclass,
) -> jint {
    RATE_MAX
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_media_AudioSystem_native_1getMinSampleRate(
    _: Env,
    _: jclass,
) -> jint {
    RATE_MIN
}
