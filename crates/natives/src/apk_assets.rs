// SPDX-License-Identifier: Apache-2.0
//! android.content.res.ApkAssets: one method that AOSP's library for hosts has in a form that only
//! ART calls, without environment and class. All others are that library's.

use jni_sys::{jboolean, jclass, jlong};

use crate::env::Env;

/// A package is read once and not again: the framework's is built, an application's is sealed.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeIsUpToDate(
    _: Env,
    _: jclass,
    _assets: jlong,
) -> jboolean {
    true
}
