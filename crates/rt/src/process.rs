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
