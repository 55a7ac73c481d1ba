// SPDX-License-Identifier: Apache-2.0
//! Typed values: what an attribute or a resource holds.

use std::sync::Arc;

use crate::Error;
use crate::reader::Reader;
use crate::strings::StringPool;

/// A value as aapt compiled it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, or explicitly empty.
    Null,
    /// `@type/name`: another resource, by its id.
    Reference(u32),
    /// `?attr`: from the theme.
    Attribute(u32),
    /// Text.
    String(Arc<str>),
    /// A number with a fraction.
    Float(f32),
    /// A number without.
    Integer(i32),
    /// true or false.
    Boolean(bool),
    /// Dimensions, fractions, colours: the type's number and its data.
    Other(u8, u32),
}

impl Value {
    /// Size, a zero byte, type and data: eight bytes.
    pub(crate) fn parse(from: &mut Reader<'_>, strings: &StringPool<'_>) -> Result<Self, Error> {
        from.u16("value size")?;
        from.u8("value padding")?;
        let kind = from.u8("value type")?;
        let data = from.u32("value data")?;
        Self::typed(kind, data, strings)
    }

    pub(crate) fn typed(kind: u8, data: u32, strings: &StringPool<'_>) -> Result<Self, Error> {
        Ok(match kind {
            0x00 => Self::Null,
            0x01 | 0x07 => Self::Reference(data),
            0x02 | 0x08 => Self::Attribute(data),
            0x03 => Self::String(strings.get(data)?),
            0x04 => Self::Float(f32::from_bits(data)),
            0x10 | 0x11 => Self::Integer(data.cast_signed()),
            0x12 => Self::Boolean(data != 0),
            other => Self::Other(other, data),
        })
    }
}
