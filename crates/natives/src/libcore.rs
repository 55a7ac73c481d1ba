// SPDX-License-Identifier: Apache-2.0
//! takt.framework.Libcore and NioUtils: what the JDK keeps to itself of descriptors and buffers.

use jni_sys::{jbyteArray, jclass, jint, jobject};

use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_Libcore_getInt_00024(
    env: Env,
    _: jclass,
    descriptor: jobject,
) -> jint {
    env.int_field(descriptor, c"fd").unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_Libcore_setInt_00024(
    env: Env,
    _: jclass,
    descriptor: jobject,
    number: jint,
) {
    env.set_int_fields(descriptor, &[(c"fd", number)]);
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_NioUtils_unsafeArray(
    env: Env,
    _: jclass,
    buffer: jobject,
) -> jbyteArray {
    env.object_field(buffer, c"hb", c"[B")
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_NioUtils_unsafeArrayOffset(
    env: Env,
    _: jclass,
    buffer: jobject,
) -> jint {
    env.int_field(buffer, c"offset").unwrap_or_default()
}
