// SPDX-License-Identifier: Apache-2.0
//! `javax.realtime.Machine`: see [`crate::realtime`].
//!
//! What waits does so in the native state that its bridge has put it in.

use rt::clock::{Clock, Monotonic};

use super::Row;
use crate::jni::of;
use crate::monitors::java_thread;
use crate::realtime;
use crate::threads::real_time::RealTimeRecord;

pub(super) const NATIVES: &[Row] = &[
    ("now", now as *const ()),
    ("resolution", resolution as *const ()),
    ("sleepUntil", sleep_until as *const ()),
    ("prepare", prepare as *const ()),
    ("setRelease", set_release as *const ()),
    ("setPriority", set_priority as *const ()),
    ("grantedPriority", granted_priority as *const ()),
    ("waitForNextPeriod", wait_for_next_period as *const ()),
    ("resume", resume as *const ()),
    ("nextDeadline", next_deadline as *const ()),
    ("isMissed", is_missed as *const ()),
    ("takeCostOverruns", take_cost_overruns as *const ()),
    ("fire", fire as *const ()),
    ("waitForFire", wait_for_fire as *const ()),
];

extern "C" fn now(_env: u64, _class: u64) -> i64 {
    Monotonic.now_ns() as i64
}

extern "C" fn resolution(_env: u64, _class: u64) -> i64 {
    rt::clock::resolution_ns() as i64
}

extern "C" fn sleep_until(env: u64, _class: u64, due_ns: i64) {
    let thread = &*of(env);
    if !realtime::sleep_until(thread, due_ns as u64) && java_thread::take_interrupt(thread) {
        let _ = thread.throw("java/lang/InterruptedException", "sleep interrupted");
    }
}

/// The record that Java code names, or an exception.
fn record(env: u64, number: u64) -> Option<&'static RealTimeRecord> {
    let found = RealTimeRecord::find(number);
    if found.is_none() {
        let thread = &*of(env);
        let message = format!("no real-time thread has the number {number}");
        let _ = thread.throw("java/lang/IllegalStateException", &message);
    }
    found
}

extern "C" fn prepare(env: u64, _class: u64, object: u64, roots: u64, priority: i32) -> u64 {
    let thread = &*of(env);
    let (object, roots) = (thread.object_of(object), thread.object_of(roots));
    realtime::prepare(thread, object, roots, priority).number()
}

extern "C" fn set_release(
    env: u64,
    _class: u64,
    number: u64,
    start: i64,
    period: i64,
    cost: i64,
    deadline: i64,
) {
    let times = [period, cost, deadline].map(|time| time.max(0) as u64);
    if let Some(record) = record(env, number) {
        record.set_release(start.max(0) as u64, times);
    }
}

extern "C" fn set_priority(env: u64, _class: u64, number: u64, priority: i32) -> u8 {
    record(env, number).map_or(0, |record| u8::from(record.set_priority(priority)))
}

extern "C" fn granted_priority(env: u64, _class: u64, number: u64) -> i32 {
    record(env, number).map_or(0, |record| record.priorities().1)
}

extern "C" fn wait_for_next_period(
    env: u64,
    _class: u64,
    number: u64,
    is_interruptible: u8,
) -> i32 {
    let Some(record) = record(env, number) else {
        return 0;
    };
    if is_interruptible != 0 {
        return i32::from(realtime::wait_for_next_period(record, &of(env), true));
    }
    i32::from(realtime::wait_for_next_period(
        record,
        crate::threads::thread::Thread::of_env(env),
        false,
    ))
}

extern "C" fn resume(env: u64, _class: u64, number: u64) {
    if let Some(record) = record(env, number) {
        record.resume();
    }
}

extern "C" fn next_deadline(env: u64, _class: u64, number: u64) -> i64 {
    record(env, number).map_or(0, |record| record.next_deadline() as i64)
}

extern "C" fn is_missed(env: u64, _class: u64, number: u64, due_ns: i64) -> u8 {
    record(env, number).map_or(0, |record| u8::from(record.is_missed(due_ns as u64)))
}

extern "C" fn take_cost_overruns(env: u64, _class: u64, number: u64) -> i32 {
    record(env, number).map_or(0, |record| record.take_cost_overruns() as i32)
}

extern "C" fn fire(env: u64, _class: u64, number: u64) {
    if let Some(record) = record(env, number) {
        record.fire();
    }
}

extern "C" fn wait_for_fire(env: u64, _class: u64, number: u64) {
    if let Some(record) = record(env, number) {
        record.wait_for_fire(crate::threads::thread::Thread::of_env(env));
    }
}
