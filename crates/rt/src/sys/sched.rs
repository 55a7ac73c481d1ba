// SPDX-License-Identifier: Apache-2.0
//! `sched_setattr` and `sched_getattr`: the one interface that knows every policy, SCHED_DEADLINE
//! included.

use crate::policy::Tid;
use crate::sys::Errno;

/// The kernel's `struct sched_attr`, first version (48 bytes).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SchedAttr {
    pub(crate) size: u32,
    pub(crate) policy: u32,
    pub(crate) flags: u64,
    pub(crate) nice: i32,
    pub(crate) priority: u32,
    pub(crate) runtime_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) period_ns: u64,
}

const _: () = assert!(size_of::<SchedAttr>() == 48);

/// `SCHED_FLAG_RESET_ON_FORK`: children start as ordinary threads (a DEADLINE thread cannot fork
/// without it).
pub(crate) const RESET_ON_FORK: u64 = 1;

/// Gives a thread these attributes. Bounded; does not sleep.
pub(crate) fn set(tid: Tid, attr: &SchedAttr) -> Result<(), Errno> {
    // SAFETY: 1. `attr` points to `size` readable bytes: its `size` field is the struct's size, set
    // by `policy`. 2. The kernel copies it and keeps no pointer.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            tid.raw(),
            std::ptr::from_ref(attr),
            0,
        )
    };
    Errno::check(returned).map(drop)
}

/// Reads a thread's attributes. Bounded; does not sleep.
pub(crate) fn get(tid: Tid) -> Result<SchedAttr, Errno> {
    let mut attr = SchedAttr::default();
    // SAFETY: `attr` is writable for the size passed, and the kernel writes at most that many
    // bytes.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            tid.raw(),
            std::ptr::from_mut(&mut attr),
            size_of::<SchedAttr>(),
            0,
        )
    };
    Errno::check(returned).map(|_| attr)
}

/// The calling thread's nice value, also while its policy has no use for it. Bounded; does not
/// sleep.
pub(crate) fn nice() -> i8 {
    // SAFETY: three numbers, and no memory.
    let returned = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    // The kernel gives 20 less it, 1 to 40; for the caller it never fails.
    i8::try_from(20 - returned).unwrap_or(0)
}
