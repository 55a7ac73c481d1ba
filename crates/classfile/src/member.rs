// SPDX-License-Identifier: Apache-2.0
//! Fields, methods and code.

use crate::{ConstantPool, Error, access, reader::Reader};

/// Flags that mean something on a field; all others are dropped when it is read, as HotSpot does.
const FIELD_FLAGS: u16 = access::PUBLIC
    | access::PRIVATE
    | access::PROTECTED
    | access::STATIC
    | access::FINAL
    | access::VOLATILE
    | access::TRANSIENT
    | access::SYNTHETIC
    | access::ENUM;

/// As [`FIELD_FLAGS`], on a method.
const METHOD_FLAGS: u16 = access::PUBLIC
    | access::PRIVATE
    | access::PROTECTED
    | access::STATIC
    | access::FINAL
    | access::SYNCHRONIZED
    | access::BRIDGE
    | access::VARARGS
    | access::NATIVE
    | access::ABSTRACT
    | access::STRICT
    | access::SYNTHETIC;

/// One field.
#[derive(Clone, Debug, Default)]
pub struct Field<'a> {
    /// Access flags.
    pub access: u16,
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Index of the constant a static field starts with.
    pub constant_value: Option<u16>,
    /// Generic signature.
    pub signature: Option<u16>,
    /// RuntimeVisibleAnnotations, raw.
    pub annotations: Option<&'a [u8]>,
    /// RuntimeVisibleTypeAnnotations, raw.
    pub type_annotations: Option<&'a [u8]>,
}

/// One method.
#[derive(Clone, Debug, Default)]
pub struct Method<'a> {
    /// Access flags.
    pub access: u16,
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Absent when native or abstract.
    pub code: Option<Code<'a>>,
    /// Class indices of the declared exceptions.
    pub exceptions: Vec<u16>,
    /// Generic signature.
    pub signature: Option<u16>,
    /// RuntimeVisibleAnnotations, raw.
    pub annotations: Option<&'a [u8]>,
    /// RuntimeVisibleParameterAnnotations, raw.
    pub parameter_annotations: Option<&'a [u8]>,
    /// RuntimeVisibleTypeAnnotations, raw.
    pub type_annotations: Option<&'a [u8]>,
    /// AnnotationDefault, raw.
    pub annotation_default: Option<&'a [u8]>,
    /// MethodParameters: name index and flags.
    pub parameters: Option<Vec<(u16, u16)>>,
}

/// The Code attribute.
#[derive(Clone, Debug, Default)]
pub struct Code<'a> {
    /// Operand stack depth in words.
    pub stack_max: u16,
    /// Local variables in words.
    pub local_count: u16,
    /// The bytecodes.
    pub bytes: &'a [u8],
    /// Handlers, in the order they are searched.
    pub exceptions: Vec<ExceptionEntry>,
    /// Code offset and source line, as listed.
    pub lines: Vec<(u16, u16)>,
    /// StackMapTable, raw.
    pub stack_maps: Option<&'a [u8]>,
    /// LocalVariableTable, raw.
    pub local_variables: Option<&'a [u8]>,
}

/// One row of a method's exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionEntry {
    /// First covered code offset.
    pub start: u16,
    /// First offset that is not covered.
    pub end: u16,
    /// Where the handler starts.
    pub handler: u16,
    /// Class index, or zero for everything.
    pub class: u16,
}

impl Code<'_> {
    /// The name of local variable `slot` at `offset`, if the file keeps names.
    pub fn local_name<'b>(
        &self,
        slot: u16,
        offset: u16,
        pool: &ConstantPool<'b>,
    ) -> Option<&'b [u8]> {
        let rows = self.local_variables?.get(2..)?.chunks_exact(10);
        let word = |row: &[u8], at: usize| u16::from_be_bytes([row[at], row[at + 1]]);
        let mut named = rows.filter(|row| {
            let (start, size) = (u32::from(word(row, 0)), u32::from(word(row, 2)));
            word(row, 8) == slot && (start..start + size).contains(&u32::from(offset))
        });
        pool.utf8(word(named.next()?, 4)).ok()
    }

    /// The source line of the instruction at `offset`.
    pub fn line(&self, offset: u16) -> Option<u16> {
        let covering = self.lines.iter().filter(|(start, _)| *start <= offset);
        covering
            .max_by_key(|(start, _)| *start)
            .map(|&(_, line)| line)
    }
}

/// Calls `each` with name and body of every attribute.
pub(crate) fn for_each_attribute<'a>(
    reader: &mut Reader<'a>,
    pool: &ConstantPool<'a>,
    mut each: impl FnMut(&'a [u8], &'a [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    const WHAT: &str = "attribute";
    let count = reader.u16(WHAT)?;
    for _ in 0..count {
        let name = pool.utf8(reader.u16(WHAT)?)?;
        let size = reader.u32(WHAT)?;
        each(name, reader.take(size as usize, WHAT)?)?;
    }
    Ok(())
}

fn index_of(body: &[u8]) -> Result<u16, Error> {
    Reader::new(body).u16("attribute")
}

pub(crate) fn parse_field<'a>(
    reader: &mut Reader<'a>,
    pool: &ConstantPool<'a>,
) -> Result<Field<'a>, Error> {
    let mut field = Field {
        access: reader.u16("field")? & FIELD_FLAGS,
        name: pool.utf8(reader.u16("field")?)?,
        descriptor: pool.utf8(reader.u16("field")?)?,
        ..Field::default()
    };
    crate::FieldType::parse(field.descriptor)?;
    for_each_attribute(reader, pool, |name, body| {
        match name {
            b"ConstantValue" => field.constant_value = Some(index_of(body)?),
            b"Signature" => field.signature = Some(index_of(body)?),
            b"RuntimeVisibleAnnotations" => field.annotations = Some(body),
            b"RuntimeVisibleTypeAnnotations" => field.type_annotations = Some(body),
            _ => {}
        }
        Ok(())
    })?;
    Ok(field)
}

pub(crate) fn parse_method<'a>(
    reader: &mut Reader<'a>,
    pool: &ConstantPool<'a>,
) -> Result<Method<'a>, Error> {
    let mut method = Method {
        access: reader.u16("method")? & METHOD_FLAGS,
        name: pool.utf8(reader.u16("method")?)?,
        descriptor: pool.utf8(reader.u16("method")?)?,
        ..Method::default()
    };
    crate::MethodDescriptor::parse(method.descriptor)?;
    for_each_attribute(reader, pool, |name, body| {
        match name {
            b"Code" => method.code = Some(parse_code(body, pool)?),
            b"Exceptions" => method.exceptions = Reader::new(body).u16_list("Exceptions")?,
            b"Signature" => method.signature = Some(index_of(body)?),
            b"RuntimeVisibleAnnotations" => method.annotations = Some(body),
            b"RuntimeVisibleParameterAnnotations" => method.parameter_annotations = Some(body),
            b"RuntimeVisibleTypeAnnotations" => method.type_annotations = Some(body),
            b"AnnotationDefault" => method.annotation_default = Some(body),
            b"MethodParameters" => method.parameters = Some(parse_parameters(body)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(method)
}

fn parse_parameters(body: &[u8]) -> Result<Vec<(u16, u16)>, Error> {
    const WHAT: &str = "MethodParameters";
    let mut reader = Reader::new(body);
    let count = reader.u8(WHAT)?;
    (0..count)
        .map(|_| Ok((reader.u16(WHAT)?, reader.u16(WHAT)?)))
        .collect()
}

fn parse_code<'a>(body: &'a [u8], pool: &ConstantPool<'a>) -> Result<Code<'a>, Error> {
    const WHAT: &str = "Code";
    let mut reader = Reader::new(body);
    let stack_max = reader.u16(WHAT)?;
    let local_count = reader.u16(WHAT)?;
    let size = reader.u32(WHAT)? as usize;
    if size == 0 || size > 0xffff {
        return Err(Error::Malformed("code length"));
    }
    let bytes = reader.take(size, WHAT)?;
    let count = reader.u16(WHAT)?;
    let mut exceptions = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let entry = ExceptionEntry {
            start: reader.u16(WHAT)?,
            end: reader.u16(WHAT)?,
            handler: reader.u16(WHAT)?,
            class: reader.u16(WHAT)?,
        };
        let in_code = entry.start < entry.end
            && usize::from(entry.end) <= size
            && usize::from(entry.handler) < size;
        if !in_code {
            return Err(Error::Malformed("exception table"));
        }
        exceptions.push(entry);
    }
    let mut code = Code {
        stack_max,
        local_count,
        bytes,
        exceptions,
        lines: Vec::new(),
        stack_maps: None,
        local_variables: None,
    };
    for_each_attribute(&mut reader, pool, |name, body| {
        match name {
            b"LineNumberTable" => {
                let mut reader = Reader::new(body);
                let count = reader.u16("LineNumberTable")?;
                for _ in 0..count {
                    let row = (
                        reader.u16("LineNumberTable")?,
                        reader.u16("LineNumberTable")?,
                    );
                    code.lines.push(row);
                }
            }
            b"StackMapTable" => code.stack_maps = Some(body),
            b"LocalVariableTable" => code.local_variables = Some(body),
            _ => {}
        }
        Ok(())
    })?;
    Ok(code)
}
