// SPDX-License-Identifier: Apache-2.0
//! android.os.BinderProxy: calls to another process, and who is told of its death.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use binder::{Binder, CallError, Proxy, Token};
use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring, jvalue};
use rt::sync::PiMutex;

use super::java::Java;
use super::service::ONEWAY;
use super::{Parcel, errors, object_of};
use crate::env::{Env, Global};
use crate::handle::Handle;

/// References that a notice of death needs.
const REFERENCES: jint = 8;

/// What a BinderProxy keeps on the native side; a hold on the node.
pub(super) struct ProxyData {
    pub(super) binder: Binder,
    recipients: Arc<Recipients>,
}

/// In the order in which they were linked.
type Recipients = PiMutex<Vec<Recipient>>;

struct Recipient {
    number: u64,
    /// None while it is being linked.
    token: Option<Token>,
    object: Arc<Global>,
}

/// Takes a recipient out by its number; to be dropped behind the lock.
fn take(recipients: &Recipients, number: u64) -> Option<Recipient> {
    let mut recipients = recipients.lock();
    let index = recipients.iter().position(|it| it.number == number)?;
    Some(recipients.remove(index))
}

impl ProxyData {
    pub(super) fn new(binder: Binder) -> Self {
        Self {
            binder,
            recipients: Arc::default(),
        }
    }

    /// `false` if the process has ended.
    fn link(&self, recipient: Global) -> bool {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let Binder::Remote(proxy) = &self.binder else {
            return false;
        };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        self.recipients.lock().push(Recipient {
            number,
            token: None,
            object: Arc::new(recipient),
        });
        let recipients = Arc::clone(&self.recipients);
        let of = Arc::downgrade(proxy);
        let Some(token) = proxy.link_to_death(move || died(&recipients, number, &of)) else {
            drop(take(&self.recipients, number));
            return false;
        };
        let mut recipients = self.recipients.lock();
        if let Some(it) = recipients.iter_mut().find(|it| it.number == number) {
            it.token = Some(token);
        }
        true
    }

    /// `None` if it was never linked; whether the node lived does not matter, as on Android.
    fn unlink(&self, env: Env, recipient: jobject) -> Option<()> {
        let Binder::Remote(proxy) = &self.binder else {
            return None;
        };
        let found = {
            let recipients = self.recipients.lock();
            let mut recipients = recipients.iter();
            let found = recipients.find(|it| env.is_same(&it.object, recipient));
            found.map(|it| (it.number, it.token))
        };
        let Some((number, token)) = found else {
            return (!proxy.is_alive()).then_some(());
        };
        let is_taken = token.is_some_and(|it| proxy.unlink_to_death(it));
        if is_taken {
            drop(take(&self.recipients, number));
        }
        Some(())
    }
}

/// The node's process has ended: on the door's thread.
fn died(recipients: &Recipients, number: u64, of: &Weak<Proxy>) {
    let Some(recipient) = take(recipients, number) else {
        return;
    };
    let Some(env) = Env::current() else {
        return;
    };
    env.framed(REFERENCES, || {
        let Some(java) = Java::of(env) else {
            env.take_exception();
            return;
        };
        let proxy = object_of(env, of.upgrade().map(Binder::Remote));
        let arguments = [
            jvalue {
                l: recipient.object.local(env),
            },
            jvalue { l: proxy },
        ];
        env.call_static_void_of(&java.proxy, java.send_death_notice, &arguments);
        let thrown = env.take_exception();
        if !thrown.is_null() {
            let arguments = [jvalue { l: thrown }];
            env.call_static_void_of(&java.neighbours, java.uncaught, &arguments);
            env.take_exception();
        }
    });
}

fn data(env: Env, proxy: jobject) -> Option<Handle<ProxyData>> {
    let java = Java::of(env)?;
    Some(Handle::of_field(env.long_of(proxy, java.native_data)))
}

extern "C" fn free_proxy(data: Handle<ProxyData>) {
    data.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_getNativeFinalizer(_: Env, _: jclass) -> jlong {
    (free_proxy as *const ()).expose_provenance() as jlong
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_pingBinder(env: Env, this: jobject) -> jboolean {
    data(env, this).is_some_and(|it| it.get().binder.ping().is_ok())
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_isBinderAlive(env: Env, this: jobject) -> jboolean {
    data(env, this).is_some_and(|it| it.get().binder.is_alive())
}

/// Extensions belong to Android's native services; none has one here.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_getExtension(_: Env, _: jobject) -> jobject {
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_getInterfaceDescriptor(
    env: Env,
    this: jobject,
) -> jstring {
    let Some(data) = data(env, this) else {
        return core::ptr::null_mut();
    };
    match data.get().binder.descriptor() {
        Ok(text) => env.string_of(&text),
        Err(error) => {
            errors::throw(env, error, 0);
            core::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_transactNative(
    env: Env,
    this: jobject,
    code: jint,
    data: jobject,
    reply: jobject,
    flags: jint,
) -> jboolean {
    let Some(java) = Java::of(env) else {
        return false;
    };
    let Some(mut data) = java.parcel(env, data) else {
        env.throw("java/lang/NullPointerException", "no data");
        return false;
    };
    let mut reply = java.parcel(env, reply);
    if reply.as_ref().is_some_and(|it| it.is_same(&data)) {
        let text = "the data and the reply are one parcel";
        env.throw("java/lang/IllegalArgumentException", text);
        return false;
    }
    let of: Handle<ProxyData> = Handle::of_field(env.long_of(this, java.native_data));
    // Out of Java's sight meanwhile: a call back on this thread may run any Java code.
    let mut sent = core::mem::take(data.get_mut());
    let mut got = reply
        .as_mut()
        .map(|it| core::mem::take(it.get_mut()))
        .unwrap_or_default();
    let position = sent.position();
    let outcome = call(&of.get().binder, code, &mut sent, &mut got, flags);
    let size = sent.size();
    sent.set_position(position);
    *data.get_mut() = sent;
    if let Some(reply) = &mut reply {
        *reply.get_mut() = got;
    }
    match outcome {
        Ok(()) => true,
        Err(CallError::UnknownTransaction) => false,
        Err(error) => {
            errors::throw(env, error, size);
            false
        }
    }
}

fn call(
    binder: &Binder,
    code: jint,
    data: &mut Parcel,
    reply: &mut Parcel,
    flags: jint,
) -> Result<(), CallError> {
    let code = code.cast_unsigned();
    if flags & ONEWAY != 0 {
        return binder.send(code, data);
    }
    binder.transact(code, data, reply, None)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_linkToDeathNative(
    env: Env,
    this: jobject,
    recipient: jobject,
    _flags: jint,
) {
    let Some(recipient) = Global::new(env, recipient) else {
        env.throw("java/lang/NullPointerException", "no recipient");
        return;
    };
    if let Some(data) = data(env, this)
        && !data.get().link(recipient)
    {
        errors::throw(env, CallError::DeadObject, 0);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_BinderProxy_unlinkToDeathNative(
    env: Env,
    this: jobject,
    recipient: jobject,
    _flags: jint,
) -> jboolean {
    if recipient.is_null() {
        env.throw("java/lang/NullPointerException", "no recipient");
        return false;
    }
    let Some(data) = data(env, this) else {
        return false;
    };
    let is_unlinked = data.get().unlink(env, recipient).is_some();
    if !is_unlinked {
        let text = "Death link does not exist";
        env.throw("java/util/NoSuchElementException", text);
    }
    is_unlinked
}
