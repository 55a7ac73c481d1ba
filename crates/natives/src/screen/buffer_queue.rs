// SPDX-License-Identifier: Apache-2.0
//! android.graphics.BLASTBufferQueue: what a window's renderer draws into. The drawing lies in a
//! buffer of AOSP's library, which takt.screen.Surfaces makes, and is copied into the window's own
//! buffers when a frame is done: see `renderer`.

use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring};
use rt::sync::PiMutex;

use super::surface;
use super::{Outlet, State, Target, change, native_field, state_or_throw, target_of};
use crate::env::Env;
use crate::handle::Handle;

/// A window or a layer that is drawn with one size.
pub(super) struct Queue(PiMutex<Drawn>);

#[derive(Clone, Copy, Default)]
struct Drawn {
    /// None before the first update.
    target: Option<(Target, (u32, u32))>,
    /// The outlet's number; zero before a surface was asked for.
    outlet: jlong,
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeCreate(
    _: Env,
    _: jclass,
    _name: jstring,
    _updates_destination: jboolean,
) -> jlong {
    Handle::new(Queue(PiMutex::new(Drawn::default()))).into_java()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeDestroy(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
) {
    let drawn = core::mem::take(&mut *queue.get().0.lock());
    if drawn.outlet != 0 {
        surface::abandon(env, drawn.outlet);
    }
    queue.free();
}

/// A window keeps its size: see `isSameSurfaceControl`. A layer changes it.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeUpdate(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
    surface: jlong,
    width: jlong,
    height: jlong,
    _format: jint,
) {
    let target = target_of(surface);
    let now = (target, (width as u32, height as u32));
    let mut drawn = queue.get().0.lock();
    if drawn.target.is_none() || matches!(target, Target::Layer(_)) {
        drawn.target = Some(now);
    }
    let outlet = drawn.outlet;
    drop(drawn);
    if outlet != 0 && matches!(target, Target::Layer(_)) {
        change(env, |state| {
            let mut all = state.outlets.iter_mut();
            if let Some(outlet) = all.find(|it| it.number == outlet) {
                (outlet.target, outlet.size) = now;
            }
        });
    }
}

/// A window whose surface has another size by now is another one: its queue is made anew.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeIsSameSurfaceControl(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
    surface: jlong,
) -> jboolean {
    let Some((target, size)) = queue.get().0.lock().target else {
        return false;
    };
    let asked = target_of(surface);
    let now = match asked {
        Target::Window(id) => state_or_throw(env).and_then(|it| it.screen.surface_size(id).ok()),
        Target::Layer(_) | Target::Texture => Some(size),
    };
    target == asked && now == Some(size)
}

/// The surface that the window's renderer draws into.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeGetSurface(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
    _has_handle: jboolean,
) -> jobject {
    let Some((target, size)) = target_or_throw(env, queue.get()) else {
        return core::ptr::null_mut();
    };
    let Some(number) = change(env, next_number) else {
        return core::ptr::null_mut();
    };
    let surface = surface::make(env, number, size);
    if surface.is_null() {
        return surface;
    }
    let outlet = Outlet::new(number, (target, size), native_field(env, surface));
    add(env, queue.get(), outlet);
    surface
}

pub(super) fn next_number(state: &mut State) -> jlong {
    state.numbers += 1;
    state.numbers
}

fn target_or_throw(env: Env, queue: &Queue) -> Option<(Target, (u32, u32))> {
    let target = queue.0.lock().target;
    if target.is_none() {
        let text = "a queue without a window";
        env.throw("java/lang/IllegalStateException", text);
    }
    target
}

fn add(env: Env, queue: &Queue, outlet: Outlet) {
    let number = outlet.number;
    change(env, |state| {
        state.outlets.retain(|it| it.target != outlet.target);
        state.outlets.push(outlet);
    });
    queue.0.lock().outlet = number;
}

/// The number of a queue's outlet, which is made if there is none: for a Surface of ours.
pub(super) fn outlet_of(env: Env, queue: &Queue) -> Option<jlong> {
    let drawn = *queue.0.lock();
    if drawn.outlet != 0 {
        return Some(drawn.outlet);
    }
    let target = target_or_throw(env, queue)?;
    let number = change(env, next_number)?;
    add(env, queue, Outlet::new(number, target, 0));
    Some(number)
}

/// Transactions carry nothing: there is nothing to merge or to apply.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeMergeWithNextTransaction(
    _: Env,
    _: jclass,
    _: Handle<Queue>,
    _transaction: jlong,
    _frame: jlong,
) {
}

/// As above.
#[unsafe(no_mangle)]
extern "system" fn Java_android_graphics_BLASTBufferQueue_nativeApplyPendingTransactions(
    _: Env,
    _: jclass,
    _: Handle<Queue>,
    _frame: jlong,
) {
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
