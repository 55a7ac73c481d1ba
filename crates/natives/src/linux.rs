// SPDX-License-Identifier: Apache-2.0
//! libcore.io.Linux: the few calls that headless classes make while they are initialised.

use jni_sys::{jint, jlong, jobject};

use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getpid(_: Env, _: jobject) -> jint {
    std::process::id().cast_signed()
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_gettid(_: Env, _: jobject) -> jint {
    crate::log::thread_id()
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getuid(_: Env, _: jobject) -> jint {
    crate::process::uid()
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_sysconf(_: Env, _: jobject, name: jint) -> jlong {
    // SAFETY:
    // 1. sysconf takes any number and answers -1 to one that it does not know.
    unsafe { libc::sysconf(name) }
}
