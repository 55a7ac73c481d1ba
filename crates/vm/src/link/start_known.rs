// SPDX-License-Identifier: Apache-2.0
//! Linking the classes that the machine itself must know, and finding their fields.

use ir::MemoryKind;

use crate::classes::known::{self, Known, KnownEarly, OWN_LAYOUT, offset, primitive_of};
use crate::link::define;
use crate::threads::thread::{Thread, Thrown};

/// Links the first classes and finds the fields.
pub(crate) fn start(thread: &Thread) -> Result<(), Thrown> {
    let boot = |name: &str| thread.boot_class(name);
    let object = boot("java/lang/Object")?;
    let array_interfaces = vec![boot("java/lang/Cloneable")?, boot("java/io/Serializable")?];
    let _ = known::EARLY.set(KnownEarly {
        object,
        array_interfaces,
    });
    let kinds = [
        ("boolean", Some(MemoryKind::Boolean)),
        ("char", Some(MemoryKind::Char)),
        ("float", Some(MemoryKind::Float)),
        ("double", Some(MemoryKind::Double)),
        ("byte", Some(MemoryKind::Byte)),
        ("short", Some(MemoryKind::Short)),
        ("int", Some(MemoryKind::Int)),
        ("long", Some(MemoryKind::Long)),
        ("void", None),
    ];
    let primitives = kinds.map(|(name, kind)| {
        (
            crate::classes::class::primitive_code(kind) as u8,
            name,
            define::primitive(name, kind),
        )
    });
    let _ = known::PRIMITIVES.set(primitives.to_vec());
    let class = boot("java/lang/Class")?;
    let string = boot("java/lang/String")?;
    let throwable = boot("java/lang/Throwable")?;
    let class_loader = boot("java/lang/ClassLoader")?;
    let java_thread = boot("java/lang/Thread")?;
    let load_class =
        class_loader.method_named("loadClass", "(Ljava/lang/String;)Ljava/lang/Class;");
    let byte = primitive_of(Some(MemoryKind::Byte));
    let all = Known {
        object,
        class,
        string,
        byte_array: define::array_of(thread, byte)?,
        object_array: define::array_of(thread, object)?,
        class_array: define::array_of(thread, class)?,
        string_value: offset(string, "value"),
        string_coder: offset(string, "coder"),
        mirror_class: offset(class, "$class"),
        mirror_layout: offset(class, OWN_LAYOUT),
        mirror_loader: offset(class, "classLoader"),
        mirror_module: offset(class, "module"),
        mirror_component: offset(class, "componentType"),
        mirror_data: offset(class, "classData"),
        mirror_name: offset(class, "name"),
        loader_id: offset(class_loader, "$loader"),
        throwable_cause: offset(throwable, "cause"),
        throwable_message: offset(throwable, "detailMessage"),
        throwable_depth: offset(throwable, "depth"),
        throwable_backtrace: offset(throwable, "backtrace"),
        throwable_trace: offset(throwable, "stackTrace"),
        thread: java_thread,
        thread_native: offset(java_thread, "eetop"),
        thread_status: offset(java_thread, "threadStatus"),
        thread_interrupted: offset(java_thread, "interrupted"),
        load_class: load_class.expect("ClassLoader loads classes"),
    };
    let _ = known::KNOWN.set(all);
    Ok(())
}
