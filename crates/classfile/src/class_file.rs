// SPDX-License-Identifier: Apache-2.0
//! A whole class file.

use crate::{
    BootstrapMethod, ConstantPool, EnclosingMethod, Error, Field, InnerClass, Method,
    RecordComponent, attribute, member, reader::Reader,
};

/// Access flags of classes, fields and methods.
#[allow(missing_docs, reason = "the names are the format's own")]
pub mod access {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const PROTECTED: u16 = 0x0004;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SUPER: u16 = 0x0020;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const VOLATILE: u16 = 0x0040;
    pub const BRIDGE: u16 = 0x0040;
    pub const TRANSIENT: u16 = 0x0080;
    pub const VARARGS: u16 = 0x0080;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
    pub const STRICT: u16 = 0x0800;
    pub const SYNTHETIC: u16 = 0x1000;
    pub const ANNOTATION: u16 = 0x2000;
    pub const ENUM: u16 = 0x4000;
    pub const MODULE: u16 = 0x8000;
}

/// Flags that mean something on a class; all others are dropped when it is read, as HotSpot does.
const CLASS_FLAGS: u16 = access::PUBLIC
    | access::FINAL
    | access::SUPER
    | access::INTERFACE
    | access::ABSTRACT
    | access::SYNTHETIC
    | access::ANNOTATION
    | access::ENUM
    | access::MODULE;

/// First version whose class initialisers say that they are static.
const JAVA_7: u16 = 51;
/// First version with modules.
const JAVA_9: u16 = 53;

/// Newest major version read: 61 is Java 17.
pub(crate) const MAJOR_MAX: u16 = 61;

/// One parsed class file, borrowing the bytes it was read from.
#[derive(Clone, Debug, Default)]
pub struct ClassFile<'a> {
    /// Major version.
    pub major: u16,
    /// Minor version.
    pub minor: u16,
    /// All constants.
    pub constants: ConstantPool<'a>,
    /// Access flags.
    pub access: u16,
    /// Internal name.
    pub name: &'a [u8],
    /// Index of this class's own constant.
    pub this_class: u16,
    /// Internal name of the superclass; only java/lang/Object has none.
    pub super_name: Option<&'a [u8]>,
    /// Internal names of the direct superinterfaces.
    pub interfaces: Vec<&'a [u8]>,
    /// Fields as declared.
    pub fields: Vec<Field<'a>>,
    /// Methods as declared.
    pub methods: Vec<Method<'a>>,
    /// SourceFile.
    pub source_file: Option<&'a [u8]>,
    /// Generic signature.
    pub signature: Option<&'a [u8]>,
    /// RuntimeVisibleAnnotations, raw.
    pub annotations: Option<&'a [u8]>,
    /// RuntimeVisibleTypeAnnotations, raw.
    pub type_annotations: Option<&'a [u8]>,
    /// Bootstrap methods.
    pub bootstrap_methods: Vec<BootstrapMethod>,
    /// InnerClasses.
    pub inner_classes: Vec<InnerClass>,
    /// EnclosingMethod.
    pub enclosing_method: Option<EnclosingMethod>,
    /// Class index of the nest host.
    pub nest_host: Option<u16>,
    /// Class indices of the nest members.
    pub nest_members: Vec<u16>,
    /// Class indices of the permitted subclasses; `Some` makes it sealed.
    pub permitted_subclasses: Option<Vec<u16>>,
    /// Components; `Some` makes it a record.
    pub record: Option<Vec<RecordComponent<'a>>>,
    /// What follows the constants, for [`ClassFile::check`].
    pub body: &'a [u8],
}

impl<'a> ClassFile<'a> {
    /// Reads one class file. The whole of `bytes` must be used up.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        if reader.u32("magic number")? != 0xcafe_babe {
            return Err(Error::Malformed("magic number"));
        }
        let minor = reader.u16("version")?;
        let major = reader.u16("version")?;
        if !(45..=MAJOR_MAX).contains(&major) || (major >= 56 && minor != 0) {
            return Err(Error::Version { major, minor });
        }
        let constants = ConstantPool::parse(&mut reader)?;
        let mut class = ClassFile {
            major,
            minor,
            constants,
            body: reader.rest(),
            ..ClassFile::default()
        };
        class.parse_names(&mut reader)?;
        if major < JAVA_9 {
            class.access &= !access::MODULE;
        }
        class.parse_members(&mut reader)?;
        let pool = core::mem::take(&mut class.constants);
        member::for_each_attribute(&mut reader, &pool, |name, body| {
            class.parse_attribute(name, body, &pool)
        })?;
        class.constants = pool;
        if !reader.is_empty() {
            return Err(Error::Malformed("extra bytes at the end"));
        }
        Ok(class)
    }

    fn parse_names(&mut self, reader: &mut Reader<'a>) -> Result<(), Error> {
        self.access = reader.u16("class")? & CLASS_FLAGS;
        self.this_class = reader.u16("class")?;
        self.name = self.constants.class_name(self.this_class)?;
        self.super_name = match reader.u16("class")? {
            0 => None,
            index => Some(self.constants.class_name(index)?),
        };
        let interfaces = reader.u16_list("interfaces")?;
        self.interfaces = interfaces
            .iter()
            .map(|&index| self.constants.class_name(index))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    fn parse_members(&mut self, reader: &mut Reader<'a>) -> Result<(), Error> {
        for _ in 0..reader.u16("fields")? {
            self.fields
                .push(member::parse_field(reader, &self.constants)?);
        }
        for _ in 0..reader.u16("methods")? {
            let mut method = member::parse_method(reader, &self.constants)?;
            if method.name == b"<clinit>" {
                // Its other flags say nothing; in old files none does.
                method.access &= access::STATIC | access::STRICT;
                if self.major < JAVA_7 {
                    method.access = access::STATIC;
                }
            }
            self.methods.push(method);
        }
        Ok(())
    }

    fn parse_attribute(
        &mut self,
        name: &[u8],
        body: &'a [u8],
        pool: &ConstantPool<'a>,
    ) -> Result<(), Error> {
        const WHAT: &str = "class attribute";
        let mut reader = Reader::new(body);
        match name {
            b"SourceFile" => self.source_file = Some(pool.utf8(reader.u16(WHAT)?)?),
            b"Signature" => self.signature = Some(pool.utf8(reader.u16(WHAT)?)?),
            b"RuntimeVisibleAnnotations" => self.annotations = Some(body),
            b"RuntimeVisibleTypeAnnotations" => self.type_annotations = Some(body),
            b"BootstrapMethods" => {
                self.bootstrap_methods = attribute::parse_bootstrap_methods(body)?;
            }
            b"InnerClasses" => self.inner_classes = attribute::parse_inner_classes(body)?,
            b"EnclosingMethod" => {
                let (class, method) = (reader.u16(WHAT)?, reader.u16(WHAT)?);
                self.enclosing_method = Some(EnclosingMethod { class, method });
            }
            b"NestHost" => self.nest_host = Some(reader.u16(WHAT)?),
            b"NestMembers" => self.nest_members = reader.u16_list(WHAT)?,
            b"PermittedSubclasses" => self.permitted_subclasses = Some(reader.u16_list(WHAT)?),
            b"Record" => self.record = Some(attribute::parse_record(body, pool)?),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest class: `abstract interface a`.
    fn smallest() -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61, 0, 5];
        bytes.extend([1, 0, 1, b'a', 7, 0, 1]);
        bytes.extend([1, 0, 1, b'b', 7, 0, 3]);
        bytes.extend([6, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn smallest_class_parses() {
        let bytes = smallest();
        let class = ClassFile::parse(&bytes).unwrap();
        assert_eq!(class.name, b"a");
        assert_eq!(class.super_name, Some(&b"b"[..]));
        assert_eq!(class.access & access::INTERFACE, access::INTERFACE);
    }

    #[test]
    fn every_truncation_is_refused() {
        let bytes = smallest();
        for size in 0..bytes.len() {
            assert!(ClassFile::parse(&bytes[..size]).is_err(), "{size}");
        }
    }

    #[test]
    fn every_flipped_byte_is_answered() {
        let bytes = smallest();
        for offset in 0..bytes.len() {
            for bit in 0..8 {
                let mut hostile = bytes.clone();
                hostile[offset] ^= 1 << bit;
                let _ = ClassFile::parse(&hostile);
            }
        }
    }

    #[test]
    fn newer_versions_are_named() {
        let mut bytes = smallest();
        bytes[7] = 62;
        assert_eq!(
            ClassFile::parse(&bytes).unwrap_err(),
            Error::Version {
                major: 62,
                minor: 0
            }
        );
    }
}
