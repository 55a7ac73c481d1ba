// SPDX-License-Identifier: Apache-2.0
//! [`Pump`]: a thread that gets frames for a back end that waits elsewhere. It makes one when it is
//! asked, so a back end that stalls costs nothing.

use std::sync::Arc;

use rt::bell::Bell;
use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use rt::sync::{PiCondvar, PiMutex};
use rt::thread::{Builder, SpawnError};

use super::film::Film;
use super::frame::Frame;
use super::stage::Stage;

/// Between two pictures: sixty in a second.
pub const PICTURE_NS: u64 = 16_666_667;
/// So long a thread waits before it looks around.
pub const LOOK_NS: u64 = 1_000_000_000;
/// Of a back end's thread.
const STACK_BYTES: usize = 256 << 10;

/// An ordinary thread for a back end, no matter who starts it.
pub fn thread(name: &str) -> Builder {
    let builder = Builder::new(name).stack_bytes(STACK_BYTES);
    builder.policy(Policy::ordinary())
}

/// Frames on request. Its thread ends after it.
#[derive(Debug)]
pub struct Pump(Arc<Shared>);

#[derive(Debug, Default)]
struct State {
    is_wanted: bool,
    is_over: bool,
    frame: Option<Arc<Frame>>,
}

#[derive(Debug)]
struct Shared {
    state: PiMutex<State>,
    changed: PiCondvar,
    bell: Arc<Bell>,
}

impl Pump {
    /// Starts its thread. The bell rings for each frame.
    pub fn start(name: &str, stage: Arc<dyn Stage>, bell: Arc<Bell>) -> Result<Self, SpawnError> {
        let shared = Arc::new(Shared {
            state: PiMutex::new(State::default()),
            changed: PiCondvar::new(),
            bell,
        });
        let own = Arc::clone(&shared);
        thread(name).spawn(move || own.run(&*stage))?;
        Ok(Self(shared))
    }

    /// Asks for the next frame that differs from the last one.
    pub fn want(&self) {
        let mut state = self.0.state.lock();
        state.is_wanted = true;
        self.0.changed.notify_all(&state);
    }

    /// The frame that has come, once.
    pub fn take(&self) -> Option<Arc<Frame>> {
        self.0.state.lock().frame.take()
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.is_over = true;
        self.0.changed.notify_all(&state);
    }
}

impl Shared {
    fn run(&self, stage: &dyn Stage) {
        let mut film = Film::default();
        loop {
            let mut state = self.state.lock();
            while !state.is_wanted && !state.is_over {
                self.changed.wait(&mut state);
            }
            if state.is_over {
                return;
            }
            drop(state);
            let began_ns = Monotonic.now_ns();
            let Some(frame) = film.next_until(stage, began_ns + LOOK_NS) else {
                continue;
            };
            let mut state = self.state.lock();
            state.is_wanted = false;
            let old = state.frame.replace(frame);
            drop(state);
            drop(old);
            self.bell.ring();
            Monotonic.sleep_until(began_ns + PICTURE_NS);
        }
    }
}
