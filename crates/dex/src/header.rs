// SPDX-License-Identifier: Apache-2.0
//! The header and the map: where everything lies.

use sha1::{Digest as _, Sha1};

use crate::cursor::Cursor;
use crate::{Error, Fault};

const ITEM: &str = "header_item";
const HEADER_SIZE: u32 = 0x70;
const ENDIAN: u32 = 0x1234_5678;
const CHECKSUM_START: usize = 12;
const SIGNATURE_START: usize = 32;
/// Kinds of sections in a map.
const MAP_ITEMS_MAX: u32 = 21;

/// A run of items: how many, and where the first lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) count: u32,
    pub(crate) offset: u32,
}

/// The header.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) version: u8,
    pub(crate) is_signature_sound: bool,
    pub(crate) map_offset: u32,
    pub(crate) strings: Section,
    pub(crate) types: Section,
    pub(crate) protos: Section,
    pub(crate) fields: Section,
    pub(crate) methods: Section,
    pub(crate) classes: Section,
}

impl Header {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut at = Cursor::new(bytes, 0, ITEM);
        let start = at;
        let magic: [u8; 8] = at.take(8, "magic word")?.try_into().expect("eight bytes");
        let version = version(magic).map_err(|it| start.fault(it))?;
        let stored = at.u32("checksum")?;
        let signature = at.take(20, "signature")?;
        let file_size = at.u32("file size")?;
        if file_size as usize != bytes.len() {
            let text = format!(
                "the header says {file_size} bytes, there are {}",
                bytes.len()
            );
            return Err(at.malformed(text));
        }
        if at.u32("header size")? != HEADER_SIZE {
            return Err(at.malformed("the header size is not 0x70"));
        }
        if at.u32("endian tag")? != ENDIAN {
            return Err(at.malformed("the endian tag is not 0x12345678"));
        }
        let actual = adler2::adler32_slice(&bytes[CHECKSUM_START..]);
        if stored != actual {
            return Err(start.fault(Fault::Checksum { stored, actual }));
        }
        at.take(8, "link section")?;
        let map_offset = at.u32("map offset")?;
        let mut section = |what| -> Result<Section, Error> {
            Ok(Section {
                count: at.u32(what)?,
                offset: at.u32(what)?,
            })
        };
        let header = Self {
            version,
            is_signature_sound: Sha1::digest(&bytes[SIGNATURE_START..])[..] == *signature,
            map_offset,
            strings: section("string_ids")?,
            types: section("type_ids")?,
            protos: section("proto_ids")?,
            fields: section("field_ids")?,
            methods: section("method_ids")?,
            classes: section("class_defs")?,
        };
        at.take(8, "data section")?;
        for (what, count) in [
            ("type_ids", header.types.count),
            ("proto_ids", header.protos.count),
        ] {
            if count > 0x1_0000 {
                return Err(at.malformed(format!("{count} {what}; an index has 16 bits")));
            }
        }
        Ok(header)
    }
}

fn version(magic: [u8; 8]) -> Result<u8, Fault> {
    let [b'd', b'e', b'x', b'\n', a, b, c, 0] = magic else {
        return Err(Fault::Magic(magic));
    };
    if ![a, b, c].iter().all(u8::is_ascii_digit) {
        return Err(Fault::Magic(magic));
    }
    let digit = |it: u8| u16::from(it - b'0');
    match digit(a) * 100 + digit(b) * 10 + digit(c) {
        // 036 never shipped: as Android, we do not know it.
        known @ (35 | 37 | 38 | 39) => Ok(known as u8),
        other => Err(Fault::Version(other)),
    }
}

/// What a map item describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Header,
    StringId,
    TypeId,
    ProtoId,
    FieldId,
    MethodId,
    ClassDef,
    CallSiteId,
    MethodHandle,
    Map,
    TypeList,
    AnnotationSetRefs,
    AnnotationSet,
    ClassData,
    Code,
    StringData,
    DebugInfo,
    Annotation,
    EncodedArray,
    AnnotationsDirectory,
    HiddenApi,
}

impl Kind {
    fn of(number: u16) -> Option<Self> {
        Some(match number {
            0x0000 => Self::Header,
            0x0001 => Self::StringId,
            0x0002 => Self::TypeId,
            0x0003 => Self::ProtoId,
            0x0004 => Self::FieldId,
            0x0005 => Self::MethodId,
            0x0006 => Self::ClassDef,
            0x0007 => Self::CallSiteId,
            0x0008 => Self::MethodHandle,
            0x1000 => Self::Map,
            0x1001 => Self::TypeList,
            0x1002 => Self::AnnotationSetRefs,
            0x1003 => Self::AnnotationSet,
            0x2000 => Self::ClassData,
            0x2001 => Self::Code,
            0x2002 => Self::StringData,
            0x2003 => Self::DebugInfo,
            0x2004 => Self::Annotation,
            0x2005 => Self::EncodedArray,
            0x2006 => Self::AnnotationsDirectory,
            0xf000 => Self::HiddenApi,
            _ => return None,
        })
    }
}

/// The map, in file order.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    items: Vec<(Kind, Section)>,
}

impl Map {
    pub(crate) fn parse(bytes: &[u8], header: &Header) -> Result<Self, Error> {
        let mut at = Cursor::new(bytes, header.map_offset as usize, "map_list");
        if !header.map_offset.is_multiple_of(4) || header.map_offset < HEADER_SIZE {
            return Err(at.malformed("the map's offset is in the header or not a multiple of four"));
        }
        let count = at.u32("map size")?;
        if count > MAP_ITEMS_MAX {
            let (what, limit) = ("map size", u64::from(MAP_ITEMS_MAX) + 1);
            return Err(at.fault(Fault::Range {
                what,
                value: count.into(),
                limit,
            }));
        }
        let mut map = Self { items: Vec::new() };
        for _ in 0..count {
            let number = at.u16("map item")?;
            at.u16("map item")?;
            let section = Section {
                count: at.u32("map item")?,
                offset: at.u32("map item")?,
            };
            let kind = Kind::of(number)
                .ok_or_else(|| at.malformed(format!("unknown section type {number:#06x}")))?;
            at.below("section offset", section.offset, bytes.len() as u32)?;
            let is_after = map
                .items
                .last()
                .is_none_or(|(_, it)| it.offset < section.offset);
            if !is_after || map.find(kind).is_some() {
                return Err(at.fault(Fault::Order("sections, each once, by offset")));
            }
            if section.count == 0 {
                return Err(at.malformed("an empty section"));
            }
            map.items.push((kind, section));
        }
        map.check_against(header, at)?;
        Ok(map)
    }

    fn check_against(&self, header: &Header, at: Cursor<'_>) -> Result<(), Error> {
        let expected = [
            (
                Kind::Header,
                Section {
                    count: 1,
                    offset: 0,
                },
            ),
            (
                Kind::Map,
                Section {
                    count: 1,
                    offset: header.map_offset,
                },
            ),
            (Kind::StringId, header.strings),
            (Kind::TypeId, header.types),
            (Kind::ProtoId, header.protos),
            (Kind::FieldId, header.fields),
            (Kind::MethodId, header.methods),
            (Kind::ClassDef, header.classes),
        ];
        for (kind, section) in expected {
            let is_there = match self.find(kind) {
                Some(found) => found == section,
                None => section.count == 0,
            };
            if !is_there {
                return Err(at.malformed(format!(
                    "header and map disagree about the {kind:?} section"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn find(&self, kind: Kind) -> Option<Section> {
        self.items
            .iter()
            .find(|(it, _)| *it == kind)
            .map(|(_, section)| *section)
    }

    /// Each section with the offset at which the next one begins.
    pub(crate) fn sections(
        &self,
        file_size: usize,
    ) -> impl Iterator<Item = (Kind, Section, usize)> {
        let ends = self
            .items
            .iter()
            .skip(1)
            .map(|(_, it)| it.offset as usize)
            .chain([file_size]);
        self.items
            .iter()
            .zip(ends)
            .map(|((kind, section), end)| (*kind, *section, end))
    }
}
