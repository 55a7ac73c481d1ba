// SPDX-License-Identifier: Apache-2.0
//! Arrays. Nothing moves, so elements are handed out in place.

use ir::MemoryKind;

use super::{of, outcome};
use crate::classes::known::primitive_of;
use crate::classes::object::ObjectRef;
use crate::link::define;
use crate::link::mirror;
use crate::memory;
use crate::objects::array;
use crate::threads::thread::{Thread, Thrown};

pub(super) extern "C" fn get_array_length(env: u64, array: u64) -> i32 {
    of(env).object_of(array).length() as i32
}

fn set_is_copy(is_copy: u64) {
    if is_copy != 0 {
        memory::write(is_copy, 0_u8);
    }
}

fn elements(env: u64, array: u64, is_copy: u64) -> u64 {
    set_is_copy(is_copy);
    of(env).object_of(array).elements()
}

fn new_primitive(env: u64, kind: MemoryKind, length: i32) -> Result<u64, Thrown> {
    let thread = &*of(env);
    let class = define::array_of(thread, primitive_of(Some(kind)))?;
    Ok(thread.new_local(array::new(thread, class, length)?))
}

/// Address of the first of `count` elements from `start`, or an exception.
fn region(
    thread: &Thread,
    array: ObjectRef,
    start: i32,
    count: i32,
    shift: u8,
) -> Result<(u64, usize), Thrown> {
    let length = array.length();
    let end = i64::from(start) + i64::from(count);
    if start < 0 || count < 0 || end > i64::from(length) {
        let message = format!("Array region {start}..{end} out of bounds for length {length}");
        return Err(thread.throw("java/lang/ArrayIndexOutOfBoundsException", &message));
    }
    Ok((
        array.elements() + ((start as u64) << shift),
        (count as usize) << shift,
    ))
}

fn get_region(env: u64, array: u64, start: i32, count: i32, buffer: u64, shift: u8) {
    let thread = &*of(env);
    if let Ok((at, bytes)) = region(thread, thread.object_of(array), start, count, shift) {
        array::copy_bytes(thread, at, buffer, bytes);
    }
}

fn set_region(env: u64, array: u64, start: i32, count: i32, buffer: u64, shift: u8) {
    let thread = &*of(env);
    if let Ok((at, bytes)) = region(thread, thread.object_of(array), start, count, shift) {
        array::copy_bytes(thread, buffer, at, bytes);
    }
}

macro_rules! primitive_arrays {
    ($new:ident, $elements:ident, $release:ident, $get:ident, $set:ident, $kind:expr) => {
        pub(super) extern "C" fn $new(env: u64, length: i32) -> u64 {
            outcome(new_primitive(env, $kind, length))
        }

        pub(super) extern "C" fn $elements(env: u64, array: u64, is_copy: u64) -> u64 {
            elements(env, array, is_copy)
        }

        pub(super) extern "C" fn $release(_env: u64, _array: u64, _elements: u64, _mode: i32) {}

        pub(super) extern "C" fn $get(env: u64, array: u64, start: i32, count: i32, buffer: u64) {
            get_region(env, array, start, count, buffer, $kind.size_log2());
        }

        pub(super) extern "C" fn $set(env: u64, array: u64, start: i32, count: i32, buffer: u64) {
            set_region(env, array, start, count, buffer, $kind.size_log2());
        }
    };
}

primitive_arrays!(
    new_boolean_array,
    get_boolean_array_elements,
    release_boolean_array_elements,
    get_boolean_array_region,
    set_boolean_array_region,
    MemoryKind::Boolean
);
primitive_arrays!(
    new_byte_array,
    get_byte_array_elements,
    release_byte_array_elements,
    get_byte_array_region,
    set_byte_array_region,
    MemoryKind::Byte
);
primitive_arrays!(
    new_char_array,
    get_char_array_elements,
    release_char_array_elements,
    get_char_array_region,
    set_char_array_region,
    MemoryKind::Char
);
primitive_arrays!(
    new_short_array,
    get_short_array_elements,
    release_short_array_elements,
    get_short_array_region,
    set_short_array_region,
    MemoryKind::Short
);
primitive_arrays!(
    new_int_array,
    get_int_array_elements,
    release_int_array_elements,
    get_int_array_region,
    set_int_array_region,
    MemoryKind::Int
);
primitive_arrays!(
    new_long_array,
    get_long_array_elements,
    release_long_array_elements,
    get_long_array_region,
    set_long_array_region,
    MemoryKind::Long
);
primitive_arrays!(
    new_float_array,
    get_float_array_elements,
    release_float_array_elements,
    get_float_array_region,
    set_float_array_region,
    MemoryKind::Float
);
primitive_arrays!(
    new_double_array,
    get_double_array_elements,
    release_double_array_elements,
    get_double_array_region,
    set_double_array_region,
    MemoryKind::Double
);

pub(super) extern "C" fn get_primitive_array_critical(env: u64, array: u64, is_copy: u64) -> u64 {
    elements(env, array, is_copy)
}

pub(super) extern "C" fn release_primitive_array_critical(
    _env: u64,
    _array: u64,
    _at: u64,
    _mode: i32,
) {
}

pub(super) extern "C" fn new_object_array(env: u64, length: i32, class: u64, initial: u64) -> u64 {
    let thread = &*of(env);
    let make = || {
        let class = mirror::class_of(thread.object_of(class));
        let array = array::new(thread, define::array_of(thread, class)?, length)?;
        let initial = thread.object_of(initial);
        if !initial.is_null() {
            for index in 0..array.length() {
                array.set_ref_element(index, initial);
                array::poll_after(thread, index);
            }
        }
        Ok(thread.new_local(array))
    };
    outcome(make())
}

fn checked(thread: &Thread, array: ObjectRef, index: i32) -> Result<u32, Thrown> {
    let length = array.length();
    u32::try_from(index)
        .ok()
        .filter(|&index| index < length)
        .ok_or_else(|| {
            let message = format!("Index {index} out of bounds for length {length}");
            thread.throw("java/lang/ArrayIndexOutOfBoundsException", &message)
        })
}

pub(super) extern "C" fn get_object_array_element(env: u64, array: u64, index: i32) -> u64 {
    let thread = &*of(env);
    let array = thread.object_of(array);
    outcome(checked(thread, array, index).map(|index| thread.new_local(array.ref_element(index))))
}

pub(super) extern "C" fn set_object_array_element(env: u64, array: u64, index: i32, value: u64) {
    let thread = &*of(env);
    let (array, value) = (thread.object_of(array), thread.object_of(value));
    let Ok(index) = checked(thread, array, index) else {
        return;
    };
    let element = array.class().info.element.expect("an array");
    if !value.is_null() && !value.is_instance_of(element) {
        let message = value.class().java_name();
        let _ = thread.throw("java/lang/ArrayStoreException", &message);
        return;
    }
    array.set_ref_element(index, value);
}
