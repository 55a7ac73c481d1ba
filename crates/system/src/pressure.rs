// SPDX-License-Identifier: Apache-2.0
//! [`Trigger`]: the kernel says when threads have waited for memory (PSI).

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Where it is asked to.
pub const PATH: &str = "/proc/pressure/memory";
/// Waits of 70 ms within a second: the warning that is early enough to act on. The kernel takes the
/// last byte for the text's end, whatever it is.
pub const SOON: &[u8] = b"some 70000 1000000\0";
/// Without CAP_SYS_RESOURCE kernels take windows of whole 2 s alone, or none.
pub const LATE: &[u8] = b"some 140000 2000000\0";

/// See the module. It holds until it is dropped.
#[derive(Debug)]
pub struct Trigger {
    file: File,
    /// Over how long waits are measured.
    pub window_ns: u64,
}

impl Trigger {
    /// The soonest that this kernel and user have.
    ///
    /// # Errors
    ///
    /// What the kernel said to the last that was tried.
    pub fn set() -> io::Result<Self> {
        Self::at(Path::new(PATH))
    }

    fn at(path: &Path) -> io::Result<Self> {
        let set = |text: &[u8]| {
            let mut file = File::options().read(true).write(true).open(path)?;
            file.write_all(text).map(|()| file)
        };
        let soon = set(SOON).map(|file| (file, 1_000_000_000));
        let (file, window_ns) = match soon {
            Ok(found) => found,
            Err(_) => (set(LATE)?, 2_000_000_000),
        };
        Ok(Self { file, window_ns })
    }
}

impl AsFd for Trigger {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
