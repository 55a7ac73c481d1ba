// SPDX-License-Identifier: Apache-2.0
//! Encoded values: initial values of static fields, annotation elements, arguments of call sites.

use crate::cursor::Cursor;
use crate::{Error, Fault};

/// Arrays in annotations in arrays: source code does not go deeper.
const DEPTH_MAX: usize = 32;

/// An encoded_value. Indices are those of the file's tables.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the specification describes each by this name")]
pub enum EncodedValue {
    Byte(i8),
    Short(i16),
    Char(u16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    MethodType(u32),
    MethodHandle(u32),
    String(u32),
    Type(u32),
    Field(u32),
    Method(u32),
    Enum(u32),
    Array(Vec<EncodedValue>),
    Annotation(EncodedAnnotation),
    Null,
    Boolean(bool),
}

/// An encoded_annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedAnnotation {
    /// Type index.
    pub kind: u32,
    /// String index of the name, and value; by name.
    pub elements: Vec<(u32, EncodedValue)>,
}

impl EncodedValue {
    /// An encoded_array: a count and as many values.
    pub(crate) fn parse_array(at: &mut Cursor<'_>) -> Result<Vec<Self>, Error> {
        array(at, 0)
    }
}

impl EncodedAnnotation {
    pub(crate) fn parse(at: &mut Cursor<'_>) -> Result<Self, Error> {
        annotation(at, 0)
    }
}

fn value(at: &mut Cursor<'_>, depth: usize) -> Result<EncodedValue, Error> {
    if depth > DEPTH_MAX {
        let (what, limit) = ("depth of encoded values", DEPTH_MAX as u64 + 1);
        return Err(at.fault(Fault::Range {
            what,
            value: depth as u64,
            limit,
        }));
    }
    let head = at.u8("type of a value")?;
    let (kind, argument) = (head & 0x1f, usize::from(head >> 5));
    let widest = match kind {
        0x00 | 0x1c | 0x1d | 0x1e => 0,
        0x02 | 0x03 => 1,
        0x06 | 0x11 => 7,
        0x1f => 1,
        _ => 3,
    };
    if argument > widest {
        return Err(at.malformed(format!(
            "a value of type {kind:#04x} with the argument {argument}"
        )));
    }
    let size = argument + 1;
    Ok(match kind {
        0x00 => EncodedValue::Byte(signed(at, size)? as i8),
        0x02 => EncodedValue::Short(signed(at, size)? as i16),
        0x03 => EncodedValue::Char(unsigned(at, size)? as u16),
        0x04 => EncodedValue::Int(signed(at, size)? as i32),
        0x06 => EncodedValue::Long(signed(at, size)?),
        // The low bytes are left out when they are zero.
        0x10 => EncodedValue::Float(f32::from_bits(
            (unsigned(at, size)? << (8 * (4 - size))) as u32,
        )),
        0x11 => EncodedValue::Double(f64::from_bits(unsigned(at, size)? << (8 * (8 - size)))),
        0x15 => EncodedValue::MethodType(unsigned(at, size)? as u32),
        0x16 => EncodedValue::MethodHandle(unsigned(at, size)? as u32),
        0x17 => EncodedValue::String(unsigned(at, size)? as u32),
        0x18 => EncodedValue::Type(unsigned(at, size)? as u32),
        0x19 => EncodedValue::Field(unsigned(at, size)? as u32),
        0x1a => EncodedValue::Method(unsigned(at, size)? as u32),
        0x1b => EncodedValue::Enum(unsigned(at, size)? as u32),
        0x1c => EncodedValue::Array(array(at, depth + 1)?),
        0x1d => EncodedValue::Annotation(annotation(at, depth + 1)?),
        0x1e => EncodedValue::Null,
        0x1f => EncodedValue::Boolean(argument == 1),
        other => return Err(at.malformed(format!("unknown type of value {other:#04x}"))),
    })
}

fn array(at: &mut Cursor<'_>, depth: usize) -> Result<Vec<EncodedValue>, Error> {
    let count = at.uleb("size of an array")?;
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(value(at, depth)?);
    }
    Ok(values)
}

fn annotation(at: &mut Cursor<'_>, depth: usize) -> Result<EncodedAnnotation, Error> {
    let kind = at.uleb("type of an annotation")?;
    let count = at.uleb("number of elements")?;
    let mut elements: Vec<(u32, EncodedValue)> = Vec::new();
    for _ in 0..count {
        let name = at.uleb("element name")?;
        if elements.last().is_some_and(|(last, _)| *last >= name) {
            return Err(at.fault(Fault::Order("annotation elements by name, each once")));
        }
        elements.push((name, value(at, depth)?));
    }
    Ok(EncodedAnnotation { kind, elements })
}

fn unsigned(at: &mut Cursor<'_>, size: usize) -> Result<u64, Error> {
    let bytes = at.take(size, "value")?;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |value, byte| (value << 8) | u64::from(*byte)))
}

fn signed(at: &mut Cursor<'_>, size: usize) -> Result<i64, Error> {
    let unused = 64 - 8 * size as u32;
    Ok((unsigned(at, size)? << unused).cast_signed() >> unused)
}
