// SPDX-License-Identifier: Apache-2.0
//! Types and values of AIDL as Rust writes them.

use super::names::{simple, upper};
use super::{Writer, proxy};
use crate::check::Named;
use crate::error::{Fault, unsupported};
use crate::model::*;

impl Writer<'_> {
    /// The type of a value that somebody owns.
    pub(super) fn owned(&self, of: &Type) -> Result<String, Fault> {
        let item = self.item(of)?;
        Ok(match (of.form, of.is_nullable) {
            (Form::Single, false) => item,
            (Form::Single, true) => format!("Option<{item}>"),
            (_, false) => format!("Vec<{item}>"),
            (_, true) => format!("Option<Vec<{item}>>"),
        })
    }

    /// The type of an argument that goes in: numbers as they are, others borrowed.
    pub(super) fn borrowed(&self, of: &Type) -> Result<String, Fault> {
        let item = self.item(of)?;
        let lent = match of.form {
            Form::Single if self.is_number(of) => return Ok(item),
            Form::Single if of.base == Base::Text => "&str".into(),
            Form::Single => format!("&{item}"),
            _ => format!("&[{item}]"),
        };
        Ok(if of.is_nullable {
            format!("Option<{lent}>")
        } else {
            lent
        })
    }

    /// How a value that is owned is lent as an argument.
    pub(super) fn lend(&self, of: &Type, name: &str) -> String {
        let has_slice = of.form != Form::Single || of.base == Base::Text;
        if of.form == Form::Single && self.is_number(of) {
            name.into()
        } else if !of.is_nullable {
            format!("&{name}")
        } else if has_slice {
            format!("{name}.as_deref()")
        } else {
            format!("{name}.as_ref()")
        }
    }

    fn is_number(&self, of: &Type) -> bool {
        match &of.base {
            Base::Primitive(_) => true,
            Base::Named(it) => matches!(self.library.named(it), Named::Enum(_)),
            _ => false,
        }
    }

    /// One of them; of arrays and lists that may be null each item may be.
    fn item(&self, of: &Type) -> Result<String, Fault> {
        let item = match &of.base {
            // Bytes together are bytes.
            Base::Primitive(Primitive::Byte) if of.form == Form::Array => "u8".into(),
            Base::Primitive(it) => primitive(*it).into(),
            Base::Text => "String".into(),
            Base::Binder => "::binder::Binder".into(),
            Base::Fd => "::std::sync::Arc<::std::os::fd::OwnedFd>".into(),
            Base::Named(it) => match self.library.named(it) {
                Named::Interface => proxy(simple(it)),
                Named::Parcelable(_) | Named::Enum(_) => simple(it).into(),
                Named::Foreign => match self.foreign.get(it.as_str()) {
                    Some(rust) => (*rust).into(),
                    None => {
                        let what = format!("{it}, a parcelable of another language");
                        return unsupported(of.span, what);
                    }
                },
            },
        };
        let may_be_null = of.form != Form::Single && of.is_nullable && !self.is_number(of);
        Ok(if may_be_null {
            format!("Option<{item}>")
        } else {
            item
        })
    }
}

pub(super) fn primitive(of: Primitive) -> &'static str {
    match of {
        Primitive::Boolean => "bool",
        Primitive::Byte => "i8",
        Primitive::Char => "u16",
        Primitive::Int => "i32",
        Primitive::Long => "i64",
        Primitive::Float => "f32",
        Primitive::Double => "f64",
    }
}

/// A value of a type that it was checked to be of.
pub(super) fn literal(of: &Type, literal: &Literal) -> String {
    let is_float = of.base == Base::Primitive(Primitive::Float);
    let is_real = is_float || of.base == Base::Primitive(Primitive::Double);
    match &literal.value {
        Value::Integer { value, .. } if is_real => format!("{value}.0"),
        Value::Integer {
            value,
            is_hex: true,
        } => match of.base {
            Base::Primitive(Primitive::Int) => (*value as i32).to_string(),
            Base::Primitive(Primitive::Byte) => (*value as i8).to_string(),
            _ => value.to_string(),
        },
        Value::Integer { value, .. } => value.to_string(),
        // Finite: it was checked.
        Value::Real(it) if is_float => format!("{:?}", it.parse::<f32>().unwrap_or_default()),
        Value::Real(it) => format!("{:?}", it.parse::<f64>().unwrap_or_default()),
        Value::Boolean(it) => it.to_string(),
        Value::Character(it) => u32::from(*it).to_string(),
        Value::Text(it) => format!("{it:?}"),
        Value::Enumerator(of, name) => format!("{}::{}", simple(of), upper(name)),
    }
}
