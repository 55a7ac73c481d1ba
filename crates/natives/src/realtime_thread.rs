// SPDX-License-Identifier: Apache-2.0
//! takt.framework.RealtimeThread: SCHED_FIFO priorities of threads.

use core::cell::Cell;
use core::ffi::c_int;

use jni_sys::{jboolean, jclass, jint};
use rt::peer::Urgency;
use rt::policy::Policy;

use crate::env::Env;

/// Linux's real-time priorities.
const PRIORITY_MAX: jint = 99;

/// What a SCHED_DEADLINE thread counts as: the kernel prefers it to every priority.
const DEADLINE: jint = PRIORITY_MAX;
/// `SCHED_FLAG_RESET_ON_FORK` of `sched_setscheduler`: a child process of a raised looper is an
/// ordinary one.
const RESET_ON_FORK: c_int = libc::SCHED_RESET_ON_FORK;

/// A thread's policy and priority; as an ordinary thread's if it is gone.
pub(crate) fn scheduling(thread: jint) -> (c_int, jint) {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY:
    // 1. Both calls take a number and answer errors; the kernel writes one sched_param.
    let policy = unsafe {
        libc::sched_getparam(thread, &raw mut parameters);
        libc::sched_getscheduler(thread)
    };
    (policy.max(0) & !RESET_ON_FORK, parameters.sched_priority)
}

/// One system call; false if it is refused.
pub(crate) fn schedule(thread: jint, policy: c_int, priority: jint) -> bool {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY:
    // 1. The kernel reads one sched_param and answers errors.
    unsafe { libc::sched_setscheduler(thread, policy | RESET_ON_FORK, &raw const parameters) == 0 }
}

/// The calling thread's real-time priority; 0 for an ordinary one. What locks lend it does not
/// count.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_RealtimeThread_priority(_: Env, _: jclass) -> jint {
    let own = match Policy::of_current() {
        Ok(Policy::Deadline(_)) => DEADLINE,
        Ok(policy) => policy.priority().map_or(0, |it| it.get().into()),
        Err(_) => 0,
    };
    own.max(SENDS_AS.get())
}

thread_local! {
    /// What the thread's messages count as at least.
    static SENDS_AS: Cell<jint> = const { Cell::new(0) };
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_RealtimeThread_sendAs(
    _: Env,
    _: jclass,
    priority: jint,
) -> jint {
    SENDS_AS.replace(priority.clamp(0, PRIORITY_MAX))
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
    let policy = match priority {
        0 => libc::SCHED_OTHER,
        _ => libc::SCHED_FIFO,
    };
    schedule(thread, policy, priority)
}

/// Puts back what the thread's messages counted as before.
pub(crate) struct SendsAs(jint);

/// The thread's messages count as at least so urgent until the scope ends.
pub(crate) fn send_as(urgency: Urgency) -> SendsAs {
    let priority = jint::from(urgency.get()).min(PRIORITY_MAX);
    SendsAs(SENDS_AS.replace(priority))
}

impl Drop for SendsAs {
    fn drop(&mut self) {
        SENDS_AS.set(self.0);
    }
}
