// SPDX-License-Identifier: Apache-2.0
//! dalvik.system.VMRuntime: native memory that hangs on Java's objects. When much came since the
//! last collection, takt.framework.NativeMemory asks for another one.
//!
//! Two kinds are counted: what is registered by its size, and what was taken from the C library.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jni_sys::{jclass, jint, jlong, jobject};

use crate::env::Env;
use crate::memory_info::allocated_bytes;

/// How many allocations may pass between two notifications; as ART's.
const NOTIFY_INTERVAL: jint = 384;
/// A collection is asked for when so much came since the last one: a quarter of a small heap.
const GROWTH_BYTES_MAX: i64 = 64 << 20;

/// One kind of native memory: what is there, and what was there when the last collection began,
/// less what was freed since. Each is a hint alone, so that the order among them does not matter.
struct Growth {
    now: AtomicI64,
    settled: AtomicI64,
}

impl Growth {
    const fn new() -> Self {
        Self {
            now: AtomicI64::new(0),
            settled: AtomicI64::new(0),
        }
    }

    /// Is that too much since the last collection?
    fn add(&self, bytes: i64) -> bool {
        self.look(
            self.now
                .fetch_add(bytes, Ordering::Relaxed)
                .saturating_add(bytes),
        )
    }

    /// As [`add`](Self::add), for who knows the whole.
    fn set(&self, bytes: i64) -> bool {
        self.now.store(bytes, Ordering::Relaxed);
        self.look(bytes)
    }

    /// What was freed makes no room for growth.
    fn look(&self, now: i64) -> bool {
        let settled = self.settled.fetch_min(now, Ordering::Relaxed);
        now.saturating_sub(settled) > GROWTH_BYTES_MAX
    }

    fn settle(&self) {
        self.settled
            .store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

static REGISTERED: Growth = Growth::new();
static TAKEN: Growth = Growth::new();
/// A collection was asked for and has not begun.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

fn ask_if(env: Env, is_much: bool) {
    if is_much && !IS_ASKED.swap(true, Ordering::Relaxed) {
        env.call_static_void("takt/framework/NativeMemory", c"collect", c"()V", &[]);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_NativeMemory_settle(_: Env, _: jclass) {
    IS_ASKED.store(false, Ordering::Relaxed);
    REGISTERED.settle();
    TAKEN.set(allocated_bytes());
    TAKEN.settle();
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_registerNativeAllocation__J(
    env: Env,
    _: jobject,
    bytes: jlong,
) {
    if bytes < 0 {
        env.throw("java/lang/RuntimeException", "allocation size negative");
        return;
    }
    ask_if(env, REGISTERED.add(bytes));
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_registerNativeFree__J(
    env: Env,
    _: jobject,
    bytes: jlong,
) {
    if bytes < 0 {
        env.throw("java/lang/RuntimeException", "allocation size negative");
        return;
    }
    REGISTERED.add(-bytes);
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_getNotifyNativeInterval(_: Env, _: jclass) -> jint {
    NOTIFY_INTERVAL
}

/// After many allocations, or a large one.
#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_notifyNativeAllocationsInternal(
    env: Env,
    _: jobject,
) {
    ask_if(env, TAKEN.set(allocated_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_growth_since_the_last_collection_counts() {
        let growth = Growth::new();
        assert!(!growth.add(GROWTH_BYTES_MAX));
        assert!(growth.add(1));
        growth.settle();
        assert!(!growth.add(1));
        // Freed, and taken again: more than before it is not.
        assert!(!growth.add(-GROWTH_BYTES_MAX));
        assert!(!growth.add(GROWTH_BYTES_MAX));
        assert!(growth.add(1));
    }
}
