// SPDX-License-Identifier: Apache-2.0
//! The constant pool: indices that point at the right kind, names that are names (JVM
//! specification, 4.4).

use super::{illegal, name, require, shown};
use crate::{Constant, ConstantPool, Error, MethodHandleKind};

/// First versions (Java 7, 9, 11) with method handles, modules and computed constants.
const JAVA_7: u16 = 51;
const JAVA_8: u16 = 52;
const JAVA_9: u16 = 53;
const JAVA_11: u16 = 55;

pub(super) fn check(pool: &ConstantPool<'_>, major: u16, bootstraps: usize) -> Result<(), Error> {
    let all = || (0..pool.count()).map(|index| (index as u16, pool.get(index as u16)));
    for (_, constant) in all() {
        if let Constant::Utf8(bytes) = constant? {
            require(name::is_utf8(bytes, major), || {
                "Illegal UTF8 string in constant pool".to_owned()
            })?;
        }
    }
    for (index, constant) in all() {
        check_one(pool, constant?, index, major)?;
    }
    let uses = all().filter_map(|(_, constant)| match constant {
        Ok(Constant::Dynamic(bootstrap, _) | Constant::InvokeDynamic(bootstrap, _)) => {
            Some(bootstrap)
        }
        _ => None,
    });
    require(
        uses.max().is_none_or(|most| usize::from(most) < bootstraps),
        || "Short length on BootstrapMethods".to_owned(),
    )
}

fn check_one(
    pool: &ConstantPool<'_>,
    constant: Constant<'_>,
    index: u16,
    major: u16,
) -> Result<(), Error> {
    let first_version = match constant {
        Constant::MethodHandle(..) | Constant::MethodType(_) | Constant::InvokeDynamic(..) => {
            JAVA_7
        }
        Constant::Module(_) | Constant::Package(_) => JAVA_9,
        Constant::Dynamic(..) => JAVA_11,
        _ => 0,
    };
    require(major >= first_version, || {
        format!("Unknown constant at index {index}")
    })?;
    match constant {
        Constant::Class(at) => {
            let name = pool.utf8(at)?;
            require(name::is_class_or_array(name, major), || {
                format!("Illegal class name \"{}\"", shown(name))
            })
        }
        Constant::String(at) => pool.utf8(at).map(drop),
        Constant::Field(..) | Constant::Method(..) | Constant::InterfaceMethod(..) => {
            check_member(pool, constant, index)
        }
        Constant::NameAndType(name, descriptor) => {
            check_name_and_type(pool.utf8(name)?, pool.utf8(descriptor)?, major)
        }
        Constant::MethodHandle(kind, member) => check_handle(pool, kind, member, major),
        Constant::MethodType(at) => {
            let descriptor = pool.utf8(at)?;
            require(
                name::parameter_words(b"", descriptor, major).is_some(),
                || format!("Illegal method type \"{}\"", shown(descriptor)),
            )
        }
        Constant::Dynamic(_, at) => check_kind(pool.name_and_type(at)?, false),
        Constant::InvokeDynamic(_, at) => check_kind(pool.name_and_type(at)?, true),
        Constant::Module(_) | Constant::Package(_) => {
            illegal(format!("Unknown constant at index {index}"))
        }
        Constant::Unusable
        | Constant::Utf8(_)
        | Constant::Integer(_)
        | Constant::Float(_)
        | Constant::Long(_)
        | Constant::Double(_) => Ok(()),
    }
}

fn check_name_and_type(name: &[u8], descriptor: &[u8], major: u16) -> Result<(), Error> {
    if descriptor.starts_with(b"(") {
        check_method(name, descriptor, major).map(drop)
    } else {
        check_field(name, descriptor, major)
    }
}

/// Name and descriptor of a field, declared or used.
pub(super) fn check_field(name: &[u8], descriptor: &[u8], major: u16) -> Result<(), Error> {
    require(name::is_field(name, major), || {
        format!("Illegal field name \"{}\"", shown(name))
    })?;
    require(name::is_field_descriptor(descriptor, major), || {
        format!(
            "Field \"{}\" has illegal signature \"{}\"",
            shown(name),
            shown(descriptor)
        )
    })
}

/// Name and descriptor of a method, declared or used: gives the words of its parameters.
pub(super) fn check_method(name: &[u8], descriptor: &[u8], major: u16) -> Result<usize, Error> {
    require(name::is_method(name, major), || {
        format!("Illegal method name \"{}\"", shown(name))
    })?;
    match name::parameter_words(name, descriptor, major) {
        Some(words) => Ok(words),
        None => illegal(format!(
            "Method \"{}\" has illegal signature \"{}\"",
            shown(name),
            shown(descriptor)
        )),
    }
}

/// Whether the descriptor is of the kind, method or not, that its user needs.
fn check_kind((name, descriptor): (&[u8], &[u8]), is_method: bool) -> Result<(), Error> {
    require(descriptor.starts_with(b"(") == is_method, || {
        format!(
            "\"{}\" has illegal signature \"{}\"",
            shown(name),
            shown(descriptor)
        )
    })
}

fn check_member(pool: &ConstantPool<'_>, constant: Constant<'_>, index: u16) -> Result<(), Error> {
    let member = pool.member(index)?;
    let is_method = !matches!(constant, Constant::Field(..));
    check_kind((member.name, member.descriptor), is_method)?;
    let is_special = is_method && member.name.starts_with(b"<");
    let may_be_special = member.name == b"<init>" && matches!(constant, Constant::Method(..));
    require(!is_special || may_be_special, || {
        format!("Bad method name at constant pool index {index}")
    })
}

fn check_handle(
    pool: &ConstantPool<'_>,
    kind: MethodHandleKind,
    at: u16,
    major: u16,
) -> Result<(), Error> {
    use MethodHandleKind as K;
    let target = pool.get(at)?;
    let fits = match kind {
        K::GetField | K::GetStatic | K::PutField | K::PutStatic => {
            matches!(target, Constant::Field(..))
        }
        K::InvokeVirtual | K::NewInvokeSpecial => matches!(target, Constant::Method(..)),
        K::InvokeStatic | K::InvokeSpecial => {
            matches!(target, Constant::Method(..))
                || (major >= JAVA_8 && matches!(target, Constant::InterfaceMethod(..)))
        }
        K::InvokeInterface => matches!(target, Constant::InterfaceMethod(..)),
    };
    require(fits, || {
        format!("Invalid constant pool index {at} (bad method handle)")
    })?;
    let is_constructor = pool.member(at)?.name == b"<init>";
    require(is_constructor == (kind == K::NewInvokeSpecial), || {
        format!("Bad method name at constant pool index {at}")
    })
}
