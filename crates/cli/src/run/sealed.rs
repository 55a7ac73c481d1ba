// SPDX-License-Identifier: Apache-2.0
//! [`Sealed`]: bytes that were checked, in memory that nobody can change, for the program that this
//! process becomes, or for another.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// A memory file without a name in any folder.
pub(crate) struct Sealed(OwnedFd);

impl Sealed {
    /// A copy of the bytes; `name` is what a person sees in /proc.
    pub(crate) fn of(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::with(name, bytes, MemfdFlags::empty())
    }

    /// The same, not open across `exec`: for somebody who is handed it.
    pub(crate) fn handed(name: &str, bytes: &[u8]) -> Result<OwnedFd> {
        Self::with(name, bytes, MemfdFlags::CLOEXEC).map(|it| it.0)
    }

    fn with(name: &str, bytes: &[u8], more: MemfdFlags) -> Result<Self> {
        let what = || format!("cannot keep {} bytes of {name} in memory", bytes.len());
        let flags = MemfdFlags::ALLOW_SEALING | more;
        // Kernels before 6.3 do not know the flag, later ones may be set up to insist on it.
        let fd = memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| memfd_create(name, flags))
            .with_context(what)?;
        let mut file = File::from(fd);
        file.write_all(bytes).with_context(what)?;
        let all = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, all).with_context(what)?;
        Ok(Self(file.into()))
    }

    /// A name that this process and what it becomes can open, again and again.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_reads_and_does_not_change() {
        let sealed = Sealed::of("test", b"checked").unwrap();
        assert_eq!(std::fs::read(sealed.path()).unwrap(), b"checked");
        let again = File::options().write(true).open(sealed.path());
        let outcome = again.and_then(|mut it| it.write_all(b"changed"));
        assert!(outcome.is_err());
        assert!(std::fs::write(sealed.path(), b"").is_err());
        assert_eq!(std::fs::read(sealed.path()).unwrap(), b"checked");
    }
}
