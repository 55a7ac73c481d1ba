// SPDX-License-Identifier: Apache-2.0
//! The JDK's module image, `lib/modules`.
//!
//! A perfect hash over resource names leads to location records; a record
//! names offset and size of the content. Only uncompressed content is read.

use crate::Error;

const MAGIC: u32 = 0xcafe_dada;
const HEADER_SIZE: usize = 28;
const HASH_SEED: u32 = 0x0100_0193;

/// A parsed image, borrowing the mapped file.
#[derive(Clone, Copy, Debug)]
pub struct Jimage<'a> {
    bytes: &'a [u8],
    table_count: usize,
    redirect: usize,
    offsets: usize,
    locations: usize,
    strings: usize,
    content: usize,
}

/// One location record.
#[derive(Default)]
struct Location {
    module: usize,
    parent: usize,
    base: usize,
    extension: usize,
    offset: usize,
    compressed: usize,
    size: usize,
}

impl<'a> Jimage<'a> {
    /// Checks the header and finds the tables.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let word = |at| read_u32(bytes, at);
        if word(0)? != MAGIC {
            return Err(Error::Malformed("jimage magic number (or byte order)"));
        }
        if word(4)? != 0x0001_0000 {
            return Err(Error::Malformed("jimage version"));
        }
        let table_count = word(16)? as usize;
        let redirect = HEADER_SIZE;
        let offsets = redirect + table_count * 4;
        let locations = offsets + table_count * 4;
        let strings = locations + word(20)? as usize;
        let content = strings + word(24)? as usize;
        if content > bytes.len() || table_count == 0 {
            return Err(Error::Truncated("jimage tables"));
        }
        Ok(Self {
            bytes,
            table_count,
            redirect,
            offsets,
            locations,
            strings,
            content,
        })
    }

    /// The content of `/module/path`, where `path` includes the extension.
    pub fn find(&self, module: &str, path: &str) -> Option<&'a [u8]> {
        let name = format!("/{module}/{path}");
        let index = self.index_of(name.as_bytes())?;
        let location = self.location(index)?;
        if self.full_name(&location)? != name.as_bytes() {
            return None;
        }
        self.content_of(&location)
    }

    /// The module that holds `package` (dotted name).
    pub fn module_of_package(&self, package: &str) -> Option<&'a str> {
        let rows = self.find("packages", package)?;
        let module = rows.chunks_exact(8).find(|row| row[..4] == [0; 4])?;
        core::str::from_utf8(self.string(read_u32(module, 4).ok()? as usize)?).ok()
    }

    /// Name and content of every resource, in the order of the table.
    pub fn resources(&self) -> impl Iterator<Item = (Vec<u8>, &'a [u8])> {
        let image = *self;
        (0..self.table_count).filter_map(move |index| {
            let location = image.location(index)?;
            Some((image.full_name(&location)?, image.content_of(&location)?))
        })
    }

    fn content_of(&self, location: &Location) -> Option<&'a [u8]> {
        if location.compressed != 0 {
            return None;
        }
        let start = self.content.checked_add(location.offset)?;
        self.bytes.get(start..start.checked_add(location.size)?)
    }

    fn index_of(&self, name: &[u8]) -> Option<usize> {
        let slot = hash(name, HASH_SEED) as usize % self.table_count;
        match read_u32(self.bytes, self.redirect + slot * 4).ok()? as i32 {
            0 => None,
            seed @ 1.. => Some(hash(name, seed as u32) as usize % self.table_count),
            direct => usize::try_from(-1 - i64::from(direct)).ok(),
        }
    }

    fn location(&self, index: usize) -> Option<Location> {
        if index >= self.table_count {
            return None;
        }
        let offset = read_u32(self.bytes, self.offsets + index * 4).ok()? as usize;
        let mut rest = self
            .bytes
            .get(self.locations.checked_add(offset)?..self.strings)?;
        let mut location = Location::default();
        loop {
            let (&tag, after) = rest.split_first()?;
            let size = usize::from(tag & 7) + 1;
            let target = match tag >> 3 {
                0 => return Some(location),
                1 => &mut location.module,
                2 => &mut location.parent,
                3 => &mut location.base,
                4 => &mut location.extension,
                5 => &mut location.offset,
                6 => &mut location.compressed,
                7 => &mut location.size,
                _ => return None,
            };
            *target = after
                .get(..size)?
                .iter()
                .fold(0, |value, &b| (value << 8) | usize::from(b));
            rest = &after[size..];
        }
    }

    fn full_name(&self, location: &Location) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        let parts = [
            (location.module, &b"/"[..], &b"/"[..]),
            (location.parent, b"", b"/"),
            (location.base, b"", b""),
            (location.extension, b".", b""),
        ];
        for (offset, before, after) in parts {
            let part = self.string(offset)?;
            if !part.is_empty() {
                name.extend_from_slice(before);
                name.extend_from_slice(part);
                name.extend_from_slice(after);
            }
        }
        Some(name)
    }

    fn string(&self, offset: usize) -> Option<&'a [u8]> {
        let rest = self
            .bytes
            .get(self.strings.checked_add(offset)?..self.content)?;
        Some(&rest[..rest.iter().position(|&b| b == 0)?])
    }
}

fn hash(name: &[u8], seed: u32) -> u32 {
    name.iter()
        .fold(seed, |h, &b| h.wrapping_mul(HASH_SEED) ^ u32::from(b))
        & 0x7fff_ffff
}

fn read_u32(bytes: &[u8], at: usize) -> Result<u32, Error> {
    let end = at.checked_add(4).ok_or(Error::Truncated("jimage"))?;
    let b = bytes.get(at..end).ok_or(Error::Truncated("jimage"))?;
    Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_bytes_are_refused() {
        assert!(Jimage::parse(b"").is_err());
        assert!(Jimage::parse(&[0; 64]).is_err());
        let mut header = MAGIC.to_le_bytes().to_vec();
        header.extend(0x0001_0000_u32.to_le_bytes());
        header.extend([0xff; 20]);
        assert!(Jimage::parse(&header).is_err());
    }
}
