// SPDX-License-Identifier: Apache-2.0
//! A cursor over little-endian bytes that knows where it is in the whole entry.
//!
//! `dex::cursor` is another one, and says why.

use crate::{Error, Fault};

/// Reads forward inside one entry; every read is checked and names what it was for.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    entry: &'a str,
    bytes: &'a [u8],
    base: usize,
    position: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(entry: &'a str, bytes: &'a [u8]) -> Self {
        Self {
            entry,
            bytes,
            base: 0,
            position: 0,
        }
    }

    /// Where the next read happens, counted from the start of the entry.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.position
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    pub(crate) fn fault(&self, fault: Fault) -> Error {
        Error::new(self.entry, self.offset() as u64, fault)
    }

    pub(crate) fn malformed(&self, text: impl Into<String>) -> Error {
        self.fault(Fault::Malformed(text.into()))
    }

    pub(crate) fn take(&mut self, size: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let taken = self.bytes[self.position..]
            .get(..size)
            .ok_or_else(|| self.fault(Fault::Truncated(what)))?;
        self.position += size;
        Ok(taken)
    }

    /// A reader of the next `size` bytes, which this one skips.
    pub(crate) fn part(&mut self, size: usize, what: &'static str) -> Result<Reader<'a>, Error> {
        let base = self.offset();
        let bytes = self.take(size, what)?;
        Ok(Reader {
            entry: self.entry,
            bytes,
            base,
            position: 0,
        })
    }

    /// The same bytes from `offset` (from their start) on.
    pub(crate) fn at(&self, offset: usize, what: &'static str) -> Result<Reader<'a>, Error> {
        if offset > self.bytes.len() {
            return Err(self.fault(Fault::Truncated(what)));
        }
        Ok(Reader {
            position: offset,
            ..*self
        })
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        Ok(self.take(1, what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        let b = self.take(2, what)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        let b = self.take(4, what)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        Ok(u64::from(self.u32(what)?) | (u64::from(self.u32(what)?) << 32))
    }

    /// A 32-bit length and that many bytes, as the signing block has them.
    pub(crate) fn prefixed(&mut self, what: &'static str) -> Result<Reader<'a>, Error> {
        let size = self.u32(what)? as usize;
        self.part(size, what)
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }
}
