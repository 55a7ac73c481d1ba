// SPDX-License-Identifier: Apache-2.0
//! What a user may keep on a disk: the kernel's quotas of users, quotactl_fd(2).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::sys;

/// A file on the average, as file systems reckon when they are made. So many files may there be.
const BYTES_PER_FILE: u64 = 16 << 10;
/// The kernel's unit of a limit.
const BLOCK_BYTES: u64 = 1 << 10;

/// What an application may keep on disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// So many bytes on each file system, and a file for each 16 KiB of them.
    pub bytes: u64,
    /// Where it may write: the limit is set on the file systems of these folders. Of one that is
    /// not there, what is there of the way to it counts.
    pub folders: Vec<PathBuf>,
}

impl Disk {
    /// Sets the limit of a user; the reason in words if one of the file systems has no quotas of
    /// users, or this process may not set them.
    ///
    /// It is kept by the file system, not by this process, and stays until another is set.
    pub(crate) fn limit(&self, uid: u32) -> Result<(), String> {
        // The kernel takes nought for no limit.
        let blocks = self.bytes.div_ceil(BLOCK_BYTES).max(1);
        let files = self.bytes.div_ceil(BYTES_PER_FILE).max(1);
        for folder in &self.folders {
            // A file system may take limits, and only count: it is one without quotas.
            has_quotas(folder)?;
            let set = opened(folder).and_then(|it| sys::set_quota(&it, uid, blocks, files));
            set.map_err(|it| reason(folder, it))?;
        }
        Ok(())
    }
}

/// Whether the file system of a folder keeps users to their quotas; the reason in words if not. Of
/// a folder that is not there, what is there of the way to it counts.
pub fn has_quotas(folder: &Path) -> Result<(), String> {
    match opened(folder).and_then(|it| sys::has_user_quotas(&it)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(reason(folder, Errno::SRCH)),
        Err(errno) => Err(reason(folder, errno)),
    }
}

fn opened(folder: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let there = folder.ancestors().find(|it| it.is_dir());
    let there = there.ok_or(Errno::NOENT)?;
    rustix::fs::open(there, flags, Mode::empty())
}

fn reason(folder: &Path, errno: Errno) -> String {
    let folder = folder.display();
    match errno {
        // Quotas are off there; the kernel has none; the file system knows none.
        Errno::SRCH | Errno::NOSYS | Errno::NOTBLK | Errno::INVAL | Errno::OPNOTSUPP => {
            format!("no quotas of users on the file system of {folder}")
        }
        other => format!("quotas of {folder}: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_are_none_the_folder_is_named() {
        // No kernel has quotas of files that it makes up.
        let said = has_quotas(Path::new("/proc")).unwrap_err();
        assert!(said.contains("/proc"), "{said}");
        let folders = vec!["/proc".into()];
        let said = Disk { bytes: 1, folders }.limit(10_000).unwrap_err();
        assert!(said.contains("/proc"), "{said}");
    }

    #[test]
    fn of_a_folder_that_is_not_there_the_way_counts() {
        let said = has_quotas(Path::new("/proc/none")).unwrap_err();
        assert_eq!(said, "no quotas of users on the file system of /proc/none");
        let said = has_quotas(Path::new("none/there")).unwrap_err();
        assert!(said.starts_with("quotas of none/there: "), "{said}");
    }
}
