// SPDX-License-Identifier: Apache-2.0
//! The constant pool.

use crate::{Error, reader::Reader};

/// One constant. Indices point into the same pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant<'a> {
    /// Index zero and the second half of a long or a double.
    Unusable,
    /// Modified UTF-8 bytes.
    Utf8(&'a [u8]),
    /// An int.
    Integer(i32),
    /// A float, as bits.
    Float(u32),
    /// A long.
    Long(i64),
    /// A double, as bits.
    Double(u64),
    /// A class or array type by name.
    Class(u16),
    /// A string literal.
    String(u16),
    /// A field: class, name-and-type.
    Field(u16, u16),
    /// A class's method: class, name-and-type.
    Method(u16, u16),
    /// An interface's method: class, name-and-type.
    InterfaceMethod(u16, u16),
    /// A name and a descriptor.
    NameAndType(u16, u16),
    /// A method handle: kind, member.
    MethodHandle(MethodHandleKind, u16),
    /// A method type by descriptor.
    MethodType(u16),
    /// A computed constant: bootstrap method, name-and-type.
    Dynamic(u16, u16),
    /// A computed call site: bootstrap method, name-and-type.
    InvokeDynamic(u16, u16),
    /// A module's name.
    Module(u16),
    /// A package's name.
    Package(u16),
}

/// What a method handle does, numbered as in the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the format's own")]
pub enum MethodHandleKind {
    GetField = 1,
    GetStatic = 2,
    PutField = 3,
    PutStatic = 4,
    InvokeVirtual = 5,
    InvokeStatic = 6,
    InvokeSpecial = 7,
    NewInvokeSpecial = 8,
    InvokeInterface = 9,
}

impl MethodHandleKind {
    fn parse(raw: u8) -> Result<Self, Error> {
        use MethodHandleKind as K;
        const ALL: [K; 9] = [
            K::GetField,
            K::GetStatic,
            K::PutField,
            K::PutStatic,
            K::InvokeVirtual,
            K::InvokeStatic,
            K::InvokeSpecial,
            K::NewInvokeSpecial,
            K::InvokeInterface,
        ];
        usize::from(raw)
            .checked_sub(1)
            .and_then(|index| ALL.get(index))
            .copied()
            .ok_or(Error::Malformed("method handle kind"))
    }
}

/// A field or method as the pool names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberName<'a> {
    /// The class it is looked up in.
    pub class: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Whether the pool names an interface's method.
    pub is_interface: bool,
}

/// The constants of one class file, by the format's own index.
#[derive(Clone, Debug, Default)]
pub struct ConstantPool<'a> {
    constants: Vec<Constant<'a>>,
}

impl<'a> ConstantPool<'a> {
    pub(crate) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = usize::from(reader.u16("constant pool count")?);
        if count == 0 {
            return Err(Error::Malformed("constant pool count"));
        }
        let mut constants = Vec::with_capacity(count);
        constants.push(Constant::Unusable);
        while constants.len() < count {
            let constant = parse_constant(reader)?;
            constants.push(constant);
            if matches!(constant, Constant::Long(_) | Constant::Double(_)) {
                constants.push(Constant::Unusable);
            }
        }
        if constants.len() != count {
            return Err(Error::Malformed("constant pool count"));
        }
        Ok(Self { constants })
    }

    /// How many indices there are, zero included.
    pub fn count(&self) -> usize {
        self.constants.len()
    }

    /// The constant at `index`.
    pub fn get(&self, index: u16) -> Result<Constant<'a>, Error> {
        self.constants
            .get(usize::from(index))
            .copied()
            .ok_or(Error::Malformed("constant index"))
    }

    /// The bytes of a Utf8 constant.
    pub fn utf8(&self, index: u16) -> Result<&'a [u8], Error> {
        match self.get(index)? {
            Constant::Utf8(bytes) => Ok(bytes),
            _ => Err(Error::Malformed("Utf8 constant expected")),
        }
    }

    /// The name of a Class constant.
    pub fn class_name(&self, index: u16) -> Result<&'a [u8], Error> {
        match self.get(index)? {
            Constant::Class(name) => self.utf8(name),
            _ => Err(Error::Malformed("Class constant expected")),
        }
    }

    /// Name and descriptor of a NameAndType constant.
    pub fn name_and_type(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Error> {
        match self.get(index)? {
            Constant::NameAndType(name, descriptor) => {
                Ok((self.utf8(name)?, self.utf8(descriptor)?))
            }
            _ => Err(Error::Malformed("NameAndType constant expected")),
        }
    }

    /// The field or method at `index`.
    pub fn member(&self, index: u16) -> Result<MemberName<'a>, Error> {
        let (class, name_and_type, is_interface) = match self.get(index)? {
            Constant::Field(class, nat) | Constant::Method(class, nat) => (class, nat, false),
            Constant::InterfaceMethod(class, nat) => (class, nat, true),
            _ => return Err(Error::Malformed("member constant expected")),
        };
        let (name, descriptor) = self.name_and_type(name_and_type)?;
        Ok(MemberName {
            class: self.class_name(class)?,
            name,
            descriptor,
            is_interface,
        })
    }

    /// Bootstrap method index, name and descriptor of a Dynamic or
    /// InvokeDynamic constant.
    pub fn dynamic(&self, index: u16) -> Result<(u16, &'a [u8], &'a [u8]), Error> {
        match self.get(index)? {
            Constant::Dynamic(bootstrap, nat) | Constant::InvokeDynamic(bootstrap, nat) => {
                let (name, descriptor) = self.name_and_type(nat)?;
                Ok((bootstrap, name, descriptor))
            }
            _ => Err(Error::Malformed("dynamic constant expected")),
        }
    }
}

fn parse_constant<'a>(reader: &mut Reader<'a>) -> Result<Constant<'a>, Error> {
    const WHAT: &str = "constant";
    Ok(match reader.u8(WHAT)? {
        1 => {
            let size = reader.u16(WHAT)?;
            Constant::Utf8(reader.take(usize::from(size), WHAT)?)
        }
        3 => Constant::Integer(reader.u32(WHAT)? as i32),
        4 => Constant::Float(reader.u32(WHAT)?),
        5 => Constant::Long(reader.u64(WHAT)? as i64),
        6 => Constant::Double(reader.u64(WHAT)?),
        7 => Constant::Class(reader.u16(WHAT)?),
        8 => Constant::String(reader.u16(WHAT)?),
        9 => Constant::Field(reader.u16(WHAT)?, reader.u16(WHAT)?),
        10 => Constant::Method(reader.u16(WHAT)?, reader.u16(WHAT)?),
        11 => Constant::InterfaceMethod(reader.u16(WHAT)?, reader.u16(WHAT)?),
        12 => Constant::NameAndType(reader.u16(WHAT)?, reader.u16(WHAT)?),
        15 => {
            let kind = MethodHandleKind::parse(reader.u8(WHAT)?)?;
            Constant::MethodHandle(kind, reader.u16(WHAT)?)
        }
        16 => Constant::MethodType(reader.u16(WHAT)?),
        17 => Constant::Dynamic(reader.u16(WHAT)?, reader.u16(WHAT)?),
        18 => Constant::InvokeDynamic(reader.u16(WHAT)?, reader.u16(WHAT)?),
        19 => Constant::Module(reader.u16(WHAT)?),
        20 => Constant::Package(reader.u16(WHAT)?),
        _ => return Err(Error::Malformed("constant tag")),
    })
}
