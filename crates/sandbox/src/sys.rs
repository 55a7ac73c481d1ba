// SPDX-License-Identifier: Apache-2.0
//! The kernel's calls that no library of ours wraps for use between `fork` and `exec`, and those of
//! who grants policies: each is one system call, allocates nothing and takes no lock.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::thread::UnshareFlags;
use seccompiler::BpfProgram;

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

/// Quotas of users (USRQUOTA) are kind 0; a command's number goes above the kind's eight bits.
const SET_QUOTA: u32 = 0x80_0008 << 8;
/// Q_XGETQSTAT.
const GET_STATE: u32 = ((b'X' as u32) << 8 | 5) << 8;
const USERS_ENFORCED: u16 = 1 << 1;
/// Of a `struct dqblk` the limits of blocks and of files count (QIF_LIMITS).
const LIMITS_COUNT: u32 = 1 | 4;

/// A user's hard limits on the file system of a folder: blocks of 1 KiB, and files.
pub(crate) fn set_quota(folder: &OwnedFd, uid: u32, blocks: u64, files: u64) -> Result<(), Errno> {
    let limits = libc::dqblk {
        dqb_bhardlimit: blocks,
        dqb_bsoftlimit: blocks,
        dqb_curspace: 0,
        dqb_ihardlimit: files,
        dqb_isoftlimit: files,
        dqb_curinodes: 0,
        dqb_btime: 0,
        dqb_itime: 0,
        dqb_valid: LIMITS_COUNT,
    };
    // SAFETY: the kernel reads one `struct dqblk`.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            folder.as_raw_fd(),
            SET_QUOTA,
            uid,
            &raw const limits,
        )
    };
    check(returned).map(drop)
}

/// The kernel's `struct fs_quota_stat` in words of 64 bits; it has 80 bytes, and this has more.
type QuotaState = [u64; 16];

/// Whether the file system of a folder keeps users to their limits (FS_QUOTA_UDQ_ENFD); an error
/// where it knows no quotas.
pub(crate) fn has_user_quotas(folder: &OwnedFd) -> Result<bool, Errno> {
    let mut state: QuotaState = [0; 16];
    // SAFETY: the kernel writes one `struct fs_quota_stat`, and `state` has room for more.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            folder.as_raw_fd(),
            GET_STATE,
            0_u32,
            &raw mut state,
        )
    };
    // The first byte is a version, and the flags are the two bytes from the third on.
    let bytes = state[0].to_ne_bytes();
    let flags = u16::from_ne_bytes([bytes[2], bytes[3]]);
    check(returned).map(|_| flags & USERS_ENFORCED != 0)
}

fn check(returned: libc::c_long) -> Result<libc::c_long, Errno> {
    if returned >= 0 {
        return Ok(returned);
    }
    // No memory is taken for an error of the system's own.
    let last = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&last).unwrap_or(Errno::INVAL))
}

/// The kernel's `struct seccomp_notif`: a thread waits for an answer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notice {
    pub(crate) id: u64,
    /// The kernel's number of the thread that calls.
    pub(crate) thread: u32,
    flags: u32,
    pub(crate) call: i32,
    arch: u32,
    address: u64,
    pub(crate) words: [u64; 6],
}

const _: () = assert!(size_of::<Notice>() == 80);

/// The kernel's `struct seccomp_notif_resp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) id: u64,
    pub(crate) value: i64,
    pub(crate) error: i32,
    pub(crate) flags: u32,
}

const _: () = assert!(size_of::<Reply>() == 24);

/// What is done with a listener: the kernel reads and writes so many bytes as the number says.
const fn control_number<T>(direction: libc::c_ulong, number: libc::c_ulong) -> libc::c_ulong {
    let kind = b'!' as libc::c_ulong;
    direction << 30 | (size_of::<T>() as libc::c_ulong) << 16 | kind << 8 | number
}

const WRITE: libc::c_ulong = 1;
const READ_AND_WRITE: libc::c_ulong = 3;

/// The next call that waits; an error if it waits no more.
pub(crate) fn notice(listener: BorrowedFd<'_>) -> Result<Notice, Errno> {
    // The kernel wants it zero.
    let mut notice = Notice::default();
    control(listener, READ_AND_WRITE, 0, &mut notice).map(|()| notice)
}

/// Lets it go on.
pub(crate) fn reply(listener: BorrowedFd<'_>, reply: &Reply) -> Result<(), Errno> {
    control(listener, READ_AND_WRITE, 1, &mut { *reply })
}

/// Whether it waits still.
pub(crate) fn is_waiting(listener: BorrowedFd<'_>, id: u64) -> bool {
    control(listener, WRITE, 2, &mut { id }).is_ok()
}

/// What the kernel may write to: numbers alone, of which any value is one.
trait Numbers {}
impl Numbers for Notice {}
impl Numbers for Reply {}
impl Numbers for u64 {}

fn control<T: Numbers>(
    listener: BorrowedFd<'_>,
    direction: libc::c_ulong,
    number: libc::c_ulong,
    value: &mut T,
) -> Result<(), Errno> {
    let request = control_number::<T>(direction, number);
    // SAFETY:
    // 1. The request says how large `value` is, and the kernel touches no more.
    // 2. `Numbers` may have any value that is written.
    let returned = unsafe { libc::ioctl(listener.as_raw_fd(), request, std::ptr::from_mut(value)) };
    check(returned.into()).map(drop)
}

/// A filter whose calls are asked about at the descriptor that comes back.
pub(crate) fn listen(program: &BpfProgram) -> Result<OwnedFd, Errno> {
    let list = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut().cast(),
    };
    // SAFETY:
    // 1. `list` names `program`, whose lines have the kernel's form, and is read alone.
    // 2. What comes back is a descriptor of nobody else's.
    unsafe {
        let made = check(libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const list,
        ))?;
        Ok(OwnedFd::from_raw_fd(made as i32))
    }
}

/// A thread's policy, with the flag beside it.
pub(crate) fn policy(thread: i32) -> Result<i32, Errno> {
    // SAFETY: a number.
    let policy = unsafe { libc::sched_getscheduler(thread) };
    check(policy.into()).map(|it| it as i32)
}

/// Gives a thread a policy; what it starts is ordinary.
pub(crate) fn set_policy(thread: i32, policy: i32, priority: i32, nice: i32) -> Result<(), Errno> {
    const RESET_ON_FORK: u64 = 1;
    let low = |it: i32| u64::from(it.cast_unsigned());
    // Size and policy, flags, nice value and priority, and no reservation.
    let attributes: [u64; 6] = [
        48 | low(policy) << 32,
        RESET_ON_FORK,
        low(nice) | low(priority) << 32,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads the 48 bytes that the first word says.
    let returned =
        unsafe { libc::syscall(libc::SYS_sched_setattr, thread, attributes.as_ptr(), 0_u32) };
    check(returned).map(drop)
}
