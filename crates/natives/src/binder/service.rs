// SPDX-License-Identifier: Apache-2.0
//! [`JavaService`]: what the node of a Java object does; [`Holder`]: the object's hold on its node.

use std::sync::{Arc, OnceLock, Weak};

use binder::{Binder, Call, CallError, Caller, Node, Service};
use jni_sys::{jint, jobject, jvalue};
use rt::sync::PiMutex;

use super::java::Java;
use super::{Parcel, home, identity};
use crate::env::{Env, Global};
use crate::handle::Handle;
use crate::realtime_thread;

/// `IBinder.FLAG_ONEWAY`.
pub(super) const ONEWAY: jint = 1;
/// References that a call needs: Java's own methods have theirs.
const REFERENCES: jint = 16;

/// What a Binder keeps on the native side: its node, while anybody refers to that.
#[derive(Default)]
pub(crate) struct Holder(PiMutex<Weak<Node>>);

impl Holder {
    /// None, and an exception is pending, where no process can be begun.
    pub(super) fn node(&self, env: Env, object: jobject) -> Option<Binder> {
        if let Some(node) = self.0.lock().upgrade() {
            return Some(Binder::Local(node));
        }
        let service = JavaService {
            object: Global::new(env, object)?,
            descriptor: OnceLock::new(),
        };
        let made = home::of(env)?.add(service);
        let Binder::Local(node) = &made else {
            return Some(made);
        };
        let mut held = self.0.lock();
        // Another thread may have been first.
        if let Some(node) = held.upgrade() {
            return Some(Binder::Local(node));
        }
        *held = Arc::downgrade(node);
        Some(made)
    }
}

/// See the module. The object lives as long as its node: as long as anybody refers to that.
pub(super) struct JavaService {
    object: Global,
    descriptor: OnceLock<String>,
}

impl JavaService {
    pub(super) fn object(&self, env: Env) -> jobject {
        self.object.local(env)
    }

    fn serve(
        &self,
        env: Env,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let java = Java::of(env).ok_or(CallError::Failed)?;
        let flags = if call.is_oneway { ONEWAY } else { 0 };
        let arguments = [
            jvalue {
                i: code.cast_signed(),
            },
            jvalue {
                j: Handle::lend(data),
            },
            jvalue {
                j: Handle::lend(reply),
            },
            jvalue { i: flags },
        ];
        let is_known = env.call_boolean(&self.object, java.exec_transact, &arguments);
        // AOSP's execTransact answers exceptions itself: this is an Error, which ends an
        // application.
        let thrown = env.take_exception();
        if !thrown.is_null() {
            let arguments = [jvalue { l: thrown }];
            env.call_static_void_of(&java.neighbours, java.uncaught, &arguments);
            env.take_exception();
            return Err(CallError::UnknownTransaction);
        }
        is_known.then_some(()).ok_or(CallError::UnknownTransaction)
    }
}

impl Service for JavaService {
    fn descriptor(&self) -> &str {
        self.descriptor.get_or_init(|| {
            let asked = Env::current().and_then(|env| {
                let java = Java::of(env)?;
                let text = env.framed(REFERENCES, || env.call_text(&self.object, java.descriptor));
                env.take_exception();
                text
            });
            asked.unwrap_or_default()
        })
    }

    fn on_transact(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let env = Env::current().ok_or(CallError::Failed)?;
        // Nobody waits who could be named, as on Android.
        let pid = if call.is_oneway { 0 } else { call.caller.pid };
        let _identity = identity::enter(Caller { pid, ..call.caller });
        let _urgency = realtime_thread::send_as(Caller::claim());
        env.framed(REFERENCES, || self.serve(env, call, code, data, reply))
    }
}
