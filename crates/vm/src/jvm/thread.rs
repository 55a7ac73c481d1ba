// SPDX-License-Identifier: Apache-2.0
//! Threads.

use rt::clock::{Clock, Monotonic};

use crate::classes::known::known;
use crate::classes::object::ObjectRef;
use crate::compile::method;
use crate::inspect::backtrace;
use crate::inspect::snapshot;
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::monitors::java_thread::{self, Wait};
use crate::monitors::lend;
use crate::monitors::monitor;
use crate::objects::array;
use crate::threads::thread::{self, Thread, Thrown};

#[unsafe(no_mangle)]
extern "C" fn JVM_CurrentThread(env: u64, _class: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(thread.object())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_StartThread(env: u64, target: u64) {
    let thread = &*of(env);
    let target = thread.object_of(target);
    if !crate::classes::stage::is_up_to(crate::classes::stage::Stage::Ready) {
        compile_run(thread, target);
    }
    let _ = java_thread::start(thread, target);
}

/// Has the `run` of one of the class library's own threads compiled by its starter. By itself, code
/// would depend on what the boot has initialised meanwhile, and a second start would not always
/// find the code of the first.
fn compile_run(thread: &Thread, target: ObjectRef) {
    let run = target.class().method_named("run", "()V");
    if let Some(run) = run.filter(|run| !run.is_abstract()) {
        // What fails here fails in the thread, which tells.
        let _ = method::entry_of(thread, run).map_err(|_| thread.take_exception());
    }
}

/// Priorities of ordinary threads are the kernel's business, as on stock Linux.
#[unsafe(no_mangle)]
extern "C" fn JVM_SetThreadPriority(_env: u64, _target: u64, _priority: i32) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_Yield(_env: u64, _class: u64) {
    std::thread::yield_now();
}

#[unsafe(no_mangle)]
extern "C" fn JVM_Sleep(env: u64, _class: u64, millis: i64) {
    let thread = &*of(env);
    if millis < 0 {
        let message = "timeout value is negative";
        let _ = thread.throw("java/lang/IllegalArgumentException", message);
        return;
    }
    let due_ns = Monotonic
        .now_ns()
        .saturating_add((millis as u64).saturating_mul(1_000_000));
    loop {
        if java_thread::take_interrupt(thread) {
            let _ = thread.throw("java/lang/InterruptedException", "sleep interrupted");
            return;
        }
        if Monotonic.now_ns() >= due_ns {
            return;
        }
        thread.expect_work(Some(due_ns));
        java_thread::waiting(thread, Wait::Sleep, ObjectRef::NULL, || {
            thread.waiter.park_until(Some(due_ns))
        });
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_Interrupt(env: u64, target: u64) {
    let thread = &*of(env);
    let target = thread.object_of(target);
    java_thread::with_thread_of(target, |target| target.waiter.unpark());
    lend::unpark(thread, target);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_HoldsLock(env: u64, _class: u64, object: u64) -> u8 {
    let thread = &*of(env);
    match thread.object_of(object).some() {
        Some(object) => u8::from(monitor::holds(thread, object)),
        None => {
            let _ = thread.throw_plain("java/lang/NullPointerException");
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetAllThreads(env: u64, _class: u64) -> u64 {
    let thread = &*of(env);
    // A thread may end before its object is in the array: the list is held, not only read.
    let scope = thread.scope();
    let objects: Vec<_> = thread::all()
        .iter()
        .filter_map(|other| other.object().some())
        .map(|object| scope.hold(object))
        .collect();
    let make = || {
        let class = thread.array_class(thread.boot_class("java/lang/Thread")?)?;
        reflect::array_of(thread, class, &objects)
    };
    let array = make();
    // Before the local reference that is returned.
    drop(scope);
    outcome(array.map(|array| thread.new_local(array)))
}

/// The stacks of some threads as arrays of elements; null for one that does not run.
#[unsafe(no_mangle)]
extern "C" fn JVM_DumpThreads(env: u64, _class: u64, threads: u64) -> u64 {
    let thread = &*of(env);
    let threads = thread.object_of(threads);
    if threads.is_null() {
        let _ = thread.throw_plain("java/lang/NullPointerException");
        return 0;
    }
    let make = || {
        let element = thread.boot_class("java/lang/StackTraceElement")?;
        let row = thread.array_class(element)?;
        let stacks = array::new(thread, thread.array_class(row)?, threads.length() as i32)?;
        for index in 0..threads.length() {
            let target = threads.ref_element(index).some();
            let seen = target
                .and_then(java_thread::of_object)
                .and_then(|target| snapshot::take(&target, snapshot::WHOLE, None).ok());
            if let Some(seen) = seen {
                let stack = backtrace::new_elements(thread, &seen.frames)?;
                stacks.set_ref_element(index, stack);
            }
        }
        Ok::<_, Thrown>(thread.new_local(stacks))
    };
    outcome(make())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetNativeThreadName(env: u64, target: u64, name: u64) {
    let thread = &*of(env);
    let name = crate::objects::string::text(thread.object_of(name));
    if let Some(target) = java_thread::of_object(thread.object_of(target)) {
        java_thread::set_native_name(&target, &name);
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MonitorWait(env: u64, object: u64, timeout_ms: i64) {
    let thread = &*of(env);
    if timeout_ms < 0 {
        let message = "timeout value is negative";
        let _ = thread.throw("java/lang/IllegalArgumentException", message);
        return;
    }
    let _ = monitor::wait(thread, thread.object_of(object), timeout_ms);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MonitorNotify(env: u64, object: u64) {
    let thread = &*of(env);
    let _ = monitor::notify(thread, thread.object_of(object), false);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MonitorNotifyAll(env: u64, object: u64) {
    let thread = &*of(env);
    let _ = monitor::notify(thread, thread.object_of(object), true);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IHashCode(env: u64, object: u64) -> i32 {
    of(env)
        .object_of(object)
        .some()
        .map_or(0, monitor::identity_hash)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_Clone(env: u64, object: u64) -> u64 {
    let thread = &*of(env);
    let object = thread.object_of(object);
    let copy = || {
        let class = object.class();
        let cloneable = thread.boot_class("java/lang/Cloneable")?;
        if !class.is_subtype_of(cloneable) {
            let name = class.java_name();
            return Err(thread.throw("java/lang/CloneNotSupportedException", &name));
        }
        Ok::<_, Thrown>(thread.new_local(reflect::shallow_copy(thread, object)?))
    };
    debug_assert!(!known().object.is_interface());
    outcome(copy())
}
