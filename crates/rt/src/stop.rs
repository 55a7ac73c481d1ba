// SPDX-License-Identifier: Apache-2.0
//! [`StopFlag`]: Ctrl-C and kin end work early and in order, with what there is so far.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Set once, by a signal or by a caller; a worker looks at it now and then.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that SIGINT, SIGTERM and SIGHUP set from now on. A second one changes nothing
    /// (`timeout -s INT` sends two); SIGQUIT still ends the process at once.
    pub fn on_signals() -> io::Result<Self> {
        let flag = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag.0))?;
        }
        Ok(flag)
    }

    /// Asks everybody who holds this flag to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked. Wait-free: for a measured loop itself.
    pub fn is_set(&self) -> bool {
        // Relaxed: the flag carries no data, and every later look sees it.
        self.0.load(Ordering::Relaxed)
    }
}

/// Becomes readable when a person asks the program to stop, for a loop that sleeps.
#[derive(Debug)]
pub struct StopBell(UnixStream);

impl StopBell {
    /// One that SIGINT, SIGTERM and SIGHUP ring from now on.
    pub fn on_signals() -> io::Result<Self> {
        let (near, far) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::low_level::pipe::register(signal, far.try_clone()?)?;
        }
        Ok(Self(near))
    }
}

impl AsFd for StopBell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
