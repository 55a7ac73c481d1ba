// SPDX-License-Identifier: Apache-2.0
//! [`Own`]: this process's screen as back ends see it. Fingers go to the windows at once; for all
//! else a thread of takt.screen.Remote asks, because it is for Java.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use jni_sys::{jclass, jint, jlong, jlongArray, jstring};
use rt::sync::{PiCondvar, PiMutex};
use screen::back_end::{Deed, Stage};
use screen::{FingerId, Picture};

use super::{SHOWN, change_quietly, now_ns, state};
use crate::env::Env;

/// Kinds of deeds, as takt.screen.Remote counts them.
const NOTHING: jint = 0;
const CODE: jint = 1;
const TEXT: jint = 2;
const CLIP: jint = 3;
const RESIZE: jint = 4;
const ROTATE: jint = 5;
const CLOSE: jint = 6;
/// Deeds that wait for Java: a minute of fast typing.
const DEEDS_MAX: usize = 256;
/// So long a thread waits for a deed before it comes back without one.
const WAIT_NS: u64 = 1_000_000_000;

static DEEDS: OnceLock<Deeds> = OnceLock::new();

/// What waits for Java.
#[derive(Default)]
struct Deeds {
    waiting: PiMutex<VecDeque<Deed>>,
    changed: PiCondvar,
    dropped: AtomicU64,
}

impl Deeds {
    fn of_process() -> &'static Self {
        DEEDS.get_or_init(|| Self {
            waiting: PiMutex::new(VecDeque::with_capacity(DEEDS_MAX)),
            ..Self::default()
        })
    }

    fn push(&self, deed: Deed) {
        let mut waiting = self.waiting.lock();
        if deed == Deed::Close {
            // Nothing counts before the end.
            waiting.clear();
        }
        // Of sizes the last one counts.
        if let (Deed::Resize(..), Some(last @ Deed::Resize(..))) = (&deed, waiting.back_mut()) {
            *last = deed;
        } else if waiting.len() == DEEDS_MAX {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            waiting.push_back(deed);
        }
        self.changed.notify_all(&waiting);
    }

    fn take_until(&self, due_ns: u64) -> Option<Deed> {
        let mut waiting = self.waiting.lock();
        while waiting.is_empty() && now_ns() < due_ns {
            let _ = self.changed.wait_until(&mut waiting, due_ns);
        }
        waiting.pop_front()
    }
}

/// The display of this process.
pub(super) struct Own;

impl Stage for Own {
    fn picture(&self, unlike: Option<u64>, due_ns: u64) -> Option<(u64, Picture)> {
        let shown = SHOWN.get()?;
        let mut state = shown.state.lock();
        while Some(state.screen.revision()) == unlike {
            if now_ns() >= due_ns {
                return None;
            }
            let _ = shown.pictured.wait_until(&mut state, due_ns);
        }
        Some((state.screen.revision(), state.screen.compose()))
    }

    fn size(&self) -> (u32, u32) {
        let display = state().map(|it| it.screen.display());
        display.map_or((1, 1), |it| (it.width, it.height))
    }

    fn take(&self, deed: Deed) {
        let now_ns = now_ns();
        // A place without a window, or a window that reads nothing, is no fault of the person's.
        match deed {
            Deed::Finger { name, touch, place } => {
                let name = FingerId(name);
                change_quietly(|it| it.screen.finger(name, touch, place, now_ns).ok());
            }
            Deed::Scroll { place, right, up } => {
                change_quietly(|it| it.screen.scroll(place, (right, up), now_ns).ok());
            }
            deed => Deeds::of_process().push(deed),
        }
    }

    fn say(&self, text: &str) {
        crate::log::warn(text);
    }
}

/// The next deed's kind, or nothing after a while; `out` gets its numbers, and it answers its text.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_deed(env: Env, _: jclass, out: jlongArray) -> jstring {
    let deed = Deeds::of_process().take_until(now_ns() + WAIT_NS);
    let (kind, numbers, text) = match deed {
        None | Some(Deed::Finger { .. } | Deed::Scroll { .. }) => (NOTHING, [0; 3], None),
        Some(Deed::Code {
            code,
            meta,
            is_down,
        }) => (CODE, [code.into(), meta.into(), is_down.into()], None),
        Some(Deed::Text(character, code)) => {
            let numbers = [code.unwrap_or(0).into(), 0, 0];
            (TEXT, numbers, Some(character.to_string()))
        }
        Some(Deed::Clip(text)) => (CLIP, [0; 3], Some(text)),
        Some(Deed::Resize(width, height)) => (RESIZE, [width.into(), height.into(), 0], None),
        Some(Deed::Rotate) => (ROTATE, [0; 3], None),
        Some(Deed::Close) => (CLOSE, [0; 3], None),
    };
    let [a, b, c]: [jlong; 3] = numbers;
    env.write_longs(out, &[kind.into(), a, b, c]);
    text.map_or(core::ptr::null_mut(), |it| env.string_of(&it))
}
