// SPDX-License-Identifier: Apache-2.0
//! android.hardware.OverlayProperties, android.window.InputTransferToken and ScreenCapture: what no
//! hardware here does, and what nobody here gives to another process.

use jni_sys::{jboolean, jclass, jint, jlong};

use super::finalizer;
use crate::env::Env;

/// What stands for the properties of hardware that lays surfaces over each other: not null.
const NONE: jlong = 1;

#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_OverlayProperties_nGetDestructor(
    _: Env,
    _: jclass,
) -> jlong {
    finalizer()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_OverlayProperties_nCreateDefault(
    _: Env,
    _: jclass,
) -> jlong {
    NONE
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_OverlayProperties_nSupportMixedColorSpaces(
    _: Env,
    _: jclass,
    _: jlong,
) -> jboolean {
    false
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_hardware_OverlayProperties_nIsCombinationSupported(
    _: Env,
    _: jclass,
    _: jlong,
    _dataspace: jint,
    _format: jint,
) -> jboolean {
    false
}

/// The class initialises, since IWindowSession names it; nothing makes a token.
#[unsafe(no_mangle)]
extern "system" fn Java_android_window_InputTransferToken_nativeGetNativeInputTransferTokenFinalizer(
    _: Env,
    _: jclass,
) -> jlong {
    finalizer()
}

/// The class initialises, since IWindowManager names it; nothing makes a listener.
#[unsafe(no_mangle)]
extern "system" fn Java_android_window_ScreenCapture_getNativeListenerFinalizer(
    _: Env,
    _: jclass,
) -> jlong {
    finalizer()
}
