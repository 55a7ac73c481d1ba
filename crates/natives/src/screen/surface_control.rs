// SPDX-License-Identifier: Apache-2.0
//! android.view.SurfaceControl: a window's surface by the window's number. A transaction carries
//! nothing: whoever would put something in ends in UnsatisfiedLinkError with the method's name.

use jni_sys::{jboolean, jclass, jint, jlong};

use super::finalizer;
use crate::env::Env;

/// What stands for every transaction: not null.
const TRANSACTION: jlong = 1;

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeGetNativeSurfaceControlFinalizer(
    _: Env,
    _: jclass,
) -> jlong {
    finalizer()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeGetNativeTransactionFinalizer(
    _: Env,
    _: jclass,
) -> jlong {
    finalizer()
}

/// Another reference to the same surface.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeCopyFromSurfaceControl(
    _: Env,
    _: jclass,
    surface: jlong,
) -> jlong {
    surface
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeGetHandle(
    _: Env,
    _: jclass,
    surface: jlong,
) -> jlong {
    surface
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeGetLayerId(
    _: Env,
    _: jclass,
    surface: jlong,
) -> jint {
    surface as jint
}

/// A window is taken away by its session.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeDisconnect(_: Env, _: jclass, _: jlong) {}

/// Surfaces are not turned.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetTransformHint(
    _: Env,
    _: jclass,
    _: jlong,
    _: jint,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeCreateTransaction(
    _: Env,
    _: jclass,
) -> jlong {
    TRANSACTION
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeApplyTransaction(
    _: Env,
    _: jclass,
    _: jlong,
    _is_sync: jboolean,
    _is_one_way: jboolean,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeMergeTransaction(
    _: Env,
    _: jclass,
    _: jlong,
    _: jlong,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeClearTransaction(
    _: Env,
    _: jclass,
    _: jlong,
) {
}
