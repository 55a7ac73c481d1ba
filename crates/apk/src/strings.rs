// SPDX-License-Identifier: Apache-2.0
//! String pools of binary XML and resource tables.
//!
//! Strings are decoded when they are asked for, each once. Many indices may name overlapping bytes,
//! so the pool counts what it hands out: a small file cannot become gigabytes of text.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::chunk::{Chunk, STRING_POOL};
use crate::reader::Reader;
use crate::{Error, Fault};

/// Decoded bytes per byte of the pool: UTF-16 text grows by at most 3/2; the rest is for shared
/// tails.
const DECODED_PER_BYTE_MAX: usize = 4;
const FLAG_UTF8: u32 = 1 << 8;
/// An index that means "no string".
pub(crate) const NO_STRING: u32 = u32::MAX;

pub(crate) struct StringPool<'a> {
    offsets: Reader<'a>,
    data: Reader<'a>,
    count: u32,
    is_utf8: bool,
    decoded: RefCell<HashMap<u32, Arc<str>>>,
    /// Equal texts are one, however many indices name them: so they compare by address.
    texts: RefCell<HashSet<Arc<str>>>,
    budget: Cell<usize>,
}

impl<'a> StringPool<'a> {
    pub(crate) fn parse(chunk: Chunk<'a>) -> Result<Self, Error> {
        let chunk = chunk.expect(STRING_POOL, "string pool")?;
        let mut header = chunk.header;
        let count = header.u32("string count")?;
        header.u32("style count")?;
        let flags = header.u32("string pool flags")?;
        let strings_start = header.u32("start of strings")? as usize;
        let mut body = chunk.body;
        let offsets = body.part((count as usize).saturating_mul(4), "string offsets")?;
        let size = chunk.whole.remaining();
        let data = match count {
            0 => chunk.whole.at(size, "strings")?,
            _ => chunk.whole.at(strings_start, "strings")?,
        };
        let budget = size.saturating_mul(DECODED_PER_BYTE_MAX);
        Ok(Self {
            offsets,
            data,
            count,
            is_utf8: flags & FLAG_UTF8 != 0,
            decoded: RefCell::default(),
            texts: RefCell::default(),
            budget: Cell::new(budget),
        })
    }

    /// The string with this index; none for [`NO_STRING`].
    pub(crate) fn optional(&self, index: u32) -> Result<Option<Arc<str>>, Error> {
        if index == NO_STRING {
            Ok(None)
        } else {
            self.get(index).map(Some)
        }
    }

    pub(crate) fn get(&self, index: u32) -> Result<Arc<str>, Error> {
        if let Some(known) = self.decoded.borrow().get(&index) {
            return Ok(known.clone());
        }
        if index >= self.count {
            let text = format!(
                "string index {index} is not below the pool's {}",
                self.count
            );
            return Err(self.offsets.malformed(text));
        }
        let mut offset = self.offsets;
        offset.take(index as usize * 4, "string offset")?;
        let offset = offset.u32("string offset")? as usize;
        let mut at = self.data;
        at.take(offset, "string")?;
        let text = if self.is_utf8 { utf8(at)? } else { utf16(at)? };
        let left = self.budget.get().checked_sub(text.len());
        let Some(left) = left else {
            return Err(at.fault(Fault::Limit {
                what: "decoded text per byte of the string pool",
                value: DECODED_PER_BYTE_MAX as u64 + 1,
                limit: DECODED_PER_BYTE_MAX as u64,
            }));
        };
        self.budget.set(left);
        let known = self.texts.borrow().get(text.as_str()).cloned();
        let text = known.unwrap_or_else(|| {
            let text: Arc<str> = text.into();
            self.texts.borrow_mut().insert(text.clone());
            text
        });
        self.decoded.borrow_mut().insert(index, text.clone());
        Ok(text)
    }
}

fn utf8(mut at: Reader<'_>) -> Result<String, Error> {
    short_length(&mut at)?; // in UTF-16 units: says nothing the bytes do not
    let size = short_length(&mut at)?;
    let bytes = at.take(size, "string")?;
    // aapt writes unpaired surrogates and NUL as modified UTF-8: readable text matters more than
    // their identity.
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn utf16(mut at: Reader<'_>) -> Result<String, Error> {
    let mut count = usize::from(at.u16("string length")?);
    if count & 0x8000 != 0 {
        count = ((count & 0x7fff) << 16) | usize::from(at.u16("string length")?);
    }
    let bytes = at.take(count * 2, "string")?;
    let units = bytes
        .chunks_exact(2)
        .map(|it| u16::from_le_bytes([it[0], it[1]]));
    Ok(char::decode_utf16(units)
        .map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect())
}

fn short_length(at: &mut Reader<'_>) -> Result<usize, Error> {
    let first = usize::from(at.u8("string length")?);
    if first & 0x80 == 0 {
        return Ok(first);
    }
    Ok(((first & 0x7f) << 8) | usize::from(at.u8("string length")?))
}
