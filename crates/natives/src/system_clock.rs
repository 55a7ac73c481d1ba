// SPDX-License-Identifier: Apache-2.0
//! android.os.SystemClock: Linux's clocks. Uptime is CLOCK_MONOTONIC, elapsed time CLOCK_BOOTTIME.

use jni_sys::{jclass, jlong};

use crate::env::Env;

/// Nanoseconds of a clock.
pub(crate) fn now_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY:
    // 1. The kernel writes one timespec. Linux has all the clocks that this file names.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

macro_rules! clocks {
    ($($name:ident = $clock:expr, per $unit_ns:literal;)*) => { $(
        #[unsafe(no_mangle)]
        extern "system" fn $name(_: Env, _: jclass) -> jlong {
            now_ns($clock) / $unit_ns
        }
    )* };
}

clocks! {
    Java_android_os_SystemClock_uptimeMillis = libc::CLOCK_MONOTONIC, per 1_000_000;
    Java_android_os_SystemClock_uptimeNanos = libc::CLOCK_MONOTONIC, per 1;
    Java_android_os_SystemClock_elapsedRealtime = libc::CLOCK_BOOTTIME, per 1_000_000;
    Java_android_os_SystemClock_elapsedRealtimeNanos = libc::CLOCK_BOOTTIME, per 1;
    Java_android_os_SystemClock_currentThreadTimeMillis = libc::CLOCK_THREAD_CPUTIME_ID, per 1_000_000;
    Java_android_os_SystemClock_currentThreadTimeMicro = libc::CLOCK_THREAD_CPUTIME_ID, per 1_000;
    Java_android_os_SystemClock_currentTimeMicro = libc::CLOCK_REALTIME, per 1_000;
}
