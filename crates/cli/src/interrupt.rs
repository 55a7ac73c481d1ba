// SPDX-License-Identifier: Apache-2.0
//! [`Interrupt`]: Ctrl-C ends the work early and in order, with what was measured so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether somebody asked for an end. A second Ctrl-C ends the process at once.
#[derive(Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches SIGINT and SIGTERM from now on.
    pub(crate) fn catch() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
                .context("cannot catch Ctrl-C")?;
        }
        Ok(Self(flag))
    }

    /// Wait-free: for the measured loop itself.
    pub(crate) fn is_caught(&self) -> bool {
        // Relaxed: the flag carries no data, and every later look sees it.
        self.0.load(Ordering::Relaxed)
    }
}
