// SPDX-License-Identifier: Apache-2.0
//! The kernel's calls that no library of ours wraps for use between `fork` and `exec`: each is one
//! system call, allocates nothing and takes no lock.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::thread::UnshareFlags;

/// The kernel's `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

const _: () = assert!(size_of::<PathBeneath>() == 12);

const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
const LANDLOCK_RULE_PATH_BENEATH: u32 = 1;

/// Landlock's level; an error where there is none.
pub(crate) fn landlock_level() -> Result<u32, Errno> {
    let null = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel takes no pointer and makes nothing.
    let level = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            null,
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    check(level).map(|level| level.unsigned_abs() as u32)
}

/// Grants `rights` below a folder.
pub(crate) fn landlock_grant(
    ruleset: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    rights: u64,
) -> Result<(), Errno> {
    let rule = PathBeneath {
        allowed_access: rights,
        parent_fd: folder.as_raw_fd(),
    };
    // SAFETY: `rule` is the structure that belongs to this kind of rule, and is read alone.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            LANDLOCK_RULE_PATH_BENEATH,
            &raw const rule,
            0_u32,
        )
    };
    check(returned).map(drop)
}

/// Puts the calling thread, and what it starts, under the rules for good.
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: a descriptor and a number.
    let returned =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
    check(returned).map(drop)
}

/// New namespaces for the calling thread.
pub(crate) fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: what can go wrong is the table of descriptors, and that one stays.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

fn check(returned: libc::c_long) -> Result<libc::c_long, Errno> {
    if returned >= 0 {
        return Ok(returned);
    }
    // No memory is taken for an error of the system's own.
    let last = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&last).unwrap_or(Errno::INVAL))
}
