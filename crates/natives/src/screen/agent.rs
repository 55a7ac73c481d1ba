// SPDX-License-Identifier: Apache-2.0
//! takt.screen.Native: what the agents in Java ask of the display.

use std::path::PathBuf;

use jni_sys::{
    jboolean, jclass, jfloat, jfloatArray, jint, jintArray, jlong, jlongArray, jobject, jstring,
    jvalue,
};
use screen::{BackEnd, Carrier, Display, PictureFile, Rect, Touch, WindowKind, Wish};

use super::{SHOWN, change, native_object, now_ns, open, or_throw, state, state_or_throw, window};
use crate::env::Env;

/// Kinds of windows, as takt.screen.Windows counts them.
const APPLICATION: jint = 0;
const PANEL: jint = 1;
const MEDIA: jint = 2;
/// Kinds of events.
const NOTHING: jint = 0;
const VSYNC: jint = 1;
/// So long a thread waits for an event before it comes back without one.
const WAIT_NS: u64 = 1_000_000_000;

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_open(
    env: Env,
    _: jclass,
    width: jint,
    height: jint,
    density: jint,
    is_socket_pair: jboolean,
) {
    let display = Display {
        width: width.cast_unsigned(),
        height: height.cast_unsigned(),
        density: density.cast_unsigned(),
        ..Display::PANEL
    };
    let carrier = match is_socket_pair {
        true => Carrier::SocketPair,
        false => Carrier::Ring,
    };
    if !open(display, carrier) {
        let text = "there is a display already";
        env.throw("java/lang/IllegalStateException", text);
    }
}

/// Width, height, density, frames a second.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_display(env: Env, _: jclass, out: jintArray) {
    if let Some(state) = state_or_throw(env) {
        let it = state.screen.display();
        let numbers = [it.width, it.height, it.density, it.refresh_hz];
        drop(state);
        env.write_ints(out, &numbers.map(u32::cast_signed));
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_addWindow(
    env: Env,
    _: jclass,
    kind: jint,
    parent: jint,
    has_input: jboolean,
) -> jint {
    let kind = match kind {
        APPLICATION => WindowKind::Application,
        PANEL => WindowKind::Panel(window(parent)),
        MEDIA => WindowKind::Media(window(parent)),
        _ => WindowKind::System,
    };
    let added = change(env, |it| it.screen.add(kind, has_input));
    or_throw(env, added).map_or(0, |it| it.0.cast_signed())
}

/// `wish`: width, height, measured width and height, x, y, gravity, flags, the four insets.
/// `shade`: margins of x and y, alpha, dim. `frames` gets frame, parent's frame, display's frame.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_place(
    env: Env,
    _: jclass,
    number: jint,
    wish: jintArray,
    shade: jfloatArray,
    frames: jintArray,
) {
    let (ints, floats) = (env.ints(wish), env.floats(shade));
    let (
        &[
            width,
            height,
            measured_width,
            measured_height,
            x,
            y,
            gravity,
            flags,
            ref insets @ ..,
        ],
        &[margin_x, margin_y, alpha, dim],
    ) = (&ints[..], &floats[..])
    else {
        env.throw(
            "java/lang/IllegalArgumentException",
            "a wish of another form",
        );
        return;
    };
    let wish = Wish {
        width,
        height,
        measured_width,
        measured_height,
        x,
        y,
        gravity: gravity.cast_unsigned(),
        flags: flags.cast_unsigned(),
        margin_x,
        margin_y,
    };
    let insets = match insets {
        &[left, top, right, bottom] => Rect::new(left, top, right, bottom),
        _ => Rect::default(),
    };
    let placed = change(env, |it| {
        it.screen.shade(window(number), alpha, dim)?;
        it.screen.place(window(number), &wish, insets)
    });
    if let Some(placed) = or_throw(env, placed) {
        let rects = [placed.frame, placed.parent, placed.display];
        let numbers = rects.map(|it| [it.left, it.top, it.right, it.bottom]);
        env.write_ints(frames, numbers.as_flattened());
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_show(
    env: Env,
    _: jclass,
    number: jint,
    is_visible: jboolean,
) {
    let now_ns = now_ns();
    let shown = change(env, |it| {
        it.screen.set_visible(window(number), is_visible, now_ns)
    });
    or_throw(env, shown);
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_remove(env: Env, _: jclass, number: jint) {
    let now_ns = now_ns();
    let removed = change(env, |it| it.screen.remove(window(number), now_ns));
    or_throw(env, removed);
}

/// Gives a SurfaceControl a window's surface.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_giveSurface(
    env: Env,
    _: jclass,
    number: jint,
    control: jobject,
) {
    let arguments = [
        jvalue {
            j: native_object(window(number)),
        },
        jvalue {
            l: env.string_of("relayout"),
        },
    ];
    let signature = c"(JLjava/lang/String;)V";
    env.call_void(control, c"assignNativeObject", signature, &arguments);
}

/// Gives an InputChannel a window's channel.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_giveChannel(
    env: Env,
    _: jclass,
    number: jint,
    channel: jobject,
) {
    let arguments = [jvalue {
        j: native_object(window(number)),
    }];
    env.call_void(channel, c"setNativeInputChannel", c"(J)V", &arguments);
}

/// The kind of an event; `out` gets for a beat its receiver, time and number. Nothing after a while
/// without one.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_await(env: Env, _: jclass, out: jlongArray) -> jint {
    let Some(shown) = SHOWN.get() else {
        return NOTHING;
    };
    let until_ns = now_ns() + WAIT_NS;
    let mut state = shown.state.lock();
    let event = loop {
        let now_ns = now_ns();
        if let Some(event) = state.screen.vsync().next(now_ns) {
            break Some(event);
        }
        if now_ns >= until_ns {
            break None;
        }
        let due_ns = state.screen.vsync().due_ns().unwrap_or(until_ns);
        let _ = shown.changed.wait_until(&mut state, due_ns.min(until_ns));
    };
    drop(state);
    match event {
        Some(tick) => {
            let numbers = [tick.receiver, tick.at_ns, tick.number];
            env.write_longs(out, &numbers.map(u64::cast_signed));
            VSYNC
        }
        None => NOTHING,
    }
}

/// A finger, in MotionEvent's own numbers.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_touch(
    env: Env,
    _: jclass,
    action: jint,
    x: jfloat,
    y: jfloat,
) {
    let touch = match action {
        0 => Touch::Down,
        1 => Touch::Up,
        2 => Touch::Move,
        _ => Touch::Cancel,
    };
    let now_ns = now_ns();
    let sent = change(env, |it| {
        if let Some(measure) = &mut it.measure {
            measure.came(now_ns);
        }
        it.screen.touch(touch, x, y, now_ns)
    });
    or_throw(env, sent);
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_key(
    env: Env,
    _: jclass,
    code: jint,
    meta: jint,
    is_down: jboolean,
) {
    let now_ns = now_ns();
    let sent = change(env, |it| it.screen.key(code, meta, is_down, now_ns));
    or_throw(env, sent);
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_isQuiet(_: Env, _: jclass) -> jboolean {
    state().is_some_and(|mut it| it.screen.is_quiet())
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_hasPicture(_: Env, _: jclass) -> jboolean {
    state().is_some_and(|it| it.screen.has_picture())
}

/// The window with the focus; zero if there is none.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_focus(_: Env, _: jclass) -> jint {
    let focus = state().and_then(|it| it.screen.focus());
    focus.map_or(0, |it| it.0.cast_signed())
}

/// A window that has not finished an input for so long; zero if there is none.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_overdue(_: Env, _: jclass, millis: jlong) -> jint {
    let before_ns = now_ns().saturating_sub(millis.cast_unsigned().saturating_mul(1_000_000));
    let overdue = state().and_then(|mut it| it.screen.overdue(before_ns));
    overdue.map_or(0, |it| it.0.cast_signed())
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_resize(env: Env, _: jclass, width: jint, height: jint) {
    let now_ns = now_ns();
    let (width, height) = (width.cast_unsigned(), height.cast_unsigned());
    let resized = change(env, |it| it.screen.resize(width, height, now_ns));
    or_throw(env, resized);
}

/// Null, or why the picture is not there.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_picture(env: Env, _: jclass, path: jstring) -> jstring {
    let Some(state) = state_or_throw(env) else {
        return core::ptr::null_mut();
    };
    let picture = state.screen.compose();
    let bounds = state.screen.display().bounds();
    drop(state);
    let mut file = PictureFile::new(PathBuf::from(env.text(path).unwrap_or_default()));
    match file.show(&picture, bounds) {
        Ok(()) => core::ptr::null_mut(),
        Err(fault) => env.string_of(&fault.to_string()),
    }
}
