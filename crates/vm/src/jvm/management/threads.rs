// SPDX-License-Identifier: Apache-2.0
//! `ThreadMXBean`: what threads do, and which wait for each other in a circle.

use std::sync::Arc;

use crate::classes::known::{known, offset, primitive_of};
use crate::classes::object::ObjectRef;
use crate::inspect::backtrace;
use crate::inspect::snapshot::{self, Seen};
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::jvm::management::by_id;
use crate::link::define;
use crate::monitors::java_thread::java_threads;
use crate::objects::array;
use crate::threads::locals::Scope;
use crate::threads::thread::{Thread, Thrown};
use ir::MemoryKind;

const INFO: &str = "java/lang/management/ThreadInfo";

/// Times in milliseconds are not kept.
const NO_TIME: u64 = u64::MAX;

/// Fills `infos` for the threads with the numbers `ids`; null for those that do not run. A
/// `depth_max` of -1 is the whole stack.
pub(super) extern "C" fn thread_info(env: u64, ids: u64, depth_max: i32, infos: u64) -> i32 {
    let thread = &*of(env);
    let (ids, infos) = (thread.object_of(ids), thread.object_of(infos));
    for index in 0..ids.length().min(infos.length()) {
        match info_of(thread, ids.element(index), depth_max, None) {
            Ok(info) => infos.set_ref_element(index, info),
            Err(_) => return 0,
        }
    }
    0
}

/// As [`thread_info`] for the threads `ids`, or all of them; with the monitors that their frames
/// have entered. The library refuses to ask for owned synchronizers.
pub(super) extern "C" fn dump_threads(
    env: u64,
    ids: u64,
    with_monitors: u8,
    with_synchronizers: u8,
    depth_max: i32,
) -> u64 {
    let thread = &*of(env);
    if with_synchronizers != 0 {
        let message = "owned synchronizers of threads: not supported by Takt";
        let _ = thread.throw("java/lang/UnsupportedOperationException", message);
        return 0;
    }
    let ids: Vec<i64> = match thread.object_of(ids).some() {
        Some(ids) => (0..ids.length()).map(|index| ids.element(index)).collect(),
        None => {
            let number = |thread: ObjectRef| thread.get::<i64>(offset(known().thread, "tid"));
            java_threads().map(number).collect()
        }
    };
    let make = || {
        let class = thread.array_class(thread.boot_class(INFO)?)?;
        let infos = array::new(thread, class, ids.len() as i32)?;
        for (index, id) in ids.iter().enumerate() {
            let locks = (with_monitors != 0).then_some(Locks);
            infos.set_ref_element(index as u32, info_of(thread, *id, depth_max, locks)?);
        }
        Ok::<_, Thrown>(thread.new_local(infos))
    };
    outcome(make())
}

/// The threads that wait for monitors in circles, or null.
pub(super) extern "C" fn monitor_deadlocks(env: u64) -> u64 {
    deadlocks(env, 1)
}

/// The threads that wait in circles, for monitors and owned synchronizers or for monitors only; or
/// null.
pub(super) extern "C" fn deadlocks(env: u64, only_monitors: u8) -> u64 {
    let thread = &*of(env);
    let circles = snapshot::deadlocks(only_monitors == 0);
    let scope = thread.scope();
    let held = |it: &Arc<Thread>| scope.hold(it.object());
    let threads: Vec<ObjectRef> = circles.iter().flatten().map(held).collect();
    if threads.is_empty() {
        return 0;
    }
    let array = thread
        .array_class(known().thread)
        .and_then(|class| reflect::array_of(thread, class, &threads));
    // Before the local reference that is returned.
    drop(scope);
    outcome(array.map(|array| thread.new_local(array)))
}

/// That the monitors which a thread's frames have entered are asked for.
struct Locks;

/// A `ThreadInfo`, or null.
fn info_of(
    thread: &Thread,
    id: i64,
    depth_max: i32,
    locks: Option<Locks>,
) -> Result<ObjectRef, Thrown> {
    let Some(target) = by_id(id) else {
        return Ok(ObjectRef::NULL);
    };
    let Some(object) = target.object().some() else {
        return Ok(ObjectRef::NULL);
    };
    let depth_max = usize::try_from(depth_max).unwrap_or(snapshot::WHOLE);
    let status: i32 = object.get(known().thread_status);
    let awaited = snapshot::awaited(&target);
    let (frames, entered) = match depth_max {
        0 => (Vec::new(), Vec::new()),
        _ => match snapshot::take(&target, depth_max, None) {
            Ok(seen) => (seen.frames, seen.locks),
            Err(_) => return Ok(ObjectRef::NULL),
        },
    };
    let scope = thread.scope();
    let (monitors, depths) = match locks {
        Some(Locks) => monitors(thread, &scope, &target, &entered)?,
        None => (ObjectRef::NULL, ObjectRef::NULL),
    };
    let stack = scope.hold(backtrace::new_elements(thread, &frames)?);
    let (blocked, waited) = target.waiting.counts();
    let lock = awaited.as_ref().map_or(ObjectRef::NULL, |it| it.object);
    let owner = awaited.and_then(|it| it.owner);
    let owner = owner.map_or(ObjectRef::NULL, |owner| owner.object());
    let class = thread.boot_class(INFO)?;
    let signature = "(Ljava/lang/Thread;ILjava/lang/Object;Ljava/lang/Thread;JJJJ[Ljava/lang/StackTraceElement;[Ljava/lang/Object;[I[Ljava/lang/Object;)V";
    let args = [
        object.0.into(),
        status as u64,
        lock.0.into(),
        owner.0.into(),
        blocked,
        NO_TIME,
        waited,
        NO_TIME,
        stack.0.into(),
        monitors.0.into(),
        depths.0.into(),
        0,
    ];
    thread.new_instance(class, class.method_named("<init>", signature), &args)
}

/// The objects that `target` has locked of those that were `seen`, and how deep in its stack.
fn monitors(
    thread: &Thread,
    scope: &Scope<'_>,
    target: &Arc<Thread>,
    seen: &[(usize, Seen)],
) -> Result<(ObjectRef, ObjectRef), Thrown> {
    let found = scope.hold(array::new(thread, known().object_array, seen.len() as i32)?);
    let mut depths = Vec::new();
    for (depth, seen) in seen {
        // This stack may have been scanned before the target's, which alone may name the object: it
        // becomes a root first. If it is locked then, it is alive and stays so.
        let object = ObjectRef(seen.address);
        thread.with_mutator(|mutator| mutator.make_root(object.to_heap()));
        if snapshot::has_locked(target, seen) {
            found.set_ref_element(depths.len() as u32, object);
            depths.push(*depth as i32);
        }
    }
    // Copied, as some may have been given back meanwhile.
    let count = depths.len() as i32;
    let monitors = scope.hold(array::new(thread, known().object_array, count)?);
    array::copy(thread, found, 0, monitors, 0, count)?;
    let ints = define::array_of(thread, primitive_of(Some(MemoryKind::Int)))?;
    let places = scope.hold(array::new(thread, ints, count)?);
    for (index, depth) in (0..).zip(depths) {
        places.set_element(index, depth);
    }
    Ok((monitors, places))
}
