// SPDX-License-Identifier: Apache-2.0
//! android.view.TextureView and android.graphics.SurfaceTexture: a Surface of ours whose frames a
//! view draws in its window. takt.screen.Textures has the frames.

use jni_sys::{jboolean, jclass, jint, jlong, jobject, jvalue};

use super::buffer_queue::next_number;
use super::{Outlet, Target, change, surface};
use crate::env::Env;

/// The field of our SurfaceTexture that holds the native object of its Surface.
const NUMBER: &core::ffi::CStr = c"mNumber";
/// The field of a TextureView.
const WINDOW: &core::ffi::CStr = c"mNativeWindow";
/// Until a size is set: as Android's.
const FIRST_SIZE: (u32, u32) = (1, 1);

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_openTexture(env: Env, _: jclass) -> jlong {
    let number = change(env, |state| {
        let number = next_number(state);
        let outlet = Outlet::new(number, (Target::Texture, FIRST_SIZE), 0);
        state.outlets.push(outlet);
        number
    });
    number.map_or(0, surface::refer)
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_resizeTexture(
    _: Env,
    _: jclass,
    texture: jlong,
    width: jint,
    height: jint,
) {
    if width > 0 && height > 0 {
        let size = (width.cast_unsigned(), height.cast_unsigned());
        surface::with(texture, |it| it.size = size);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_closeTexture(env: Env, _: jclass, texture: jlong) {
    surface::abandon(env, texture >> 1);
    surface::release(env, texture);
}

/// A Surface for the one that draws there.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_Surface_nativeCreateFromSurfaceTexture(
    env: Env,
    _: jclass,
    texture: jobject,
) -> jlong {
    surface::refer(env.long_field(texture, NUMBER) >> 1)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_TextureView_nCreateNativeWindow(
    env: Env,
    view: jobject,
    texture: jobject,
) {
    let number = env.long_field(texture, NUMBER);
    env.set_long_field(view, WINDOW, surface::refer(number >> 1));
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_TextureView_nDestroyNativeWindow(env: Env, view: jobject) {
    surface::release(env, env.long_field(view, WINDOW));
    env.set_long_field(view, WINDOW, 0);
}

/// False for a texture that is released.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_TextureView_nLockCanvas(
    env: Env,
    _: jclass,
    window: jlong,
    canvas: jobject,
    dirty: jobject,
) -> jboolean {
    let is_there = surface::with(window, |it| !it.canvas.is_abandoned());
    is_there == Some(true) && surface::lock(env, window, canvas, dirty).is_some_and(|it| it != 0)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_TextureView_nUnlockCanvasAndPost(
    env: Env,
    _: jclass,
    window: jlong,
    canvas: jobject,
) {
    surface::unlock(env, window, canvas);
    // What locking has taken.
    surface::release(env, window);
}

/// A frame is there: its view hears of it.
pub(super) fn unlock(env: Env, (number, texture): (jlong, jlong), canvas: jobject) {
    let arguments = [
        jvalue { j: number },
        jvalue { j: texture },
        jvalue { l: canvas },
    ];
    let signature = c"(JJLandroid/graphics/Canvas;)V";
    env.call_static_void(surface::SURFACES, c"unlockTexture", signature, &arguments);
}
