// SPDX-License-Identifier: Apache-2.0
//! What concerns the process as a whole.

use crate::sys::Errno;

/// Ends this process when the *thread* that started it ends, and so at the latest with its parent,
/// however that happens: a parent starts such children on a thread that outlives them. To be called
/// first thing by a child that only serves its parent; `parent` is the number that the parent gave
/// as its own.
pub fn die_with_parent(parent: u32) -> Result<(), Errno> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number and touches no memory.
    let returned = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    Errno::check(returned.into())?;
    // A parent that ended before the call sends no signal any more.
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(Errno(libc::ESRCH))
    }
}

/// What a copy of this process is to the process that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The caller goes on; the copy has this number.
    Original(i32),
    /// The caller is the copy, which has one thread.
    Copy,
}

/// Copies this process. The copy is a child of this process's own *parent*, which hears of its end,
/// as if it had started it: also by [`die_with_parent`].
///
/// The C library knows nothing of it: what it does for `fork` is done here, as far as a copy needs
/// it that has one thread and no held lock. Handlers of `pthread_atfork` do not run: every library
/// with a copy of this crate calls [`crate::sys::tid::forget`] in the copy.
///
/// # Errors
///
/// The kernel's, and where it does not say what the C library needs (`CONFIG_CHECKPOINT_RESTORE`).
///
/// # Safety
///
/// Other threads of this process, if there are any, hold no lock and never will: they wait for the
/// process's end.
#[cfg(not(loom))]
pub unsafe fn copy_beside() -> Result<Copied, Errno> {
    let mut own_number: *mut libc::pid_t = std::ptr::null_mut();
    // SAFETY: the call writes one address, where the C library keeps the thread's number.
    let returned = unsafe { libc::prctl(libc::PR_GET_TID_ADDRESS, &raw mut own_number) };
    Errno::check(returned.into())?;
    let mut held: *mut libc::c_void = std::ptr::null_mut();
    let mut held_bytes: usize = 0;
    // SAFETY: the call writes an address and a size: the C library's list of robust locks.
    let returned = unsafe {
        let (list, bytes) = (&raw mut held, &raw mut held_bytes);
        libc::syscall(libc::SYS_get_robust_list, 0, list, bytes)
    };
    Errno::check(returned)?;
    let flags = libc::CLONE_PARENT | libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID;
    let none = 0_usize;
    // SAFETY: 1. The copy has its own memory, and goes on on a copy of this stack. 2. The kernel
    // writes its number to where the C library keeps it.
    let pid = unsafe {
        #[cfg(target_arch = "x86_64")]
        let last = (own_number, none);
        #[cfg(not(target_arch = "x86_64"))]
        let last = (none, own_number);
        libc::syscall(
            libc::SYS_clone,
            flags | libc::SIGCHLD,
            none,
            none,
            last.0,
            last.1,
        )
    };
    Errno::check(pid)?;
    if pid != 0 {
        return Ok(Copied::Original(pid as i32));
    }
    crate::sys::tid::forget();
    // SAFETY: the list is this thread's own, as the kernel has named it for the original.
    let returned = unsafe { libc::syscall(libc::SYS_set_robust_list, held, held_bytes) };
    assert_eq!(returned, 0, "the kernel takes back what it gave");
    Ok(Copied::Copy)
}

/// The user that this process acts for.
pub fn uid() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

/// Lets SIGPIPE end the process, as it ends other filters; Rust programs start with it ignored.
pub fn die_on_broken_pipe() {
    // SAFETY: the default action is a valid disposition, and no handler of ours is replaced.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
