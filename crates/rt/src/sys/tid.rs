// SPDX-License-Identifier: Apache-2.0
//! The calling thread's number as lock words hold it, asked for once per thread.

#[cfg(not(loom))]
use std::cell::Cell;
#[cfg(not(loom))]
use std::sync::Once;

#[cfg(not(loom))]
thread_local! {
    /// Zero until asked for. Without a destructor, so that reading it allocates nothing.
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

#[cfg(not(loom))]
static FORK_HANDLER: Once = Once::new();

/// The calling thread's number: a thread-local load after the first call.
#[cfg(loom)]
pub fn current() -> u32 {
    crate::sys::model::tid()
}

/// The calling thread's number: a thread-local load after the first call.
#[cfg(not(loom))]
#[inline]
pub fn current() -> u32 {
    match CURRENT.get() {
        0 => ask(),
        tid => tid,
    }
}

#[cfg(not(loom))]
#[cold]
fn ask() -> u32 {
    // A forked child's only thread has another number than the thread it copies.
    FORK_HANDLER.call_once(|| {
        // SAFETY: the handler only stores to a thread-local without destructor: it may run in a
        // forked child.
        let refused = unsafe { libc::pthread_atfork(None, None, Some(forget_at_fork)) };
        assert_eq!(refused, 0, "no memory for a fork handler");
    });
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() } as u32;
    CURRENT.set(tid);
    tid
}

#[cfg(not(loom))]
extern "C" fn forget_at_fork() {
    forget();
}

/// In a copy of a process, by its one thread: it has another number than the thread it copies.
#[cfg(not(loom))]
pub fn forget() {
    CURRENT.set(0);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_knows_its_own_number() {
        let parent = current();
        // SAFETY: the child calls only async-signal-safe functions and reads a thread-local.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "fork failed");
        if child == 0 {
            // SAFETY: as above; _exit runs no handler.
            unsafe { libc::_exit(i32::from(current() != libc::gettid() as u32)) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable and `child` is ours.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0, "the child took its parent's number");
        assert_eq!(current(), parent);
    }
}
