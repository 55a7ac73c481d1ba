// SPDX-License-Identifier: Apache-2.0
//! android.os.MessageQueue: waiting for a message's time, a wake-up, or a file descriptor; and, for our own class of that
//! name, the looper's priority.
//!
//! Senders of our class hold no lock, so a queue outlives its looper: [`Queue::close`] ends what it does, and the memory
//! goes when no thread can hold the Java object any more.

use core::cell::RefCell;
use core::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use jni_sys::{jboolean, jclass, jint, jobject};
use rt::policy::{Policy, Tid};
use rt::sync::PiMutex;
use rt::sync::boost::{Announced, Boost, Look, Scheduling, Settled};

use crate::env::Env;
use crate::handle::Handle;
use crate::realtime_thread::{schedule, scheduling};
use crate::system_clock::now_ns;

/// What one wait can report; more are reported by the next.
const EVENTS_MAX: usize = 16;

/// An epoll set with the wake-up event in it, and the looper. Shared: any thread may wake.
pub(crate) struct Queue {
    /// The looper's own hold on them; None once it has ended: the numbers are other files' then.
    files: PiMutex<Option<Arc<Files>>>,
    /// For who wakes: a hold for as long as that takes. A lock would make an urgent sender wait for an ordinary one.
    wakers: Weak<Files>,
    is_polling: AtomicBool,
    looper: Arc<Looper>,
}

struct Files {
    wake: OwnedFd,
    poll: OwnedFd,
}

/// The thread that made the queue.
struct Looper {
    thread: Tid,
    /// As it was scheduled before anybody raised it.
    policy: c_int,
    priority: jint,
    boost: Boost,
}

/// The thread's own loopers: closed when it ends, however it ends, so that nobody raises a thread that was given its number.
struct Loopers(RefCell<Vec<Weak<Looper>>>);

thread_local! {
    static LOOPERS: Loopers = const { Loopers(RefCell::new(Vec::new())) };
}

impl Drop for Loopers {
    fn drop(&mut self) {
        let loopers = self.0.borrow();
        loopers
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(|it| it.boost.close());
    }
}

impl Looper {
    fn new() -> Arc<Self> {
        let (policy, priority) = scheduling(0);
        // The kernel prefers a deadline thread to every priority: it is never raised, and keeps its reservation.
        let level = match policy {
            libc::SCHED_DEADLINE => u8::MAX,
            _ => priority as u8,
        };
        let looper = Arc::new(Self {
            thread: Tid::current(),
            policy,
            priority,
            boost: Boost::new(level),
        });
        LOOPERS.with(|it| {
            let mut loopers = it.0.borrow_mut();
            loopers.retain(|it| it.strong_count() > 0);
            loopers.push(Arc::downgrade(&looper));
        });
        looper
    }
}

/// One system call each.
impl Scheduling for Looper {
    fn set(&self, level: u8) -> bool {
        let level = jint::from(level);
        let policy = match level == self.priority {
            true => self.policy,
            false => libc::SCHED_FIFO,
        };
        schedule(self.thread.raw(), policy, level)
    }

    fn get(&self) -> u8 {
        let policy = Policy::of(self.thread).ok();
        policy
            .and_then(Policy::priority)
            .map_or(0, |priority| priority.get())
    }
}

impl Queue {
    fn new() -> std::io::Result<Self> {
        let files = Arc::new(Files::new()?);
        Ok(Self {
            wakers: Arc::downgrade(&files),
            files: PiMutex::new(Some(files)),
            is_polling: AtomicBool::new(false),
            looper: Looper::new(),
        })
    }

    /// The looper has ended.
    fn close(&self) {
        self.looper.boost.close();
        drop(self.files.lock().take());
    }

    fn wake(&self) {
        if let Some(files) = self.wakers.upgrade() {
            files.wake();
        }
    }

    /// By the looper, whose hold keeps the files open meanwhile.
    fn poll(&self, timeout_ns: Option<i64>) {
        let Some(files) = self.wakers.upgrade() else {
            return;
        };
        let (wake, poll) = (files.wake.as_raw_fd(), files.poll.as_raw_fd());
        self.is_polling.store(true, Ordering::Relaxed); // Read by isPolling for information only.
        wait(wake, poll, timeout_ns);
        self.is_polling.store(false, Ordering::Relaxed);
    }
}

impl Files {
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
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        // SAFETY:
        // 1. Both descriptors are open; `event` outlives the call.
        let outcome = unsafe {
            libc::epoll_ctl(
                poll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                wake.as_raw_fd(),
                &raw mut event,
            )
        };
        match outcome {
            0 => Ok(Self { wake, poll }),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    fn wake(&self) {
        let one = 1u64;
        // SAFETY:
        // 1. The descriptor is open and non-blocking; eight bytes are ours to read. A full counter wakes as well.
        unsafe { libc::write(self.wake.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

/// Waits until woken, or for a time (none: for ever). A signal ends it early, as AOSP's.
fn wait(wake: RawFd, poll: RawFd, timeout_ns: Option<i64>) {
    let timeout = timeout_ns.map(|it| libc::timespec {
        tv_sec: it / 1_000_000_000,
        tv_nsec: it % 1_000_000_000,
    });
    let timeout = timeout
        .as_ref()
        .map_or(core::ptr::null(), core::ptr::from_ref);
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
    // SAFETY:
    // 1. The descriptor is open; the kernel writes at most EVENTS_MAX entries.
    // 2. `timeout` is null or points to a timespec that outlives the call; there is no signal mask.
    // Linux has epoll_pwait2 since 5.11; its timeout counts nanoseconds.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            poll,
            events.as_mut_ptr(),
            EVENTS_MAX as i32,
            timeout,
            core::ptr::null::<libc::sigset_t>(),
            0usize,
        )
    };
    if count > 0 {
        let mut value = 0u64;
        // SAFETY:
        // 1. The descriptor is open and non-blocking; eight bytes are ours to write.
        unsafe { libc::read(wake, (&raw mut value).cast(), 8) };
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

/// Of our own: the looper has ended.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeClose(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
) {
    queue.get().close();
}

/// Of our own: a message of a priority lies where the looper looks. Raises the looper, then wakes it if it sleeps. 0
/// it was urgent enough, 1 raised, 2 refused.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeAnnounce(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
    priority: jint,
    is_asleep: jboolean,
) -> jint {
    let queue = queue.get();
    let looper = &queue.looper;
    let announced = looper.boost.announce(priority as u8, &**looper);
    if is_asleep {
        queue.wake();
    }
    match announced {
        Announced::Heard => 0,
        Announced::Raised => 1,
        Announced::Refused => 2,
    }
}

/// Of our own: before the looper searches.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeLook(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
) -> jint {
    queue.get().looper.boost.look().raw().cast_signed()
}

/// Of our own: what the looper is to run at after a search. 0 done, 1 look again, 2 refused.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeSettle(
    _: Env,
    _: jclass,
    queue: Handle<Queue>,
    look: jint,
    priority: jint,
) -> jint {
    let looper = &queue.get().looper;
    if looper.policy == libc::SCHED_DEADLINE {
        return 0;
    }
    let look = Look::from_raw(look.cast_unsigned());
    match looper.boost.settle(look, priority as u8, &**looper) {
        Settled::Done => 0,
        Settled::LookAgain => 1,
        Settled::Refused => 2,
    }
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
