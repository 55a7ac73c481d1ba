// SPDX-License-Identifier: Apache-2.0
//! The display in browsers: crate `web` over this process's screen. Fingers go to the windows at
//! once; for all else a thread of takt.screen.Remote asks, because it is for Java.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use jni_sys::{jclass, jint, jlong, jlongArray, jstring};
use rt::sync::{PiCondvar, PiMutex};
use screen::{FingerId, Picture};
use web::{Deed, Server, Stage};

use super::{SHOWN, change_quietly, now_ns, state};
use crate::env::Env;

/// Kinds of deeds, as takt.screen.Remote counts them.
const NOTHING: jint = 0;
const CODE: jint = 1;
const TEXT: jint = 2;
const CLIP: jint = 3;
const RESIZE: jint = 4;
const ROTATE: jint = 5;
/// Deeds that wait for Java: a minute of fast typing.
const DEEDS_MAX: usize = 256;
/// So long a thread waits for a deed before it comes back without one.
const WAIT_NS: u64 = 1_000_000_000;
const TOKEN_BYTES: usize = 16;

static SERVER: OnceLock<Server> = OnceLock::new();
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
struct Own;

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
        // A place without a window, or a window that reads nothing, is no fault of the browser's.
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
}

/// Shows the display at an address, and writes the address with its token to a file. Null, or why
/// not.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_serve(
    env: Env,
    _: jclass,
    address: jstring,
    file: jstring,
    name: jstring,
) -> jstring {
    let text = |it| env.text(it).unwrap_or_default();
    match serve(&text(address), Path::new(&text(file)), text(name)) {
        Ok(()) => core::ptr::null_mut(),
        Err(fault) => env.string_of(&fault),
    }
}

fn serve(address: &str, file: &Path, name: String) -> Result<(), String> {
    let address: SocketAddr = address.parse().map_err(|it| format!("{address}: {it}"))?;
    let token = token().map_err(|it| format!("cannot read /dev/urandom: {it}"))?;
    let server = Server::start(address, token.clone(), name, Arc::new(Own));
    let server = server.map_err(|it| it.to_string())?;
    let line = format!("http://{}/#{token}\n", server.address());
    write(file, &line).map_err(|it| format!("cannot write {}: {it}", file.display()))?;
    let _ = SERVER.set(server);
    Ok(())
}

/// In hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|it| format!("{it:02x}")).collect())
}

/// A new file that only the user may read.
fn write(file: &Path, line: &str) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(line.as_bytes())
}

/// What was copied in the application, for browsers.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_copied(env: Env, _: jclass, text: jstring) {
    if let (Some(server), Some(text)) = (SERVER.get(), env.text(text)) {
        server.clip(&text);
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
    };
    let [a, b, c]: [jlong; 3] = numbers;
    env.write_longs(out, &[kind.into(), a, b, c]);
    text.map_or(core::ptr::null_mut(), |it| env.string_of(&it))
}
