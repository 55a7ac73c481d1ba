// SPDX-License-Identifier: Apache-2.0
//! Texts of errors, as HotSpot words them.

use classfile::{FieldType, MethodDescriptor, Primitive};

use crate::class::{Class, ClassKind, Method};
use crate::loader::Loader;
use crate::mirror;
use crate::symbol::Symbol;

/// A type as the language writes it.
pub(crate) fn type_name(ty: &FieldType<'_>) -> String {
    match ty {
        FieldType::Void => "void".into(),
        FieldType::Primitive(primitive) => match primitive {
            Primitive::Boolean => "boolean",
            Primitive::Char => "char",
            Primitive::Float => "float",
            Primitive::Double => "double",
            Primitive::Byte => "byte",
            Primitive::Short => "short",
            Primitive::Int => "int",
            Primitive::Long => "long",
        }
        .into(),
        FieldType::Class(name) => classfile::to_string_lossy(name).replace('/', "."),
        FieldType::Array(descriptor) => match FieldType::parse(&descriptor[1..]) {
            Ok(element) => format!("{}[]", type_name(&element)),
            Err(_) => classfile::to_string_lossy(descriptor),
        },
    }
}

/// `int pack.Class.name(long, java.lang.String)`.
pub(crate) fn method(holder: &'static Class, name: Symbol, descriptor: Symbol) -> String {
    let Ok(parsed) = MethodDescriptor::parse(descriptor.bytes()) else {
        return format!("{}.{name}{descriptor}", holder.java_name());
    };
    let parameters: Vec<_> = parsed.parameters.iter().map(type_name).collect();
    let result = type_name(&parsed.result);
    format!(
        "{result} {}.{name}({})",
        holder.java_name(),
        parameters.join(", ")
    )
}

/// The name of an array class as the language writes it.
fn external_name(class: &'static Class) -> String {
    match class.info.element {
        Some(element) => format!("{}[]", external_name(element)),
        None => class.java_name(),
    }
}

/// Which module and loader a class is of, for cast errors.
fn home(class: &'static Class) -> String {
    let mut innermost = class;
    while let Some(element) = innermost.info.element {
        innermost = element;
    }
    if matches!(innermost.info.kind, ClassKind::Primitive(_)) {
        return "module java.base of loader 'bootstrap'".into();
    }
    let loader = mirror::loader_name(innermost.info.loader);
    match mirror::module_name(innermost) {
        Some((module, Some(version))) => format!("module {module}@{version} of loader {loader}"),
        Some((module, None)) => format!("module {module} of loader {loader}"),
        None => format!("unnamed module of loader {loader}"),
    }
}

/// `A and B are in …`, or where each of them is.
fn homes(first: &'static Class, second: &'static Class) -> String {
    let (first_name, second_name) = (external_name(first), external_name(second));
    let (first_home, second_home) = (home(first), home(second));
    if first_home == second_home {
        format!("{first_name} and {second_name} are in {first_home}")
    } else {
        format!("{first_name} is in {first_home}; {second_name} is in {second_home}")
    }
}

/// As [`homes`], of a class that is not there yet. Application classes have no modules of their own here.
pub(crate) fn homes_of_heir(name: &str, loader: &'static Loader, parent: &'static Class) -> String {
    let own_home = format!("unnamed module of loader {}", mirror::loader_name(loader));
    let (parent_name, parent_home) = (external_name(parent), home(parent));
    if own_home == parent_home {
        format!("{name} and {parent_name} are in {own_home}")
    } else {
        format!("{name} is in {own_home}; {parent_name} is in {parent_home}")
    }
}

/// `class A cannot be cast to class B (…)`.
pub(crate) fn cast(own: &'static Class, target: &'static Class) -> String {
    let (own_name, target_name) = (external_name(own), external_name(target));
    let homes = homes(own, target);
    format!("class {own_name} cannot be cast to class {target_name} ({homes})")
}

/// `failed to access class A from class B (…)`.
pub(crate) fn hidden_class(from: &'static Class, class: &'static Class) -> String {
    let (name, from_name) = (external_name(class), external_name(from));
    let homes = homes(class, from);
    format!("failed to access class {name} from class {from_name} ({homes})")
}

/// `class A tried to access private field B.f (…)`; `member` is the part from `private` on.
pub(crate) fn hidden_member(from: &'static Class, holder: &'static Class, member: &str) -> String {
    let from_name = external_name(from);
    let homes = homes(from, holder);
    format!("class {from_name} tried to access {member} ({homes})")
}

pub(crate) fn wrong_kind_of_class(holder: &'static Class) -> String {
    let name = holder.java_name();
    if holder.is_interface() {
        format!("Found interface {name}, but class was expected")
    } else {
        format!("Found class {name}, but interface was expected")
    }
}

pub(crate) fn abstract_method(class: &'static Class, called: &'static Method) -> String {
    let name = class.java_name();
    let method = method(called.class(), called.name, called.descriptor);
    format!(
        "Receiver class {name} does not define or inherit an implementation of the resolved method 'abstract {method}' of interface {}.",
        called.class().java_name()
    )
}
