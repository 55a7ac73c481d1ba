// SPDX-License-Identifier: Apache-2.0
//! Chunks: type, header size, size. Binary XML and resource tables are made of them, one inside the
//! other.

use crate::Error;
use crate::reader::Reader;

pub(crate) const STRING_POOL: u16 = 0x0001;
pub(crate) const TABLE: u16 = 0x0002;
pub(crate) const XML: u16 = 0x0003;
pub(crate) const XML_NAMESPACE_START: u16 = 0x0100;
pub(crate) const XML_NAMESPACE_END: u16 = 0x0101;
pub(crate) const XML_ELEMENT_START: u16 = 0x0102;
pub(crate) const XML_ELEMENT_END: u16 = 0x0103;
pub(crate) const XML_TEXT: u16 = 0x0104;
pub(crate) const XML_RESOURCE_MAP: u16 = 0x0180;
pub(crate) const TABLE_PACKAGE: u16 = 0x0200;
pub(crate) const TABLE_TYPE: u16 = 0x0201;

const HEADER_SIZE: usize = 8;

/// One chunk: a reader of its header behind the common eight bytes, and one of all that follows the
/// header.
pub(crate) struct Chunk<'a> {
    pub(crate) kind: u16,
    /// All of it, from its first byte.
    pub(crate) whole: Reader<'a>,
    pub(crate) header: Reader<'a>,
    pub(crate) body: Reader<'a>,
}

impl<'a> Chunk<'a> {
    /// Reads the next chunk and steps behind it. As Android's: sizes are multiples of four and fit.
    pub(crate) fn next(from: &mut Reader<'a>) -> Result<Self, Error> {
        let mut probe = *from;
        let kind = probe.u16("chunk type")?;
        let header_size = usize::from(probe.u16("chunk header size")?);
        let size = probe.u32("chunk size")? as usize;
        let is_sound = HEADER_SIZE <= header_size
            && header_size <= size
            && header_size.is_multiple_of(4)
            && size.is_multiple_of(4)
            && size <= from.remaining();
        if !is_sound {
            return Err(from.malformed(format!(
                "chunk {kind:#06x}: header of {header_size} and size of {size} bytes do not fit {} bytes",
                from.remaining()
            )));
        }
        let whole = from.part(size, "chunk")?;
        let mut rest = whole;
        rest.take(HEADER_SIZE, "chunk header")?;
        let header = rest.part(header_size - HEADER_SIZE, "chunk header")?;
        Ok(Self {
            kind,
            whole,
            header,
            body: rest,
        })
    }

    pub(crate) fn expect(self, kind: u16, what: &'static str) -> Result<Self, Error> {
        if self.kind == kind {
            return Ok(self);
        }
        Err(self.whole.malformed(format!(
            "chunk {:#06x} where a {what} was expected",
            self.kind
        )))
    }
}
