// SPDX-License-Identifier: Apache-2.0
//! android.graphics.BLASTBufferQueue: what a window's renderer draws into. The drawing lies in a
//! buffer of AOSP's library, which takt.screen.Surfaces makes, and is copied into the window's own
//! buffers when a frame is done: see `renderer`.

use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring, jvalue};
use rt::sync::PiMutex;
use screen::WindowId;

use super::{Outlet, change, native_field, of_native_object, state_or_throw};
use crate::env::Env;
use crate::handle::Handle;

/// A window that is drawn with one size.
struct Queue {
    /// None before the first update.
    target: PiMutex<Option<(WindowId, (u32, u32))>>,
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeCreate(
    _: Env,
    _: jclass,
    _name: jstring,
    _updates_destination: jboolean,
) -> jlong {
    let target = PiMutex::new(None);
    Handle::new(Queue { target }).into_java()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeDestroy(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
) {
    let target = queue.get().target.lock().take();
    if let Some((window, size)) = target {
        let gone = change(env, |state| {
            let is_gone = |it: &Outlet| it.window == window && it.size == size;
            let index = state.outlets.iter().position(is_gone)?;
            Some(state.outlets.swap_remove(index).number)
        });
        if let Some(Some(number)) = gone {
            let arguments = [jvalue { j: number }];
            env.call_static_void("takt/screen/Surfaces", c"free", c"(J)V", &arguments);
        }
    }
    queue.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeUpdate(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
    surface: jlong,
    width: jlong,
    height: jlong,
    _format: jint,
) {
    let mut target = queue.get().target.lock();
    target.get_or_insert((of_native_object(surface), (width as u32, height as u32)));
}

/// A window whose surface has another size by now is another one: its queue is made anew.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeIsSameSurfaceControl(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
    surface: jlong,
) -> jboolean {
    let Some((window, size)) = *queue.get().target.lock() else {
        return false;
    };
    let asked = of_native_object(surface);
    let now = state_or_throw(env).and_then(|it| it.screen.surface_size(asked).ok());
    window == asked && now == Some(size)
}

/// The surface that the window's renderer draws into.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeGetSurface(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
    _has_handle: jboolean,
) -> jobject {
    let Some((window, size)) = *queue.get().target.lock() else {
        env.throw(
            "java/lang/IllegalStateException",
            "a queue without a window",
        );
        return core::ptr::null_mut();
    };
    let Some(number) = change(env, |state| {
        state.numbers += 1;
        state.numbers
    }) else {
        return core::ptr::null_mut();
    };
    let arguments = [
        jvalue { j: number },
        jvalue {
            i: size.0.cast_signed(),
        },
        jvalue {
            i: size.1.cast_signed(),
        },
    ];
    let signature = c"(JII)Landroid/view/Surface;";
    let surface = env.call_static("takt/screen/Surfaces", c"make", signature, &arguments);
    if surface.is_null() {
        return surface;
    }
    let outlet = Outlet {
        number,
        window,
        size,
        surface: native_field(env, surface),
        renderer: 0,
        pixels: None,
    };
    change(env, |state| {
        state.outlets.retain(|it| it.window != window);
        state.outlets.push(outlet);
    });
    surface
}

/// What hangs is a compositor: there is none.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeSetTransactionHangCallback(
    _: Env,
    _: jclass,
    _: Handle<Queue>,
    _callback: jobject,
) {
}
