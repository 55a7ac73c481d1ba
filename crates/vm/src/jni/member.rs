// SPDX-License-Identifier: Apache-2.0
//! Fields and methods by name, and access to fields.

use super::{c_bytes, of, outcome};
use crate::classes::class::Class;
use crate::classes::field_id::FieldId;
use crate::classes::object::ObjectRef;
use crate::link::mirror;
use crate::link::resolve;
use crate::memory::symbol::Symbol;
use crate::threads::thread::{Thread, Thrown};

fn field_id(
    env: u64,
    class: u64,
    name: u64,
    descriptor: u64,
    is_static: bool,
) -> Result<u64, Thrown> {
    let thread = &*of(env);
    let (class, name, descriptor) = sought(thread, class, name, descriptor)?;
    let found = resolve::find_field(class, name, descriptor);
    match found.filter(|(_, field)| field.is_static() == is_static) {
        Some((holder, field)) => Ok(FieldId::address(holder, field)),
        None => Err(thread.throw("java/lang/NoSuchFieldError", &name.to_string())),
    }
}

fn method_id(
    env: u64,
    class: u64,
    name: u64,
    descriptor: u64,
    is_static: bool,
) -> Result<u64, Thrown> {
    let thread = &*of(env);
    let (class, name, descriptor) = sought(thread, class, name, descriptor)?;
    let found = if class.is_interface() {
        resolve::find_interface_method(class, name, descriptor)
    } else if name.is("<init>") || name.is("<clinit>") {
        class.declared_method(name, descriptor)
    } else {
        resolve::find_method(class, name, descriptor)
    };
    match found.filter(|method| method.is_static() == is_static) {
        Some(method) => Ok(method.address()),
        None => Err(thread.throw("java/lang/NoSuchMethodError", &name.to_string())),
    }
}

/// The class, initialised, and the words that a caller of JNI means.
fn sought(
    thread: &Thread,
    class: u64,
    name: u64,
    descriptor: u64,
) -> Result<(&'static Class, Symbol, Symbol), Thrown> {
    let class = mirror::class_of(thread.object_of(class));
    class.initialize(thread)?;
    let name = Symbol::new(&c_bytes(name));
    let descriptor = Symbol::new(&c_bytes(descriptor));
    Ok((class, name, descriptor))
}

pub(super) extern "C" fn get_field_id(env: u64, class: u64, name: u64, descriptor: u64) -> u64 {
    outcome(field_id(env, class, name, descriptor, false))
}

pub(super) extern "C" fn get_static_field_id(
    env: u64,
    class: u64,
    name: u64,
    descriptor: u64,
) -> u64 {
    outcome(field_id(env, class, name, descriptor, true))
}

pub(super) extern "C" fn get_method_id(env: u64, class: u64, name: u64, descriptor: u64) -> u64 {
    outcome(method_id(env, class, name, descriptor, false))
}

pub(super) extern "C" fn get_static_method_id(
    env: u64,
    class: u64,
    name: u64,
    descriptor: u64,
) -> u64 {
    outcome(method_id(env, class, name, descriptor, true))
}

fn object(thread: &Thread, reference: u64) -> ObjectRef {
    thread.object_of(reference)
}

macro_rules! fields {
    ($get:ident, $set:ident, $get_static:ident, $set_static:ident, $ty:ty) => {
        pub(super) extern "C" fn $get(env: u64, target: u64, field: u64) -> $ty {
            object(&of(env), target).get(FieldId::at(field).field.offset)
        }

        pub(super) extern "C" fn $set(env: u64, target: u64, field: u64, value: $ty) {
            object(&of(env), target).put(FieldId::at(field).field.offset, value);
        }

        pub(super) extern "C" fn $get_static(_env: u64, _class: u64, field: u64) -> $ty {
            let id = FieldId::at(field);
            id.class.statics().get(id.field.offset)
        }

        pub(super) extern "C" fn $set_static(_env: u64, _class: u64, field: u64, value: $ty) {
            let id = FieldId::at(field);
            id.class.statics().put(id.field.offset, value);
        }
    };
}

fields!(
    get_boolean_field,
    set_boolean_field,
    get_static_boolean_field,
    set_static_boolean_field,
    u8
);
fields!(
    get_byte_field,
    set_byte_field,
    get_static_byte_field,
    set_static_byte_field,
    i8
);
fields!(
    get_char_field,
    set_char_field,
    get_static_char_field,
    set_static_char_field,
    u16
);
fields!(
    get_short_field,
    set_short_field,
    get_static_short_field,
    set_static_short_field,
    i16
);
fields!(
    get_int_field,
    set_int_field,
    get_static_int_field,
    set_static_int_field,
    i32
);
fields!(
    get_long_field,
    set_long_field,
    get_static_long_field,
    set_static_long_field,
    i64
);
fields!(
    get_float_field,
    set_float_field,
    get_static_float_field,
    set_static_float_field,
    f32
);
fields!(
    get_double_field,
    set_double_field,
    get_static_double_field,
    set_static_double_field,
    f64
);

pub(super) extern "C" fn get_object_field(env: u64, target: u64, field: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(object(thread, target).get_ref(FieldId::at(field).field.offset))
}

pub(super) extern "C" fn set_object_field(env: u64, target: u64, field: u64, value: u64) {
    let thread = &*of(env);
    object(thread, target).put_ref(FieldId::at(field).field.offset, object(thread, value));
}

pub(super) extern "C" fn get_static_object_field(env: u64, _class: u64, field: u64) -> u64 {
    let id = FieldId::at(field);
    of(env).new_local(id.class.statics().get_ref(id.field.offset))
}

pub(super) extern "C" fn set_static_object_field(env: u64, _class: u64, field: u64, value: u64) {
    let id = FieldId::at(field);
    id.class
        .statics()
        .put_ref(id.field.offset, object(&of(env), value));
}
