// SPDX-License-Identifier: Apache-2.0
//! takt.framework.RealtimeThread: SCHED_FIFO priorities of threads.

use jni_sys::{jboolean, jclass, jint};

use crate::env::Env;

/// Linux's real-time priorities.
const PRIORITY_MAX: jint = 99;

/// The calling thread's real-time priority; 0 for an ordinary or a deadline thread.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_RealtimeThread_priority(_: Env, _: jclass) -> jint {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY:
    // 1. Thread 0 is the calling one, so the call cannot fail; the kernel writes one sched_param.
    let outcome = unsafe { libc::sched_getparam(0, &raw mut parameters) };
    if outcome == 0 {
        parameters.sched_priority
    } else {
        0
    }
}

/// SCHED_FIFO at a priority, SCHED_OTHER for 0. One system call; false if it is refused.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_RealtimeThread_setPriority(
    _: Env,
    _: jclass,
    thread: jint,
    priority: jint,
) -> jboolean {
    let priority = priority.clamp(0, PRIORITY_MAX);
    let policy = if priority == 0 {
        libc::SCHED_OTHER
    } else {
        libc::SCHED_FIFO
    };
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // A child process of a raised looper is an ordinary one.
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY:
    // 1. The kernel reads one sched_param and answers errors.
    unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) == 0 }
}
