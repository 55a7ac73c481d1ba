// SPDX-License-Identifier: Apache-2.0
//! The display of this process: crate `screen` behind the natives of windows, surfaces and input.
//!
//! The agents in `takt.screen` ask by [`agent`]. [`surface_control`], [`buffer_queue`] and
//! [`renderer`] bring what AOSP's library draws into a window's buffers, and [`surface`] what an
//! application draws with a canvas of its own; [`input`] and [`vsync`] are what loopers hear.
//! [`stage`] is what back ends see of it: [`web`] shows it in browsers, [`local`] on this machine.
//!
//! A window's number is its native object in Java: nothing is to be freed.

mod agent;
mod buffer_queue;
mod input;
mod local;
mod measure;
mod numbers;
mod overlay;
mod render_thread;
mod renderer;
mod stage;
mod surface;
mod surface_control;
mod texture;
mod vsync;
mod web;

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use jni_sys::{jint, jlong, jobject};
use rt::clock::{Clock as _, Monotonic};
use rt::sync::{PiCondvar, PiMutex, PiMutexGuard};
use screen::{Carrier, Display, Frame, LayerId, Refusal, Screen, WindowId};

use crate::env::{Env, Global};

/// What is behind one lock: threads take it for a state's change or a frame's copy.
pub(crate) struct State {
    pub(crate) screen: Screen,
    outlets: Vec<Outlet>,
    /// The last number of one.
    numbers: jlong,
    /// None unless `takt bench input` asks.
    measure: Option<measure::Measure>,
}

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Window(WindowId),
    /// A SurfaceView's.
    Layer(LayerId),
    /// A TextureView's, which draws it in its window.
    Texture,
}

/// Where a window or a layer is drawn: a buffer of AOSP's library, or a bitmap of Java's. It is
/// copied when a frame is done.
struct Outlet {
    /// Its own number, by which takt.screen.Surfaces knows it.
    number: jlong,
    target: Target,
    size: (u32, u32),
    /// The native object of the library's Surface that stands for it; zero if ours does.
    surface: jlong,
    /// The renderer that draws there; zero before it is set.
    renderer: jlong,
    /// The buffer, found after the first frame.
    pixels: Option<Pixels>,
    canvas: surface::Canvas,
}

impl Outlet {
    fn new(number: jlong, (target, size): (Target, (u32, u32)), surface: jlong) -> Self {
        Self {
            number,
            target,
            size,
            surface,
            renderer: 0,
            pixels: None,
            canvas: surface::Canvas::default(),
        }
    }
}

/// A direct buffer of Java's, kept as long as it is here.
struct Pixels {
    _buffer: Global,
    address: usize,
    bytes: usize,
}

/// The state, and who waits for it to change.
struct Shown {
    state: PiMutex<State>,
    changed: PiCondvar,
    /// The picture may be another one.
    pictured: PiCondvar,
}

static SHOWN: OnceLock<Shown> = OnceLock::new();

fn open(display: Display, carrier: Carrier) -> bool {
    let state = State {
        screen: Screen::carried_by(display, carrier),
        outlets: Vec::new(),
        numbers: 0,
        measure: None,
    };
    let shown = Shown {
        state: PiMutex::new(state),
        changed: PiCondvar::new(),
        pictured: PiCondvar::new(),
    };
    SHOWN.set(shown).is_ok()
}

/// The state; none without a display.
fn state() -> Option<PiMutexGuard<'static, State>> {
    Some(SHOWN.get()?.state.lock())
}

/// The state; an exception is pending if there is no display.
fn state_or_throw(env: Env) -> Option<PiMutexGuard<'static, State>> {
    let state = state();
    if state.is_none() {
        env.throw("java/lang/IllegalStateException", "there is no display");
    }
    state
}

/// Changes the state, and wakes who waits for events.
fn change<R>(env: Env, run: impl FnOnce(&mut State) -> R) -> Option<R> {
    drop(state_or_throw(env)?);
    change_quietly(run)
}

/// The same, by a thread that Java does not know; none without a display.
fn change_quietly<R>(run: impl FnOnce(&mut State) -> R) -> Option<R> {
    let shown = SHOWN.get()?;
    let mut state = shown.state.lock();
    let before = state.screen.revision();
    let answer = run(&mut state);
    if !state.screen.vsync().is_quiet() {
        shown.changed.notify_all(&state);
    }
    if state.screen.revision() != before {
        shown.pictured.notify_all(&state);
    }
    // The display's lock is not held while loopers are woken: they may have to run at once.
    while let Some(channel) = state.screen.next_told() {
        drop(state);
        input::wake(channel);
        state = shown.state.lock();
    }
    Some(answer)
}

/// What it answers; a refusal is thrown.
fn or_throw<T>(env: Env, outcome: Option<Result<T, screen::Refusal>>) -> Option<T> {
    match outcome? {
        Ok(answer) => Some(answer),
        Err(refusal) => {
            let text = refusal.to_string();
            env.throw("java/lang/IllegalStateException", &text);
            None
        }
    }
}

fn now_ns() -> u64 {
    Monotonic.now_ns()
}

fn window(number: jint) -> WindowId {
    WindowId(number.cast_unsigned())
}

/// A window's number as its native object in Java.
fn native_object(window: WindowId) -> jlong {
    jlong::from(window.0)
}

fn of_native_object(number: jlong) -> WindowId {
    WindowId(number as u32)
}

/// A layer's number as its native object: beside those of windows, which have 32 bits.
const LAYER: jlong = 1 << 32;

fn target_of(number: jlong) -> Target {
    match number & LAYER {
        0 => Target::Window(of_native_object(number)),
        _ => Target::Layer(LayerId(number as u32)),
    }
}

/// Copies a frame to where it is shown.
fn post(
    state: &mut State,
    target: Target,
    size: (u32, u32),
    pixels: &[u8],
) -> Result<Frame, Refusal> {
    let posted = match target {
        Target::Window(id) => state.screen.post(id, size, pixels),
        Target::Layer(id) => state.screen.post_layer(id, size, pixels),
        // It has no place on the display: see `texture`.
        Target::Texture => Err(Refusal::NoLayer),
    };
    if let Some(measure) = &mut state.measure {
        measure.posted();
    }
    posted
}

/// What is registered for a function of AOSP's library: itself, or what we put in front of it.
pub(crate) fn around(owner: &str, name: &CStr, function: *mut c_void) -> *mut c_void {
    match owner {
        renderer::CLASS => renderer::around(name, function),
        surface::CLASS => surface::around(name, function),
        _ => function,
    }
}

/// One of the library's functions.
///
/// # Safety
///
/// `place` must be filled by [`around`] with the function of type `F`.
unsafe fn library<F: Copy>(place: &AtomicPtr<c_void>) -> F {
    let function = place.load(Ordering::Acquire);
    assert!(!function.is_null(), "the library has registered it");
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: 1. The caller says that it is an `F`. 2. Both have the size of an address.
    unsafe { core::mem::transmute_copy(&function) }
}

/// What frees a native object that is a number: there is nothing to free.
extern "C" fn free_nothing(_: jlong) {}

fn finalizer() -> jlong {
    free_nothing as *const () as jlong
}

/// A Java object's private field of type long.
fn native_field(env: Env, object: jobject) -> jlong {
    env.long_field(object, c"mNativeObject")
}
