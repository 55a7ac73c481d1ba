// SPDX-License-Identifier: Apache-2.0
//! android.os.PerformanceHintManager: as on an Android device whose hardware takes no hints. The
//! manager is there, says no rate, and gives no session.

use jni_sys::{jclass, jintArray, jlong};

use crate::env::Env;

/// What stands for the manager: not null.
const MANAGER: jlong = 1;
/// Android's own answer of such a device.
const NO_RATE: jlong = -1;

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeAcquireManager(
    _: Env,
    _: jclass,
) -> jlong {
    MANAGER
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeGetPreferredUpdateRateNanos(
    _: Env,
    _: jclass,
    _manager: jlong,
) -> jlong {
    NO_RATE
}

/// None: createHintSession answers null.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_PerformanceHintManager_nativeCreateSession(
    _: Env,
    _: jclass,
    _manager: jlong,
    _threads: jintArray,
    _target_ns: jlong,
) -> jlong {
    0
}
