// SPDX-License-Identifier: Apache-2.0
//! takt.server.Interrupt: SIGINT and SIGTERM as an event that a Java thread waits for.
//!
//! The handler only writes to an eventfd. It is reset by its first use, so a second signal ends the
//! process.

use std::sync::atomic::{AtomicI32, Ordering};

use jni_sys::jclass;

use crate::env::Env;

/// The eventfd that the handler writes to.
static EVENT: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(_: libc::c_int) {
    let one = 1u64;
    // SAFETY:
    // 1. write is async-signal-safe and reads eight bytes of `one`; a closed or full eventfd is an
    //    error that nobody needs.
    unsafe { libc::write(EVENT.load(Ordering::Relaxed), (&raw const one).cast(), 8) };
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Interrupt_await(env: Env, _: jclass) {
    // SAFETY:
    // 1. eventfd takes numbers. It stays open: the handler may use it as long as the process lives.
    let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if event < 0 {
        env.throw("java/lang/IllegalStateException", "no eventfd for signals");
        return;
    }
    EVENT.store(event, Ordering::Relaxed);
    // SAFETY:
    // 1. All-zero is a valid sigaction; `on_signal` has the signature of a plain handler and is
    //    async-signal-safe.
    // 2. sigaction reads one of them.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            libc::sigaction(signal, &raw const action, core::ptr::null_mut());
        }
    }
    let mut count = 0u64;
    // SAFETY:
    // 1. read writes eight bytes into `count`; another outcome can only be EINTR, after which it is
    //    asked again.
    while unsafe { libc::read(event, (&raw mut count).cast(), 8) } != 8 {}
}
