// SPDX-License-Identifier: Apache-2.0
//! Hints that AOSP's classes give to ART, the kernel or a driver, and that ask for nothing: taken
//! and not acted on.

use jni_sys::{jboolean, jbyteArray, jint, jlong, jlongArray, jobject, jobjectArray, jstring};

use crate::env::Env;

/// Native methods without an answer that do nothing.
macro_rules! ignored {
    ($($name:ident($($argument:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "system" fn $name(_: Env, _: jobject $(, _: $argument)*) {}
    )*};
}

ignored! {
    Java_android_app_ActivityThread_nInitZygoteChildHeapProfiling();
    // On Android malloc gives memory back. glibc's would hold its lock for that, without bound.
    Java_android_app_ActivityThread_nPurgePendingResources();
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
    Java_libcore_io_Linux_android_1fdsan_1exchange_1owner_1tag(jobject, jlong, jlong);
}
