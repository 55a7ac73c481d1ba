// SPDX-License-Identifier: Apache-2.0
//! android.view.SurfaceControl: a window's surface by the window's number. A transaction carries
//! nothing. What can be set is set at once; for all else there is no native method here, so that it
//! ends in UnsatisfiedLinkError with the method's name.

use jni_sys::{jboolean, jclass, jint, jlong};

use super::{change, finalizer, of_native_object, or_throw};
use crate::env::Env;

/// What stands for every transaction: not null.
const TRANSACTION: jlong = 1;
/// What stands for the connection to a compositor.
const SESSION: jlong = 1;
/// SurfaceControl.OPAQUE, among the flags.
const OPAQUE: jint = 2;

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceSession_nativeCreate(_: Env, _: jclass) -> jlong {
    SESSION
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceSession_nativeDestroy(_: Env, _: jclass, _: jlong) {}

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

/// Whether a surface is opaque is known at once. It is hidden by its window alone.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetFlags(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    flags: jint,
    mask: jint,
) {
    if mask & !OPAQUE != 0 {
        env.throw_unsupported("SurfaceControl.Transaction.setFlags beyond opaque");
        return;
    }
    let is_opaque = flags & OPAQUE != 0;
    let outcome = change(env, |it| {
        it.screen.set_opaque(of_native_object(surface), is_opaque)
    });
    or_throw(env, outcome);
}

/// The display shows no more than white.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetExtendedRangeBrightness(
    env: Env,
    _: jclass,
    _transaction: jlong,
    _surface: jlong,
    ratio: f32,
    _wanted: f32,
) {
    if ratio > 1.0 {
        env.throw_unsupported("a surface brighter than white");
    }
}
