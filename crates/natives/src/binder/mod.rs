// SPDX-License-Identifier: Apache-2.0
//! android.os.Binder over crate `binder`: nodes for Java objects ([`service`]), proxies of other
//! processes' ([`proxy`]), who calls ([`identity`]), and the process with its links ([`home`]).

mod contents;
mod errors;
pub(crate) mod home;
mod identity;
mod java;
mod objects;
mod proxy;
mod service;

use std::cell::Cell;

use jni_sys::{jclass, jint, jlong, jobject};

use crate::env::Env;
use crate::handle::Handle;

pub(crate) use objects::{binder_of, object_of};
use service::Holder;

/// What Java's parcels are.
pub(crate) type Parcel = ::binder::Parcel;

/// No uid is blamed for the work.
const UNSET_WORK_SOURCE: jint = -1;

thread_local! {
    static STRICT_MODE: Cell<jint> = const { Cell::new(0) };
    static WORK_SOURCE: Cell<jint> = const { Cell::new(UNSET_WORK_SOURCE) };
}

/// What `getNativeFinalizer` hands out.
extern "C" fn free_holder(holder: Handle<Holder>) {
    holder.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getNativeBBinderHolder(_: Env, _: jclass) -> jlong {
    Handle::new(Holder::default()).into_java()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getNativeFinalizer(_: Env, _: jclass) -> jlong {
    (free_holder as *const ()).expose_provenance() as jlong
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

/// Nothing is pending: what is let go is told at once.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_flushPendingCommands(_: Env, _: jclass) {}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getExtension(_: Env, _: jobject) -> jobject {
    core::ptr::null_mut()
}

/// The registry of the process's own services, which asks its neighbour's for others.
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
