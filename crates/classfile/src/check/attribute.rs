// SPDX-License-Identifier: Apache-2.0
//! Attributes of classes, and those that fields and methods have in common (JVM specification,
//! 4.7).

use super::constants::check_field;
use super::{Once, check_size, flags, require, shown};
use crate::{
    ClassFile, Constant, ConstantPool, Error, access, member::for_each_attribute, reader::Reader,
};

/// First versions (Java 5, 7, 11, 16, 17) in which an attribute means something.
const JAVA_5: u16 = 49;
const JAVA_7: u16 = 51;
const JAVA_11: u16 = 55;
const JAVA_16: u16 = 60;
const JAVA_17: u16 = 61;

/// An attribute of the class itself.
pub(super) fn check<'a>(
    file: &ClassFile<'_>,
    name: &'a [u8],
    body: &[u8],
    seen: &mut Once<'a>,
) -> Result<(), Error> {
    const WHAT: &str = "class attribute";
    let (pool, major) = (&file.constants, file.major);
    let mut reader = Reader::new(body);
    match name {
        b"SourceFile" => {
            check_size(name, body, 2)?;
            seen.check(name)
        }
        b"SourceDebugExtension" => seen.check(name),
        b"InnerClasses" => {
            check_inner_classes(file, body)?;
            seen.check(name)
        }
        b"EnclosingMethod" if major >= JAVA_5 => {
            check_size(name, body, 4)?;
            pool.class_name(reader.u16(WHAT)?)?;
            match reader.u16(WHAT)? {
                0 => {}
                method => drop(pool.name_and_type(method)?),
            }
            seen.check(name)
        }
        b"BootstrapMethods" if major >= JAVA_7 => {
            check_bootstrap_methods(file, body)?;
            seen.check(name)
        }
        b"NestHost" if major >= JAVA_11 => {
            check_size(name, body, 2)?;
            pool.class_name(reader.u16(WHAT)?)?;
            seen.check(name)
        }
        b"NestMembers" if major >= JAVA_11 => {
            check_classes(pool, name, body)?;
            seen.check(name)
        }
        b"PermittedSubclasses" if major >= JAVA_17 => {
            require(file.access & access::FINAL == 0, || {
                "PermittedSubclasses attribute in final class".to_owned()
            })?;
            check_classes(pool, name, body)?;
            seen.check(name)
        }
        b"Record" if major >= JAVA_16 => {
            check_record(file, body)?;
            seen.check(name)
        }
        _ => check_common(file, name, body, seen),
    }
}

/// An attribute that more than one kind of thing may have.
pub(super) fn check_common<'a>(
    file: &ClassFile<'_>,
    name: &'a [u8],
    body: &[u8],
    seen: &mut Once<'a>,
) -> Result<(), Error> {
    match name {
        b"Synthetic" | b"Deprecated" => check_size(name, body, 0),
        b"Signature" if file.major >= JAVA_5 => {
            check_size(name, body, 2)?;
            file.constants.utf8(Reader::new(body).u16("Signature")?)?;
            seen.check(name)
        }
        b"Exceptions" => {
            check_classes(&file.constants, name, body)?;
            seen.check(name)
        }
        b"MethodParameters" => {
            let count = usize::from(Reader::new(body).u8("MethodParameters")?);
            check_size(name, body, 1 + 4 * count)?;
            seen.check(name)
        }
        b"Code"
        | b"ConstantValue"
        | b"AnnotationDefault"
        | b"RuntimeVisibleAnnotations"
        | b"RuntimeInvisibleAnnotations"
        | b"RuntimeVisibleParameterAnnotations"
        | b"RuntimeInvisibleParameterAnnotations"
        | b"RuntimeVisibleTypeAnnotations"
        | b"RuntimeInvisibleTypeAnnotations" => seen.check(name),
        _ => Ok(()),
    }
}

/// A counted list of classes and nothing behind it.
fn check_classes(pool: &ConstantPool<'_>, name: &[u8], body: &[u8]) -> Result<(), Error> {
    let classes = Reader::new(body).u16_list("list of classes")?;
    check_size(name, body, 2 + 2 * classes.len())?;
    classes
        .iter()
        .try_for_each(|&class| pool.class_name(class).map(drop))
}

fn check_inner_classes(file: &ClassFile<'_>, body: &[u8]) -> Result<(), Error> {
    let pool = &file.constants;
    check_size(b"InnerClasses", body, 2 + 8 * file.inner_classes.len())?;
    let mut rows = Vec::with_capacity(file.inner_classes.len());
    for row in &file.inner_classes {
        pool.class_name(row.inner)?;
        if row.outer != 0 {
            let outer = pool.class_name(row.outer)?;
            require(!outer.starts_with(b"["), || {
                "Outer class is an array class".to_owned()
            })?;
        }
        if row.name != 0 {
            pool.utf8(row.name)?;
        }
        require(row.inner != row.outer, || {
            "Class is both outer and inner class".to_owned()
        })?;
        require(flags::is_class(row.access, file.major), || {
            format!(
                "Illegal class modifiers 0x{:X} of an inner class",
                row.access
            )
        })?;
        rows.push((row.inner, row.outer, row.name, row.access));
    }
    rows.sort_unstable();
    require(
        file.major < JAVA_5 || rows.is_sorted_by(|one, other| one < other),
        || "Duplicate entry in InnerClasses attribute".to_owned(),
    )
}

fn check_bootstrap_methods(file: &ClassFile<'_>, body: &[u8]) -> Result<(), Error> {
    let pool = &file.constants;
    let mut size = 2;
    for method in &file.bootstrap_methods {
        size += 4 + 2 * method.arguments.len();
        let is_handle = matches!(pool.get(method.handle)?, Constant::MethodHandle(..));
        require(is_handle, || {
            format!(
                "bootstrap_method_index {} has bad constant type",
                method.handle
            )
        })?;
        for &argument in &method.arguments {
            let constant = pool.get(argument)?;
            let is_loadable = matches!(
                constant,
                Constant::Integer(_)
                    | Constant::Float(_)
                    | Constant::Long(_)
                    | Constant::Double(_)
                    | Constant::Class(_)
                    | Constant::String(_)
                    | Constant::MethodHandle(..)
                    | Constant::MethodType(_)
                    | Constant::Dynamic(..)
            );
            require(is_loadable, || {
                format!("argument_index {argument} has bad constant type")
            })?;
        }
    }
    check_size(b"BootstrapMethods", body, size)
}

fn check_record(file: &ClassFile<'_>, body: &[u8]) -> Result<(), Error> {
    const WHAT: &str = "Record";
    let mut reader = Reader::new(body);
    for _ in 0..reader.u16(WHAT)? {
        let (name, descriptor) = (reader.u16(WHAT)?, reader.u16(WHAT)?);
        let (name, descriptor) = (file.constants.utf8(name)?, file.constants.utf8(descriptor)?);
        check_field(name, descriptor, file.major)?;
        let mut seen = Once::default();
        for_each_attribute(&mut reader, &file.constants, |name, body| {
            check_common(file, name, body, &mut seen)
        })?;
    }
    require(reader.is_empty(), || {
        format!("{} attribute has wrong length", shown(b"Record"))
    })
}
