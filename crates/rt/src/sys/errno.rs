// SPDX-License-Identifier: Apache-2.0
//! [`Errno`]: why a system call failed, without an allocation.

use std::fmt;

/// An error number of Linux, such as `EPERM`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// The calling thread's error number after a failed call.
    pub fn last() -> Self {
        Self(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// Turns the `-1` convention of the C library into a result.
    pub fn check(returned: libc::c_long) -> Result<libc::c_long, Self> {
        if returned == -1 {
            Err(Self::last())
        } else {
            Ok(returned)
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errno({self})")
    }
}

impl std::error::Error for Errno {}
