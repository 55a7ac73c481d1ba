// SPDX-License-Identifier: Apache-2.0
//! Hints that AOSP's classes give to ART, the kernel or a driver, and that ask for nothing: taken
//! and not acted on. What an application would miss says so once in the log.

use std::sync::Once;

use jni_sys::{
    jboolean, jbooleanArray, jbyteArray, jint, jintArray, jlong, jlongArray, jobject, jobjectArray,
    jstring,
};

use crate::env::Env;

/// Native methods without an answer that do nothing.
macro_rules! ignored {
    ($($name:ident($($argument:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "system" fn $name(_: Env, _: jobject $(, _: $argument)*) {}
    )*};
}

static STYLES: Once = Once::new();

/// Every attribute is as if no style and no theme set it: an application that insists on one of
/// them, as AppCompat's does, ends by an exception of its own.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeApplyStyle(
    _: Env,
    _: jobject,
    _: jlong,
    _: jlong,
    _: jint,
    _: jint,
    _: jlong,
    _: jintArray,
    _: jlong,
    _: jlong,
) {
    STYLES.call_once(|| {
        crate::log::warn(
            "styles and themes are not supported by Takt yet: no attribute is set by one",
        );
    });
}

ignored! {
    Java_android_app_ActivityThread_nInitZygoteChildHeapProfiling();
    Java_android_graphics_HardwareRenderer_nSetDisplayDensityDpi(jint);
    Java_android_graphics_HardwareRenderer_setupShadersDiskCache(jstring, jstring);
    Java_android_graphics_HardwareRenderer_nSetIsSystemOrPersistent(jboolean);
    Java_android_graphics_HardwareRenderer_nSetContextPriority(jint);
    Java_android_graphics_HardwareRenderer_setPackageName(jstring);
    Java_android_graphics_HardwareRenderer_nSetDebuggingEnabled(jboolean);
    Java_android_graphics_Canvas_nSetCompatibilityVersion(jint);
    Java_dalvik_system_VMRuntime_registerSensitiveThread();
    Java_dalvik_system_VMRuntime_setDisabledCompatChangesNative(jlongArray);
    Java_dalvik_system_VMRuntime_setHiddenApiExemptions(jobjectArray);
    Java_dalvik_system_VMRuntime_setHiddenApiAccessLogSamplingRate(jint);
    Java_dalvik_system_VMRuntime_clearGrowthLimit();
    Java_dalvik_system_VMRuntime_clampGrowthLimit();
    Java_dalvik_system_VMRuntime_updateProcessState(jint);
    Java_dalvik_system_VMRuntime_notifyStartupCompleted();
    Java_dalvik_system_VMRuntime_setProcessPackageName(jstring);
    Java_dalvik_system_VMRuntime_setProcessDataDirectory(jstring);
    Java_dalvik_system_VMRuntime_setDedupeHiddenApiWarnings(jboolean);
    Java_dalvik_system_VMRuntime_registerAppInfo(jstring, jstring, jstring, jobjectArray, jint);
    Java_dalvik_system_VMRuntime_nativeSetTargetHeapUtilization(f32);
    Java_com_android_internal_os_BinderInternal_disableBackgroundScheduling(jboolean);
    Java_com_android_internal_os_BinderInternal_setMaxThreads(jint);
    Java_com_android_internal_os_BinderInternal_handleGc();
    Java_android_util_StatsLog_writeImpl(jbyteArray, jint, jint);
    Java_android_os_Process_setCanSelfBackground(jboolean);
    Java_android_content_res_AssetManager_nativeSetConfiguration__JIILjava_lang_String_2IIIIIIIIIIIIIIII();
    Java_android_content_res_AssetManager_nativeThemeApplyStyle(jlong, jlong, jint, jboolean);
    Java_android_content_res_AssetManager_nativeThemeRebase(jlong, jlong, jintArray, jbooleanArray, jint);
    Java_android_content_res_AssetManager_nativeThemeCopy(jlong, jlong, jlong, jlong);
}
