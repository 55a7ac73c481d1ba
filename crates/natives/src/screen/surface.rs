// SPDX-License-Identifier: Apache-2.0
//! android.view.Surface: what an application draws with a canvas of its own.
//!
//! AOSP's library for hosts locks a canvas that draws nothing. So [`lock`] and [`unlock`] are ours:
//! the canvas draws into a bitmap of takt.screen.Surfaces, which is copied to the window or layer
//! when it is unlocked. A SurfaceView's Surface is a number of ours, which is odd: no address of
//! the library's is. Its functions are asked for the others alone.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use jni_sys::{jboolean, jclass, jfloat, jint, jlong, jobject, jvalue};

use super::buffer_queue::{Queue, outlet_of};
use super::{Outlet, SHOWN, State, Target, change, library, now_ns, post, state, texture};
use crate::env::Env;
use crate::handle::Handle;

pub(super) const CLASS: &str = "android.view.Surface";
pub(super) const SURFACES: &str = "takt/screen/Surfaces";
const ILLEGAL_ARGUMENT: &str = "java/lang/IllegalArgumentException";
/// Of three buffers one is shown: so many frames may wait for one beat of the display.
const FRAMES_AHEAD: u64 = 2;

/// What is known of drawing with a canvas.
#[derive(Default)]
pub(super) struct Canvas {
    /// Surfaces of ours in Java that name the outlet.
    references: u32,
    /// The size that it was locked with.
    locked: Option<(u32, u32)>,
    /// A Surface of the library's is locked: it is released once more than the library knows of.
    is_lent: bool,
    /// Nobody shows it any longer.
    is_abandoned: bool,
    frames: u64,
    /// The beat of the last frame, and how many waited for the next ones.
    waiting: (u64, u64),
}

impl Canvas {
    /// Does nobody show it any longer?
    pub(super) fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    /// How many frames wait to be shown: each beat takes one.
    fn waiting_at(&self, beat: u64) -> u64 {
        let (last, count) = self.waiting;
        count.saturating_sub(beat.saturating_sub(last))
    }
}

impl Outlet {
    /// Does a Surface's native object stand for it?
    pub(super) fn is(&self, surface: jlong) -> bool {
        match is_ours(surface) {
            true => self.number == surface >> 1,
            false => self.surface == surface,
        }
    }
}

const fn is_ours(surface: jlong) -> bool {
    surface & 1 == 1
}

/// Makes a Surface of the library's, for an outlet of this number.
pub(super) fn make(env: Env, number: jlong, (width, height): (u32, u32)) -> jobject {
    let arguments = [
        jvalue { j: number },
        jvalue {
            i: width.cast_signed(),
        },
        jvalue {
            i: height.cast_signed(),
        },
    ];
    let signature = c"(JII)Landroid/view/Surface;";
    env.call_static(SURFACES, c"make", signature, &arguments)
}

/// What a renderer of the library's is given for a Surface: for one of ours, another one.
pub(super) fn for_library(env: Env, surface: jobject, number: jlong) -> jobject {
    if !is_ours(number) {
        return surface;
    }
    let size = with(number, |it| it.size);
    size.map_or(core::ptr::null_mut(), |it| make(env, number >> 1, it))
}

/// Nobody shows an outlet any longer: it stays for as long as a Surface of ours names it.
pub(super) fn abandon(env: Env, number: jlong) {
    change(env, |state| {
        if let Some(outlet) = state.outlets.iter_mut().find(|it| it.number == number) {
            outlet.canvas.is_abandoned = true;
        }
        forget(state, number)
    })
    .filter(|is_free| *is_free)
    .inspect(|_| free(env, number));
}

/// Takes an outlet away that nobody shows and names; true if it is not there afterwards.
fn forget(state: &mut State, number: jlong) -> bool {
    let is_needed = |it: &Outlet| !it.canvas.is_abandoned || it.canvas.references > 0;
    state
        .outlets
        .retain(|it| it.number != number || is_needed(it));
    state.outlets.iter().all(|it| it.number != number)
}

fn free(env: Env, number: jlong) {
    env.call_static_void(SURFACES, c"free", c"(J)V", &[jvalue { j: number }]);
}

/// Something of the outlet that a Surface stands for.
pub(super) fn with<R>(surface: jlong, run: impl FnOnce(&mut Outlet) -> R) -> Option<R> {
    let mut state = state()?;
    let outlet = state.outlets.iter_mut().find(|it| it.is(surface))?;
    Some(run(outlet))
}

/// A SurfaceView's Surface is its queue's. It stays the one that it is if nothing has changed.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_Surface_nativeGetFromBlastBufferQueue(
    env: Env,
    _: jclass,
    surface: jlong,
    queue: Handle<Queue>,
) -> jlong {
    let Some(number) = outlet_of(env, queue.get()) else {
        return 0;
    };
    if number << 1 | 1 == surface {
        return surface;
    }
    refer(number)
}

/// Functions of the library with ours in front of them: ours answer for outlets, and leave what is
/// none to the library.
macro_rules! in_front {
    ($($function:ident $name:literal ($($argument:ident: $kind:ty),*) -> $result:ty: $ours:expr;)*) => {
        $(extern "system" fn $function(
            env: Env, class: jclass, surface: jlong $(, $argument: $kind)*
        ) -> $result {
            type Ours = fn(Env, jlong $(, $kind)*) -> Option<$result>;
            let ours: Ours = $ours;
            if let Some(answer) = ours(env, surface $(, $argument)*) {
                return answer;
            }
            type Function = extern "system" fn(Env, jclass, jlong $(, $kind)*) -> $result;
            // SAFETY: 1. JNI registered it under this name and signature: `around` kept it.
            let function = unsafe { library::<Function>(&library_functions::$function) };
            function(env, class, surface $(, $argument)*)
        })*

        #[allow(non_upper_case_globals, reason = "named as the functions that they are kept for")]
        mod library_functions {
            use super::{AtomicPtr, c_void};
            $(pub(super) static $function: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());)*
        }

        /// What is registered for a function of the library.
        pub(super) fn around(name: &CStr, function: *mut c_void) -> *mut c_void {
            match name.to_bytes() {
                $($name => {
                    library_functions::$function.store(function, Ordering::Release);
                    $function as *mut c_void
                })*
                _ => function,
            }
        }
    };
}

in_front! {
    native_lock b"nativeLockCanvas" (canvas: jobject, dirty: jobject) -> jlong: lock;
    native_unlock b"nativeUnlockCanvasAndPost" (canvas: jobject) -> (): unlock;
    native_release b"nativeRelease" () -> (): release;
    native_is_valid b"nativeIsValid" () -> jboolean:
        |_, surface| ours(surface, |it| !it.canvas.is_abandoned, false);
    native_width b"nativeGetWidth" () -> jint:
        |_, surface| ours(surface, |it| it.size.0.cast_signed(), 0);
    native_height b"nativeGetHeight" () -> jint:
        |_, surface| ours(surface, |it| it.size.1.cast_signed(), 0);
    native_next_frame b"nativeGetNextFrameNumber" () -> jlong:
        |_, surface| ours(surface, |it| it.canvas.frames.cast_signed() + 1, 0);
    // Frames are copied: nobody is behind, and no buffer is to be made before.
    native_is_behind b"nativeIsConsumerRunningBehind" () -> jboolean:
        |_, surface| ours(surface, |_| false, false);
    native_allocate b"nativeAllocateBuffers" () -> (): |_, surface| ours(surface, |_| (), ());
    native_disconnect b"nativeForceScopedDisconnect" () -> jint:
        |_, surface| ours(surface, |_| 0, 0);
    native_destroy b"nativeDestroy" () -> ():
        |_, surface| ours(surface, |it| it.canvas.is_abandoned = true, ());
    // The display has one rate.
    native_frame_rate b"nativeSetFrameRate" (rate: jfloat, fits: jint, change: jint) -> jint:
        |_, surface, _, _, _| ours(surface, |_| 0, 0);
    native_scaling b"nativeSetScalingMode" (mode: jint) -> jint:
        |env, surface, _| refuse(env, surface, "Surface.setScalingMode");
    native_shared b"nativeSetSharedBufferModeEnabled" (is_on: jboolean) -> jint:
        |env, surface, _| refuse(env, surface, "Surface.setSharedBufferModeEnabled");
    native_refresh b"nativeSetAutoRefreshEnabled" (is_on: jboolean) -> jint:
        |env, surface, _| refuse(env, surface, "Surface.setAutoRefreshEnabled");
}

/// What is answered for a Surface of ours: of one that is gone, `gone`.
fn ours<R>(surface: jlong, run: impl FnOnce(&mut Outlet) -> R, gone: R) -> Option<R> {
    is_ours(surface).then(|| with(surface, run).unwrap_or(gone))
}

fn refuse(env: Env, surface: jlong, what: &str) -> Option<jint> {
    is_ours(surface).then(|| {
        env.throw_unsupported(what);
        0
    })
}

/// Another Surface of ours in Java names the outlet; its native object.
pub(super) fn refer(number: jlong) -> jlong {
    let found = number << 1 | 1;
    with(found, |it| it.canvas.references += 1);
    found
}

/// Gives a canvas the outlet's bitmap. What is not dirty stays as it was.
pub(super) fn lock(env: Env, surface: jlong, canvas: jobject, dirty: jobject) -> Option<jlong> {
    await_beat(surface);
    let Some((number, size)) = with(surface, |it| {
        let size = (!it.canvas.is_abandoned).then_some(it.size);
        (it.number, size)
    }) else {
        if !is_ours(surface) {
            env.throw_unsupported("Surface.lockCanvas of what is no window's");
        } else {
            env.throw(ILLEGAL_ARGUMENT, "the surface is gone");
        }
        return Some(0);
    };
    let Some(size) = size.filter(|it| it.0 > 0 && it.1 > 0) else {
        env.throw(ILLEGAL_ARGUMENT, "the surface is gone");
        return Some(0);
    };
    let arguments = [
        jvalue { j: number },
        jvalue {
            i: size.0.cast_signed(),
        },
        jvalue {
            i: size.1.cast_signed(),
        },
        jvalue { l: canvas },
        jvalue { l: dirty },
    ];
    let signature = c"(JIILandroid/graphics/Canvas;Landroid/graphics/Rect;)V";
    env.call_static_void(SURFACES, c"lock", signature, &arguments);
    if env.is_exception_pending() {
        return Some(0);
    }
    with(surface, |it| {
        it.canvas.locked = Some(size);
        it.canvas.references += u32::from(is_ours(surface));
        it.canvas.is_lent = !is_ours(surface);
    });
    Some(surface)
}

/// Who draws without a pause is held up by the display, as on Android: for one beat at most.
fn await_beat(surface: jlong) {
    let Some(shown) = SHOWN.get() else { return };
    let mut state = shown.state.lock();
    let period_ns = state.screen.vsync().period_ns();
    let Some(outlet) = state.outlets.iter().find(|it| it.is(surface)) else {
        return;
    };
    let beat = now_ns() / period_ns;
    if outlet.canvas.waiting_at(beat) < FRAMES_AHEAD {
        return;
    }
    let due_ns = (beat + 1) * period_ns;
    while now_ns() < due_ns {
        let _ = shown.changed.wait_until(&mut state, due_ns);
    }
}

/// Shows what was drawn.
pub(super) fn unlock(env: Env, surface: jlong, canvas: jobject) -> Option<()> {
    let locked = with(surface, |it| {
        let size = it.canvas.locked.take();
        size.map(|size| (it.number, size, it.target))
    });
    let Some((number, size, target)) = locked.flatten() else {
        env.throw(ILLEGAL_ARGUMENT, "the surface is gone");
        return Some(());
    };
    if target == Target::Texture {
        texture::unlock(env, (number, surface), canvas);
        count(number);
        return Some(());
    }
    let arguments = [jvalue { j: number }, jvalue { l: canvas }];
    let signature = c"(JLandroid/graphics/Canvas;)Ljava/nio/ByteBuffer;";
    let buffer = env.call_static(SURFACES, c"unlock", signature, &arguments);
    if env.is_exception_pending() {
        return Some(());
    }
    let Some((start, bytes)) = env.direct_buffer(buffer) else {
        return Some(());
    };
    // SAFETY:
    // 1. The memory is a direct buffer's, which `buffer` keeps until this function returns.
    // 2. Nobody writes there meanwhile: takt.screen.Surfaces copies to it in `unlock` alone, which
    //    AOSP's Surface calls under its lock.
    let drawn = unsafe { core::slice::from_raw_parts(start, bytes) };
    count(number);
    let posted = change(env, |state| post(state, target, size, drawn));
    if let Some(Err(refusal)) = posted {
        env.throw(ILLEGAL_ARGUMENT, &refusal.to_string());
    }
    env.delete_local(buffer);
    Some(())
}

/// A frame was drawn.
fn count(number: jlong) {
    let Some(mut state) = state() else { return };
    let beat = now_ns() / state.screen.vsync().period_ns();
    if let Some(outlet) = state.outlets.iter_mut().find(|it| it.number == number) {
        outlet.canvas.frames += 1;
        outlet.canvas.waiting = (beat, outlet.canvas.waiting_at(beat) + 1);
    }
}

/// A Surface is gone, or the reference that a lock has taken.
pub(super) fn release(env: Env, surface: jlong) -> Option<()> {
    if !is_ours(surface) {
        // The library has counted none for a lock of ours.
        let is_lent = with(surface, |it| core::mem::take(&mut it.canvas.is_lent));
        return is_lent.filter(|it| *it).map(|_| ());
    }
    let number = surface >> 1;
    let is_free = change(env, |state| {
        let mut all = state.outlets.iter_mut();
        if let Some(outlet) = all.find(|it| it.number == number) {
            outlet.canvas.references = outlet.canvas.references.saturating_sub(1);
        }
        forget(state, number)
    });
    if is_free == Some(true) {
        free(env, number);
    }
    Some(())
}
