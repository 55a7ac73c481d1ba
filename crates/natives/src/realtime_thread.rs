// SPDX-License-Identifier: Apache-2.0
//! takt.framework.RealtimeThread: SCHED_FIFO priorities of threads.

use core::cell::Cell;
use core::ffi::c_int;
use std::process;
use std::sync::OnceLock;

use jni_sys::{jboolean, jclass, jint};
use rt::peer::{PidFd, Urgency};
use rt::policy::{Policy, Tid};

use crate::env::Env;
use crate::template;

/// Linux's real-time priorities.
pub(crate) const PRIORITY_MAX: jint = 99;

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
    let sends_as = match SENDS_AS.get() {
        SendsAs::Known(priority) => priority,
        SendsAs::Claimed(claim) => {
            let known = granted(claim);
            SENDS_AS.set(SendsAs::Known(known));
            known
        }
    };
    own.max(sends_as).min(SENDS_AT_MOST.get())
}

/// What a thread's messages count as at least.
#[derive(Clone, Copy)]
enum SendsAs {
    Known(jint),
    /// The kernel is asked when the first message is sent: most calls send none.
    Claimed(Urgency),
}

thread_local! {
    static SENDS_AS: Cell<SendsAs> = const { Cell::new(SendsAs::Known(0)) };
    /// What a thread's messages count as at most: it acts for somebody less urgent.
    static SENDS_AT_MOST: Cell<jint> = const { Cell::new(PRIORITY_MAX) };
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_RealtimeThread_ledgerPage(_: Env, _: jclass) -> jint {
    template::ledger_page().unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_RealtimeThread_sendAtMost(
    _: Env,
    _: jclass,
    priority: jint,
) -> jint {
    SENDS_AT_MOST.replace(priority.clamp(0, PRIORITY_MAX))
}

/// What a caller claims, and no more than the kernel has the calling thread run at for it. Some
/// four system calls.
fn granted(claim: Urgency) -> jint {
    static OWN: OnceLock<Option<PidFd>> = OnceLock::new();
    let own = OWN.get_or_init(|| PidFd::open(process::id().cast_signed()).ok());
    let granted = own
        .as_ref()
        .and_then(|it| it.urgency(Tid::current(), claim));
    jint::from(granted.unwrap_or_default().get()).min(PRIORITY_MAX)
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_RealtimeThread_sendAs(
    _: Env,
    _: jclass,
    priority: jint,
) -> jint {
    let priority = priority.clamp(0, PRIORITY_MAX);
    match SENDS_AS.replace(SendsAs::Known(priority)) {
        SendsAs::Known(before) => before,
        SendsAs::Claimed(claim) => granted(claim),
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
    let policy = match priority {
        0 => libc::SCHED_OTHER,
        _ => libc::SCHED_FIFO,
    };
    schedule(thread, policy, priority)
}

/// Puts back what the thread's messages counted as before.
pub(crate) struct SendScope(SendsAs);

/// The thread's messages count as at least so urgent as a caller claims, if the kernel bears it
/// out, until the scope ends. No system call.
pub(crate) fn send_as(claim: Urgency) -> SendScope {
    let sends_as = match claim.is_real_time() {
        true => SendsAs::Claimed(claim),
        false => SendsAs::Known(0),
    };
    SendScope(SENDS_AS.replace(sends_as))
}

impl Drop for SendScope {
    fn drop(&mut self) {
        SENDS_AS.set(self.0);
    }
}
