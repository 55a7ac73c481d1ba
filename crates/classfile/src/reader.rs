// SPDX-License-Identifier: Apache-2.0
//! A cursor over big-endian bytes.

use crate::Error;

/// Reads forward; every read is checked and names what it was for.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn take(&mut self, size: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let end = self
            .offset
            .checked_add(size)
            .ok_or(Error::Truncated(what))?;
        let taken = self
            .bytes
            .get(self.offset..end)
            .ok_or(Error::Truncated(what))?;
        self.offset = end;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        Ok(self.take(1, what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        let b = self.take(2, what)?;
        Ok(u16::from_be_bytes([b[0], b[1]]))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        let b = self.take(4, what)?;
        Ok(u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        Ok((u64::from(self.u32(what)?) << 32) | u64::from(self.u32(what)?))
    }

    /// All that was not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.offset == self.bytes.len()
    }

    /// A counted list of 16-bit values.
    pub(crate) fn u16_list(&mut self, what: &'static str) -> Result<Vec<u16>, Error> {
        let count = self.u16(what)?;
        (0..count).map(|_| self.u16(what)).collect()
    }
}
