// SPDX-License-Identifier: Apache-2.0
//! `java.lang.Object` and small ones.

use super::Row;
use crate::jni::{of, outcome};

unsafe extern "C" {
    fn JVM_IHashCode();
    fn JVM_Clone();
    fn JVM_MonitorWait();
    fn JVM_MonitorNotify();
    fn JVM_MonitorNotifyAll();
    fn JVM_GetNanoTimeAdjustment();
}

pub(super) const OBJECT: &[Row] = &[
    ("hashCode", JVM_IHashCode as *const ()),
    ("clone", JVM_Clone as *const ()),
    ("wait", JVM_MonitorWait as *const ()),
    ("notify", JVM_MonitorNotify as *const ()),
    ("notifyAll", JVM_MonitorNotifyAll as *const ()),
];

pub(super) const OTHERS: &[Row] = &[
    (
        "getNanoTimeAdjustment",
        JVM_GetNanoTimeAdjustment as *const (),
    ),
    ("closeScope0", close_scope as *const ()),
];

pub(super) const PERF: &[Row] = &[
    ("createLong", create_long as *const ()),
    ("highResCounter", high_res_counter as *const ()),
    ("highResFrequency", high_res_frequency as *const ()),
];

pub(super) const VECTOR: &[Row] = &[("getMaxLaneCount", max_lane_count as *const ())];

/// Vectors have no code of their own here: the library computes them lane by lane.
extern "C" fn max_lane_count(_env: u64, _class: u64, _element: u64) -> i32 {
    -1
}

/// No thread is ever inside a scope without holding it: there are no deoptimisations to wait for.
extern "C" fn close_scope(_env: u64, _this: u64, _scope: u64, _error: u64) -> u8 {
    1
}

/// A counter of its own: eight bytes behind a direct buffer.
extern "C" fn create_long(
    env: u64,
    _this: u64,
    _name: u64,
    _variability: i32,
    _units: i32,
    value: i64,
) -> u64 {
    let thread = &*of(env);
    let cell = Box::leak(Box::new(value)) as *mut i64 as u64;
    let make = || {
        let class = thread.boot_class("java/nio/DirectByteBuffer")?;
        let constructor = class.method_named("<init>", "(JI)V");
        thread.new_instance(class, constructor, &[cell, 8])
    };
    outcome(make().map(|buffer| thread.new_local(buffer)))
}

extern "C" fn high_res_counter(_env: u64, _this: u64) -> i64 {
    crate::console::now_ns() as i64
}

extern "C" fn high_res_frequency(_env: u64, _this: u64) -> i64 {
    1_000_000_000
}
