// SPDX-License-Identifier: Apache-2.0
//! What a debugger's or a profiler's half in AOSP's classes asks for: there is none, and they are
//! told so.

use std::ffi::CStr;

use jni_sys::{jboolean, jbyteArray, jclass, jint, jlong, jobject, jstring, jvalue};

use crate::env::Env;

/// A chunk for DDMS, which is not there.
#[unsafe(no_mangle)]
extern "system" fn Java_org_apache_harmony_dalvik_ddmc_DdmServer_nativeSendChunk(
    _: Env,
    _: jclass,
    _kind: jint,
    _data: jbyteArray,
    _offset: jint,
    _length: jint,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMDebug_isDebuggerConnected(_: Env, _: jclass) -> jboolean {
    false
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMDebug_isDebuggingEnabled(_: Env, _: jclass) -> jboolean {
    false
}

/// No dynamic linker warns of anything.
#[unsafe(no_mangle)]
extern "system" fn Java_android_app_Activity_getDlWarning(_: Env, _: jobject) -> jstring {
    core::ptr::null_mut()
}

/// As ART answers while no debugger is there.
#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMDebug_lastDebuggerActivity(_: Env, _: jclass) -> jlong {
    -1
}

/// No method is traced.
#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMDebug_getMethodTracingMode(_: Env, _: jclass) -> jint {
    0
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMDebug_threadCpuTimeNanos(_: Env, _: jclass) -> jlong {
    rt::clock::thread_time_ns() as jlong
}

/// What takt.framework.Statistics says; null, and an exception is pending, if it does not.
fn statistic(env: Env, name: &CStr, number: Option<jint>) -> jstring {
    let class = "takt/framework/Statistics";
    match number {
        None => env.call_static(class, name, c"()Ljava/lang/String;", &[]),
        Some(i) => env.call_static(class, name, c"(I)Ljava/lang/String;", &[jvalue { i }]),
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMDebug_getLoadedClassCount(env: Env, _: jclass) -> jint {
    let text = env.text(statistic(env, c"loadedClassCount", None));
    text.and_then(|it| it.parse().ok()).unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMDebug_getRuntimeStatInternal(
    env: Env,
    _: jclass,
    number: jint,
) -> jstring {
    statistic(env, c"runtimeStat", Some(number))
}
