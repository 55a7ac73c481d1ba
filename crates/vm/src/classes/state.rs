// SPDX-License-Identifier: Apache-2.0
//! [`InitState`]: how far a class's initialisation is. `link/init` takes it further.

use core::sync::atomic::{AtomicU32, Ordering};

use rt::sync::PiWord;

use crate::classes::class::Class;
use crate::sync::lock::own_tid;

const LINKED: u32 = 0;
pub(crate) const RUNNING: u32 = 1;
pub(crate) const DONE: u32 = 2;
pub(crate) const FAILED: u32 = 3;

/// How far a class's initialisation is.
pub(crate) struct InitState {
    pub(crate) state: AtomicU32,
    /// Number of the initialising thread.
    pub(crate) owner: AtomicU32,
    pub(crate) lock: PiWord,
    /// Of a failed one: an error that says what was thrown, or nothing.
    pub(crate) error: AtomicU32,
}

impl InitState {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU32::new(LINKED),
            owner: AtomicU32::new(0),
            lock: PiWord::new(),
            error: AtomicU32::new(0),
        }
    }

    pub(crate) fn set_done(&self) {
        self.state.store(DONE, Ordering::Release);
    }
}

impl Class {
    pub(crate) fn is_initialized(&self) -> bool {
        self.info.init.state.load(Ordering::Acquire) == DONE
    }

    /// Whether the calling thread is initialising this class.
    pub(crate) fn is_being_initialized_here(&self) -> bool {
        let init = &self.info.init;
        init.state.load(Ordering::Acquire) == RUNNING
            && init.owner.load(Ordering::Acquire) == own_tid()
    }
}
