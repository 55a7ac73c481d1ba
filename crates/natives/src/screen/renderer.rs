// SPDX-License-Identifier: Apache-2.0
//! android.graphics.HardwareRenderer: AOSP's library draws. Around three of its functions stand
//! ours, so that a frame is copied into its window's buffers as soon as it is drawn.
//!
//! The library draws in the processor, on a thread of its own. A window that draws waits for that
//! thread: then the frame is whole.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use jni_sys::{jboolean, jclass, jint, jlong, jlongArray, jobject, jvalue};

use super::{Pixels, State, change_quietly, library, native_field, render_thread, state, surface};
use crate::env::{Env, Global};
use screen::Refusal;

pub(super) const CLASS: &str = "android.graphics.HardwareRenderer";

type SetSurface = extern "system" fn(Env, jclass, jlong, jobject, jboolean);
type Draw = extern "system" fn(Env, jclass, jlong, jlongArray, jint) -> jint;
type Fence = extern "system" fn(Env, jclass, jlong);

static SET_SURFACE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static DRAW: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static FENCE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// What is registered for a function of the library: itself, or what we put around it.
pub(super) fn around(name: &CStr, function: *mut c_void) -> *mut c_void {
    let keep = |place: &AtomicPtr<c_void>| place.store(function, Ordering::Release);
    match name.to_bytes() {
        b"nSetSurface" => {
            keep(&SET_SURFACE);
            set_surface as *mut c_void
        }
        b"nSyncAndDrawFrame" => {
            keep(&DRAW);
            draw as *mut c_void
        }
        b"nFence" => {
            keep(&FENCE);
            function
        }
        // It would ask a compositor, of which the library has none.
        b"nSetSurfaceControl" => set_surface_control as *mut c_void,
        _ => function,
    }
}

static HAS_DRAWN: AtomicBool = AtomicBool::new(false);

extern "system" fn set_surface_control(_: Env, _: jclass, _renderer: jlong, _surface: jlong) {}

extern "system" fn set_surface(
    env: Env,
    class: jclass,
    renderer: jlong,
    surface: jobject,
    discards: jboolean,
) {
    let number = match surface.is_null() {
        true => 0,
        false => native_field(env, surface),
    };
    if let Some(mut state) = state() {
        for outlet in &mut state.outlets {
            if outlet.renderer == renderer {
                outlet.renderer = 0;
            }
            if number != 0 && outlet.is(number) {
                outlet.renderer = renderer;
            }
        }
    }
    let surface = surface::for_library(env, surface, number);
    // SAFETY: 1. JNI registered it under this name and signature: `around` kept it.
    let function = unsafe { library::<SetSurface>(&SET_SURFACE) };
    function(env, class, renderer, surface, discards);
}

extern "system" fn draw(
    env: Env,
    class: jclass,
    renderer: jlong,
    frame: jlongArray,
    count: jint,
) -> jint {
    // SAFETY: 1. As in `set_surface`.
    let (function, fence) = unsafe { (library::<Draw>(&DRAW), library::<Fence>(&FENCE)) };
    let answer = function(env, class, renderer, frame, count);
    if state().is_some_and(|it| it.outlets.iter().any(|it| it.renderer == renderer)) {
        fence(env, class, renderer);
        if !HAS_DRAWN.swap(true, Ordering::Relaxed) {
            // By now it has those that help it.
            render_thread::find();
        }
        post(env, renderer);
    }
    answer
}

/// Copies what a renderer has drawn.
fn post(env: Env, renderer: jlong) {
    find_pixels(env, renderer);
    let posted = change_quietly(|state| post_locked(state, renderer));
    if let Some(Err(refusal)) = posted {
        let text = format!("a window's frame is lost: {refusal}");
        env.throw("java/lang/IllegalStateException", &text);
    }
}

/// The caller holds the state's lock.
fn post_locked(state: &mut State, renderer: jlong) -> Result<(), Refusal> {
    let Some(outlet) = state.outlets.iter().find(|it| it.renderer == renderer) else {
        return Ok(());
    };
    let Some(pixels) = &outlet.pixels else {
        return Ok(());
    };
    let (target, size) = (outlet.target, outlet.size);
    let address = core::ptr::with_exposed_provenance::<u8>(pixels.address);
    // SAFETY:
    // 1. The address and size are a direct buffer's, which `Pixels` keeps, over memory that lives
    //    as long as takt.screen.Surfaces keeps the image: until the queue is destroyed, which takes
    //    the outlet first.
    // 2. Nobody writes there meanwhile: the render thread has come to the fence, and draws for this
    //    renderer only when asked by this thread.
    let drawn = unsafe { core::slice::from_raw_parts(address, pixels.bytes) };
    super::post(state, target, size, drawn).map(drop)
}

/// Asks for the buffer behind a renderer's surface: it is there from the first frame on.
fn find_pixels(env: Env, renderer: jlong) {
    let Some(number) = state().and_then(|it| {
        let of = it.outlets.iter().find(|it| it.renderer == renderer)?;
        of.pixels.is_none().then_some(of.number)
    }) else {
        return;
    };
    let arguments = [jvalue { j: number }];
    let signature = c"(J)Ljava/nio/ByteBuffer;";
    let buffer = env.call_static("takt/screen/Surfaces", c"pixels", signature, &arguments);
    let found = env.direct_buffer(buffer).and_then(|(start, bytes)| {
        Some(Pixels {
            _buffer: Global::new(env, buffer)?,
            address: start.expose_provenance(),
            bytes,
        })
    });
    if let Some(mut state) = state() {
        let mut outlets = state.outlets.iter_mut();
        if let Some(outlet) = outlets.find(|it| it.number == number) {
            outlet.pixels = found;
        }
    }
}
