// SPDX-License-Identifier: Apache-2.0
//! [`Java`]: the classes of AOSP that transactions go through, looked up once.

use std::sync::OnceLock;

use jni_sys::jobject;

use super::Parcel;
use crate::env::{Env, Field, Global, Method};
use crate::handle::Handle;

/// See the module.
pub(super) struct Java {
    pub(super) binder: Global,
    /// A Binder's `Holder`.
    pub(super) object: Field,
    pub(super) exec_transact: Method,
    pub(super) descriptor: Method,
    pub(super) proxy: Global,
    /// A BinderProxy's `ProxyData`.
    pub(super) native_data: Field,
    pub(super) get_instance: Method,
    pub(super) send_death_notice: Method,
    parcel: Field,
    /// Ours.
    pub(super) neighbours: Global,
    pub(super) uncaught: Method,
}

static JAVA: OnceLock<Java> = OnceLock::new();

impl Java {
    /// None, and an exception is pending, where AOSP's classes are not those that we know.
    pub(super) fn of(env: Env) -> Option<&'static Self> {
        if let Some(java) = JAVA.get() {
            return Some(java);
        }
        let java = Self::find(env)?;
        Some(JAVA.get_or_init(|| java))
    }

    #[cold]
    fn find(env: Env) -> Option<Self> {
        let binder = env.class("android/os/Binder")?;
        let proxy = env.class("android/os/BinderProxy")?;
        let parcel = env.class("android/os/Parcel")?;
        let neighbours = env.class("takt/framework/Neighbours")?;
        let get_instance = c"(JJ)Landroid/os/BinderProxy;";
        let notice = c"(Landroid/os/IBinder$DeathRecipient;Landroid/os/IBinder;)V";
        let throwable = c"(Ljava/lang/Throwable;)V";
        let text = c"()Ljava/lang/String;";
        Some(Self {
            object: env.long_field_id(&binder, c"mObject")?,
            exec_transact: env.method(&binder, c"execTransact", c"(IJJI)Z")?,
            descriptor: env.method(&binder, c"getInterfaceDescriptor", text)?,
            binder,
            native_data: env.long_field_id(&proxy, c"mNativeData")?,
            get_instance: env.static_method(&proxy, c"getInstance", get_instance)?,
            send_death_notice: env.static_method(&proxy, c"sendDeathNotice", notice)?,
            proxy,
            parcel: env.long_field_id(&parcel, c"mNativePtr")?,
            uncaught: env.static_method(&neighbours, c"uncaught", throwable)?,
            neighbours,
        })
    }

    /// The native side of an android.os.Parcel; none for null, and for one that is recycled.
    pub(super) fn parcel(&self, env: Env, parcel: jobject) -> Option<Handle<Parcel>> {
        if parcel.is_null() {
            return None;
        }
        let handle = Handle::of_field(env.long_of(parcel, self.parcel));
        (!handle.is_null()).then_some(handle)
    }
}
