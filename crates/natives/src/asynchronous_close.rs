// SPDX-License-Identifier: Apache-2.0
//! libcore.io.AsynchronousCloseMonitor: who closes a descriptor wakes the threads that wait in it.
//!
//! The kernel does not: a thread inside `read` stays there when another closes the number. So each
//! thread says what it waits in, in a record of its own. Closing does two things, in this order, as
//! OpenJDK's library for sockets does:
//!
//! 1. The number becomes another file, at whose end one already is (`dup3`). A thread that had said
//!    so but was not in its call yet finds that file.
//! 2. A signal with an empty handler ends the calls that had begun. They see that they were woken.
//!
//! A call costs its thread two stores more. Nothing waits for anybody but a thread's first such
//! call, which may wait until another's record is in its place. Records are never freed: there are
//! as many as threads that were in such calls at one time.

use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::OnceLock;

use jni_sys::{jclass, jint, jobject};
use rustix::fs::FileType;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::env::Env;
use crate::linux::descriptors;

/// Waits in several descriptors: woken whichever is closed.
pub(crate) const ANY: jint = jint::MAX;
/// Waits in nothing.
const NONE: u32 = u32::MAX;
const WOKEN: u64 = 1 << 32;
/// The count of waits, which no two waits of a record share, lies above.
const TURN: u64 = 1 << 33;

/// What one thread waits in.
struct Record {
    /// The kernel's number of the thread; 0 if the record is free.
    thread: AtomicI32,
    /// A count of waits, whether this one was woken, and the descriptor.
    wait: AtomicU64,
    next: Place,
}

/// Where a record lies from some time on.
type Place = OnceLock<Box<Record>>;

/// All records begin here.
static FIRST: Place = Place::new();

fn records() -> impl Iterator<Item = &'static Record> {
    core::iter::successors(FIRST.get(), |it| it.next.get()).map(|it| &**it)
}

/// The record of a thread, given back when the thread ends.
struct Own(&'static Record);

impl Own {
    fn new() -> Self {
        let thread = crate::log::thread_id();
        let take = |it: &&Record| {
            let taken = it
                .thread
                .compare_exchange(0, thread, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        };
        Self(records().find(take).unwrap_or_else(|| add(thread)))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.thread.store(0, Ordering::Release);
    }
}

/// Puts a record at the end.
fn add(thread: i32) -> &'static Record {
    let mut record = Box::new(Record {
        thread: AtomicI32::new(thread),
        wait: AtomicU64::new(NONE.into()),
        next: Place::new(),
    });
    let mut place = &FIRST;
    loop {
        match place.set(record) {
            Ok(()) => return place.wait(),
            Err(again) => record = again,
        }
        place = &place.wait().next;
    }
}

std::thread_local! {
    static OWN: Own = Own::new();
}

/// The calling thread is about to wait in a descriptor; until this is dropped.
pub(crate) struct Waiting(Option<&'static Record>);

impl Waiting {
    /// In a descriptor's number, or in [`ANY`].
    pub(crate) fn begin(number: jint) -> Self {
        signal();
        // A thread whose locals are gone already is not woken.
        let own = OWN.try_with(|it| it.0).ok();
        if let Some(own) = own {
            let turn = (own.wait.load(Ordering::Relaxed) / TURN + 1) * TURN;
            let wait = turn | u64::from(number.cast_unsigned());
            // Before the call: who closes looks here after the number is another file.
            own.wait.store(wait, Ordering::SeqCst);
        }
        Self(own)
    }

    /// Whether the descriptor was closed meanwhile.
    pub(crate) fn is_woken(&self) -> bool {
        self.0
            .is_some_and(|it| it.wait.load(Ordering::SeqCst) & WOKEN != 0)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(own) = self.0 {
            let turn = own.wait.load(Ordering::Relaxed) / TURN * TURN;
            own.wait.store(turn | u64::from(NONE), Ordering::SeqCst);
        }
    }
}

/// Wakes all threads that wait in a descriptor, whose number is about to be closed.
pub(crate) fn wake(number: jint) {
    let signal = signal();
    if let Some(end) = end().filter(|_| may_wait(number)) {
        // SAFETY:
        // 1. dup3 takes numbers. `number` is being closed: its users are to find another file.
        unsafe { libc::dup3(end.as_raw_fd(), number, libc::O_CLOEXEC) };
    }
    for record in records() {
        let wait = record.wait.load(Ordering::SeqCst);
        let waits_in = wait as u32;
        let is_meant = waits_in == number.cast_unsigned() || waits_in == ANY.cast_unsigned();
        let woken = wait | WOKEN;
        let is_told = is_meant
            && record
                .wait
                .compare_exchange(wait, woken, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok();
        if is_told {
            let (process, thread) = (std::process::id(), record.thread.load(Ordering::Relaxed));
            // SAFETY:
            // 1. tgkill takes numbers. The handler does nothing, so that a thread that has left its
            //    call meanwhile has at most a call to make again.
            unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
        }
    }
}

/// Nobody waits in a regular file, and closing one is to say what the kernel thinks of its writes.
fn may_wait(number: jint) -> bool {
    descriptors::open(number)
        .and_then(rustix::fs::fstat)
        .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) != FileType::RegularFile)
}

/// One end of a connection whose other end is closed: reading is at the end, writing fails.
fn end() -> Option<&'static OwnedFd> {
    static END: OnceLock<Option<OwnedFd>> = OnceLock::new();
    END.get_or_init(|| {
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let pair = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None);
        pair.ok().map(|(end, _other)| end)
    })
    .as_ref()
}

extern "C" fn on_signal(_: libc::c_int) {}

/// The signal that ends a call, with its handler in place. Neither the machine nor the JDK's
/// libraries use it.
fn signal() -> libc::c_int {
    static SIGNAL: OnceLock<libc::c_int> = OnceLock::new();
    *SIGNAL.get_or_init(|| {
        let signal = libc::SIGRTMAX() - 4;
        // SAFETY:
        // 1. All-zero is a valid sigaction; `on_signal` has the signature of a plain handler and
        //    does nothing. No SA_RESTART: the call is to end.
        // 2. sigaction reads it.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, core::ptr::null_mut());
        }
        signal
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_AsynchronousCloseMonitor_signalBlockedThreads(
    env: Env,
    _: jclass,
    descriptor: jobject,
) {
    let number = descriptors::number(env, descriptor);
    if number >= 0 {
        wake(number);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd as _, IntoRawFd as _};
    use std::sync::atomic::AtomicBool;

    use rustix::io::Errno;

    use super::*;

    /// Closes many pipes with a reader in each, sooner or later in the reader's way to the kernel.
    #[test]
    fn whoever_reads_is_woken_wherever_it_is() {
        for round in 0..200u32 {
            let (reader, writer) = rustix::pipe::pipe().expect("pipe");
            let number = reader.as_raw_fd();
            let is_begun = AtomicBool::new(false);
            std::thread::scope(|threads| {
                let outcome = threads.spawn(|| {
                    let waiting = Waiting::begin(number);
                    is_begun.store(true, Ordering::SeqCst);
                    let outcome = rustix::io::read(reader.as_fd(), &mut [0; 8]);
                    (outcome, waiting.is_woken())
                });
                while !is_begun.load(Ordering::SeqCst) {
                    core::hint::spin_loop();
                }
                for _ in 0..round * 20 {
                    core::hint::spin_loop();
                }
                wake(number);
                let (outcome, is_woken) = outcome.join().expect("reads");
                assert!(is_woken, "round {round}");
                // Interrupted in the call, or at the end before it.
                assert!(
                    matches!(outcome, Ok(0) | Err(Errno::INTR)),
                    "round {round}: {outcome:?}"
                );
            });
            drop(writer);
            // `reader` closes the number, as IoBridge does.
        }
        assert!(records().count() <= 64, "records are used again");
    }

    #[test]
    fn a_later_wait_and_another_descriptor_are_left_alone() {
        let (reader, _writer) = rustix::pipe::pipe().expect("pipe");
        let number = reader.into_raw_fd();
        let first = Waiting::begin(number);
        wake(number);
        assert!(first.is_woken());
        drop(first);
        let second = Waiting::begin(number);
        assert!(!second.is_woken(), "woken by what was before it");
        wake(number + 1000);
        assert!(!second.is_woken(), "woken for another descriptor");
    }
}
