// SPDX-License-Identifier: Apache-2.0
//! The Code attribute around its bytecodes (JVM specification, 4.7.3, 4.7.12 to 4.7.14).

use std::collections::BTreeSet;

use super::constants::check_field;
use super::{Once, name, require, shown};
use crate::{ClassFile, Error, FieldType, member::for_each_attribute, reader::Reader};

/// First version (Java 5) with types of local variables.
const JAVA_5: u16 = 49;

/// `words`: what the method's parameters take, the receiver included.
pub(super) fn check(file: &ClassFile<'_>, body: &[u8], words: usize) -> Result<(), Error> {
    const WHAT: &str = "Code";
    let pool = &file.constants;
    let mut reader = Reader::new(body);
    reader.u16(WHAT)?;
    let local_count = reader.u16(WHAT)?;
    require(words <= usize::from(local_count), || {
        "Arguments can't fit into locals".to_owned()
    })?;
    let size = reader.u32(WHAT)?;
    reader.take(size as usize, WHAT)?;
    for _ in 0..reader.u16(WHAT)? {
        // Where it covers and leads was looked at when it was read.
        reader.take(6, WHAT)?;
        match reader.u16(WHAT)? {
            0 => {}
            class => drop(pool.class_name(class)?),
        }
    }
    let mut seen = Once::default();
    let (mut variables, mut types) = (BTreeSet::new(), BTreeSet::new());
    for_each_attribute(&mut reader, pool, |name, body| match name {
        b"LineNumberTable" => check_lines(body, size),
        b"LocalVariableTable" => {
            check_variables(file, name, body, (size, local_count), &mut variables)
        }
        b"LocalVariableTypeTable" if file.major >= JAVA_5 => {
            check_variables(file, name, body, (size, local_count), &mut types)
        }
        b"StackMapTable" => seen.check(name),
        _ => Ok(()),
    })?;
    require(reader.is_empty(), || {
        "Code attribute has wrong length".to_owned()
    })?;
    require(types.is_subset(&variables), || {
        "LocalVariableTypeTable entry does not match any LocalVariableTable entry".to_owned()
    })
}

fn check_lines(body: &[u8], size: u32) -> Result<(), Error> {
    const WHAT: &str = "LineNumberTable";
    let mut reader = Reader::new(body);
    for _ in 0..reader.u16(WHAT)? {
        let (pc, _line) = (reader.u16(WHAT)?, reader.u16(WHAT)?);
        require(u32::from(pc) < size, || {
            "Invalid pc in LineNumberTable".to_owned()
        })?;
    }
    require(reader.is_empty(), || {
        "LineNumberTable attribute has wrong length".to_owned()
    })
}

/// One row of either table of local variables: start, length, name, slot.
type Row = (u16, u16, u16, u16);

fn check_variables(
    file: &ClassFile<'_>,
    table: &[u8],
    body: &[u8],
    (size, local_count): (u32, u16),
    rows: &mut BTreeSet<Row>,
) -> Result<(), Error> {
    const WHAT: &str = "local variables";
    let pool = &file.constants;
    let mut reader = Reader::new(body);
    for _ in 0..reader.u16(WHAT)? {
        let (start, length) = (reader.u16(WHAT)?, reader.u16(WHAT)?);
        let (name, descriptor) = (reader.u16(WHAT)?, reader.u16(WHAT)?);
        let slot = reader.u16(WHAT)?;
        let end = u32::from(start) + u32::from(length);
        require(u32::from(start) < size && end <= size, || {
            format!(
                "Invalid start_pc {start} or length {length} in {}",
                shown(table)
            )
        })?;
        let (own_name, descriptor) = (pool.utf8(name)?, pool.utf8(descriptor)?);
        let is_plain = table == b"LocalVariableTable";
        let mut words = 1;
        if is_plain {
            check_field(own_name, descriptor, file.major)?;
            words = FieldType::parse(descriptor)?.words();
        } else {
            require(name::is_field(own_name, file.major), || {
                format!("Illegal field name \"{}\"", shown(own_name))
            })?;
        }
        require(
            usize::from(slot) + words <= usize::from(local_count),
            || format!("Invalid index {slot} in {}", shown(table)),
        )?;
        require(rows.insert((start, length, name, slot)), || {
            format!(
                "Duplicated {} attribute entry for '{}'",
                shown(table),
                shown(own_name)
            )
        })?;
    }
    require(reader.is_empty(), || {
        format!("{} attribute has wrong length", shown(table))
    })
}
