// SPDX-License-Identifier: Apache-2.0
//! android.view.SurfaceControl: a window's surface by the window's number, or a layer of one by the
//! layer's. A transaction carries nothing. What can be set is set at once; for all else there is no
//! native method here, so that it ends in UnsatisfiedLinkError with the method's name.

use jni_sys::{jboolean, jclass, jfloat, jfloatArray, jint, jlong, jobject, jstring};
use screen::{Change, LayerKind, Owner, Rect, Refusal};

use super::{LAYER, Target, change, finalizer, of_native_object, or_throw, target_of};
use crate::env::Env;

/// What stands for every transaction: not null.
const TRANSACTION: jlong = 1;
/// What stands for the connection to a compositor.
const SESSION: jlong = 1;
/// Flags that a transaction sets.
const HIDDEN: jint = 1;
const OPAQUE: jint = 2;
const SECURE: jint = 0x80;
/// Flags that a layer is made with: SurfaceControl.HIDDEN, OPAQUE and what it shows.
const MADE_HIDDEN: jint = 4;
const MADE_OPAQUE: jint = 0x400;
const MADE_COLOR: jint = 0x2_0000;
const MADE_PIXELS: jint = 0x4_0000;
const MADE_CONTAINER: jint = 0x8_0000;
const MADE_KINDS: jint = 0xf_0000;

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

/// A layer of a window, or of another layer. Zero, and an exception is pending, if it is another.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeCreate(
    env: Env,
    _: jclass,
    _session: jobject,
    _name: jstring,
    _width: jint,
    _height: jint,
    _format: jint,
    flags: jint,
    parent: jlong,
    _metadata: jobject,
) -> jlong {
    let kind = match flags & MADE_KINDS {
        MADE_COLOR => LayerKind::Color,
        MADE_PIXELS => LayerKind::Pixels,
        MADE_CONTAINER => LayerKind::Container,
        _ => {
            env.throw_unsupported("a SurfaceControl of another kind");
            return 0;
        }
    };
    if parent == 0 {
        env.throw_unsupported("a SurfaceControl without a parent");
        return 0;
    }
    let added = change(env, |it| {
        let id = it.screen.add_layer(kind, owner_of(parent))?;
        let is_visible = Change::Visible(flags & MADE_HIDDEN == 0);
        it.screen.change_layer(id, is_visible)?;
        let is_opaque = Change::Opaque(flags & MADE_OPAQUE != 0);
        it.screen.change_layer(id, is_opaque)?;
        Ok::<_, Refusal>(id)
    });
    or_throw(env, added).map_or(0, |id| LAYER | jlong::from(id.0))
}

fn owner_of(number: jlong) -> Owner {
    match target_of(number) {
        Target::Layer(id) => Owner::Layer(id),
        _ => Owner::Window(of_native_object(number)),
    }
}

/// Changes a layer. One that is gone changes no more, as Android's. A window's own surface is
/// placed by its session: what else would be set there is named.
fn set(env: Env, surface: jlong, what: &str, wanted: Change) {
    let Target::Layer(id) = target_of(surface) else {
        env.throw_unsupported(&format!("SurfaceControl.Transaction.{what} of a window"));
        return;
    };
    let outcome = change(env, |it| it.screen.change_layer(id, wanted));
    if outcome != Some(Err(Refusal::NoLayer)) {
        or_throw(env, outcome);
    }
}

/// A window is hidden by its session alone. What is secure is not shown to others: there are none.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetFlags(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    flags: jint,
    mask: jint,
) {
    if mask & !(OPAQUE | HIDDEN | SECURE) != 0 {
        env.throw_unsupported(
            "SurfaceControl.Transaction.setFlags beyond hidden, opaque and secure",
        );
        return;
    }
    if mask & HIDDEN != 0 {
        let is_visible = flags & HIDDEN == 0;
        set(env, surface, "show or hide", Change::Visible(is_visible));
    }
    if mask & OPAQUE != 0 {
        let is_opaque = flags & OPAQUE != 0;
        if let Target::Window(id) = target_of(surface) {
            let outcome = change(env, |it| it.screen.set_opaque(id, is_opaque));
            or_throw(env, outcome);
        } else {
            set(env, surface, "setOpaque", Change::Opaque(is_opaque));
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetRelativeLayer(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    to: jlong,
    order: jint,
) {
    match target_of(to) {
        Target::Window(id) => set(env, surface, "setRelativeLayer", Change::Over(id, order)),
        _ => env.throw_unsupported("SurfaceControl.Transaction.setRelativeLayer to a layer"),
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetLayer(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    order: jint,
) {
    set(env, surface, "setLayer", Change::Order(order));
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetPosition(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    x: jfloat,
    y: jfloat,
) {
    set(env, surface, "setPosition", Change::Position(x, y));
}

/// Stretched, not turned.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetMatrix(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    x_of_x: jfloat,
    y_of_x: jfloat,
    x_of_y: jfloat,
    y_of_y: jfloat,
) {
    if y_of_x != 0.0 || x_of_y != 0.0 {
        env.throw_unsupported("SurfaceControl.Transaction.setMatrix that turns");
        return;
    }
    set(env, surface, "setMatrix", Change::Scale(x_of_x, y_of_y));
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetAlpha(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    alpha: jfloat,
) {
    set(env, surface, "setAlpha", Change::Alpha(alpha));
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetColor(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    color: jfloatArray,
) {
    if let [red, green, blue] = env.floats(color)[..] {
        set(env, surface, "setColor", Change::Color([red, green, blue]));
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetWindowCrop(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    left: jint,
    top: jint,
    right: jint,
    bottom: jint,
) {
    let crop = Change::Crop(Rect::new(left, top, right, bottom));
    set(env, surface, "setWindowCrop", crop);
}

/// Corners are square.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetCornerRadius(
    env: Env,
    _: jclass,
    _transaction: jlong,
    _surface: jlong,
    radius: jfloat,
) {
    if radius != 0.0 {
        env.throw_unsupported("SurfaceControl.Transaction.setCornerRadius");
    }
}

/// A frame is shown as large as it was drawn, and a new size counts from the next one on.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetDestinationFrame(
    _: Env,
    _: jclass,
    _transaction: jlong,
    _surface: jlong,
    _left: jint,
    _top: jint,
    _right: jint,
    _bottom: jint,
) {
}

/// A hint for hardware: what is clear in a window is so in its pixels.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetTransparentRegionHint(
    _: Env,
    _: jclass,
    _transaction: jlong,
    _surface: jlong,
    _region: jobject,
) {
}

/// A layer that belongs to nobody is gone with those of its own.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeReparent(
    env: Env,
    _: jclass,
    _transaction: jlong,
    surface: jlong,
    parent: jlong,
) {
    if parent != 0 {
        set(env, surface, "reparent", Change::Owner(owner_of(parent)));
    } else if let Target::Layer(id) = target_of(surface) {
        change(env, |it| it.screen.remove_layer(id));
    } else {
        env.throw_unsupported("SurfaceControl.Transaction.remove of a window");
    }
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

/// The most that a surface may be brighter than white: nothing is.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_SurfaceControl_nativeSetDesiredHdrHeadroom(
    _: Env,
    _: jclass,
    _transaction: jlong,
    _surface: jlong,
    _headroom: jfloat,
) {
}
