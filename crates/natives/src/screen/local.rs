// SPDX-License-Identifier: Apache-2.0
//! The display on this machine: a window on its desktop.

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
