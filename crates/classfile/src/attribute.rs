// SPDX-License-Identifier: Apache-2.0
//! Attributes of a class as a whole.

use crate::{ConstantPool, Error, member::for_each_attribute, reader::Reader};

/// One bootstrap method: a method handle and its static arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapMethod {
    /// Index of the method handle.
    pub handle: u16,
    /// Indices of the arguments.
    pub arguments: Vec<u16>,
}

/// One row of InnerClasses; all but the flags are constant indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerClass {
    /// The inner class.
    pub inner: u16,
    /// The class it is a member of, or zero.
    pub outer: u16,
    /// Its simple name, or zero.
    pub name: u16,
    /// Its flags as declared.
    pub access: u16,
}

/// The method a local class is declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnclosingMethod {
    /// Class index.
    pub class: u16,
    /// NameAndType index, or zero.
    pub method: u16,
}

/// One component of a record.
#[derive(Clone, Debug, Default)]
pub struct RecordComponent<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Generic signature.
    pub signature: Option<u16>,
    /// RuntimeVisibleAnnotations, raw.
    pub annotations: Option<&'a [u8]>,
    /// RuntimeVisibleTypeAnnotations, raw.
    pub type_annotations: Option<&'a [u8]>,
}

pub(crate) fn parse_bootstrap_methods(body: &[u8]) -> Result<Vec<BootstrapMethod>, Error> {
    const WHAT: &str = "BootstrapMethods";
    let mut reader = Reader::new(body);
    let count = reader.u16(WHAT)?;
    (0..count)
        .map(|_| {
            Ok(BootstrapMethod {
                handle: reader.u16(WHAT)?,
                arguments: reader.u16_list(WHAT)?,
            })
        })
        .collect()
}

pub(crate) fn parse_inner_classes(body: &[u8]) -> Result<Vec<InnerClass>, Error> {
    const WHAT: &str = "InnerClasses";
    let mut reader = Reader::new(body);
    let count = reader.u16(WHAT)?;
    (0..count)
        .map(|_| {
            Ok(InnerClass {
                inner: reader.u16(WHAT)?,
                outer: reader.u16(WHAT)?,
                name: reader.u16(WHAT)?,
                access: reader.u16(WHAT)?,
            })
        })
        .collect()
}

pub(crate) fn parse_record<'a>(
    body: &'a [u8],
    pool: &ConstantPool<'a>,
) -> Result<Vec<RecordComponent<'a>>, Error> {
    const WHAT: &str = "Record";
    let mut reader = Reader::new(body);
    let count = reader.u16(WHAT)?;
    let mut components = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let mut component = RecordComponent {
            name: pool.utf8(reader.u16(WHAT)?)?,
            descriptor: pool.utf8(reader.u16(WHAT)?)?,
            ..RecordComponent::default()
        };
        for_each_attribute(&mut reader, pool, |name, body| {
            match name {
                b"Signature" => component.signature = Some(Reader::new(body).u16(WHAT)?),
                b"RuntimeVisibleAnnotations" => component.annotations = Some(body),
                b"RuntimeVisibleTypeAnnotations" => component.type_annotations = Some(body),
                _ => {}
            }
            Ok(())
        })?;
        components.push(component);
    }
    Ok(components)
}
