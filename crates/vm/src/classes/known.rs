// SPDX-License-Identifier: Apache-2.0
//! Classes, fields and methods that the machine itself must know.

use std::sync::OnceLock;

use ir::MemoryKind;

use crate::classes::class::{Class, Method, primitive_code};

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

pub(crate) static EARLY: OnceLock<KnownEarly> = OnceLock::new();
pub(crate) static KNOWN: OnceLock<Known> = OnceLock::new();
pub(crate) static PRIMITIVES: OnceLock<Vec<(u8, &'static str, &'static Class)>> = OnceLock::new();

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
    let code = primitive_code(kind) as u8;
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

/// The offset of a field that must be there.
pub(crate) fn offset(class: &'static Class, name: &str) -> u32 {
    match class.field_named(name) {
        Some(field) => field.offset,
        None => crate::console::fatal(&format!("{} has no field {name}", class.java_name())),
    }
}
