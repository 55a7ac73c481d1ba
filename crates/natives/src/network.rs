// SPDX-License-Identifier: Apache-2.0
//! android.net: this process is bound to no network in particular.

use jni_sys::{jclass, jlong};

use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_android_net_NetworkUtils_getBoundNetworkHandleForProcess(
    _: Env,
    _: jclass,
) -> jlong {
    0
}
