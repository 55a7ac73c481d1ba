// SPDX-License-Identifier: Apache-2.0
//! [`RealTimeRecord`]: what the machine keeps of a real-time thread: its policy, its releases and
//! its jitter [`Ledger`].
//!
//! `javax.realtime` (in `java/`) is the face, `natives/realtime` the way in. A record is made by
//! the thread that starts the other one, with all its memory, and is never freed: Java code holds
//! its number. Its own thread counts; others read. `closure` does early what `Ledger` would have to
//! name as late.

mod closure;
pub(crate) mod profile;
mod purity;
pub(crate) mod table;

use std::sync::OnceLock;

use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};

use closure::{Closure, METHODS_MAX};

use crate::classes::class::Class;
use crate::classes::known::offset;
use crate::classes::object::ObjectRef;
use crate::console;
use crate::link::resolve;
use crate::memory;
use crate::monitors::java_thread;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::real_time::{FACE, Reached, RealTimeRecord};
use crate::threads::thread::Thread;

/// Makes the record of a thread object that is about to start; `roots` are the objects whose
/// methods it will run.
pub(crate) fn prepare(
    thread: &Thread,
    object: ObjectRef,
    roots: ObjectRef,
    priority: i32,
) -> &'static RealTimeRecord {
    let class = class_of(object, roots);
    let reached = reach(thread, class, roots);
    if reached.left_out > 0 {
        console::warn(&format!(
            "{} reaches more than {METHODS_MAX} methods: {} and what they lead to are compiled when they are called first",
            class.java_name(),
            reached.left_out
        ));
    }
    make(object, class, priority, reached)
}

/// Compiles and links what the thread can reach.
fn reach(thread: &Thread, class: &'static Class, roots: ObjectRef) -> Reached {
    let mut closure = Closure::new(thread);
    let kinds: Vec<&'static Class> = roots
        .ref_elements()
        .filter_map(ObjectRef::some)
        .map(ObjectRef::class)
        .collect();
    for kind in kinds {
        for name in ["run", "handleAsyncEvent"] {
            if let Some(method) = kind.method_named(name, "()V") {
                closure.add(method);
            }
        }
    }
    profile::apply(thread, &mut closure, class);
    closure.run()
}

/// The class that stands for what a thread does: its own, or that of what it runs.
fn class_of(object: ObjectRef, roots: ObjectRef) -> &'static Class {
    let all = roots.ref_elements().filter_map(ObjectRef::some);
    let theirs = all
        .map(ObjectRef::class)
        .filter(|class| !resolve::is_boot(class))
        .last();
    let class = theirs.unwrap_or_else(|| object.class());
    // A lambda's class is made anew in each run.
    class.info.host.unwrap_or(class)
}

fn make(
    object: ObjectRef,
    class: &'static Class,
    priority: i32,
    reached: Reached,
) -> &'static RealTimeRecord {
    FACE.get_or_init(|| {
        lock_memory();
        rt::lines::prepare();
        heap_binding::heap().expect_real_time();
        memory::touch_small_pages();
        let face = crate::classes::loader::loaded("javax/realtime/RealtimeThread")
            .expect("its start calls this");
        (face, offset(face, "record"))
    });
    let name = string::text(object.get_ref(offset(object.class(), "name")));
    RealTimeRecord::add(name, class, priority, reached)
}

/// Pages that are there stay there. Those to come are locked as they are touched: populating all
/// would take the whole heap at once.
fn lock_memory() {
    static HELD: OnceLock<Option<ProcessLock>> = OnceLock::new();
    HELD.get_or_init(|| {
        let lock = ProcessLock::acquire(LockScope::OnFault);
        lock.map_err(|error| {
            console::warn(&format!("real-time threads may wait for pages: {error}"));
        })
        .ok()
    });
}

/// Ends the work on a release and waits for the next; true if instead a missed deadline is to be
/// told.
pub(crate) fn wait_for_next_period(
    record: &RealTimeRecord,
    thread: &Thread,
    is_interruptible: bool,
) -> bool {
    let Some(due_ns) = record.end_period() else {
        return true;
    };
    if is_interruptible {
        if !sleep_until(thread, due_ns) {
            return false;
        }
    } else if Monotonic.now_ns() < due_ns {
        thread.expect_work(Some(due_ns));
        thread.outside(|| Monotonic.sleep_until(due_ns));
    }
    record.begin_period(due_ns);
    false
}

/// Sleeps in native state; false if an interrupt ended it, which stays pending.
pub(crate) fn sleep_until(thread: &Thread, due_ns: u64) -> bool {
    loop {
        if java_thread::is_interrupted(thread) {
            return false;
        }
        if Monotonic.now_ns() >= due_ns {
            return true;
        }
        thread.expect_work(Some(due_ns));
        java_thread::waiting(
            thread,
            java_thread::Wait::Sleep,
            crate::classes::object::ObjectRef::NULL,
            || thread.waiter.park_until(Some(due_ns)),
        );
    }
}
