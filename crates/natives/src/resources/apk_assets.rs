// SPDX-License-Identifier: Apache-2.0
//! android.content.res.ApkAssets and the StringBlock of its table.

use jni_sys::{jboolean, jclass, jint, jintArray, jlong, jobject, jstring};

use super::package::{self, Package};
use crate::env::Env;
use crate::handle::Handle;

/// What Java holds: the package itself stays.
pub(super) type Assets = &'static Package;

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Launcher_useFrameworkResources(
    env: Env,
    _: jclass,
    table: jstring,
) {
    package::use_framework(env.text(table).unwrap_or_default().into());
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeLoad(
    env: Env,
    _: jclass,
    _format: jint,
    path: jstring,
    _flags: jint,
    _provider: jobject,
) -> jlong {
    let path = env.text(path).unwrap_or_default();
    match Package::open(&path) {
        Ok(package) => Handle::new(package).into_java(),
        Err(fault) => {
            env.throw("java/io/IOException", &fault);
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeDestroy(
    _: Env,
    _: jclass,
    assets: Handle<Assets>,
) {
    assets.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeGetAssetPath(
    env: Env,
    _: jclass,
    assets: Handle<Assets>,
) -> jstring {
    env.string_of(&assets.get().path)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeGetDebugName(
    env: Env,
    _: jclass,
    assets: Handle<Assets>,
) -> jstring {
    env.string_of(&assets.get().path)
}

/// The string block is the package's: Java gives the number to StringBlock, which does not own it.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeGetStringBlock(
    _: Env,
    _: jclass,
    assets: jlong,
) -> jlong {
    assets
}

/// A package is read once and not again.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeIsUpToDate(
    _: Env,
    _: jclass,
    _assets: jlong,
) -> jboolean {
    true
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_ApkAssets_nativeOpenXml(
    env: Env,
    _: jclass,
    _assets: jlong,
    _name: jstring,
) -> jlong {
    env.throw_unsupported("ApkAssets.openXml (compiled XML)");
    0
}

/// As many as Java may ask for: texts get their numbers when they are first used. Java keeps a
/// sparse array for so many.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_StringBlock_nativeGetSize(
    _: Env,
    _: jclass,
    _block: jlong,
) -> jint {
    jint::MAX
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_StringBlock_nativeGetString(
    env: Env,
    _: jclass,
    block: Handle<Assets>,
    number: jint,
) -> jstring {
    match block.get().text(number as usize) {
        Some(text) => env.string_of(&text),
        None => core::ptr::null_mut(),
    }
}

/// Text has no spans here: it comes without its marks.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_StringBlock_nativeGetStyle(
    _: Env,
    _: jclass,
    _block: jlong,
    _number: jint,
) -> jintArray {
    core::ptr::null_mut()
}

/// The package keeps it.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_StringBlock_nativeDestroy(
    _: Env,
    _: jclass,
    _block: jlong,
) {
}
