// SPDX-License-Identifier: Apache-2.0
//! [`DexFile`]: one verified file, and its tables of identifiers.
//!
//! `verify` makes one, above all that reads from it. Classes, their code and their annotations are
//! read by modules above this one, each in an `impl DexFile` of its own.

use crate::Error;
use crate::cursor::{Cursor, VERIFIED};
use crate::header::{Header, Section};
use crate::identifier::{FieldId, MethodHandle, MethodHandleKind, MethodId, ProtoId, TypeList};
use crate::value::EncodedValue;

/// A DEX file whose structure has been verified as a whole.
///
/// It borrows the bytes; accessors read them in place and do not fail, because [`DexFile::parse`]
/// has seen everything they read. Only instructions are what
/// [`Method::check_code`](crate::Method::check_code) says of them.
/// An index that did not come from this file panics, as that of a
/// slice.
pub struct DexFile<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) header: Header,
    pub(crate) call_sites: Section,
    pub(crate) method_handles: Section,
}

impl<'a> DexFile<'a> {
    /// 35, 37, 38 or 39.
    pub fn version(&self) -> u8 {
        self.header.version
    }

    /// Is the SHA-1 in the header that of the bytes? Android does not ask; tools that change files
    /// forget it.
    pub fn is_signature_sound(&self) -> bool {
        self.header.is_signature_sound
    }

    /// Entries of string_ids.
    pub fn string_count(&self) -> u32 {
        self.header.strings.count
    }

    /// Entries of type_ids.
    pub fn type_count(&self) -> u32 {
        self.header.types.count
    }

    /// Entries of proto_ids.
    pub fn proto_count(&self) -> u32 {
        self.header.protos.count
    }

    /// Entries of field_ids.
    pub fn field_count(&self) -> u32 {
        self.header.fields.count
    }

    /// Entries of method_ids.
    pub fn method_count(&self) -> u32 {
        self.header.methods.count
    }

    /// Entries of call_site_ids.
    pub fn call_site_count(&self) -> u32 {
        self.call_sites.count
    }

    /// Entries of method_handles.
    pub fn method_handle_count(&self) -> u32 {
        self.method_handles.count
    }

    /// Entries of class_defs.
    pub fn class_count(&self) -> u32 {
        self.header.classes.count
    }

    /// A string as modified UTF-8, without its terminator.
    pub fn string(&self, index: u32) -> &'a [u8] {
        let offset = self
            .entry(self.header.strings, 4, index)
            .u32("offset")
            .expect(VERIFIED);
        self.string_at(offset as usize).expect(VERIFIED)
    }

    /// A string for messages: what is no Unicode becomes U+FFFD.
    pub fn text(&self, index: u32) -> String {
        classfile::to_string_lossy(self.string(index))
    }

    /// The bytes of the string_data_item at `offset`.
    pub(crate) fn string_at(&self, offset: usize) -> Result<&'a [u8], Error> {
        let mut at = Cursor::new(self.bytes, offset, "string_data_item");
        at.uleb("length in UTF-16 units")?;
        let rest = self.bytes.get(at.offset()..).unwrap_or_default();
        let size = rest.iter().position(|it| *it == 0);
        let size = size.ok_or_else(|| at.malformed("no zero byte ends the string"))?;
        at.take(size, "string")
    }

    /// String index of a type's descriptor.
    pub fn type_string(&self, index: u32) -> u32 {
        self.entry(self.header.types, 4, index)
            .u32("descriptor")
            .expect(VERIFIED)
    }

    /// A type's descriptor, such as `Ljava/lang/Object;`.
    pub fn descriptor(&self, index: u32) -> String {
        self.text(self.type_string(index))
    }

    /// A prototype.
    pub fn proto(&self, index: u32) -> ProtoId<'a> {
        let mut at = self.entry(self.header.protos, 12, index);
        let mut word = || at.u32("proto_id_item").expect(VERIFIED);
        let (shorty, return_type, parameters) = (word(), word(), word());
        ProtoId {
            shorty,
            return_type,
            parameters: self.type_list(parameters),
        }
    }

    /// A field.
    pub fn field(&self, index: u32) -> FieldId {
        let mut at = self.entry(self.header.fields, 8, index);
        let class = at.u16("class").expect(VERIFIED).into();
        let kind = at.u16("type").expect(VERIFIED).into();
        FieldId {
            class,
            kind,
            name: at.u32("name").expect(VERIFIED),
        }
    }

    /// A method.
    pub fn method(&self, index: u32) -> MethodId {
        let mut at = self.entry(self.header.methods, 8, index);
        let class = at.u16("class").expect(VERIFIED).into();
        let proto = at.u16("proto").expect(VERIFIED).into();
        MethodId {
            class,
            proto,
            name: at.u32("name").expect(VERIFIED),
        }
    }

    /// A method handle.
    pub fn method_handle(&self, index: u32) -> MethodHandle {
        let mut at = self.entry(self.method_handles, 8, index);
        let kind = MethodHandleKind::of(at.u16("kind").expect(VERIFIED)).expect(VERIFIED);
        at.u16("unused").expect(VERIFIED);
        MethodHandle {
            kind,
            target: at.u16("target").expect(VERIFIED).into(),
        }
    }

    /// A call site: method handle, name, type, and the further arguments of the bootstrap method.
    pub fn call_site(&self, index: u32) -> Vec<EncodedValue> {
        let offset = self
            .entry(self.call_sites, 4, index)
            .u32("offset")
            .expect(VERIFIED);
        let mut at = Cursor::new(self.bytes, offset as usize, "call_site_item");
        EncodedValue::parse_array(&mut at).expect(VERIFIED)
    }

    /// The type list at `offset`; offset zero is the empty one.
    pub(crate) fn type_list(&self, offset: u32) -> TypeList<'a> {
        if offset == 0 {
            return TypeList::default();
        }
        let mut at = Cursor::new(self.bytes, offset as usize, "type_list");
        let count = at.u32("size").expect(VERIFIED);
        TypeList {
            bytes: at.take(count as usize * 2, "types").expect(VERIFIED),
        }
    }

    /// The entry of a table, of this size each.
    pub(crate) fn entry(&self, section: Section, size: usize, index: u32) -> Cursor<'a> {
        assert!(index < section.count, "index {index} of {}", section.count);
        Cursor::new(
            self.bytes,
            section.offset as usize + index as usize * size,
            "table entry",
        )
    }
}
