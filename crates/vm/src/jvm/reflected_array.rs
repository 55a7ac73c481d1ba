// SPDX-License-Identifier: Apache-2.0
//! Arrays by reflection.

use ir::MemoryKind;

use crate::classes::class::{Class, ClassKind};
use crate::classes::object::ObjectRef;
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::link::mirror;
use crate::objects::array;
use crate::threads::thread::{Thread, Thrown};

/// Dimensions that an array may have.
const DIMENSIONS_MAX: usize = 255;

/// The class of arrays of `element`s with these lengths, or what reflection throws.
fn array_class(thread: &Thread, element: u64, lengths: &[i32]) -> Result<&'static Class, Thrown> {
    let Some(element) = thread.object_of(element).some() else {
        return Err(thread.throw_plain("java/lang/NullPointerException"));
    };
    if let Some(negative) = lengths.iter().find(|&&length| length < 0) {
        let message = negative.to_string();
        return Err(thread.throw("java/lang/NegativeArraySizeException", &message));
    }
    let mut class = mirror::class_of(element);
    let inner = core::iter::successors(class.info.element, |class| class.info.element);
    let is_void = class.info.kind == ClassKind::Primitive(None);
    if is_void || lengths.is_empty() || inner.count() + lengths.len() > DIMENSIONS_MAX {
        return Err(thread.throw_plain("java/lang/IllegalArgumentException"));
    }
    for _ in lengths {
        class = thread.array_class(class)?;
    }
    Ok(class)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NewArray(env: u64, element: u64, length: i32) -> u64 {
    let thread = &*of(env);
    let make = || array::new(thread, array_class(thread, element, &[length])?, length);
    outcome(make().map(|array| thread.new_local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NewMultiArray(env: u64, element: u64, lengths: u64) -> u64 {
    let thread = &*of(env);
    let make = || {
        let Some(lengths) = thread.object_of(lengths).some() else {
            return Err(thread.throw_plain("java/lang/NullPointerException"));
        };
        let lengths: Vec<i32> = (0..lengths.length()).map(|i| lengths.element(i)).collect();
        let class = array_class(thread, element, &lengths)?;
        array::new_multi(thread, class, &lengths)
    };
    outcome(make().map(|array| thread.new_local(array)))
}

/// The array, or the exception that reflection throws for anything else.
fn reflected(thread: &Thread, array: u64) -> Result<ObjectRef, Thrown> {
    let Some(array) = thread.object_of(array).some() else {
        return Err(thread.throw_plain("java/lang/NullPointerException"));
    };
    if !array.class().is_array() {
        return Err(illegal(thread, "Argument is not an array"));
    }
    Ok(array)
}

fn illegal(thread: &Thread, message: &str) -> Thrown {
    thread.throw("java/lang/IllegalArgumentException", message)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetArrayLength(env: u64, object: u64) -> i32 {
    outcome(reflected(&of(env), object).map(|array| array.length() as i32))
}

/// An element of an array that is there.
struct Element {
    array: ObjectRef,
    index: u32,
    kind: MemoryKind,
}

impl Element {
    fn of(thread: &Thread, object: u64, index: i32) -> Result<Self, Thrown> {
        Self::within(thread, reflected(thread, object)?, index)
    }

    /// Of an array of primitive values.
    fn primitive(thread: &Thread, object: u64, index: i32) -> Result<Self, Thrown> {
        let array = reflected(thread, object)?;
        if kind_of(array) == MemoryKind::Ref {
            let message = "Argument is not an array of primitive type";
            return Err(illegal(thread, message));
        }
        Self::within(thread, array, index)
    }

    fn within(thread: &Thread, array: ObjectRef, index: i32) -> Result<Self, Thrown> {
        let index = u32::try_from(index).ok();
        match index.filter(|&index| index < array.length()) {
            Some(index) => Ok(Self {
                array,
                index,
                kind: kind_of(array),
            }),
            None => Err(thread.throw_plain("java/lang/ArrayIndexOutOfBoundsException")),
        }
    }

    fn raw(&self) -> u64 {
        let Self { array, index, kind } = *self;
        match kind {
            MemoryKind::Boolean => u64::from(array.element::<u8>(index)),
            MemoryKind::Byte => i32::from(array.element::<i8>(index)) as u32 as u64,
            MemoryKind::Short => i32::from(array.element::<i16>(index)) as u32 as u64,
            MemoryKind::Char => u64::from(array.element::<u16>(index)),
            MemoryKind::Long | MemoryKind::Double => array.element::<u64>(index),
            _ => u64::from(array.element::<u32>(index)),
        }
    }

    fn set_raw(&self, raw: u64) {
        match self.kind.size_log2() {
            0 => self.array.set_element(self.index, raw as u8),
            1 => self.array.set_element(self.index, raw as u16),
            2 => self.array.set_element(self.index, raw as u32),
            _ => self.array.set_element(self.index, raw),
        }
    }
}

fn kind_of(array: ObjectRef) -> MemoryKind {
    let element = array.class().info.element.and_then(|e| e.memory_kind());
    element.expect("arrays have elements")
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetArrayElement(env: u64, object: u64, index: i32) -> u64 {
    let thread = &*of(env);
    let get = || {
        let element = Element::of(thread, object, index)?;
        reflect::box_value(thread, Some(element.kind), element.raw())
    };
    outcome(get().map(|object| thread.new_local(object)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetArrayElement(env: u64, object: u64, index: i32, value: u64) {
    let thread = &*of(env);
    let set = || {
        let value = thread.object_of(value);
        // No place in an array of primitive values is looked for, as on HotSpot.
        if value.is_null() && kind_of(reflected(thread, object)?) != MemoryKind::Ref {
            return Err(thread.throw_plain("java/lang/IllegalArgumentException"));
        }
        let element = Element::of(thread, object, index)?;
        if element.kind == MemoryKind::Ref {
            let class = element.array.class().info.element.expect("an array");
            if !value.is_null() && !value.is_instance_of(class) {
                return Err(illegal(thread, "array element type mismatch"));
            }
            element.array.set_ref_element(element.index, value);
            return Ok(());
        }
        let Some((own, raw)) = value.some().and_then(reflect::unbox) else {
            return Err(illegal(thread, "argument type mismatch"));
        };
        set_widened(thread, &element, own, raw)
    };
    let _ = set();
}

fn set_widened(
    thread: &Thread,
    element: &Element,
    own: MemoryKind,
    raw: u64,
) -> Result<(), Thrown> {
    let widened = reflect::widen(own, element.kind, raw);
    element.set_raw(widened.ok_or_else(|| illegal(thread, "argument type mismatch"))?);
    Ok(())
}

/// The element as a value of the kind `code`, in the low bytes of a `jvalue`.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetPrimitiveArrayElement(env: u64, object: u64, index: i32, code: i32) -> u64 {
    let thread = &*of(env);
    let get = || {
        let element = Element::primitive(thread, object, index)?;
        let wanted = u8::try_from(code).ok().and_then(MemoryKind::of_array_code);
        let widened = wanted.and_then(|wanted| reflect::widen(element.kind, wanted, element.raw()));
        widened.ok_or_else(|| illegal(thread, "argument type mismatch"))
    };
    outcome(get())
}

/// `value` is a `jvalue`: what is beyond its kind's size says nothing.
#[unsafe(no_mangle)]
extern "C" fn JVM_SetPrimitiveArrayElement(
    env: u64,
    object: u64,
    index: i32,
    value: u64,
    code: u8,
) {
    let thread = &*of(env);
    let set = || {
        let element = Element::primitive(thread, object, index)?;
        let own = MemoryKind::of_array_code(code);
        let own = own.ok_or_else(|| illegal(thread, "argument type mismatch"))?;
        let raw = match own {
            MemoryKind::Boolean => value & 1,
            MemoryKind::Byte => i32::from(value as i8) as u32 as u64,
            MemoryKind::Short => i32::from(value as i16) as u32 as u64,
            MemoryKind::Char => u64::from(value as u16),
            MemoryKind::Long | MemoryKind::Double => value,
            _ => u64::from(value as u32),
        };
        set_widened(thread, &element, own, raw)
    };
    let _ = set();
}
