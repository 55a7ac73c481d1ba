// SPDX-License-Identifier: Apache-2.0
//! Java's IBinder objects as references to nodes, and back.

use std::any::Any;
use std::sync::Arc;

use binder::{Binder, Proxy};
use jni_sys::{jobject, jvalue};

use super::java::Java;
use super::proxy::ProxyData;
use super::service::{Holder, JavaService};
use crate::env::Env;
use crate::handle::Handle;
use crate::log::warn;

/// None for null. Another implementation of IBinder than AOSP's two cannot be passed on, as on
/// Android: it is written as null, and the log says so.
pub(crate) fn binder_of(env: Env, object: jobject) -> Option<Binder> {
    if object.is_null() {
        return None;
    }
    let java = Java::of(env)?;
    if env.is_of(object, &java.binder) {
        let holder: Handle<Holder> = Handle::of_field(env.long_of(object, java.object));
        return holder.get().node(env, object);
    }
    if env.is_of(object, &java.proxy) {
        let data: Handle<ProxyData> = Handle::of_field(env.long_of(object, java.native_data));
        return Some(data.get().binder.clone());
    }
    warn("an IBinder that is neither a Binder nor a BinderProxy goes into a parcel as null");
    None
}

/// Null for none; the same object for the same node, as long as Java holds it.
pub(crate) fn object_of(env: Env, binder: Option<Binder>) -> jobject {
    match binder {
        None => core::ptr::null_mut(),
        Some(Binder::Local(node)) => {
            let service: &dyn Any = node.service();
            let service = service.downcast_ref::<JavaService>();
            service.map_or(core::ptr::null_mut(), |it| it.object(env))
        }
        Some(Binder::Remote(proxy)) => object_of_proxy(env, proxy),
    }
}

fn object_of_proxy(env: Env, proxy: Arc<Proxy>) -> jobject {
    let Some(java) = Java::of(env) else {
        return core::ptr::null_mut();
    };
    // While a BinderProxy lives its data holds the proxy, so the address is nobody else's.
    let key = Arc::as_ptr(&proxy).addr() as i64;
    let data = Handle::new(ProxyData::new(Binder::Remote(proxy)));
    let given = Handle::<ProxyData>::into_java(data);
    let arguments = [jvalue { j: given }, jvalue { j: key }];
    let object = env.call_static_of(&java.proxy, java.get_instance, &arguments);
    // An exception that it throws has freed the data.
    if !object.is_null() && env.long_of(object, java.native_data) != given {
        Handle::<ProxyData>::of_field(given).free();
    }
    object
}
