// SPDX-License-Identifier: Apache-2.0
//! Field and method descriptors.

use crate::Error;

/// The eight primitive types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are Java's own")]
pub enum Primitive {
    Boolean,
    Char,
    Float,
    Double,
    Byte,
    Short,
    Int,
    Long,
}

/// The type of a field, parameter or result; void appears only as a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType<'a> {
    /// No value.
    Void,
    /// A primitive type.
    Primitive(Primitive),
    /// A class by its internal name.
    Class(&'a [u8]),
    /// An array by its whole descriptor, `[` included.
    Array(&'a [u8]),
}

impl<'a> FieldType<'a> {
    /// Parses a whole field descriptor.
    pub fn parse(descriptor: &'a [u8]) -> Result<Self, Error> {
        let (parsed, rest) = split_first(descriptor)?;
        if !rest.is_empty() || parsed == FieldType::Void {
            return Err(Error::Malformed("field descriptor"));
        }
        Ok(parsed)
    }

    /// The words that a value takes in a frame.
    pub fn words(&self) -> usize {
        match self {
            FieldType::Void => 0,
            FieldType::Primitive(Primitive::Long | Primitive::Double) => 2,
            _ => 1,
        }
    }

    /// Whether values of this type are references.
    pub fn is_reference(&self) -> bool {
        matches!(self, FieldType::Class(_) | FieldType::Array(_))
    }
}

/// Parameters and result of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodDescriptor<'a> {
    /// In order, without the receiver.
    pub parameters: Vec<FieldType<'a>>,
    /// [`FieldType::Void`] when there is none.
    pub result: FieldType<'a>,
}

impl<'a> MethodDescriptor<'a> {
    /// Parses a whole method descriptor.
    pub fn parse(descriptor: &'a [u8]) -> Result<Self, Error> {
        const WHAT: Error = Error::Malformed("method descriptor");
        let mut rest = descriptor.strip_prefix(b"(").ok_or(WHAT)?;
        let mut parameters = Vec::new();
        while !rest.starts_with(b")") {
            let (parameter, after) = split_first(rest)?;
            if parameter == FieldType::Void {
                return Err(WHAT);
            }
            parameters.push(parameter);
            rest = after;
        }
        let (result, rest) = split_first(&rest[1..])?;
        if !rest.is_empty() || parameters.len() > 255 {
            return Err(WHAT);
        }
        Ok(Self { parameters, result })
    }

    /// The words that the parameters take in a frame, without the receiver.
    pub fn words(&self) -> usize {
        self.parameters.iter().map(FieldType::words).sum()
    }
}

fn split_first(bytes: &[u8]) -> Result<(FieldType<'_>, &[u8]), Error> {
    const WHAT: Error = Error::Malformed("descriptor");
    let primitive = |p| Ok((FieldType::Primitive(p), &bytes[1..]));
    match bytes.first().ok_or(WHAT)? {
        b'V' => Ok((FieldType::Void, &bytes[1..])),
        b'Z' => primitive(Primitive::Boolean),
        b'C' => primitive(Primitive::Char),
        b'F' => primitive(Primitive::Float),
        b'D' => primitive(Primitive::Double),
        b'B' => primitive(Primitive::Byte),
        b'S' => primitive(Primitive::Short),
        b'I' => primitive(Primitive::Int),
        b'J' => primitive(Primitive::Long),
        b'L' => {
            let end = bytes.iter().position(|&b| b == b';').ok_or(WHAT)?;
            if end == 1 {
                return Err(WHAT);
            }
            Ok((FieldType::Class(&bytes[1..end]), &bytes[end + 1..]))
        }
        b'[' => {
            let dimensions = bytes.iter().take_while(|&&b| b == b'[').count();
            let (element, rest) = split_first(&bytes[dimensions..])?;
            if element == FieldType::Void || dimensions > 255 {
                return Err(WHAT);
            }
            Ok((FieldType::Array(&bytes[..bytes.len() - rest.len()]), rest))
        }
        _ => Err(WHAT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_descriptor_splits() {
        let parsed = MethodDescriptor::parse(b"(I[[JLa/B;D)[La/B;").unwrap();
        assert_eq!(parsed.parameters.len(), 4);
        assert_eq!(parsed.words(), 5);
        assert_eq!(parsed.parameters[1], FieldType::Array(b"[[J"));
        assert_eq!(parsed.parameters[2], FieldType::Class(b"a/B"));
        assert_eq!(parsed.result, FieldType::Array(b"[La/B;"));
    }

    #[test]
    fn hostile_descriptors_are_refused() {
        for bad in [&b"(V)V"[..], b"(", b"()", b"()VV", b"(L;)V", b"([V)V", b"I"] {
            assert!(MethodDescriptor::parse(bad).is_err(), "{bad:?}");
        }
        assert!(FieldType::parse(b"V").is_err());
        assert!(FieldType::parse(b"Ljava").is_err());
    }
}
