// SPDX-License-Identifier: Apache-2.0
//! android.os.Binder inside one process: a call is a method call, so the caller is always this
//! process.

use std::cell::Cell;

use jni_sys::{jboolean, jclass, jint, jlong, jobject};

use crate::env::Env;
use crate::handle::Handle;

/// No uid is blamed for the work.
const UNSET_WORK_SOURCE: jint = -1;

thread_local! {
    static STRICT_MODE: Cell<jint> = const { Cell::new(0) };
    static WORK_SOURCE: Cell<jint> = const { Cell::new(UNSET_WORK_SOURCE) };
    /// Has the thread said by clearCallingIdentity that it acts for itself?
    static IS_EXPLICIT: Cell<bool> = const { Cell::new(false) };
}

/// What a Binder keeps on the native side: nothing yet, since nothing leaves the process.
struct Holder;

/// What `getNativeFinalizer` hands out.
extern "C" fn free_holder(holder: Handle<Holder>) {
    holder.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getNativeBBinderHolder(_: Env, _: jclass) -> jlong {
    Handle::new(Holder).into_java()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getNativeFinalizer(_: Env, _: jclass) -> jlong {
    (free_holder as *const ()).expose_provenance() as jlong
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getCallingPid(_: Env, _: jclass) -> jint {
    std::process::id().cast_signed()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getCallingUid(_: Env, _: jclass) -> jint {
    crate::process::uid()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_isDirectlyHandlingTransactionNative(
    _: Env,
    _: jclass,
) -> jboolean {
    false
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_hasExplicitIdentity(_: Env, _: jclass) -> jboolean {
    IS_EXPLICIT.get()
}

/// The identity is always our own, so the token has only whether it was said before.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_clearCallingIdentity(_: Env, _: jclass) -> jlong {
    jlong::from(IS_EXPLICIT.replace(true))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_restoreCallingIdentity(_: Env, _: jclass, token: jlong) {
    IS_EXPLICIT.set(token != 0);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_setThreadStrictModePolicy(_: Env, _: jclass, mask: jint) {
    STRICT_MODE.set(mask);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getThreadStrictModePolicy(_: Env, _: jclass) -> jint {
    STRICT_MODE.get()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_setCallingWorkSourceUid(
    _: Env,
    _: jclass,
    uid: jint,
) -> jlong {
    jlong::from(WORK_SOURCE.replace(uid))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getCallingWorkSourceUid(_: Env, _: jclass) -> jint {
    WORK_SOURCE.get()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_clearCallingWorkSource(_: Env, _: jclass) -> jlong {
    jlong::from(WORK_SOURCE.replace(UNSET_WORK_SOURCE))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_restoreCallingWorkSource(
    _: Env,
    _: jclass,
    token: jlong,
) {
    WORK_SOURCE.set(token as jint);
}

/// Nothing is pending: there is no driver.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_flushPendingCommands(_: Env, _: jclass) {}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getExtension(_: Env, _: jobject) -> jobject {
    core::ptr::null_mut()
}

/// The in-process system server's registry: every process's context object.
#[unsafe(no_mangle)]
extern "system" fn Java_com_android_internal_os_BinderInternal_getContextObject(
    env: Env,
    _: jclass,
) -> jobject {
    env.call_static(
        "takt/server/ServiceRegistry",
        c"contextObject",
        c"()Landroid/os/IBinder;",
        &[],
    )
}
