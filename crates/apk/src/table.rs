// SPDX-License-Identifier: Apache-2.0
//! resources.arsc, as far as a manifest needs it: labels, booleans, numbers.
//!
//! [`Table::resolve`] follows references to a plain value for a device without locale or screen; bags (styles,
//! arrays, plurals) are not read.

use crate::chunk::{self, Chunk};
use crate::reader::Reader;
use crate::strings::StringPool;
use crate::{Error, Value};

/// A reference that leads to a reference, and so on: as many as Android follows.
const REFERENCES_MAX: usize = 20;
const NO_ENTRY: u32 = u32::MAX;
const TYPE_SPARSE: u8 = 1;
const TYPE_SHORT_OFFSETS: u8 = 2;
const ENTRY_COMPLEX: u16 = 1;
const ENTRY_COMPACT: u16 = 8;

/// A parsed resource table.
pub struct Table<'a> {
    strings: StringPool<'a>,
    types: Vec<TypeChunk<'a>>,
}

/// The values of one type for one configuration.
struct TypeChunk<'a> {
    package: u8,
    id: u8,
    flags: u8,
    entry_count: u32,
    entries_start: usize,
    rank: Rank,
    whole: Reader<'a>,
    offsets: Reader<'a>,
}

/// How well a configuration suits; the greatest wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_for_any_locale: bool,
    is_for_any_screen: bool,
    sdk: u16,
}

impl<'a> Table<'a> {
    /// Reads the table's outline; values are read when they are asked for.
    pub fn parse(entry: &'a str, bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(entry, bytes);
        let root = Chunk::next(&mut reader)?.expect(chunk::TABLE, "resource table")?;
        let mut body = root.body;
        let mut strings = None;
        let mut types = Vec::new();
        while !body.is_empty() {
            let next = Chunk::next(&mut body)?;
            match next.kind {
                chunk::STRING_POOL if strings.is_none() => strings = Some(StringPool::parse(next)?),
                chunk::TABLE_PACKAGE => package(next, &mut types)?,
                _ => {}
            }
        }
        let strings =
            strings.ok_or_else(|| reader.malformed("a resource table without strings"))?;
        Ok(Self { strings, types })
    }

    /// The value behind `id` for a device of API level `sdk`; none if the table has no plain one.
    pub fn resolve(&self, id: u32, sdk: u16) -> Result<Option<Value>, Error> {
        let mut id = id;
        for _ in 0..REFERENCES_MAX {
            match self.value(id, sdk)? {
                Some(Value::Reference(next)) => id = next,
                other => return Ok(other),
            }
        }
        Ok(None)
    }

    fn value(&self, id: u32, sdk: u16) -> Result<Option<Value>, Error> {
        let [package, type_id, high, low] = id.to_be_bytes();
        let index = u32::from(u16::from_be_bytes([high, low]));
        let mut best: Option<(Rank, Value)> = None;
        let suitable = self
            .types
            .iter()
            .filter(|it| it.package == package && it.id == type_id && it.rank.sdk <= sdk);
        for chunk in suitable {
            let is_better = best.as_ref().is_none_or(|(rank, _)| chunk.rank > *rank);
            if !is_better {
                continue;
            }
            if let Some(value) = chunk.value(index, &self.strings)? {
                best = Some((chunk.rank, value));
            }
        }
        Ok(best.map(|(_, value)| value))
    }
}

fn package<'a>(chunk: Chunk<'a>, types: &mut Vec<TypeChunk<'a>>) -> Result<(), Error> {
    let mut header = chunk.header;
    let id = header.u32("package id")?;
    let Ok(id) = u8::try_from(id) else {
        return Err(chunk.whole.malformed(format!("package id {id:#x}")));
    };
    let mut body = chunk.body;
    while !body.is_empty() {
        let next = Chunk::next(&mut body)?;
        if next.kind == chunk::TABLE_TYPE {
            types.push(TypeChunk::parse(id, next)?);
        }
    }
    Ok(())
}

impl<'a> TypeChunk<'a> {
    fn parse(package: u8, chunk: Chunk<'a>) -> Result<Self, Error> {
        let mut header = chunk.header;
        let id = header.u8("type id")?;
        let flags = header.u8("type flags")?;
        header.u16("type padding")?;
        let entry_count = header.u32("entry count")?;
        let entries_start = header.u32("start of entries")? as usize;
        let size = header.u32("configuration size")? as usize;
        let config = header.part(size.saturating_sub(4), "configuration")?.rest();
        let entry_size = if flags & TYPE_SHORT_OFFSETS != 0 {
            2
        } else {
            4
        };
        let mut body = chunk.body;
        let offsets = body.part(
            (entry_count as usize).saturating_mul(entry_size),
            "entry offsets",
        )?;
        Ok(Self {
            package,
            id,
            flags,
            entry_count,
            entries_start,
            rank: Rank::of(config),
            whole: chunk.whole,
            offsets,
        })
    }

    fn value(&self, index: u32, strings: &StringPool<'_>) -> Result<Option<Value>, Error> {
        let Some(offset) = self.entry_offset(index)? else {
            return Ok(None);
        };
        let start = self.entries_start.saturating_add(offset);
        let mut entry = self.whole.at(start, "resource entry")?;
        let size = entry.u16("entry size")?;
        let flags = entry.u16("entry flags")?;
        let key = entry.u32("entry key")?;
        if flags & ENTRY_COMPACT != 0 {
            return Value::typed((flags >> 8) as u8, key, strings).map(Some);
        }
        if flags & ENTRY_COMPLEX != 0 {
            return Ok(None);
        }
        let mut value = self
            .whole
            .at(start.saturating_add(usize::from(size)), "resource value")?;
        Value::parse(&mut value, strings).map(Some)
    }

    fn entry_offset(&self, index: u32) -> Result<Option<usize>, Error> {
        let mut offsets = self.offsets;
        if self.flags & TYPE_SPARSE != 0 {
            for _ in 0..self.entry_count {
                let at = offsets.u16("sparse index")?;
                let offset = usize::from(offsets.u16("sparse offset")?) * 4;
                if u32::from(at) == index {
                    return Ok(Some(offset));
                }
            }
            return Ok(None);
        }
        if index >= self.entry_count {
            return Ok(None);
        }
        if self.flags & TYPE_SHORT_OFFSETS != 0 {
            offsets.take(index as usize * 2, "entry offset")?;
            let offset = offsets.u16("entry offset")?;
            return Ok((offset != u16::MAX).then_some(usize::from(offset) * 4));
        }
        offsets.take(index as usize * 4, "entry offset")?;
        let offset = offsets.u32("entry offset")?;
        Ok((offset != NO_ENTRY).then_some(offset as usize))
    }
}

impl Rank {
    /// From a configuration's bytes behind its size: network, locale, screen type, input, screen size, version, rest.
    fn of(config: &[u8]) -> Self {
        let is_zero =
            |from: usize, to: usize| config.iter().take(to).skip(from).all(|byte| *byte == 0);
        let sdk = config
            .get(20..22)
            .map_or(0, |it| u16::from_le_bytes([it[0], it[1]]));
        Self {
            is_for_any_locale: is_zero(4, 8),
            is_for_any_screen: is_zero(0, 4) && is_zero(8, 20) && is_zero(24, usize::MAX),
            sdk,
        }
    }
}
