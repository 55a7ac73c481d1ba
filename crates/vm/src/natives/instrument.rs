// SPDX-License-Identifier: Apache-2.0
//! `sun.instrument.InstrumentationImpl`: what agents ask of the machine.
//!
//! Classes are transformed when they are loaded (`start/agents`), and stay as they are then.

use super::Row;
use crate::classes::class::Class;
use crate::classes::loader::all_classes;
use crate::classes::object::ObjectRef;
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::link::boot_path;
use crate::link::loader;
use crate::objects::string;
use crate::start::agents;
use crate::threads::thread::Thread;

pub(super) const NATIVES: &[Row] = &[
    ("isModifiableClass0", is_modifiable as *const ()),
    (
        "isRetransformClassesSupported0",
        can_retransform as *const (),
    ),
    ("setHasTransformers", set_has_transformers as *const ()),
    (
        "setHasRetransformableTransformers",
        not_retransformed as *const (),
    ),
    ("retransformClasses0", not_retransformed as *const ()),
    ("redefineClasses0", not_redefined as *const ()),
    ("getAllLoadedClasses0", all_loaded as *const ()),
    ("getInitiatedClasses0", initiated as *const ()),
    ("getObjectSize0", object_size as *const ()),
    ("appendToClassLoaderSearch0", append as *const ()),
    ("setNativeMethodPrefixes", no_prefixes as *const ()),
];

fn refuse(env: u64, what: &str) {
    let message = format!("{what}: not supported by Takt");
    let _ = of(env).throw("java/lang/UnsupportedOperationException", &message);
}

extern "C" fn is_modifiable(_env: u64, _this: u64, _agent: i64, _class: u64) -> u8 {
    0
}

extern "C" fn can_retransform(_env: u64, _this: u64, _agent: i64) -> u8 {
    0
}

extern "C" fn set_has_transformers(_env: u64, _this: u64, agent: i64, has: u8) {
    agents::set_has_transformers(agent, has != 0);
}

extern "C" fn not_retransformed(env: u64, _this: u64, _agent: i64) {
    refuse(env, "retransformation of classes");
}

extern "C" fn not_redefined(env: u64, _this: u64, _agent: i64) {
    refuse(env, "redefinition of classes");
}

extern "C" fn no_prefixes(env: u64, _this: u64, _agent: i64) {
    refuse(env, "prefixes of native methods");
}

fn mirrors(thread: &Thread, classes: impl Iterator<Item = &'static Class>) -> u64 {
    let mirrors: Vec<ObjectRef> = classes.map(|class| class.mirror()).collect();
    outcome(reflect::class_array(thread, &mirrors).map(|array| thread.new_local(array)))
}

extern "C" fn all_loaded(env: u64, _this: u64, _agent: i64) -> u64 {
    mirrors(&of(env), all_classes().into_iter())
}

extern "C" fn initiated(env: u64, _this: u64, _agent: i64, object: u64) -> u64 {
    let thread = &*of(env);
    let loader = loader::of(thread.object_of(object));
    let classes: Vec<_> = loader.classes.lock().values().copied().collect();
    mirrors(thread, classes.into_iter())
}

extern "C" fn object_size(env: u64, _this: u64, _agent: i64, object: u64) -> i64 {
    let object = of(env).object_of(object);
    let layout = &object.class().layout;
    let elements = match object.class().is_array() {
        true => u64::from(object.length()) << layout.element_shift,
        false => 0,
    };
    (u64::from(layout.bytes) + elements).next_multiple_of(8) as i64
}

extern "C" fn append(env: u64, _this: u64, _agent: i64, jar: u64, is_boot: u8) {
    let thread = &*of(env);
    let jar = thread.object_of(jar);
    if is_boot != 0 {
        boot_path::append(&string::text(jar));
        return;
    }
    // A failure is thrown already.
    let _ = agents::append_class_path(thread, jar);
}
