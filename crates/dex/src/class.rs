// SPDX-License-Identifier: Apache-2.0
//! Class definitions and what they hold: fields, methods, and where the code is.

use crate::annotation::Directory;
use crate::code::Code;
use crate::cursor::{Cursor, VERIFIED};
use crate::value::EncodedValue;
use crate::verify;
use crate::{DexFile, Error, TypeList};

const NO_INDEX: u32 = u32::MAX;

/// Access flags that the structure depends on.
pub mod access {
    /// private
    pub const PRIVATE: u32 = 0x0002;
    /// static
    pub const STATIC: u32 = 0x0008;
    /// final
    pub const FINAL: u32 = 0x0010;
    /// native
    pub const NATIVE: u32 = 0x0100;
    /// interface
    pub const INTERFACE: u32 = 0x0200;
    /// abstract
    pub const ABSTRACT: u32 = 0x0400;
    /// `<init>` or `<clinit>`
    pub const CONSTRUCTOR: u32 = 0x1_0000;
}

/// A class_def_item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassDef {
    /// Type index.
    pub class: u32,
    /// Access flags.
    pub access: u32,
    /// Type index of the superclass; none for java.lang.Object.
    pub superclass: Option<u32>,
    /// String index of the source file's name.
    pub source_file: Option<u32>,
    pub(crate) interfaces_offset: u32,
    pub(crate) annotations_offset: u32,
    pub(crate) data_offset: u32,
    pub(crate) static_values_offset: u32,
}

/// A field that the class has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Field index.
    pub field: u32,
    /// Access flags.
    pub access: u32,
}

/// A method that the class has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Method index.
    pub method: u32,
    /// Access flags.
    pub access: u32,
    pub(crate) code_offset: u32,
}

/// A class_data_item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassData {
    /// By field index.
    pub static_fields: Vec<Field>,
    /// By field index.
    pub instance_fields: Vec<Field>,
    /// Static, private methods and constructors, by method index.
    pub direct_methods: Vec<Method>,
    /// All others, by method index.
    pub virtual_methods: Vec<Method>,
}

impl DexFile<'_> {
    /// Every class that the file defines, in its order: a superclass comes before its subclasses.
    pub fn classes(&self) -> impl Iterator<Item = ClassDef> {
        (0..self.class_count()).map(|index| self.class(index))
    }

    /// One class definition.
    pub fn class(&self, index: u32) -> ClassDef {
        ClassDef::parse(&mut self.entry(self.header.classes, 32, index)).expect(VERIFIED)
    }
}

impl ClassDef {
    pub(crate) fn parse(at: &mut Cursor<'_>) -> Result<Self, Error> {
        let mut word = || at.u32("class_def_item");
        let optional = |index| if index == NO_INDEX { None } else { Some(index) };
        Ok(Self {
            class: word()?,
            access: word()?,
            superclass: optional(word()?),
            interfaces_offset: word()?,
            source_file: optional(word()?),
            annotations_offset: word()?,
            data_offset: word()?,
            static_values_offset: word()?,
        })
    }

    /// Type indices of its interfaces.
    pub fn interfaces<'a>(&self, file: &DexFile<'a>) -> TypeList<'a> {
        file.type_list(self.interfaces_offset)
    }

    /// Its fields and methods.
    pub fn data(&self, file: &DexFile<'_>) -> ClassData {
        if self.data_offset == 0 {
            return ClassData::default();
        }
        let mut at = Cursor::new(file.bytes, self.data_offset as usize, "class_data_item");
        ClassData::parse(&mut at).expect(VERIFIED)
    }

    /// Initial values of the first static fields; the others are zero.
    pub fn static_values(&self, file: &DexFile<'_>) -> Vec<EncodedValue> {
        if self.static_values_offset == 0 {
            return Vec::new();
        }
        let mut at = Cursor::new(
            file.bytes,
            self.static_values_offset as usize,
            "encoded_array_item",
        );
        EncodedValue::parse_array(&mut at).expect(VERIFIED)
    }

    /// Its annotations and those of its members.
    pub fn annotations(&self, file: &DexFile<'_>) -> Directory {
        if self.annotations_offset == 0 {
            return Directory::default();
        }
        Directory::read(file.bytes, self.annotations_offset).expect(VERIFIED)
    }
}

impl Method {
    /// Its code; none for native and abstract methods.
    pub fn code<'a>(&self, file: &DexFile<'a>) -> Option<Code<'a>> {
        if self.code_offset == 0 {
            return None;
        }
        let mut at = Cursor::new(file.bytes, self.code_offset as usize, "code_item");
        Some(Code::parse(&mut at).expect(VERIFIED))
    }

    /// Says what is wrong with its instructions. As in ART a file with such a method is a file, and
    /// the method's class is what cannot be used; so who reads instructions asks this first.
    pub fn check_code(&self, file: &DexFile<'_>) -> Result<(), Error> {
        let code = self.code(file);
        code.map_or(Ok(()), |code| {
            verify::code::check(file, &code, self.code_offset as usize)
        })
    }
}

impl ClassData {
    pub(crate) fn parse(at: &mut Cursor<'_>) -> Result<Self, Error> {
        let mut counts = [0; 4];
        for count in &mut counts {
            *count = at.uleb("number of members")?;
        }
        let [statics, instances, directs, virtuals] = counts;
        Ok(Self {
            static_fields: fields(at, statics)?,
            instance_fields: fields(at, instances)?,
            direct_methods: methods(at, directs)?,
            virtual_methods: methods(at, virtuals)?,
        })
    }

    /// Direct methods, then virtual ones.
    pub fn methods(&self) -> impl Iterator<Item = &Method> {
        self.direct_methods.iter().chain(&self.virtual_methods)
    }
}

fn fields(at: &mut Cursor<'_>, count: u32) -> Result<Vec<Field>, Error> {
    let mut fields = Vec::new();
    let mut index = None;
    for _ in 0..count {
        let field = next_index(at, &mut index)?;
        fields.push(Field {
            field,
            access: at.uleb("access flags")?,
        });
    }
    Ok(fields)
}

fn methods(at: &mut Cursor<'_>, count: u32) -> Result<Vec<Method>, Error> {
    let mut methods = Vec::new();
    let mut index = None;
    for _ in 0..count {
        let method = next_index(at, &mut index)?;
        let access = at.uleb("access flags")?;
        methods.push(Method {
            method,
            access,
            code_offset: at.uleb("code offset")?,
        });
    }
    Ok(methods)
}

/// Indices are written as differences and must grow: that also makes them unique.
fn next_index(at: &mut Cursor<'_>, last: &mut Option<u32>) -> Result<u32, Error> {
    let step = at.uleb("member index")?;
    let next = match *last {
        None => Some(step),
        Some(_) if step == 0 => None,
        Some(last) => last.checked_add(step),
    };
    *last = next;
    next.ok_or_else(|| at.fault(crate::Fault::Order("members by index, each once")))
}
