// SPDX-License-Identifier: Apache-2.0
//! A cursor over the file that knows which kind of item it reads.
//!
//! `apk` has a reader of its own. Its errors name an entry of a package, and it reads parts inside
//! parts; here they name an item, and every place counts from the file's start. Both share four
//! reads of a line or two, which is too little for a crate below both.

use crate::{Error, Fault};

/// What reads of verified places expect.
pub(crate) const VERIFIED: &str = "DexFile::parse has verified it";

/// Reads forward from a place in the file.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    item: &'static str,
}

impl<'a> Cursor<'a> {
    /// A cursor at `at`, which may lie behind the end: the first read says so.
    pub(crate) fn new(bytes: &'a [u8], at: usize, item: &'static str) -> Self {
        Self { bytes, at, item }
    }

    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn fault(&self, fault: Fault) -> Error {
        Error {
            offset: self.at,
            item: self.item,
            fault,
        }
    }

    pub(crate) fn malformed(&self, text: impl Into<String>) -> Error {
        self.fault(Fault::Malformed(text.into()))
    }

    /// `value` if it is below `limit`.
    pub(crate) fn below(&self, what: &'static str, value: u32, limit: u32) -> Result<u32, Error> {
        if value < limit {
            return Ok(value);
        }
        Err(self.fault(Fault::Range {
            what,
            value: value.into(),
            limit: limit.into(),
        }))
    }

    pub(crate) fn take(&mut self, size: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let end = self.at.checked_add(size);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.fault(Fault::Truncated(what)))?;
        self.at += size;
        Ok(taken)
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

    /// LEB128, at most five bytes and 32 bits.
    pub(crate) fn uleb(&mut self, what: &'static str) -> Result<u32, Error> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8(what)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value)
                    .map_err(|_| self.malformed(format!("{what} has more than 32 bits")));
            }
        }
        Err(self.malformed(format!("{what} has more than five bytes")))
    }

    /// LEB128 of a value plus one: none is minus one.
    pub(crate) fn uleb_p1(&mut self, what: &'static str) -> Result<Option<u32>, Error> {
        Ok(self.uleb(what)?.checked_sub(1))
    }

    /// Signed LEB128, at most five bytes.
    pub(crate) fn sleb(&mut self, what: &'static str) -> Result<i32, Error> {
        let mut value = 0i64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8(what)?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let unused = 64 - (shift + 7);
                return Ok(((value << unused) >> unused) as i32);
            }
        }
        Err(self.malformed(format!("{what} has more than five bytes")))
    }

    /// Steps to the next multiple of four over zero bytes.
    pub(crate) fn align(&mut self) -> Result<(), Error> {
        while !self.at.is_multiple_of(4) {
            if self.u8("padding")? != 0 {
                return Err(self.malformed("padding that is not zero"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leb128_values() {
        let uleb = |bytes| Cursor::new(bytes, 0, "test").uleb("value");
        let sleb = |bytes| Cursor::new(bytes, 0, "test").sleb("value");
        assert_eq!(uleb(&[0x80, 0x7f]), Ok(16256));
        assert_eq!(uleb(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
        assert!(uleb(&[0xff, 0xff, 0xff, 0xff, 0x1f]).is_err());
        assert!(uleb(&[0x80; 6]).is_err());
        assert!(uleb(&[0x80]).is_err());
        assert_eq!(sleb(&[0x7f]), Ok(-1));
        assert_eq!(sleb(&[0x80, 0x7f]), Ok(-128));
        assert_eq!(sleb(&[0x3c]), Ok(60));
        assert_eq!(sleb(&[0x80, 0x80, 0x80, 0x80, 0x78]), Ok(i32::MIN));
    }
}
