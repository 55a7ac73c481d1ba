// SPDX-License-Identifier: Apache-2.0
//! Reflection: making its objects, and calling through them.

use abi::object as header;
use classfile::{FieldType, MethodDescriptor};
use ir::MemoryKind;

use crate::classes::class::{Class, Field, Method};
use crate::classes::known::{known, offset, primitive_of};
use crate::classes::library::Library;
use crate::classes::object::ObjectRef;
use crate::link::mirror;
use crate::link::resolve;
use crate::memory::symbol::Symbol;
use crate::objects::array;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::thread::{Thread, Thrown};

/// A new array of `class` with these elements.
pub(crate) fn array_of(
    thread: &Thread,
    class: &'static Class,
    elements: &[ObjectRef],
) -> Result<ObjectRef, Thrown> {
    let array = array::new(thread, class, elements.len() as i32)?;
    for (index, &element) in elements.iter().enumerate() {
        array.set_ref_element(index as u32, element);
    }
    Ok(array)
}

/// A `Class[]`.
pub(crate) fn class_array(thread: &Thread, mirrors: &[ObjectRef]) -> Result<ObjectRef, Thrown> {
    array_of(thread, known().class_array, mirrors)
}

/// The class of a descriptor's type, as `holder` sees it.
pub(crate) fn class_of_type(
    thread: &Thread,
    holder: &'static Class,
    ty: &FieldType<'_>,
) -> Result<&'static Class, Thrown> {
    match ty {
        FieldType::Class(name) | FieldType::Array(name) => {
            let name = Symbol::new(name);
            if name == holder.name() {
                return Ok(holder);
            }
            resolve::class_by_name(thread, holder.info.loader, name)
        }
        ty => Ok(primitive_of(ir::bytecode::memory_kind(ty))),
    }
}

/// Parameter classes and result class of a descriptor.
pub(crate) fn signature_of(
    thread: &Thread,
    holder: &'static Class,
    descriptor: &[u8],
) -> Result<(Vec<ObjectRef>, ObjectRef), Thrown> {
    let parsed = MethodDescriptor::parse(descriptor)
        .map_err(|error| thread.throw("java/lang/ClassFormatError", &error.to_string()))?;
    let mut parameters = Vec::new();
    for ty in &parsed.parameters {
        parameters.push(class_of_type(thread, holder, ty)?.mirror());
    }
    Ok((
        parameters,
        class_of_type(thread, holder, &parsed.result)?.mirror(),
    ))
}

fn set_bytes(
    thread: &Thread,
    object: ObjectRef,
    name: &str,
    bytes: Option<&[u8]>,
) -> Result<(), Thrown> {
    if let Some(bytes) = bytes {
        let array = string::new_bytes(thread, bytes)?;
        object.put_ref(offset(object.class(), name), array);
    }
    Ok(())
}

fn set_signature(
    thread: &Thread,
    object: ObjectRef,
    holder: &'static Class,
    index: Option<u16>,
) -> Result<(), Thrown> {
    let text = index.and_then(|index| holder.info.file.constants.utf8(index).ok());
    if let Some(text) = text {
        let text = string::intern_mutf8(thread, text)?;
        object.put_ref(offset(object.class(), "signature"), text);
    }
    Ok(())
}

fn instance(thread: &Thread, class: &str) -> Result<ObjectRef, Thrown> {
    let class = thread.boot_class(class)?;
    class.initialize(thread)?;
    heap_binding::new_object(thread, class)
}

/// A `java.lang.reflect.Field`.
pub(crate) fn field(
    thread: &Thread,
    holder: &'static Class,
    field: &'static Field,
) -> Result<ObjectRef, Thrown> {
    let object = instance(thread, "java/lang/reflect/Field")?;
    let class = object.class();
    let index = field.index.expect("injected fields are hidden");
    let parsed = &holder.info.file.fields[index];
    let ty = FieldType::parse(parsed.descriptor).expect("parsed with the file");
    let ty = class_of_type(thread, holder, &ty)?;
    object.put_ref(offset(class, "clazz"), holder.mirror());
    object.put_ref(
        offset(class, "name"),
        string::intern_mutf8(thread, parsed.name)?,
    );
    object.put_ref(offset(class, "type"), ty.mirror());
    object.put(offset(class, "modifiers"), i32::from(field.access));
    let is_final = field.access & classfile::access::FINAL != 0;
    let is_trusted = is_final
        && (field.is_static() || holder.info.is_hidden || holder.info.file.record.is_some());
    object.put(offset(class, "trustedFinal"), u8::from(is_trusted));
    object.put(offset(class, "slot"), index as i32);
    set_signature(thread, object, holder, parsed.signature)?;
    set_bytes(thread, object, "annotations", parsed.annotations)?;
    Ok(object)
}

/// A `java.lang.reflect.Method` or `Constructor`.
pub(crate) fn executable(thread: &Thread, method: &'static Method) -> Result<ObjectRef, Thrown> {
    let is_constructor = method.is_constructor();
    let name = if is_constructor {
        "java/lang/reflect/Constructor"
    } else {
        "java/lang/reflect/Method"
    };
    let object = instance(thread, name)?;
    let (class, holder, parsed) = (object.class(), method.class(), method.file());
    let (parameters, result) = signature_of(thread, holder, parsed.descriptor)?;
    let parameters = class_array(thread, &parameters)?;
    let mut exceptions = Vec::new();
    for &index in &parsed.exceptions {
        exceptions.push(resolve::class_at(thread, holder, index)?.mirror());
    }
    let exceptions = class_array(thread, &exceptions)?;
    object.put_ref(offset(class, "clazz"), holder.mirror());
    object.put(offset(class, "slot"), method.index as i32);
    object.put(offset(class, "modifiers"), i32::from(method.access));
    object.put_ref(offset(class, "parameterTypes"), parameters);
    object.put_ref(offset(class, "exceptionTypes"), exceptions);
    set_signature(thread, object, holder, parsed.signature)?;
    set_bytes(thread, object, "annotations", parsed.annotations)?;
    set_bytes(
        thread,
        object,
        "parameterAnnotations",
        parsed.parameter_annotations,
    )?;
    if !is_constructor {
        object.put_ref(
            offset(class, "name"),
            string::intern_mutf8(thread, parsed.name)?,
        );
        object.put_ref(offset(class, "returnType"), result);
        set_bytes(
            thread,
            object,
            "annotationDefault",
            parsed.annotation_default,
        )?;
    }
    Ok(object)
}

/// The method behind a `Method` or `Constructor`.
pub(crate) fn method_of(object: ObjectRef) -> &'static Method {
    let class = object.class();
    let holder = mirror::class_of(object.get_ref(offset(class, "clazz")));
    let slot: i32 = object.get(offset(class, "slot"));
    holder.info.methods[slot as usize]
}

/// The field behind a `Field`.
pub(crate) fn field_of(object: ObjectRef) -> (&'static Class, &'static Field) {
    let class = object.class();
    let holder = mirror::class_of(object.get_ref(offset(class, "clazz")));
    let slot: i32 = object.get(offset(class, "slot"));
    (holder, &holder.info.fields[slot as usize])
}

const BOXES: [(Library, &str, MemoryKind); 8] = [
    (Library::Boolean, "java/lang/Boolean", MemoryKind::Boolean),
    (Library::Character, "java/lang/Character", MemoryKind::Char),
    (Library::Float, "java/lang/Float", MemoryKind::Float),
    (Library::Double, "java/lang/Double", MemoryKind::Double),
    (Library::Byte, "java/lang/Byte", MemoryKind::Byte),
    (Library::Short, "java/lang/Short", MemoryKind::Short),
    (Library::Integer, "java/lang/Integer", MemoryKind::Int),
    (Library::Long, "java/lang/Long", MemoryKind::Long),
];

/// A value as an object: `Integer.valueOf` and its like.
pub(crate) fn box_value(
    thread: &Thread,
    kind: Option<MemoryKind>,
    value: u64,
) -> Result<ObjectRef, Thrown> {
    let kind = match kind {
        None => return Ok(ObjectRef::NULL),
        Some(MemoryKind::Ref) => return Ok(ObjectRef(value as u32)),
        Some(kind) => kind,
    };
    let (_, name, _) = BOXES
        .iter()
        .find(|(.., own)| *own == kind)
        .expect("all are there");
    let class = thread.boot_class(name)?;
    class.initialize(thread)?;
    let letter = crate::classes::class::primitive_code(Some(kind));
    let value_of = class.method_named("valueOf", &format!("({letter})L{name};"));
    thread
        .call(value_of.expect("boxes box"), &[value])
        .map(|object| ObjectRef(object as u32))
}

/// The kind and value in a box.
pub(crate) fn unbox(object: ObjectRef) -> Option<(MemoryKind, u64)> {
    let class = object.class();
    let (.., kind) = BOXES.iter().find(|&&(own, ..)| class.is(own))?;
    let at = offset(class, "value");
    let value = match kind {
        MemoryKind::Boolean => u64::from(object.get::<u8>(at)),
        MemoryKind::Byte => i32::from(object.get::<i8>(at)) as u32 as u64,
        MemoryKind::Short => i32::from(object.get::<i16>(at)) as u32 as u64,
        MemoryKind::Char => u64::from(object.get::<u16>(at)),
        MemoryKind::Int | MemoryKind::Float => u64::from(object.get::<u32>(at)),
        _ => object.get::<u64>(at),
    };
    Some((*kind, value))
}

/// The language's widening of primitive values.
pub(crate) fn widen(from: MemoryKind, to: MemoryKind, value: u64) -> Option<u64> {
    use MemoryKind as K;
    if from == to {
        return Some(value);
    }
    let int = value as u32 as i32;
    Some(match (from, to) {
        (K::Byte, K::Short) | (K::Byte | K::Short | K::Char, K::Int) => value,
        (K::Byte | K::Short | K::Char | K::Int, K::Long) => i64::from(int) as u64,
        (K::Byte | K::Short | K::Char | K::Int, K::Float) => u64::from((int as f32).to_bits()),
        (K::Byte | K::Short | K::Char | K::Int, K::Double) => f64::from(int).to_bits(),
        (K::Long, K::Float) => u64::from((value as i64 as f32).to_bits()),
        (K::Long, K::Double) => (value as i64 as f64).to_bits(),
        (K::Float, K::Double) => f64::from(f32::from_bits(value as u32)).to_bits(),
        _ => return None,
    })
}

/// `Method.invoke` and `Constructor.newInstance`: unboxes, calls, wraps what is thrown.
pub(crate) fn invoke(
    thread: &Thread,
    method: &'static Method,
    receiver: ObjectRef,
    arguments: ObjectRef,
) -> Result<ObjectRef, Thrown> {
    let illegal = |message: &str| thread.throw("java/lang/IllegalArgumentException", message);
    let descriptor = MethodDescriptor::parse(method.descriptor.bytes()).expect("parsed");
    let (scope, mut args) = (thread.scope(), Vec::new());
    if method.is_static() {
        method.class().initialize(thread)?;
    } else {
        if receiver.is_null() {
            return Err(thread.throw_plain("java/lang/NullPointerException"));
        }
        if !receiver.is_instance_of(method.class()) {
            return Err(illegal("object is not an instance of declaring class"));
        }
        args.push(u64::from(receiver.0));
    }
    let given = arguments.some().map_or(0, ObjectRef::length);
    if given as usize != descriptor.parameters.len() {
        return Err(illegal("wrong number of arguments"));
    }
    for (index, ty) in descriptor.parameters.iter().enumerate() {
        let value = arguments.ref_element(index as u32);
        let kind = ir::bytecode::memory_kind(ty).expect("no parameter is void");
        if kind == MemoryKind::Ref {
            let class = class_of_type(thread, method.class(), ty)?;
            if !value.is_null() && !value.is_instance_of(class) {
                return Err(illegal("argument type mismatch"));
            }
            args.push(u64::from(scope.hold(value).0));
            continue;
        }
        let unboxed = value.some().and_then(unbox);
        match unboxed.and_then(|(own, value)| widen(own, kind, value)) {
            Some(value) => args.push(value),
            None => return Err(illegal("argument type mismatch")),
        }
    }
    let target = match method.is_static() {
        true => Ok(method),
        false => thread.select(method, receiver),
    };
    match target.and_then(|target| thread.call(target, &args)) {
        Ok(value) => {
            let kind = ir::bytecode::memory_kind(&descriptor.result);
            box_value(thread, kind, value)
        }
        Err(_) => {
            let cause = thread.take_exception();
            let class = thread.boot_class("java/lang/reflect/InvocationTargetException")?;
            let constructor = class.method_named("<init>", "(Ljava/lang/Throwable;)V");
            let wrapped = thread.new_instance(class, constructor, &[cause.0.into()])?;
            Err(thread.set_exception(wrapped))
        }
    }
}

/// `Object.clone` of an object that may be cloned.
pub(crate) fn shallow_copy(thread: &Thread, object: ObjectRef) -> Result<ObjectRef, Thrown> {
    let class = object.class();
    let Some(element) = class.info.element else {
        let copy = resolve::new_object(thread, class)?;
        // Word by word: references pass the barrier.
        for offset in (header::HEADER_BYTES..class.layout.bytes).step_by(4) {
            if class.info.slots.contains(&offset) {
                copy.put_ref(offset, object.get_ref(offset));
            } else {
                copy.put(offset, object.get::<u32>(offset));
            }
        }
        return Ok(copy);
    };
    let length = object.length();
    let copy = array::new(thread, class, length as i32)?;
    if element.memory_kind() == Some(MemoryKind::Ref) {
        array::copy_elements(thread, (object, 0), (copy, 0), length);
    } else {
        let bytes = (length as usize) << class.layout.element_shift;
        array::copy_bytes(thread, object.elements(), copy.elements(), bytes);
    }
    Ok(copy)
}
