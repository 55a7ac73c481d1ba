// SPDX-License-Identifier: Apache-2.0
//! Classes, objects, references, exceptions and the rest.

use super::{VERSION, c_bytes, c_text, of, outcome};
use crate::classes::class::Method;
use crate::classes::field_id::FieldId;
use crate::classes::object::ObjectRef;
use crate::console;
use crate::link::define::{self, Definition};
use crate::link::loader;
use crate::link::mirror;
use crate::link::resolve;
use crate::memory;
use crate::memory::symbol::Symbol;
use crate::monitors::monitor;
use crate::objects::handles;
use crate::threads::thread::{Thread, Thrown};
use crate::threads::unwind;
use compiler::machine_word;

pub(super) extern "C" fn get_version(_env: u64) -> i32 {
    VERSION
}

pub(super) extern "C" fn define_class(
    env: u64,
    name: u64,
    loader: u64,
    bytes: u64,
    size: i32,
) -> u64 {
    let thread = &*of(env);
    let name = (name != 0).then(|| Symbol::new(&c_bytes(name)));
    let copy = || memory::bytes_at(bytes, size as usize);
    let bytes = Box::leak(thread.outside(copy).into_boxed_slice());
    let loader = loader::of(thread.object_of(loader));
    let class = define::define(thread, Definition::plain(loader, name, bytes));
    outcome(class.map(|class| thread.new_local(class.mirror())))
}

/// The loader of the innermost Java frame, or the system's.
fn caller_loader(thread: &Thread) -> &'static loader::Loader {
    let mut found = None;
    unwind::walk(thread, |frame| {
        found = Some(frame.method.class().info.loader);
        false
    });
    found.unwrap_or_else(|| crate::start::boot::system_loader().unwrap_or_else(loader::boot))
}

pub(super) extern "C" fn find_class(env: u64, name: u64) -> u64 {
    let thread = &*of(env);
    let find = || {
        let name = Symbol::new(&c_bytes(name));
        let class = resolve::class_by_name(thread, caller_loader(thread), name)?;
        class.initialize(thread)?;
        Ok::<_, Thrown>(thread.new_local(class.mirror()))
    };
    outcome(find())
}

pub(super) extern "C" fn get_superclass(env: u64, class: u64) -> u64 {
    let thread = &*of(env);
    let class = mirror::class_of(thread.object_of(class));
    if class.is_interface() {
        return 0;
    }
    class
        .super_class()
        .map_or(0, |parent| thread.new_local(parent.mirror()))
}

pub(super) extern "C" fn is_assignable_from(env: u64, sub: u64, parent: u64) -> u8 {
    let thread = &*of(env);
    let class = |reference| mirror::class_of(thread.object_of(reference));
    u8::from(class(sub).is_subtype_of(class(parent)))
}

pub(super) extern "C" fn throw(env: u64, exception: u64) -> i32 {
    let thread = &*of(env);
    let _ = thread.set_exception(thread.object_of(exception));
    0
}

pub(super) extern "C" fn throw_new(env: u64, class: u64, message: u64) -> i32 {
    let thread = &*of(env);
    let class = mirror::class_of(thread.object_of(class));
    let constructor = class.method_named("<init>", "(Ljava/lang/String;)V");
    let make = || {
        let text = if message == 0 {
            ObjectRef::NULL
        } else {
            crate::objects::string::new_string(thread, &c_text(message))?
        };
        thread.new_instance(class, constructor, &[text.0.into()])
    };
    if let Ok(exception) = make() {
        let _ = thread.set_exception(exception);
    }
    0
}

pub(super) extern "C" fn exception_occurred(env: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(thread.exception())
}

pub(super) extern "C" fn exception_check(env: u64) -> u8 {
    u8::from(!of(env).exception().is_null())
}

pub(super) extern "C" fn exception_clear(env: u64) {
    of(env).take_exception();
}

/// Prints as an uncaught exception's thread does.
pub(super) extern "C" fn exception_describe(env: u64) {
    let thread = &*of(env);
    let Some(exception) = thread.take_exception().some() else {
        return;
    };
    crate::start::boot::print_uncaught(thread, exception);
}

pub(super) extern "C" fn fatal_error(_env: u64, message: u64) {
    console::fatal(&format!("JNI FatalError: {}", c_text(message)));
}

/// Whether there is room for so many local references: 0, or JNI_ERR, with an OutOfMemoryError if
/// it is too many.
fn capacity(thread: &Thread, count: i32) -> i32 {
    match u32::try_from(count) {
        Ok(count) if thread.has_room_for_locals(count) => 0,
        Ok(_) => {
            let _ = thread.throw_locals_full();
            -1
        }
        Err(_) => -1,
    }
}

pub(super) extern "C" fn push_local_frame(env: u64, count: i32) -> i32 {
    let thread = &*of(env);
    if capacity(thread, count) != 0 {
        return -1;
    }
    thread
        .local_frames
        .borrow_mut()
        .push(thread.word(machine_word::LOCALS_TOP));
    0
}

pub(super) extern "C" fn pop_local_frame(env: u64, result: u64) -> u64 {
    let thread = &*of(env);
    let object = thread.object_of(result);
    let mark = thread.local_frames.borrow_mut().pop();
    // One that a native method left behind is above what there is.
    if let Some(mark) = mark.filter(|&mark| mark <= thread.word(machine_word::LOCALS_TOP)) {
        thread.set_word(machine_word::LOCALS_TOP, mark);
    }
    thread.new_local(object)
}

pub(super) extern "C" fn new_global_ref(env: u64, reference: u64) -> u64 {
    let thread = &*of(env);
    handles::new(thread, thread.object_of(reference))
}

pub(super) extern "C" fn delete_global_ref(_env: u64, reference: u64) {
    handles::free(reference);
}

pub(super) extern "C" fn new_weak_global_ref(env: u64, reference: u64) -> u64 {
    let thread = &*of(env);
    outcome(handles::new_weak(thread, thread.object_of(reference)))
}

pub(super) extern "C" fn delete_weak_global_ref(_env: u64, reference: u64) {
    handles::free(reference);
}

pub(super) extern "C" fn delete_local_ref(env: u64, reference: u64) {
    let thread = &*of(env);
    if reference == 0 {
        return;
    }
    memory::write(reference, 0_u32);
    if reference + 8 == thread.word(machine_word::LOCALS_TOP) {
        thread.set_word(machine_word::LOCALS_TOP, reference);
    }
}

pub(super) extern "C" fn is_same_object(env: u64, first: u64, second: u64) -> u8 {
    let thread = &*of(env);
    u8::from(thread.object_of(first) == thread.object_of(second))
}

pub(super) extern "C" fn new_local_ref(env: u64, reference: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(thread.object_of(reference))
}

pub(super) extern "C" fn ensure_local_capacity(env: u64, count: i32) -> i32 {
    capacity(&of(env), count)
}

pub(super) extern "C" fn alloc_object(env: u64, class: u64) -> u64 {
    let thread = &*of(env);
    let class = mirror::class_of(thread.object_of(class));
    let make = || {
        resolve::check_instantiable(thread, class)?;
        class.initialize(thread)?;
        Ok::<_, Thrown>(thread.new_local(resolve::new_object(thread, class)?))
    };
    outcome(make())
}

pub(super) extern "C" fn get_object_class(env: u64, object: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(thread.object_of(object).class().mirror())
}

pub(super) extern "C" fn is_instance_of(env: u64, object: u64, class: u64) -> u8 {
    let thread = &*of(env);
    let class = mirror::class_of(thread.object_of(class));
    let object = thread.object_of(object);
    u8::from(object.is_null() || object.is_instance_of(class))
}

pub(super) extern "C" fn from_reflected_method(env: u64, method: u64) -> u64 {
    let thread = &*of(env);
    crate::invoke::reflect::method_of(thread.object_of(method)).address()
}

pub(super) extern "C" fn from_reflected_field(env: u64, field: u64) -> u64 {
    let thread = &*of(env);
    let (class, field) = crate::invoke::reflect::field_of(thread.object_of(field));
    FieldId::address(class, field)
}

pub(super) extern "C" fn to_reflected_method(
    env: u64,
    _class: u64,
    method: u64,
    _is_static: u8,
) -> u64 {
    let thread = &*of(env);
    let made = crate::invoke::reflect::executable(thread, Method::at(method));
    outcome(made.map(|object| thread.new_local(object)))
}

pub(super) extern "C" fn to_reflected_field(
    env: u64,
    _class: u64,
    field: u64,
    _is_static: u8,
) -> u64 {
    let thread = &*of(env);
    let id = FieldId::at(field);
    outcome(
        crate::invoke::reflect::field(thread, id.class, id.field)
            .map(|object| thread.new_local(object)),
    )
}

/// `JNINativeMethod`: name, descriptor, function.
const NATIVE_METHOD_BYTES: u64 = 24;

pub(super) extern "C" fn register_natives(env: u64, class: u64, methods: u64, count: i32) -> i32 {
    let thread = &*of(env);
    let class = mirror::class_of(thread.object_of(class));
    for index in 0..count as u64 {
        let row = methods + index * NATIVE_METHOD_BYTES;
        let name = Symbol::new(&c_bytes(memory::read(row)));
        let descriptor = Symbol::new(&c_bytes(memory::read(row + 8)));
        match class
            .declared_method(name, descriptor)
            .filter(|method| method.is_native())
        {
            Some(method) => {
                let function = memory::read(row + 16);
                method
                    .native
                    .store(function, core::sync::atomic::Ordering::Release);
            }
            None => {
                let message = format!(
                    "Method {}.{name}{descriptor} not found or not native",
                    class.java_name()
                );
                let _ = thread.throw("java/lang/NoSuchMethodError", &message);
                return -1;
            }
        }
    }
    0
}

pub(super) extern "C" fn unregister_natives(env: u64, class: u64) -> i32 {
    let class = mirror::class_of(of(env).object_of(class));
    for method in class
        .info
        .methods
        .iter()
        .filter(|method| method.is_native())
    {
        method
            .native
            .store(0, core::sync::atomic::Ordering::Release);
    }
    0
}

pub(super) extern "C" fn monitor_enter(env: u64, object: u64) -> i32 {
    let thread = &*of(env);
    let object = thread.object_of(object);
    // Noted first: to wait is a safepoint, and the reference may be global.
    thread.native_locks.note(object);
    monitor::enter(thread, object);
    0
}

pub(super) extern "C" fn monitor_exit(env: u64, object: u64) -> i32 {
    let thread = &*of(env);
    let object = thread.object_of(object);
    if monitor::exit(thread, object).is_ok() {
        thread.native_locks.take(object, 0);
        0
    } else {
        -1
    }
}

pub(super) extern "C" fn get_java_vm(_env: u64, vm: u64) -> i32 {
    memory::write(vm, super::invocation::vm_address());
    0
}

pub(super) extern "C" fn new_direct_byte_buffer(env: u64, address: u64, capacity: i64) -> u64 {
    let thread = &*of(env);
    let args = [address, capacity as u32 as u64];
    let make = || {
        let class = thread.boot_class("java/nio/DirectByteBuffer")?;
        let constructor = class.method_named("<init>", "(JI)V");
        thread.new_instance(class, constructor, &args)
    };
    outcome(make().map(|buffer| thread.new_local(buffer)))
}

fn buffer_field(env: u64, buffer: u64, name: &str) -> Option<(ObjectRef, u32)> {
    let thread = &*of(env);
    let buffer = thread.object_of(buffer).some()?;
    let direct = crate::classes::loader::loaded("sun/nio/ch/DirectBuffer")?;
    if !buffer.is_instance_of(direct) {
        return None;
    }
    Some((buffer, buffer.class().field_named(name)?.offset))
}

pub(super) extern "C" fn get_direct_buffer_address(env: u64, buffer: u64) -> u64 {
    buffer_field(env, buffer, "address").map_or(0, |(buffer, offset)| buffer.get(offset))
}

pub(super) extern "C" fn get_direct_buffer_capacity(env: u64, buffer: u64) -> i64 {
    buffer_field(env, buffer, "capacity")
        .map_or(-1, |(buffer, offset)| i64::from(buffer.get::<i32>(offset)))
}

/// 1 local, 2 global, 3 weak: by where the slot lies and by its mark.
pub(super) extern "C" fn get_object_ref_type(env: u64, reference: u64) -> i32 {
    match reference {
        0 => 0,
        weak if weak & handles::WEAK != 0 => 3,
        local if of(env).is_local(local) => 1,
        _ => 2,
    }
}

pub(super) extern "C" fn get_module(env: u64, class: u64) -> u64 {
    let thread = &*of(env);
    let mirror = thread.object_of(class);
    thread.new_local(mirror.get_ref(crate::classes::known::known().mirror_module))
}
