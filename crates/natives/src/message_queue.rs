// SPDX-License-Identifier: Apache-2.0
//! android.os.MessageQueue: waiting for a message's time or a wake-up; and, for our own class of
//! that name, the looper's priority.
//!
//! A looper sleeps at an eventfd, for which the kernel wakes it under a lock: an ordinary sender
//! that is preempted there is lent an urgent one's priority. At a futex it would not be, for the
//! kernel takes the sleeper off its queue, gives back the lock, and only then wakes it: the urgent
//! sender would find nobody to wake (one of 2400 releases came 47 ms late in the lab, with 300
//! senders). A set of epoll before it would mean two more such locks.
//!
//! Senders of our class hold no lock, so a queue outlives its looper: [`Queue::close`] ends what it
//! does, and the memory goes when no thread can hold the Java object any more.

use core::cell::RefCell;
use core::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use jni_sys::{jboolean, jclass, jint, jintArray, jobject};
use rt::policy::{Policy, Tid};
use rt::sync::PiMutex;
use rt::sync::boost::{Announced, Boost, Look, Scheduling, Settled};

use crate::env::Env;
use crate::handle::Handle;
use crate::linux::descriptors::number;
use crate::realtime_thread::{schedule, scheduling};
use crate::system_clock::now_ns;

/// Where the looper sleeps, and the looper. Shared: any thread may wake.
pub(crate) struct Queue {
    /// The looper's own hold on it; None once it has ended: the number is another file's then.
    event: PiMutex<Option<Arc<OwnedFd>>>,
    /// For who wakes: a hold for as long as that takes. A lock would make an urgent sender wait for
    /// an ordinary one.
    wakers: Weak<OwnedFd>,
    is_polling: AtomicBool,
    looper: Arc<Looper>,
}

/// The thread that made the queue.
struct Looper {
    thread: Tid,
    /// As it was scheduled before anybody raised it.
    policy: c_int,
    priority: jint,
    boost: Boost,
}

/// The thread's own loopers: closed when it ends, however it ends, so that nobody raises a thread
/// that was given its number.
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
        // The kernel prefers a deadline thread to every priority: it is never raised, and keeps its
        // reservation.
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

/// Wakes one queue's looper, as long as there is one.
#[derive(Clone)]
pub(crate) struct Waker(Weak<OwnedFd>);

impl Waker {
    /// It looks at what there is before it sleeps again.
    pub(crate) fn wake(&self) {
        let Some(event) = self.0.upgrade() else {
            return;
        };
        let one = 1u64;
        // SAFETY:
        // 1. The descriptor is open; eight bytes are ours to read. No counter comes near 2^64,
        //    where the call would block.
        unsafe { libc::write(event.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

impl Queue {
    fn new() -> std::io::Result<Self> {
        // SAFETY:
        // 1. The call only makes a descriptor.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if event < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY:
        // 1. It was just made and is owned by nobody else.
        let event = Arc::new(unsafe { OwnedFd::from_raw_fd(event) });
        Ok(Self {
            wakers: Arc::downgrade(&event),
            event: PiMutex::new(Some(event)),
            is_polling: AtomicBool::new(false),
            looper: Looper::new(),
        })
    }

    /// The looper has ended.
    fn close(&self) {
        self.looper.boost.close();
        drop(self.event.lock().take());
    }

    fn wake(&self) {
        self.waker().wake();
    }

    /// What wakes the looper, for threads that Java does not know.
    pub(crate) fn waker(&self) -> Waker {
        Waker(Weak::clone(&self.wakers))
    }

    /// Until woken, or for a time (none: for ever). A signal ends it early, as AOSP's. By the
    /// looper, whose hold keeps the file open.
    fn poll(&self, timeout_ns: Option<i64>) {
        let Some(event) = self.wakers.upgrade() else {
            return;
        };
        let event = event.as_raw_fd();
        self.is_polling.store(true, Ordering::Relaxed); // Read by isPolling for information only.
        if timeout_ns.is_none_or(|it| is_set_within(event, it)) {
            let mut value = 0u64;
            // SAFETY:
            // 1. The descriptor is open; eight bytes are ours to write. The call waits until it is
            //    set: nobody else resets it.
            unsafe { libc::read(event, (&raw mut value).cast(), 8) };
        }
        self.is_polling.store(false, Ordering::Relaxed);
    }
}

impl Queue {
    /// As `poll`, or until one of the files has something.
    fn poll_files(&self, timeout_ns: i64, files: &mut Vec<libc::pollfd>) {
        let Some(event) = self.wakers.upgrade() else {
            return;
        };
        let event = event.as_raw_fd();
        files.push(poll_entry(event, libc::POLLIN));
        self.is_polling.store(true, Ordering::Relaxed); // As in `poll`.
        poll_within(files, Some(timeout_ns));
        if files.last().is_some_and(|it| it.revents != 0) {
            let mut value = 0u64;
            // SAFETY:
            // 1. As in `poll`: it is set, so the call does not wait.
            unsafe { libc::read(event, (&raw mut value).cast(), 8) };
        }
        self.is_polling.store(false, Ordering::Relaxed);
    }
}

fn poll_entry(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd,
        events,
        revents: 0,
    }
}

/// Waits for so long at most; how many have something.
fn poll_within(entries: &mut [libc::pollfd], timeout_ns: Option<i64>) -> c_int {
    let timeout = timeout_ns.map(|it| libc::timespec {
        tv_sec: it / 1_000_000_000,
        tv_nsec: it % 1_000_000_000,
    });
    let timeout = timeout.as_ref().map_or(core::ptr::null(), |it| it);
    // SAFETY:
    // 1. The entries, the time and their count outlive the call; there is no signal mask.
    unsafe {
        libc::ppoll(
            entries.as_mut_ptr(),
            entries.len() as libc::nfds_t,
            timeout,
            core::ptr::null::<libc::sigset_t>(),
        )
    }
}

/// Waits for so long at most.
fn is_set_within(event: RawFd, timeout_ns: i64) -> bool {
    poll_within(&mut [poll_entry(event, libc::POLLIN)], Some(timeout_ns)) > 0
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MessageQueue_nativeInit(env: Env, _class: jclass) -> i64 {
    match Queue::new() {
        Ok(queue) => Handle::new(queue).into_java(),
        Err(error) => {
            env.throw(
                "java/lang/IllegalStateException",
                &format!("no descriptor for a message queue: {error}"),
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
    queue
        .get()
        .poll((until_ns != i64::MAX).then(|| left_ns(until_ns)));
}

/// Until a time in uptime nanoseconds.
fn left_ns(until_ns: i64) -> i64 {
    until_ns
        .saturating_sub(now_ns(libc::CLOCK_MONOTONIC))
        .max(0)
}

/// Of `OnFileDescriptorEventListener`, and the kernel's for it.
const EVENTS: [(jint, libc::c_short); 3] = [
    (1, libc::POLLIN),
    (2, libc::POLLOUT),
    (4, libc::POLLERR | libc::POLLHUP),
];
/// The number is no open file: FileWatches' own.
const GONE: jint = 8;

fn files(env: Env, numbers: jintArray, events: jintArray) -> Vec<libc::pollfd> {
    let wanted = env.ints(events).into_iter().map(|events| {
        let kinds = EVENTS.iter().filter(|it| events & it.0 != 0);
        kinds.fold(0, |sum, it| sum | it.1)
    });
    let numbers = env.ints(numbers).into_iter();
    numbers
        .zip(wanted)
        .map(|(fd, events)| poll_entry(fd, events))
        .collect()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_FileWatches_nativeNumber(
    env: Env,
    _: jclass,
    file: jobject,
) -> jint {
    number(env, file)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_FileWatches_nativeWait(
    env: Env,
    _: jclass,
    queue: Handle<Queue>,
    until_ns: i64,
    numbers: jintArray,
    events: jintArray,
) {
    let mut files = files(env, numbers, events);
    queue.get().poll_files(left_ns(until_ns), &mut files);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_FileWatches_nativeLook(
    env: Env,
    _: jclass,
    numbers: jintArray,
    events: jintArray,
) {
    let mut files = files(env, numbers, events);
    poll_within(&mut files, Some(0));
    let seen = |file: &libc::pollfd| {
        if file.revents & libc::POLLNVAL != 0 {
            return GONE;
        }
        let kinds = EVENTS.iter().filter(|it| file.revents & it.1 != 0);
        kinds.fold(0, |sum, it| sum | it.0)
    };
    let seen: Vec<jint> = files.iter().map(seen).collect();
    env.write_ints(events, &seen);
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

/// Of our own: a message of a priority lies where the looper looks. Raises the looper, then wakes
/// it if it sleeps. 0 it was urgent enough, 1 raised, 2 refused.
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
    env.throw_unsupported("MessageQueue.addOnFileDescriptorEventListener of AOSP's own queue");
}
