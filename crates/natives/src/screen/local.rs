// SPDX-License-Identifier: Apache-2.0
//! The display on this machine: a window on its desktop, or its own screen.

use std::sync::Arc;

use jni_sys::{jclass, jstring};

use super::stage::Own;
use super::{change_quietly, now_ns};
use crate::env::Env;

/// Shows the display in a window of this title. Null, or why not. The display has the size that the
/// compositor wants, from now on: nothing is shown yet, so nobody needs to be told of it.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_openWindow(
    env: Env,
    _: jclass,
    title: jstring,
) -> jstring {
    let title = env.text(title).unwrap_or_default();
    match wayland::start(title, Arc::new(Own)) {
        Ok((width, height)) => {
            change_quietly(|it| it.screen.resize(width, height, now_ns()).ok());
            core::ptr::null_mut()
        }
        Err(fault) => env.string_of(&fault.to_string()),
    }
}

/// Shows the display on the machine's own screen. Null, or why not. The display has the size that
/// the monitor has, from now on.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_openConsole(env: Env, _: jclass) -> jstring {
    let size = screen_size();
    // As programs of a desktop are told the layout of keyboards.
    let named = |name| std::env::var(name).unwrap_or_default();
    let wish = console::Wish {
        card: None,
        size: Some(size),
        layout: named("XKB_DEFAULT_LAYOUT"),
        variant: named("XKB_DEFAULT_VARIANT"),
    };
    match console::start(wish, Arc::new(Own)) {
        Ok(console) => {
            let (width, height) = console.size();
            change_quietly(|it| it.screen.resize(width, height, now_ns()).ok());
            core::ptr::null_mut()
        }
        Err(fault) => env.string_of(&fault.to_string()),
    }
}

fn screen_size() -> (u32, u32) {
    screen::back_end::Stage::size(&Own)
}
