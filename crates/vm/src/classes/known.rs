// SPDX-License-Identifier: Apache-2.0
//! Classes, fields and methods that the machine itself must know.

use std::sync::OnceLock;

use ir::MemoryKind;

use crate::classes::class::{Class, Method};
use crate::link::loader;
use crate::link::{build, define};
use crate::memory::symbol::Symbol;
use crate::threads::thread::{Thread, Thrown};

/// What array classes are made from; there before everything else.
pub(crate) struct KnownEarly {
    pub(crate) object: &'static Class,
    pub(crate) array_interfaces: Vec<&'static Class>,
}

/// Well-known classes with the offsets of their fields.
pub(crate) struct Known {
    pub(crate) object: &'static Class,
    pub(crate) class: &'static Class,
    pub(crate) string: &'static Class,
    pub(crate) byte_array: &'static Class,
    pub(crate) object_array: &'static Class,
    pub(crate) class_array: &'static Class,
    pub(crate) string_value: u32,
    pub(crate) string_coder: u32,
    pub(crate) mirror_class: u32,
    pub(crate) mirror_layout: u32,
    pub(crate) mirror_loader: u32,
    pub(crate) mirror_module: u32,
    pub(crate) mirror_component: u32,
    pub(crate) mirror_data: u32,
    pub(crate) mirror_name: u32,
    pub(crate) loader_id: u32,
    pub(crate) throwable_cause: u32,
    pub(crate) throwable_message: u32,
    pub(crate) throwable_depth: u32,
    pub(crate) throwable_backtrace: u32,
    pub(crate) throwable_trace: u32,
    pub(crate) thread: &'static Class,
    pub(crate) thread_native: u32,
    pub(crate) thread_status: u32,
    pub(crate) thread_interrupted: u32,
    pub(crate) load_class: &'static Method,
}

/// The field of a class object that names its layout.
pub(crate) const OWN_LAYOUT: &str = "$layout";

static EARLY: OnceLock<KnownEarly> = OnceLock::new();
static KNOWN: OnceLock<Known> = OnceLock::new();
static PRIMITIVES: OnceLock<Vec<(u8, &'static str, &'static Class)>> = OnceLock::new();

pub(crate) fn known_early() -> &'static KnownEarly {
    EARLY
        .get()
        .expect("Object, Cloneable and Serializable come first")
}

/// Ready once the first classes are linked.
pub(crate) fn known() -> &'static Known {
    KNOWN
        .get()
        .expect("the first classes are linked before their fields are used")
}

pub(crate) fn is_known() -> bool {
    KNOWN.get().is_some()
}

/// A primitive type's class by the letter of descriptors.
pub(crate) fn primitive_by_code(code: u8) -> Option<&'static Class> {
    let found = PRIMITIVES
        .get()?
        .iter()
        .find(|(letter, ..)| *letter == code);
    found
        .filter(|(letter, ..)| *letter != b'V')
        .map(|&(.., class)| class)
}

/// A primitive type's class by its name, void included.
pub(crate) fn primitive_by_name(name: &str) -> Option<&'static Class> {
    PRIMITIVES
        .get()?
        .iter()
        .find(|(_, own, _)| *own == name)
        .map(|&(.., class)| class)
}

/// The class of a primitive kind, or of void.
pub(crate) fn primitive_of(kind: Option<MemoryKind>) -> &'static Class {
    let code = build::primitive_code(kind) as u8;
    let all = PRIMITIVES.get().expect("made at start");
    all.iter()
        .find(|(letter, ..)| *letter == code)
        .expect("all are there")
        .2
}

/// All primitive classes.
pub(crate) fn primitives() -> Vec<&'static Class> {
    PRIMITIVES
        .get()
        .expect("made at start")
        .iter()
        .map(|&(.., class)| class)
        .collect()
}

/// Links the first classes and finds the fields.
pub(crate) fn start(thread: &Thread) -> Result<(), Thrown> {
    let boot = |name: &str| thread.boot_class(name);
    let object = boot("java/lang/Object")?;
    let array_interfaces = vec![boot("java/lang/Cloneable")?, boot("java/io/Serializable")?];
    let _ = EARLY.set(KnownEarly {
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
            build::primitive_code(kind) as u8,
            name,
            define::primitive(name, kind),
        )
    });
    let _ = PRIMITIVES.set(primitives.to_vec());
    let class = boot("java/lang/Class")?;
    let string = boot("java/lang/String")?;
    let throwable = boot("java/lang/Throwable")?;
    let class_loader = boot("java/lang/ClassLoader")?;
    let java_thread = boot("java/lang/Thread")?;
    let load_class =
        class_loader.method_named("loadClass", "(Ljava/lang/String;)Ljava/lang/Class;");
    let byte = primitive_of(Some(MemoryKind::Byte));
    let known = Known {
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
    let _ = KNOWN.set(known);
    Ok(())
}

/// The offset of a field that must be there.
pub(crate) fn offset(class: &'static Class, name: &str) -> u32 {
    match class.field_named(name) {
        Some(field) => field.offset,
        None => crate::console::fatal(&format!("{} has no field {name}", class.java_name())),
    }
}

/// A boot class by name, if it was loaded before.
pub(crate) fn loaded(name: &str) -> Option<&'static Class> {
    loader::boot().loaded(Symbol::new(name.as_bytes()))
}
