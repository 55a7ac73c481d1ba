// SPDX-License-Identifier: Apache-2.0
//! A display as a window of a Wayland compositor: [`start`] opens it.
//!
//! One thread speaks to the compositor and waits for nobody else. It shows a frame when the
//! compositor asks for one, so a compositor that stalls gets none, and nobody waits for it. When
//! the compositor goes away, the window comes back with the next one at the same address.
//!
//! It knows no Java: only a [`screen::back_end::Stage`]. Its threads are ordinary ones.
#![forbid(unsafe_code)]

mod buffer;
mod input;
mod link;
mod session;
mod window;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rt::bell::Bell;
use rt::clock::{Clock as _, Monotonic};
use rt::shared::SharedError;
use rt::sync::{PiCondvar, PiMutex};
use rt::thread::SpawnError;
use screen::back_end::{Stage, thread};

use crate::session::Session;

/// In which a compositor must have answered before a window counts as opened.
const ANSWER_NS: u64 = 5_000_000_000;
/// Between two looks for a compositor that is gone.
const RETURN_NS: u64 = 1_000_000_000;

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No session.
    #[error("WAYLAND_DISPLAY is not set: there is no Wayland session here")]
    NoDisplay,
    /// A session without a place for its sockets.
    #[error("XDG_RUNTIME_DIR is not set, where the socket of WAYLAND_DISPLAY lies")]
    NoFolder,
    /// Nobody listens.
    #[error("cannot connect to the compositor at {}: {source}", path.display())]
    Connect {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The compositor is an old one.
    #[error("the compositor has no {0}, which a window needs")]
    Missing(&'static str),
    /// It has stalled.
    #[error("the compositor does not answer")]
    Silent,
    /// The connection has ended.
    #[error("{0}")]
    Lost(String),
    /// The kernel gives no memory.
    #[error("{0}")]
    Memory(#[from] SharedError),
    /// The kernel gives no descriptor.
    #[error("cannot make a bell: {0}")]
    Bell(String),
    /// A thread did not start.
    #[error("{0}")]
    Thread(#[from] SpawnError),
}

/// What the opening thread tells who waits for it.
#[derive(Default)]
struct Opening {
    outcome: PiMutex<Option<Result<(u32, u32), Fault>>>,
    changed: PiCondvar,
}

impl Opening {
    fn tell(&self, outcome: Result<(u32, u32), Fault>) {
        let mut place = self.outcome.lock();
        *place = Some(outcome);
        self.changed.notify_all(&place);
    }

    fn await_until(&self, due_ns: u64) -> Result<(u32, u32), Fault> {
        let mut outcome = self.outcome.lock();
        while outcome.is_none() && Monotonic.now_ns() < due_ns {
            let _ = self.changed.wait_until(&mut outcome, due_ns);
        }
        outcome.take().unwrap_or(Err(Fault::Silent))
    }
}

/// Opens a window of this title and answers its size, which the compositor may have chosen. The
/// window stays until the process ends.
pub fn start(title: String, stage: Arc<dyn Stage>) -> Result<(u32, u32), Fault> {
    let bell = Bell::new().map_err(|it| Fault::Bell(it.to_string()))?;
    let bell = Arc::new(bell);
    let opening = Arc::new(Opening::default());
    let own = Arc::clone(&opening);
    thread("wayland").spawn(move || serve(&title, &stage, &bell, &own))?;
    opening.await_until(Monotonic.now_ns() + 2 * ANSWER_NS)
}

/// Would a window open here?
pub fn probe() -> Result<(), Fault> {
    session::look(connect()?, Monotonic.now_ns() + ANSWER_NS)
}

/// One connection after the other; the first of them answers who has asked for a window.
fn serve(title: &str, stage: &Arc<dyn Stage>, bell: &Arc<Bell>, opening: &Opening) {
    let mut was_open = false;
    loop {
        let due_ns = Monotonic.now_ns() + ANSWER_NS;
        let opened = connect().and_then(|it| Session::open(it, title, stage, bell, due_ns));
        match opened {
            Ok(mut session) => {
                if was_open {
                    stage.say("the window is on a compositor again");
                }
                opening.tell(Ok(session.size()));
                was_open = true;
                let fault = session.run();
                stage.say(&format!(
                    "the window's compositor is gone: {fault}; the application goes on without it"
                ));
            }
            Err(fault) if !was_open => return opening.tell(Err(fault)),
            Err(_) => {}
        }
        Monotonic.sleep_until(Monotonic.now_ns() + RETURN_NS);
    }
}

fn connect() -> Result<UnixStream, Fault> {
    let name = std::env::var_os("WAYLAND_DISPLAY").filter(|it| !it.is_empty());
    let mut path = PathBuf::from(name.ok_or(Fault::NoDisplay)?);
    if path.is_relative() {
        let folder = std::env::var_os("XDG_RUNTIME_DIR").ok_or(Fault::NoFolder)?;
        path = PathBuf::from(folder).join(path);
    }
    UnixStream::connect(&path).map_err(|source| Fault::Connect { path, source })
}
