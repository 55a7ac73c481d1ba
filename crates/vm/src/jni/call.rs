// SPDX-License-Identifier: Apache-2.0
//! Calls of methods with an array of arguments.

use ir::MemoryKind;

use super::{of, outcome};
use crate::classes::class::Method;
use crate::classes::object::ObjectRef;
use crate::memory;
use crate::threads::thread::{Holds, Thread, Thrown};

/// Kinds of a method's parameters, without the receiver.
pub(crate) fn parameter_kinds(method: &'static Method) -> Vec<MemoryKind> {
    let descriptor = classfile::MethodDescriptor::parse(method.descriptor.bytes());
    let descriptor = descriptor.expect("parsed with the file");
    descriptor
        .parameters
        .iter()
        .filter_map(ir::bytecode::memory_kind)
        .collect()
}

/// A `jvalue` as managed code takes it.
fn argument(thread: &Thread, kind: MemoryKind, at: u64) -> u64 {
    match kind {
        MemoryKind::Ref => u64::from(thread.object_of(memory::read(at)).0),
        MemoryKind::Boolean => u64::from(memory::read::<u8>(at) != 0),
        MemoryKind::Byte => i32::from(memory::read::<i8>(at)) as u32 as u64,
        MemoryKind::Short => i32::from(memory::read::<i16>(at)) as u32 as u64,
        MemoryKind::Char => u64::from(memory::read::<u16>(at)),
        MemoryKind::Int | MemoryKind::Float => u64::from(memory::read::<u32>(at)),
        MemoryKind::Long | MemoryKind::Double => memory::read(at),
    }
}

/// Calls `method`; `receiver` is none for a static one.
pub(crate) fn invoke(
    thread: &Thread,
    method: &'static Method,
    receiver: Option<ObjectRef>,
    values: u64,
    is_virtual: bool,
) -> Result<u64, Thrown> {
    let mut args = Vec::new();
    if let Some(receiver) = receiver {
        if receiver.is_null() {
            return Err(thread.throw_plain("java/lang/NullPointerException"));
        }
        args.push(u64::from(receiver.0));
    } else {
        method.class().initialize(thread)?;
    }
    for (index, kind) in parameter_kinds(method).into_iter().enumerate() {
        args.push(argument(thread, kind, values + index as u64 * 8));
    }
    let method = match receiver {
        Some(receiver) if is_virtual => thread.select(method, receiver)?,
        _ => method,
    };
    // Native code holds local references only.
    thread.call_holding(Holds::Nothing, method, &args)
}

macro_rules! family {
    ($virtual:ident, $direct:ident, $static:ident, $ty:ty, |$thread:ident, $raw:ident| $convert:expr) => {
        #[unsafe(no_mangle)]
        pub(in crate::jni) extern "C" fn $virtual(
            env: u64,
            object: u64,
            method: u64,
            values: u64,
        ) -> $ty {
            let $thread = &*of(env);
            let receiver = Some($thread.object_of(object));
            let $raw = outcome(invoke($thread, Method::at(method), receiver, values, true));
            $convert
        }

        #[unsafe(no_mangle)]
        pub(in crate::jni) extern "C" fn $direct(
            env: u64,
            object: u64,
            _class: u64,
            method: u64,
            values: u64,
        ) -> $ty {
            let $thread = &*of(env);
            let receiver = Some($thread.object_of(object));
            let $raw = outcome(invoke($thread, Method::at(method), receiver, values, false));
            $convert
        }

        #[unsafe(no_mangle)]
        pub(in crate::jni) extern "C" fn $static(
            env: u64,
            _class: u64,
            method: u64,
            values: u64,
        ) -> $ty {
            let $thread = &*of(env);
            let $raw = outcome(invoke($thread, Method::at(method), None, values, false));
            $convert
        }
    };
}

mod families {
    #![allow(non_snake_case, reason = "the names are JNI's")]

    use super::*;

    family!(
        takt_CallObjectMethodA,
        takt_CallNonvirtualObjectMethodA,
        takt_CallStaticObjectMethodA,
        u64,
        |thread, raw| thread.new_local(ObjectRef(raw as u32))
    );
    family!(
        takt_CallBooleanMethodA,
        takt_CallNonvirtualBooleanMethodA,
        takt_CallStaticBooleanMethodA,
        u8,
        |_thread, raw| u8::from(raw as u32 != 0)
    );
    family!(
        takt_CallByteMethodA,
        takt_CallNonvirtualByteMethodA,
        takt_CallStaticByteMethodA,
        i8,
        |_thread, raw| raw as i8
    );
    family!(
        takt_CallCharMethodA,
        takt_CallNonvirtualCharMethodA,
        takt_CallStaticCharMethodA,
        u16,
        |_thread, raw| raw as u16
    );
    family!(
        takt_CallShortMethodA,
        takt_CallNonvirtualShortMethodA,
        takt_CallStaticShortMethodA,
        i16,
        |_thread, raw| raw as i16
    );
    family!(
        takt_CallIntMethodA,
        takt_CallNonvirtualIntMethodA,
        takt_CallStaticIntMethodA,
        i32,
        |_thread, raw| raw as i32
    );
    family!(
        takt_CallLongMethodA,
        takt_CallNonvirtualLongMethodA,
        takt_CallStaticLongMethodA,
        i64,
        |_thread, raw| raw as i64
    );
    family!(
        takt_CallFloatMethodA,
        takt_CallNonvirtualFloatMethodA,
        takt_CallStaticFloatMethodA,
        f32,
        |_thread, raw| f32::from_bits(raw as u32)
    );
    family!(
        takt_CallDoubleMethodA,
        takt_CallNonvirtualDoubleMethodA,
        takt_CallStaticDoubleMethodA,
        f64,
        |_thread, raw| f64::from_bits(raw)
    );
    family!(
        takt_CallVoidMethodA,
        takt_CallNonvirtualVoidMethodA,
        takt_CallStaticVoidMethodA,
        (),
        |_thread, raw| {
            let _ = raw;
        }
    );

    #[unsafe(no_mangle)]
    pub(in crate::jni) extern "C" fn takt_NewObjectA(
        env: u64,
        class: u64,
        method: u64,
        values: u64,
    ) -> u64 {
        let thread = &*of(env);
        outcome(new_object(
            thread,
            thread.object_of(class),
            Method::at(method),
            values,
        ))
    }
}

pub(super) use families::*;

fn new_object(
    thread: &Thread,
    mirror: ObjectRef,
    constructor: &'static Method,
    values: u64,
) -> Result<u64, Thrown> {
    let class = crate::link::mirror::class_of(mirror);
    crate::link::resolve::check_instantiable(thread, class)?;
    class.initialize(thread)?;
    let object = crate::link::resolve::new_object(thread, class)?;
    let local = thread.new_local(object);
    invoke(thread, constructor, Some(object), values, false)?;
    Ok(local)
}
