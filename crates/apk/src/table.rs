// SPDX-License-Identifier: Apache-2.0
//! resources.arsc, as far as a manifest needs it: labels, booleans, numbers.
//!
//! [`Table::resolve`] follows references to a plain value for a device without locale or screen;
//! bags (styles, arrays, plurals) are not read.

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use crate::chunk::{self, Chunk};
use crate::reader::Reader;
use crate::strings::StringPool;
use crate::{Error, Fault, Value};

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
    /// By package and type, the best configurations first; of equal ones in the file's order.
    types: HashMap<(u8, u8), Vec<TypeChunk<'a>>>,
    bytes: usize,
}

/// How many configurations may still be looked at: each reference of a manifest may lead through
/// all of a type.
pub(crate) struct Steps {
    limit: u64,
    left: Cell<u64>,
}

impl Steps {
    pub(crate) fn new(limit: u64) -> Self {
        let left = Cell::new(limit);
        Self { limit, left }
    }

    fn take(&self) -> Option<()> {
        self.left.set(self.left.get().checked_sub(1)?);
        Some(())
    }
}

/// The values of one type for one configuration.
struct TypeChunk<'a> {
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
        let mut types = HashMap::new();
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
        for chunks in types.values_mut() {
            // A stable sort: the first of equals wins.
            chunks.sort_by_key(|it: &TypeChunk<'_>| Reverse(it.rank));
        }
        Ok(Self {
            strings,
            types,
            bytes: bytes.len(),
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The value behind `id` for a device of API level `sdk`; none if the table has no plain one.
    pub fn resolve(&self, id: u32, sdk: u16) -> Result<Option<Value>, Error> {
        self.resolve_within(id, sdk, &Steps::new(u64::MAX))
    }

    /// The same for one of many.
    pub(crate) fn resolve_within(
        &self,
        id: u32,
        sdk: u16,
        steps: &Steps,
    ) -> Result<Option<Value>, Error> {
        let mut id = id;
        for _ in 0..REFERENCES_MAX {
            match self.value(id, sdk, steps)? {
                Some(Value::Reference(next)) => id = next,
                other => return Ok(other),
            }
        }
        Ok(None)
    }

    fn value(&self, id: u32, sdk: u16, steps: &Steps) -> Result<Option<Value>, Error> {
        let [package, type_id, high, low] = id.to_be_bytes();
        let index = u32::from(u16::from_be_bytes([high, low]));
        for chunk in self.types.get(&(package, type_id)).into_iter().flatten() {
            steps.take().ok_or_else(|| {
                chunk.whole.fault(Fault::Limit {
                    what: "configurations to look through for all references",
                    value: steps.limit.saturating_add(1),
                    limit: steps.limit,
                })
            })?;
            if chunk.rank.sdk <= sdk
                && let Some(value) = chunk.value(index, &self.strings)?
            {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

fn package<'a>(
    chunk: Chunk<'a>,
    types: &mut HashMap<(u8, u8), Vec<TypeChunk<'a>>>,
) -> Result<(), Error> {
    let mut header = chunk.header;
    let id = header.u32("package id")?;
    let Ok(id) = u8::try_from(id) else {
        return Err(chunk.whole.malformed(format!("package id {id:#x}")));
    };
    let mut body = chunk.body;
    while !body.is_empty() {
        let next = Chunk::next(&mut body)?;
        if next.kind == chunk::TABLE_TYPE {
            let chunk = TypeChunk::parse(next)?;
            types.entry((id, chunk.id)).or_default().push(chunk);
        }
    }
    Ok(())
}

impl<'a> TypeChunk<'a> {
    fn parse(chunk: Chunk<'a>) -> Result<Self, Error> {
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
            return self.sparse_offset(index);
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

impl TypeChunk<'_> {
    /// Pairs of index and offset, in the order of the indices: as Android, found by halving.
    /// [`Self::parse`] took all of them.
    fn sparse_offset(&self, index: u32) -> Result<Option<usize>, Error> {
        let pairs = self.offsets.rest();
        let (mut low, mut high) = (0, self.entry_count as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some([a, b, c, d]) = pairs.get(middle * 4..).and_then(|it| it.first_chunk()) else {
                return Err(self.offsets.malformed("a sparse type's offsets are short"));
            };
            match u32::from(u16::from_le_bytes([*a, *b])).cmp(&index) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    return Ok(Some(usize::from(u16::from_le_bytes([*c, *d])) * 4));
                }
            }
        }
        Ok(None)
    }
}

impl Rank {
    /// From a configuration's bytes behind its size: network, locale, screen type, input, screen
    /// size, version, rest.
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
