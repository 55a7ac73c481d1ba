// SPDX-License-Identifier: Apache-2.0
//! android.os.Process: priorities of threads as Linux's nice values.

use std::ffi::CString;
use std::sync::Once;

use jni_sys::{jclass, jint, jlong, jstring};

use crate::env::Env;
use crate::log::warn;
use crate::system_clock::now_ns;

/// The application's user: the process's own.
pub(crate) fn uid() -> jint {
    // SAFETY:
    // 1. getuid takes nothing and cannot fail.
    unsafe { libc::getuid() }.cast_signed()
}

/// Thread 0 is the calling one.
fn set_nice(env: Env, thread: jint, nice: jint) {
    // SAFETY:
    // 1. setpriority takes numbers and answers errors.
    let outcome = unsafe { libc::setpriority(libc::PRIO_PROCESS, thread.cast_unsigned(), nice) };
    if outcome == 0 {
        return;
    }
    let error = std::io::Error::last_os_error();
    let class = match error.raw_os_error() {
        // On Android every application may: AOSP's own threads do, and do not expect to be refused.
        Some(libc::EACCES) => {
            static WARNED: Once = Once::new();
            WARNED.call_once(|| {
                warn(&format!("nice value {nice} is not permitted (CAP_SYS_NICE or RLIMIT_NICE): threads stay as they are"));
            });
            return;
        }
        Some(libc::ESRCH) => "java/lang/IllegalArgumentException",
        _ => "java/lang/SecurityException",
    };
    env.throw(
        class,
        &format!("nice value {nice} for thread {thread}: {error}"),
    );
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Process_setThreadPriority__I(env: Env, _: jclass, nice: jint) {
    set_nice(env, 0, nice);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Process_setThreadPriority__II(
    env: Env,
    _: jclass,
    thread: jint,
    nice: jint,
) {
    set_nice(env, thread, nice);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Process_getThreadPriority(
    env: Env,
    _: jclass,
    thread: jint,
) -> jint {
    // SAFETY:
    // 1. errno is this thread's; getpriority takes numbers. -1 is a value, so errno tells.
    let (nice, error) = unsafe {
        *libc::__errno_location() = 0;
        let nice = libc::getpriority(libc::PRIO_PROCESS, thread.cast_unsigned());
        (nice, *libc::__errno_location())
    };
    if error != 0 {
        env.throw(
            "java/lang/IllegalArgumentException",
            &format!("no thread {thread}"),
        );
    }
    nice
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Process_getElapsedCpuTime(_: Env, _: jclass) -> jlong {
    now_ns(libc::CLOCK_PROCESS_CPUTIME_ID) / 1_000_000
}

/// The command's name as `ps` shows it; the kernel keeps 15 bytes.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Process_setArgV0Native(env: Env, _: jclass, name: jstring) {
    let name = env.text(name).unwrap_or_default().replace('\0', " ");
    let Ok(name) = CString::new(name) else {
        return;
    };
    // SAFETY:
    // 1. The kernel copies at most 16 bytes of a terminated string.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

fn signal(env: Env, process: jint, signal: jint) {
    // SAFETY:
    // 1. kill takes numbers and answers errors.
    let outcome = unsafe { libc::kill(process, signal) };
    if outcome != 0 {
        let error = std::io::Error::last_os_error();
        let text = format!("signal {signal} to process {process}: {error}");
        env.throw("java/lang/IllegalArgumentException", &text);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Process_sendSignal(
    env: Env,
    _: jclass,
    process: jint,
    number: jint,
) {
    signal(env, process, number);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Process_sendSignalQuiet(
    env: Env,
    _: jclass,
    process: jint,
    number: jint,
) {
    signal(env, process, number);
}
