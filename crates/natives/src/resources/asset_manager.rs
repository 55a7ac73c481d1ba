// SPDX-License-Identifier: Apache-2.0
//! android.content.res.AssetManager: values and files of several packages.

use apk::Value;
use jni_sys::{jboolean, jclass, jint, jintArray, jlong, jobject, jobjectArray, jshort, jstring};

use super::apk_assets::Assets;
use super::asset::Asset;
use super::package::Package;
use crate::env::Env;
use crate::handle::Handle;

/// TypedValue's numbers for the kinds that [`Value`] names.
const TYPE_REFERENCE: jint = 1;
const TYPE_ATTRIBUTE: jint = 2;
const TYPE_STRING: jint = 3;
const TYPE_FLOAT: jint = 4;
const TYPE_INTEGER: jint = 0x10;
const TYPE_BOOLEAN: jint = 0x12;

/// The packages of one AssetManager; a package's cookie is its place, from 1 on.
#[derive(Default)]
pub(super) struct Manager {
    packages: Vec<Assets>,
}

impl Manager {
    /// The value of a resource: the last package that has it, with its cookie.
    fn value(&self, id: u32) -> Option<(jint, &'static Package, Value)> {
        let numbered = self.packages.iter().enumerate().rev();
        numbered
            .filter_map(|(index, it)| Some((index as jint + 1, *it, it.value(id)?)))
            .find(|(_, _, value)| *value != Value::Null)
    }

    fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.packages.iter().rev().find_map(|it| it.file(name))
    }
}

fn open(env: Env, file: Option<Vec<u8>>, name: &str) -> jlong {
    match file {
        Some(bytes) => Handle::new(Asset::new(bytes)).into_java(),
        None => {
            env.throw("java/io/FileNotFoundException", name);
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeCreate(_: Env, _: jclass) -> jlong {
    Handle::new(Manager::default()).into_java()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeDestroy(
    _: Env,
    _: jclass,
    manager: Handle<Manager>,
) {
    manager.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeSetApkAssets(
    env: Env,
    _: jclass,
    mut manager: Handle<Manager>,
    assets: jobjectArray,
    _invalidates_caches: jboolean,
) {
    let packages = env
        .long_fields(assets, c"mNativePtr")
        .into_iter()
        .map(|it| *Handle::<Assets>::from_java(it).get());
    manager.get_mut().packages = packages.collect();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetResourceValue(
    env: Env,
    _: jclass,
    mut manager: Handle<Manager>,
    id: jint,
    _density: jshort,
    answer: jobject,
    _follows: jboolean,
) -> jint {
    let Some((cookie, package, value)) = manager.get_mut().value(id.cast_unsigned()) else {
        return 0;
    };
    let (kind, data) = match value {
        Value::Null => return 0,
        Value::Reference(id) => (TYPE_REFERENCE, id.cast_signed()),
        Value::Attribute(id) => (TYPE_ATTRIBUTE, id.cast_signed()),
        Value::String(text) => (TYPE_STRING, package.number(&text).cast_signed()),
        Value::Float(number) => (TYPE_FLOAT, number.to_bits().cast_signed()),
        Value::Integer(number) => (TYPE_INTEGER, number),
        Value::Boolean(is_set) => (TYPE_BOOLEAN, -jint::from(is_set)),
        Value::Other(kind, data) => (jint::from(kind), data.cast_signed()),
    };
    let fields = [
        (c"type", kind),
        (c"assetCookie", cookie),
        (c"data", data),
        (c"resourceId", id),
        (c"changingConfigurations", 0),
        (c"density", 0),
    ];
    env.set_int_fields(answer, &fields);
    cookie
}

/// Names of resources are not kept: none is known.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetResourceName(
    _: Env,
    _: jclass,
    _manager: jlong,
    _id: jint,
) -> jstring {
    core::ptr::null_mut()
}

/// A SparseArray of shared libraries' packages: there are none.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetAssignedPackageIdentifiers(
    env: Env,
    _: jclass,
    _manager: jlong,
    _overlays: jboolean,
    _loaders: jboolean,
) -> jobject {
    env.new_object("android/util/SparseArray")
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeOpenAsset(
    env: Env,
    _: jclass,
    mut manager: Handle<Manager>,
    name: jstring,
    _mode: jint,
) -> jlong {
    let name = env.text(name).unwrap_or_default();
    let file = manager.get_mut().file(&format!("assets/{name}"));
    open(env, file, &name)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeOpenNonAsset(
    env: Env,
    _: jclass,
    mut manager: Handle<Manager>,
    cookie: jint,
    name: jstring,
    _mode: jint,
) -> jlong {
    let name = env.text(name).unwrap_or_default();
    let manager = manager.get_mut();
    let file = match usize::try_from(cookie - 1) {
        Ok(index) => manager.packages.get(index).and_then(|it| it.file(&name)),
        Err(_) => manager.file(&name),
    };
    open(env, file, &name)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeList(
    env: Env,
    _: jclass,
    mut manager: Handle<Manager>,
    folder: jstring,
) -> jobjectArray {
    let folder = env.text(folder).unwrap_or_default();
    let folder = format!("assets/{folder}");
    let folder = folder.trim_end_matches('/');
    let packages = &manager.get_mut().packages;
    let names: Vec<String> = packages.iter().flat_map(|it| it.list(folder)).collect();
    env.string_array(&names)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeOpenXmlAsset(
    env: Env,
    _: jclass,
    _manager: jlong,
    _cookie: jint,
    _name: jstring,
) -> jlong {
    env.throw_unsupported("AssetManager.openXmlBlockAsset (compiled XML: layouts, menus, …)");
    0
}

/// A theme: the styles that it was given, which set nothing yet.
struct Theme;

extern "C" fn free_theme(theme: Handle<Theme>) {
    theme.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeThemeCreate(
    _: Env,
    _: jclass,
    _manager: jlong,
) -> jlong {
    Handle::new(Theme).into_java()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetThemeFreeFunction(
    _: Env,
    _: jclass,
) -> jlong {
    (free_theme as *const ()).expose_provenance() as jlong
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeThemeGetAttributeValue(
    _: Env,
    _: jclass,
    _manager: jlong,
    _theme: jlong,
    _attribute: jint,
    _answer: jobject,
    _follows: jboolean,
) -> jint {
    0
}

/// Sizes at which values change: there is no screen, so none is reported.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetSizeConfigurations(
    _: Env,
    _: jclass,
    _manager: jlong,
) -> jobjectArray {
    core::ptr::null_mut()
}

/// It does not change with the device's configuration.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeThemeGetChangingConfigurations(
    _: Env,
    _: jclass,
    _theme: jlong,
) -> jint {
    0
}

/// Arrays are not read yet.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetResourceStringArray(
    env: Env,
    _: jclass,
    _manager: jlong,
    _id: jint,
) -> jobjectArray {
    env.throw_unsupported("Resources.getStringArray");
    core::ptr::null_mut()
}

/// Arrays are not read yet.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetResourceIntArray(
    env: Env,
    _: jclass,
    _manager: jlong,
    _id: jint,
) -> jintArray {
    env.throw_unsupported("Resources.getIntArray");
    core::ptr::null_mut()
}

/// Arrays are not read yet.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetResourceArraySize(
    env: Env,
    _: jclass,
    _manager: jlong,
    _id: jint,
) -> jint {
    env.throw_unsupported("Resources.obtainTypedArray");
    0
}

/// Plurals are bags, which are not read yet.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetResourceBagValue(
    env: Env,
    _: jclass,
    _manager: jlong,
    _id: jint,
    _bag: jint,
    _answer: jobject,
) -> jint {
    env.throw_unsupported("Resources.getQuantityString");
    0
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeGetResourceIdentifier(
    env: Env,
    _: jclass,
    _manager: jlong,
    _name: jstring,
    _kind: jstring,
    _package: jstring,
) -> jint {
    env.throw_unsupported("Resources.getIdentifier");
    0
}
