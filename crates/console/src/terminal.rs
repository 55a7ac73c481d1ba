// SPDX-License-Identifier: Apache-2.0
//! [`Terminal`]: is the virtual terminal active that was so at the start?

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::io::pread;

/// The kernel's file, which wakes who polls it when another terminal is active.
const ACTIVE: &str = "/sys/class/tty/tty0/active";
/// Of a terminal's name.
const NAME_BYTES_MAX: usize = 64;

/// The terminal that the screen belongs to.
pub(crate) struct Terminal {
    file: File,
    home: Vec<u8>,
}

impl Terminal {
    /// The active one; none on a machine without virtual terminals.
    pub(crate) fn active() -> Option<Self> {
        let file = File::open(ACTIVE).ok()?;
        let home = read(&file)?;
        Some(Self { file, home })
    }

    /// Is it active again, or still?
    pub(crate) fn is_active(&self) -> bool {
        // What cannot be read any longer has no other terminal.
        read(&self.file).is_none_or(|it| it == self.home)
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn read(file: &File) -> Option<Vec<u8>> {
    let mut bytes = vec![0; NAME_BYTES_MAX];
    let count = pread(file, &mut bytes, 0).ok()?;
    bytes.truncate(count);
    Some(bytes)
}
