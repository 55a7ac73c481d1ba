// SPDX-License-Identifier: Apache-2.0
//! Who calls the thread: the process and user of the transaction that it serves, until the service
//! clears them.

use std::cell::Cell;

use binder::Caller;
use jni_sys::{jboolean, jclass, jint, jlong};

use crate::env::Env;

#[derive(Clone, Copy)]
struct Identity {
    caller: Caller,
    /// A transaction of another process is being served.
    is_serving: bool,
    /// The service has said for whom it works.
    is_explicit: bool,
}

thread_local! {
    /// None where the thread works for its own process.
    static IDENTITY: Cell<Option<Identity>> = const { Cell::new(None) };
}

/// Puts back what was before.
pub(super) struct Scope(Option<Identity>);

/// The calling thread serves `caller` until the scope ends.
pub(super) fn enter(caller: Caller) -> Scope {
    Scope(IDENTITY.replace(Some(Identity {
        caller,
        is_serving: true,
        is_explicit: false,
    })))
}

impl Drop for Scope {
    fn drop(&mut self) {
        IDENTITY.set(self.0);
    }
}

fn current() -> Identity {
    IDENTITY.get().unwrap_or_else(|| Identity {
        caller: Caller::own(),
        is_serving: false,
        is_explicit: false,
    })
}

/// The user in the upper half; below it whether it was said, and the process.
const EXPLICIT: i64 = 1 << 31;

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getCallingPid(_: Env, _: jclass) -> jint {
    current().caller.pid
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_getCallingUid(_: Env, _: jclass) -> jint {
    current().caller.uid.cast_signed()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_isDirectlyHandlingTransactionNative(
    _: Env,
    _: jclass,
) -> jboolean {
    current().is_serving
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_hasExplicitIdentity(_: Env, _: jclass) -> jboolean {
    current().is_explicit
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_clearCallingIdentity(_: Env, _: jclass) -> jlong {
    let before = current();
    IDENTITY.set(Some(Identity {
        caller: Caller::own(),
        is_explicit: true,
        ..before
    }));
    let Caller { pid, uid } = before.caller;
    let explicit = if before.is_explicit { EXPLICIT } else { 0 };
    i64::from(uid) << 32 | explicit | i64::from(pid) & (EXPLICIT - 1)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Binder_restoreCallingIdentity(_: Env, _: jclass, token: jlong) {
    IDENTITY.set(Some(Identity {
        caller: Caller {
            pid: (token & (EXPLICIT - 1)) as i32,
            uid: (token >> 32) as u32,
        },
        is_serving: current().is_serving,
        is_explicit: token & EXPLICIT != 0,
    }));
}
