// SPDX-License-Identifier: Apache-2.0
//! The display on this machine: a window on its desktop, or its own screen without a desktop.

use std::path::PathBuf;
use std::sync::Arc;

use console::Wish;
use jni_sys::{jclass, jint, jstring};

use super::stage::Own;
use super::{change_quietly, now_ns};
use crate::env::Env;

/// Shows the display in a window of this title. Null, or why not. The display has the size that the
/// compositor wants, from now on.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_openWindow(
    env: Env,
    _: jclass,
    title: jstring,
) -> jstring {
    let title = env.text(title).unwrap_or_default();
    shown(env, wayland::start(title, Arc::new(Own)))
}

/// Shows the display on a card's screen: an empty name is any card's, and a size of zero the
/// monitor's own. Null, or why not. The display has the screen's size, from now on.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_takeCard(
    env: Env,
    _: jclass,
    card: jstring,
    width: jint,
    height: jint,
) -> jstring {
    let card = env.text(card).filter(|it| !it.is_empty());
    let size = (width.cast_unsigned(), height.cast_unsigned());
    let named = |name: &str| std::env::var(name).unwrap_or_default();
    let wish = Wish {
        card: card.map(PathBuf::from),
        size: (size != (0, 0)).then_some(size),
        layout: named("XKB_DEFAULT_LAYOUT"),
        variant: named("XKB_DEFAULT_VARIANT"),
    };
    let started = console::start(wish, Arc::new(Own));
    shown(env, started.map(|it| it.size()))
}

/// Nothing is shown yet, so nobody needs to be told of another size.
fn shown<E: std::fmt::Display>(env: Env, started: Result<(u32, u32), E>) -> jstring {
    match started {
        Ok((width, height)) => {
            change_quietly(|it| it.screen.resize(width, height, now_ns()).ok());
            core::ptr::null_mut()
        }
        Err(fault) => env.string_of(&fault.to_string()),
    }
}
