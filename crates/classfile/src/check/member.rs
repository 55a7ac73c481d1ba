// SPDX-License-Identifier: Apache-2.0
//! Fields and methods (JVM specification, 4.5, 4.6).

use super::constants::{check_field, check_method};
use super::{Once, attribute, check_size, code, flags, illegal, require, shown};
use crate::{
    ClassFile, Constant, ConstantPool, Error, FieldType, Primitive, access,
    member::for_each_attribute, reader::Reader,
};

/// Words of a method's parameters, the receiver included.
const PARAMETER_WORDS_MAX: usize = 255;

pub(super) fn check_fields<'a>(file: &ClassFile<'a>, reader: &mut Reader<'a>) -> Result<(), Error> {
    let is_in_interface = file.access & access::INTERFACE != 0;
    reader.u16("fields")?;
    for field in &file.fields {
        // As parsed: flags, name, descriptor.
        reader.take(6, "field")?;
        require(
            flags::is_field(field.access, is_in_interface, file.major),
            || format!("Illegal field modifiers 0x{:X}", field.access),
        )?;
        check_field(field.name, field.descriptor, file.major)?;
        let is_static = field.access & access::STATIC != 0;
        let mut seen = Once::default();
        for_each_attribute(reader, &file.constants, |name, body| {
            if name == b"ConstantValue" {
                if !is_static {
                    return Ok(());
                }
                check_size(name, body, 2)?;
                check_constant(&file.constants, field.descriptor, body)?;
            }
            attribute::check_common(file, name, body, &mut seen)
        })?;
    }
    let signatures = file.fields.iter().map(|it| (it.name, it.descriptor));
    check_once("field", signatures.collect())
}

fn check_once(what: &str, mut signatures: Vec<(&[u8], &[u8])>) -> Result<(), Error> {
    signatures.sort_unstable();
    match signatures.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let (name, descriptor) = pair[0];
            illegal(format!(
                "Duplicate {what} name \"{}\" with signature \"{}\"",
                shown(name),
                shown(descriptor)
            ))
        }
        None => Ok(()),
    }
}

/// The constant that a static field starts with fits its type.
fn check_constant(pool: &ConstantPool<'_>, descriptor: &[u8], body: &[u8]) -> Result<(), Error> {
    let constant = pool.get(Reader::new(body).u16("ConstantValue")?)?;
    let fits = match FieldType::parse(descriptor)? {
        FieldType::Primitive(Primitive::Long) => matches!(constant, Constant::Long(_)),
        FieldType::Primitive(Primitive::Double) => matches!(constant, Constant::Double(_)),
        FieldType::Primitive(Primitive::Float) => matches!(constant, Constant::Float(_)),
        FieldType::Primitive(_) => matches!(constant, Constant::Integer(_)),
        FieldType::Class(b"java/lang/String") => matches!(constant, Constant::String(_)),
        _ => false,
    };
    require(fits, || "Inconsistent constant value type".to_owned())
}

pub(super) fn check_methods<'a>(
    file: &ClassFile<'a>,
    reader: &mut Reader<'a>,
) -> Result<(), Error> {
    let is_in_interface = file.access & access::INTERFACE != 0;
    reader.u16("methods")?;
    for method in &file.methods {
        // As parsed: flags, name, descriptor.
        reader.take(6, "method")?;
        let (name, has) = (method.name, |flag: u16| method.access & flag != 0);
        let mut words = check_method(name, method.descriptor, file.major)?;
        if name == b"<clinit>" {
            require(has(access::STATIC), || {
                "Method <clinit> is not static".to_owned()
            })?;
        } else {
            require(
                flags::is_method(method.access, name, is_in_interface, file.major),
                || {
                    format!(
                        "Method {} has illegal modifiers: 0x{:X}",
                        shown(name),
                        method.access
                    )
                },
            )?;
        }
        require(!is_in_interface || name != b"<init>", || {
            "Interface cannot have a method named <init>".to_owned()
        })?;
        words += usize::from(!has(access::STATIC));
        require(words <= PARAMETER_WORDS_MAX, || {
            "Too many arguments in method signature".to_owned()
        })?;
        let has_code = !has(access::NATIVE | access::ABSTRACT);
        let mut seen = Once::default();
        for_each_attribute(reader, &file.constants, |name, body| {
            if name == b"Code" {
                require(has_code, || {
                    "Code attribute in native or abstract methods".to_owned()
                })?;
                code::check(file, body, words)?;
            }
            attribute::check_common(file, name, body, &mut seen)
        })?;
        require(method.code.is_some() == has_code, || {
            "Absent Code attribute in method that is not native or abstract".to_owned()
        })?;
    }
    let signatures = file.methods.iter().map(|it| (it.name, it.descriptor));
    check_once("method", signatures.collect())
}
