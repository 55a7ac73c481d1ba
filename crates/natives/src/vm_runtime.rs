// SPDX-License-Identifier: Apache-2.0
//! dalvik.system.VMRuntime and libcore.util.NativeAllocationRegistry: what AOSP's classes ask of
//! ART.

use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring};

use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_newUnpaddedArray(
    env: Env,
    _: jobject,
    class: jclass,
    length: jint,
) -> jobject {
    env.new_array(class, length)
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_newNonMovableArray(
    env: Env,
    _: jobject,
    class: jclass,
    length: jint,
) -> jobject {
    env.new_array(class, length)
}

/// Where an array's elements lie: for as long as it lives on our own machine, whose collectors move
/// nothing, and until the next collection on one that moves objects.
#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_addressOf(
    env: Env,
    _: jobject,
    array: jobject,
) -> jlong {
    let is_of_numbers = array.is_null() || matches!(env.class_name(array).as_bytes(), [b'[', _]);
    if !is_of_numbers {
        env.throw("java/lang/IllegalArgumentException", "not an array");
        return 0;
    }
    env.address_of(array)
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_is64Bit(_: Env, _: jobject) -> jboolean {
    true
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_vmInstructionSet(env: Env, _: jobject) -> jstring {
    env.string_of("x86_64")
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_getCurrentInstructionSet(
    env: Env,
    _: jclass,
) -> jstring {
    env.string_of("x86_64")
}

#[unsafe(no_mangle)]
extern "system" fn Java_dalvik_system_VMRuntime_setTargetSdkVersionNative(
    _: Env,
    _: jobject,
    _: jint,
) {
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_util_NativeAllocationRegistry_applyFreeFunction(
    _: Env,
    _: jclass,
    function: jlong,
    object: jlong,
) {
    if function == 0 {
        return;
    }
    let function = core::ptr::with_exposed_provenance::<()>(function as usize);
    // SAFETY:
    // 1. A free function takes an address and answers nothing. The ones that are handed out are
    //    `binder::free_holder` and those of AOSP's library, all of this type.
    let function: extern "C" fn(jlong) = unsafe { core::mem::transmute(function) };
    function(object);
}

/// Native libraries have no namespaces here: an application's loader finds them by its path. Null:
/// nothing went wrong.
#[unsafe(no_mangle)]
extern "system" fn Java_com_android_internal_os_ClassLoaderFactory_createClassloaderNamespace(
    _: Env,
    _: jclass,
    _loader: jobject,
    _sdk: jint,
    _search_path: jstring,
    _permitted_path: jstring,
    _is_shared: jboolean,
    _dex_path: jstring,
    _sonames: jstring,
) -> jstring {
    core::ptr::null_mut()
}
