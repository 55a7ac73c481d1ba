// SPDX-License-Identifier: Apache-2.0
//! android.os.MessageQueue: waiting for a message's time, a wake-up, or a file descriptor.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use jni_sys::{jboolean, jclass, jint, jobject};

use crate::env::Env;
use crate::handle::Handle;
use crate::system_clock::now_ns;

/// What one wait can report; more are reported by the next.
const EVENTS_MAX: usize = 16;

/// An epoll set with the wake-up event in it. Shared: any thread may wake.
pub(crate) struct Queue {
    wake: OwnedFd,
    poll: OwnedFd,
    is_polling: AtomicBool,
}

impl Queue {
    fn new() -> std::io::Result<Self> {
        // SAFETY:
        // 1. Both calls only make descriptors, which nobody else owns.
        let (wake, poll) = unsafe {
            (
                libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC),
                libc::epoll_create1(libc::EPOLL_CLOEXEC),
            )
        };
        if wake < 0 || poll < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY:
        // 1. Both were just made and are owned by nobody else.
        let (wake, poll) = unsafe { (OwnedFd::from_raw_fd(wake), OwnedFd::from_raw_fd(poll)) };
        let queue = Self {
            wake,
            poll,
            is_polling: AtomicBool::new(false),
        };
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        // SAFETY:
        // 1. Both descriptors are open; `event` outlives the call.
        let outcome = unsafe {
            libc::epoll_ctl(
                queue.poll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                queue.wake.as_raw_fd(),
                &raw mut event,
            )
        };
        if outcome < 0 {
            Err(std::io::Error::last_os_error())
        } else {
            Ok(queue)
        }
    }

    /// Waits until woken, or for a time (none: for ever). A signal ends it early, as AOSP's.
    fn poll(&self, timeout_ns: Option<i64>) {
        let timeout = timeout_ns.map(|it| libc::timespec {
            tv_sec: it / 1_000_000_000,
            tv_nsec: it % 1_000_000_000,
        });
        let timeout = timeout
            .as_ref()
            .map_or(core::ptr::null(), core::ptr::from_ref);
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
        self.is_polling.store(true, Ordering::Relaxed); // Read by isPolling for information only.
        // SAFETY:
        // 1. The descriptor is open; the kernel writes at most EVENTS_MAX entries.
        // 2. `timeout` is null or points to a timespec that outlives the call; there is no signal mask.
        // Linux has epoll_pwait2 since 5.11; its timeout counts nanoseconds.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.poll.as_raw_fd(),
                events.as_mut_ptr(),
                EVENTS_MAX as i32,
                timeout,
                core::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        self.is_polling.store(false, Ordering::Relaxed);
        if count > 0 {
            let mut value = 0u64;
            // SAFETY:
            // 1. The descriptor is open and non-blocking; eight bytes are ours to write.
            unsafe { libc::read(self.wake.as_raw_fd(), (&raw mut value).cast(), 8) };
        }
    }

    fn wake(&self) {
        let one = 1u64;
        // SAFETY:
        // 1. The descriptor is open and non-blocking; eight bytes are ours to read. A full counter wakes as well.
        unsafe { libc::write(self.wake.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeInit(env: Env, _class: jclass) -> i64 {
    match Queue::new() {
        Ok(queue) => Handle::new(queue).into_java(),
        Err(error) => {
            env.throw(
                "java/lang/IllegalStateException",
                &format!("no descriptors for a message queue: {error}"),
            );
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeDestroy(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
) {
    queue.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativePollOnce(
    _: Env,
    _this: jobject,
    queue: Handle<Queue>,
    timeout: jint,
) {
    queue.get().poll(
        u32::try_from(timeout)
            .ok()
            .map(|it| i64::from(it) * 1_000_000),
    );
}

/// Of our own MessageQueue: until a time in uptime nanoseconds, `Long.MAX_VALUE` for ever.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativePollUntil(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
    until_ns: i64,
) {
    let left = || {
        until_ns
            .saturating_sub(now_ns(libc::CLOCK_MONOTONIC))
            .max(0)
    };
    queue.get().poll((until_ns != i64::MAX).then(left));
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeWake(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
) {
    queue.get().wake();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeIsPolling(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
) -> jboolean {
    queue.get().is_polling.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeSetFileDescriptorEvents(
    env: Env,
    _: jclass,
    _queue: Handle<Queue>,
    _fd: jint,
    _events: jint,
) {
    env.throw_unsupported("MessageQueue.addOnFileDescriptorEventListener");
}
