// SPDX-License-Identifier: Apache-2.0
//! `java.lang.Thread` objects and the Linux threads behind them.

use core::sync::atomic::{AtomicU32, Ordering};
use std::ffi::CString;
use std::sync::Arc;

use heap::Place;

use crate::classes::known::{known, offset};
use crate::classes::object::ObjectRef;
use crate::console;
use crate::monitors::monitor;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::sync::park::Parker;
use crate::threads::held;
use crate::threads::real_time::{self, RealTimeRecord};
use crate::threads::thread::{self, Holds, STACK_RESERVE_BYTES, Thread, Thrown};

/// Managed code's part of a thread's stack, unless `-Xss` says otherwise.
const STACK_BYTES: u64 = 1 << 20;
/// At least.
const STACK_BYTES_MIN: u64 = 128 << 10;

/// States as `Thread.threadStatus` has them (JVMTI's bits).
const STATUS_RUNNABLE: i32 = 0x0005;
pub(crate) const STATUS_BLOCKED: i32 = 0x0401;
const STATUS_TERMINATED: i32 = 0x0002;
/// Set while a thread is parked.
pub(crate) const STATUS_PARKED: i32 = 0x0200;
/// Alive and waiting; with one of the next two, and one that says for what.
const WAITING: i32 = 0x0081;
const WITHOUT_END: i32 = 0x0010;
const WITH_TIMEOUT: i32 = 0x0020;

/// What a thread waits for, as `Thread.getState` tells it.
#[derive(Clone, Copy)]
pub(crate) enum Wait {
    /// `Thread.sleep`.
    Sleep,
    /// `Object.wait` on an object, with a timeout or without.
    Notification {
        object: ObjectRef,
        has_timeout: bool,
    },
    /// `LockSupport.park`, with a timeout or without.
    Permit { has_timeout: bool },
    /// An object's monitor that another thread holds.
    Monitor(ObjectRef),
}

impl Wait {
    fn status(self) -> i32 {
        let end = |has_timeout| {
            if has_timeout {
                WITH_TIMEOUT
            } else {
                WITHOUT_END
            }
        };
        match self {
            Wait::Sleep => WAITING | WITH_TIMEOUT | 0x0040,
            Wait::Notification { has_timeout, .. } => WAITING | end(has_timeout) | 0x0100,
            Wait::Permit { has_timeout } => WAITING | end(has_timeout) | STATUS_PARKED,
            Wait::Monitor(_) => STATUS_BLOCKED,
        }
    }

    fn object(self) -> ObjectRef {
        match self {
            Wait::Notification { object, .. } | Wait::Monitor(object) => object,
            Wait::Sleep | Wait::Permit { .. } => ObjectRef::NULL,
        }
    }
}

/// A state as thread dumps name it.
pub(crate) fn state_name(status: i32) -> &'static str {
    const IN_WAIT: i32 = 0x0100;
    const TERMINATED: i32 = STATUS_TERMINATED;
    match status {
        0 => "NEW",
        TERMINATED => "TERMINATED",
        STATUS_BLOCKED => "BLOCKED (on object monitor)",
        _ if status & WITH_TIMEOUT != 0 => match status & (IN_WAIT | STATUS_PARKED) {
            IN_WAIT => "TIMED_WAITING (on object monitor)",
            STATUS_PARKED => "TIMED_WAITING (parking)",
            _ => "TIMED_WAITING (sleeping)",
        },
        _ if status & IN_WAIT != 0 => "WAITING (on object monitor)",
        _ if status & STATUS_PARKED != 0 => "WAITING (parking)",
        _ => "RUNNABLE",
    }
}

/// Runs `work`, which waits and touches no object, in native state; other threads see what for.
/// What is waited at is `held`, or null; callers up to the last managed frame hold nothing else.
pub(crate) fn waiting<T>(
    thread: &Thread,
    what: Wait,
    held: ObjectRef,
    work: impl FnOnce() -> T,
) -> T {
    let scope = thread.scope();
    scope.hold(held);
    let Some(object) = thread.object().some() else {
        return thread.outside_holding(Holds::Nothing, work);
    };
    let is_monitor = matches!(what, Wait::Monitor(_));
    thread.waiting.begin(thread, what.object(), is_monitor);
    set_status(object, what.status());
    let done = thread.outside_holding(Holds::Nothing, work);
    set_status(object, STATUS_RUNNABLE);
    thread.waiting.end(thread);
    done
}

/// Runs `work`, which neither waits nor reaches a safepoint, on the machine's thread behind a
/// `java.lang.Thread`, if it runs; it does not end meanwhile.
pub(crate) fn with_thread_of<T>(
    object: ObjectRef,
    work: impl FnOnce(&Arc<Thread>) -> T,
) -> Option<T> {
    let number: u64 = object.get(known().thread_native);
    thread::with_numbered(number as u32, object, work)
}

/// The machine's thread behind a `java.lang.Thread`, if it runs; its record, to hold.
pub(crate) fn of_object(object: ObjectRef) -> Option<Arc<Thread>> {
    with_thread_of(object, Arc::clone)
}

/// Ties the calling thread to its object.
pub(crate) fn bind(thread: &'static Thread, object: ObjectRef) {
    thread.set_object(object);
    let number = thread.enter_directory();
    object.put(known().thread_native, u64::from(number));
    set_status(object, STATUS_RUNNABLE);
    count_thread();
}

fn set_status(object: ObjectRef, status: i32) {
    object.put(known().thread_status, status);
}

/// Clears and gives the interrupt of the calling thread. Java code keeps it in a field.
pub(crate) fn take_interrupt(thread: &Thread) -> bool {
    let object = thread.object();
    let interrupted = known().thread_interrupted;
    let was = object.get::<u8>(interrupted) != 0;
    if was {
        object.put(interrupted, 0_u8);
    }
    was
}

/// Whether the calling thread has been interrupted.
pub(crate) fn is_interrupted(thread: &Thread) -> bool {
    let object = thread.object();
    object.get::<u8>(known().thread_interrupted) != 0
}

/// The whole stack of a thread whose constructor was told `asked` bytes, 0 for none.
fn stack_bytes(asked: i64) -> usize {
    let usual = || crate::options::get().stack_bytes.unwrap_or(STACK_BYTES);
    let managed = u64::try_from(asked).ok().filter(|&bytes| bytes > 0);
    let managed = managed.unwrap_or_else(usual).max(STACK_BYTES_MIN);
    usize::try_from(managed.saturating_add(STACK_RESERVE_BYTES)).unwrap_or(usize::MAX)
}

/// Room in the heap for one thread more. Those that have ended make room with the next epoch.
fn place_for(thread: &Thread) -> Result<Place, Thrown> {
    let heap = heap_binding::heap();
    if let Some(place) = heap.place() {
        return Ok(place);
    }
    heap_binding::collect(thread);
    heap.place().ok_or_else(|| {
        let most = heap::limits::MUTATORS_MAX;
        let message = format!("unable to create native thread: {most} at most at once");
        thread.throw("java/lang/OutOfMemoryError", &message)
    })
}

/// `Thread.start0`.
pub(crate) fn start(thread: &Thread, object: ObjectRef) -> Result<(), Thrown> {
    if object.get::<u64>(known().thread_native) != 0 {
        return Err(thread.throw_plain("java/lang/IllegalThreadStateException"));
    }
    if held::are_held() {
        heap_binding::keep(object);
        return held::hold(object).map_err(|_| {
            let message = "unable to create native thread: a template starts none";
            thread.throw("java/lang/OutOfMemoryError", message)
        });
    }
    let name = string::text(object.get_ref(offset(object.class(), "name")));
    let size: i64 = object.get(offset(object.class(), "stackSize"));
    let ready = Arc::new(Parker::new());
    let starter = Arc::clone(&ready);
    let builder = std::thread::Builder::new()
        .name(native_name(&name).to_owned())
        .stack_size(stack_bytes(size));
    let place = place_for(thread)?;
    let record = real_time::record_of(object);
    let is_child = thread.real_time().is_some();
    let spawned = builder.spawn(move || run(object, &starter, place, record, is_child));
    if let Err(error) = spawned {
        let message = format!("unable to create native thread: {error}");
        return Err(thread.throw("java/lang/OutOfMemoryError", &message));
    }
    // The new thread is visible to `isAlive` when `start` returns.
    // `object` is an argument of the native method `start0`.
    thread.outside_holding(Holds::Nothing, || ready.park_until(None));
    match record.and_then(RealTimeRecord::strict_refusal) {
        Some(refusal) => Err(thread.throw("java/lang/IllegalStateException", refusal)),
        None => Ok(()),
    }
}

fn run(
    object: ObjectRef,
    ready: &Parker,
    place: Place,
    record: Option<&'static RealTimeRecord>,
    is_child: bool,
) {
    if record.is_none() && is_child {
        real_time::be_ordinary();
    }
    if record.is_some_and(|record| !record.enter()) {
        ready.unpark();
        return;
    }
    let thread = thread::attach_as(&[object.to_heap()], record);
    drop(place);
    bind(thread, object);
    ready.unpark();
    if let Some(record) = record {
        record.begin(thread);
    }
    let run = known_thread_method("run", "()V");
    let run = thread.select(run, object);
    let outcome = run.and_then(|run| thread.call_holding(Holds::Nothing, run, &[object.0.into()]));
    if outcome.is_err() {
        uncaught(thread);
    }
    if let Some(record) = record {
        record.end();
    }
    exit(thread);
}

fn known_thread_method(name: &str, descriptor: &str) -> &'static crate::classes::class::Method {
    let class =
        crate::classes::loader::loaded("java/lang/Thread").expect("Thread is loaded at start");
    match class.method_named(name, descriptor) {
        Some(method) => method,
        None => console::fatal(&format!("java.lang.Thread has no {name}{descriptor}")),
    }
}

/// Hands the pending exception to `Thread.dispatchUncaughtException`.
pub(crate) fn uncaught(thread: &'static Thread) {
    let exception = thread.take_exception();
    let dispatch = known_thread_method("dispatchUncaughtException", "(Ljava/lang/Throwable;)V");
    let args = [thread.object().0.into(), exception.0.into()];
    if thread
        .call_holding(Holds::Nothing, dispatch, &args)
        .is_err()
    {
        thread.take_exception();
    }
}

/// The end of a Java thread: `Thread.exit`, then the joiners are woken.
pub(crate) fn exit(thread: &'static Thread) {
    let object = thread.object();
    let leave = known_thread_method("exit", "()V");
    if thread.call(leave, &[object.0.into()]).is_err() {
        thread.take_exception();
    }
    monitor::release_all(thread, &thread.native_locks);
    monitor::enter(thread, object);
    set_status(object, STATUS_TERMINATED);
    object.put(known().thread_native, 0_u64);
    let _ = monitor::notify(thread, object, true);
    let _ = monitor::exit(thread, object);
    thread::detach(thread);
}

/// What the system can take of a thread's name.
fn native_name(name: &str) -> &str {
    name.split('\0').next().unwrap_or_default()
}

/// The name that `ps` shows.
pub(crate) fn set_native_name(thread: &Thread, name: &str) {
    let name = native_name(name);
    let short: String = name.chars().filter(char::is_ascii).take(15).collect();
    let Ok(short) = CString::new(short) else {
        return;
    };
    if thread.tid() == crate::sync::lock::own_tid() {
        // SAFETY: 1. `short` is a C string of at most 15 bytes.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), short.as_ptr()) };
    }
}

/// Gives a thread object to a native thread that attaches.
pub(crate) fn adopt(
    thread: &'static Thread,
    name: Option<&str>,
    is_daemon: bool,
) -> Result<(), Thrown> {
    let class = thread.boot_class("java/lang/Thread")?;
    let object = crate::objects::heap_binding::new_object(thread, class)?;
    object.put(offset(class, "priority"), 5_i32);
    bind(thread, object);
    let group = main_group();
    // Without a name it gets the next "Thread-N".
    let (last, signature) = match name {
        Some(name) => (
            string::new_string(thread, name)?,
            "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V",
        ),
        None => (
            ObjectRef::NULL,
            "(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;)V",
        ),
    };
    let constructor = class.method_named("<init>", signature);
    let args = [object.0.into(), group.0.into(), last.0.into()];
    thread.call(constructor.expect("threads have groups"), &args)?;
    object.put(offset(class, "daemon"), u8::from(is_daemon));
    Ok(())
}

/// The thread group "main", kept.
pub(crate) static MAIN_GROUP: AtomicU32 = AtomicU32::new(0);

/// The thread group "main": of the first thread, and of threads that attach.
pub(crate) fn main_group() -> ObjectRef {
    ObjectRef(MAIN_GROUP.load(Ordering::Acquire))
}

/// A Java thread has begun.
fn count_thread() {
    STARTED_THREADS.fetch_add(1, Ordering::Relaxed);
    PEAK_THREADS.fetch_max(java_threads().count() as u32, Ordering::Relaxed);
}

pub(crate) fn java_threads() -> impl Iterator<Item = ObjectRef> {
    let all = thread::all().into_iter();
    all.filter_map(|thread| thread.object().some())
}

pub(crate) static PEAK_THREADS: AtomicU32 = AtomicU32::new(0);
pub(crate) static STARTED_THREADS: AtomicU32 = AtomicU32::new(0);
