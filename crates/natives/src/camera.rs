// SPDX-License-Identifier: Apache-2.0
//! android.hardware.Camera: as on an Android device without a camera. There are none to count, and
//! none opens.

use jni_sys::{jboolean, jclass, jint, jobject, jstring};

use crate::env::Env;

/// What Android's camera service answers for a number that it does not have: `open` throws
/// "Fail to connect to camera service".
const NO_SUCH_CAMERA: jint = -libc::EACCES;

#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_Camera__1getNumberOfCameras(
    _: Env,
    _: jclass,
    _device: jint,
    _policy: jint,
) -> jint {
    0
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_Camera__1getCameraInfo(
    env: Env,
    _: jclass,
    _camera: jint,
    _rotation: jint,
    _device: jint,
    _policy: jint,
    _info: jobject,
) {
    env.throw("java/lang/RuntimeException", "Fail to get camera info");
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_Camera_native_1setup(
    _: Env,
    _: jobject,
    _camera_this: jobject,
    _camera: jint,
    _package: jstring,
    _rotation: jint,
    _is_compatible: jboolean,
    _device: jint,
    _policy: jint,
) -> jint {
    NO_SUCH_CAMERA
}

/// Of a camera that did not open: nothing is held.
#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_Camera_native_1release(_: Env, _: jobject) {}
