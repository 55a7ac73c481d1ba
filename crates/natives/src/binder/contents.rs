// SPDX-License-Identifier: Apache-2.0
//! takt.framework.ParcelContents: a parcel for who does not read it. CursorWindow's natives that
//! take a parcel: takt.framework.CursorWindows does them, by the window's other natives.

use ::parcel::Object;
use jni_sys::{jboolean, jbyteArray, jclass, jlong, jlongArray, jobject, jvalue};

use super::java::Java;
use crate::env::Env;

const WINDOWS: &str = "takt/framework/CursorWindows";

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_ParcelContents_bytes(
    env: Env,
    _: jclass,
    parcel: jobject,
) -> jbyteArray {
    let parcel = Java::of(env).and_then(|it| it.parcel(env, parcel));
    parcel.map_or(core::ptr::null_mut(), |mut it| {
        env.byte_array(it.get_mut().bytes())
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_ParcelContents_places(
    env: Env,
    _: jclass,
    parcel: jobject,
    of_files: jboolean,
) -> jlongArray {
    let Some(mut parcel) = Java::of(env).and_then(|it| it.parcel(env, parcel)) else {
        return core::ptr::null_mut();
    };
    let all = parcel.get_mut().placed();
    let all = all.filter(|(_, it)| matches!(it, Object::Fd(_)) == of_files);
    let places: Vec<jlong> = all.map(|(at, _)| at as jlong).collect();
    env.long_array(&places)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_database_CursorWindow_nativeWriteToParcel(
    env: Env,
    _: jclass,
    window: jlong,
    parcel: jobject,
) {
    let signature = c"(JLandroid/os/Parcel;)V";
    let arguments = [jvalue { j: window }, jvalue { l: parcel }];
    env.call_static_void(WINDOWS, c"write", signature, &arguments);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_database_CursorWindow_nativeCreateFromParcel(
    env: Env,
    _: jclass,
    parcel: jobject,
) -> jlong {
    let signature = c"(Landroid/os/Parcel;)J";
    env.call_static_long(WINDOWS, c"read", signature, &[jvalue { l: parcel }])
}
