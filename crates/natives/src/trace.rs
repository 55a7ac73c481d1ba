// SPDX-License-Identifier: Apache-2.0
//! android.os.Trace: no tag is enabled yet, so the other methods are not called on the hot path.

use jni_sys::{jboolean, jclass, jint, jlong, jstring};

use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeIsTagEnabled(
    _: Env,
    _: jclass,
    _tag: jlong,
) -> jboolean {
    false
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeSetAppTracingAllowed(
    _: Env,
    _: jclass,
    _: jboolean,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeSetTracingEnabled(_: Env, _: jclass, _: jboolean) {}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeTraceBegin(_: Env, _: jclass, _: jlong, _: jstring) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeTraceEnd(_: Env, _: jclass, _: jlong) {}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeTraceCounter(
    _: Env,
    _: jclass,
    _: jlong,
    _: jstring,
    _: jlong,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeAsyncTraceBegin(
    _: Env,
    _: jclass,
    _: jlong,
    _: jstring,
    _: jint,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Trace_nativeAsyncTraceEnd(
    _: Env,
    _: jclass,
    _: jlong,
    _: jstring,
    _: jint,
) {
}
