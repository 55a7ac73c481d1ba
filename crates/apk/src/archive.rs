// SPDX-License-Identifier: Apache-2.0
//! The zip archive, read as Android reads it: strictly.
//!
//! What two readers could read in two ways is refused: a name twice, overlapping entries, a local
//! header that disagrees with the directory, bytes in front of the first entry. [`Archive::read`]
//! unpacks one entry under [`ENTRY_BYTES_MAX`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use crate::{Error, Fault};

/// Entries in one archive: what a directory without zip64 can count.
pub const ENTRIES_MAX: u64 = 65_535;
/// Unpacked bytes of one entry: the largest DEX files and native libraries in the field stay well
/// below.
pub const ENTRY_BYTES_MAX: u64 = 256 << 20;

/// Unpacked bytes of all entries: so many per byte of the file. Packages in the field have at most
/// five.
pub const UNPACKED_PER_BYTE_MAX: u64 = 100;
/// And these besides, for small packages with an empty database or a blank picture.
pub const UNPACKED_SLACK_BYTES: u64 = 64 << 20;
/// Of an entry that is parsed, which costs a multiple of its size.
pub const DENSE_SLACK_BYTES: u64 = 1 << 20;

const LOCAL_HEADER_MAGIC: u32 = 0x0403_4b50;

/// An archive whose directory has been checked.
pub struct Archive<'a> {
    bytes: &'a [u8],
    zip: ZipSliceArchive<&'a [u8]>,
    entries: BTreeMap<String, Entry>,
}

/// One entry of the directory.
#[derive(Clone, Debug)]
pub struct Entry {
    way: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    is_encrypted: bool,
    /// Where its data begins in the archive.
    pub data_offset: u64,
    /// Size in the archive.
    pub packed_bytes: u64,
    /// Size as the directory states it.
    pub bytes: u64,
}

impl<'a> Archive<'a> {
    /// Reads and checks the directory and every local header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let at = |offset, fault| Error::new("", offset, fault);
        let zip =
            ZipArchive::from_slice(bytes).map_err(|it| at(0, Fault::Archive(it.to_string())))?;
        let first = bytes
            .first_chunk::<4>()
            .map_or(0, |it| u32::from_le_bytes(*it));
        if first != LOCAL_HEADER_MAGIC {
            return Err(at(0, Fault::Prefixed(first)));
        }
        if zip.entries_hint() > ENTRIES_MAX {
            let value = zip.entries_hint();
            let what = "entries in the archive";
            return Err(at(
                zip.eocd_offset(),
                Fault::Limit {
                    what,
                    value,
                    limit: ENTRIES_MAX,
                },
            ));
        }
        let mut archive = Self {
            bytes,
            zip,
            entries: BTreeMap::new(),
        };
        archive.entries = archive.directory()?;
        archive.check_overlaps()?;
        archive.check_unpacked_size()?;
        Ok(archive)
    }

    fn directory(&self) -> Result<BTreeMap<String, Entry>, Error> {
        let mut entries = BTreeMap::new();
        let mut records = self.zip.entries();
        let directory = self.zip.directory_offset();
        let fault =
            |offset, it: rawzip::Error| Error::new("", offset, Fault::Archive(it.to_string()));
        while let Some(record) = records.next_entry().map_err(|it| fault(directory, it))? {
            let raw = record.file_path();
            let offset = record.local_header_offset();
            let Ok(name) = core::str::from_utf8(raw.as_bytes()) else {
                let text = "an entry's name is not UTF-8".to_owned();
                return Err(Error::new("", offset, Fault::Malformed(text)));
            };
            let local = self
                .zip
                .get_entry(record.wayfinder())
                .map_err(|it| Error::new(name, offset, Fault::Archive(it.to_string())))?;
            let header = local.local_header();
            let disagreement = if header.file_path().as_bytes() != raw.as_bytes() {
                Some("name")
            } else if header.compression_method() != record.compression_method() {
                Some("compression method")
            } else {
                None
            };
            if let Some(what) = disagreement {
                return Err(Error::new(name, offset, Fault::Disagreement(what)));
            }
            let entry = Entry {
                way: record.wayfinder(),
                method: record.compression_method(),
                is_encrypted: record.flags().is_encrypted(),
                data_offset: local.compressed_data_range().0,
                packed_bytes: record.compressed_size_hint(),
                bytes: record.uncompressed_size_hint(),
            };
            if entries.insert(name.to_owned(), entry).is_some() {
                return Err(Error::new(name, offset, Fault::DuplicateEntry));
            }
        }
        if entries.len() as u64 != self.zip.entries_hint() {
            let text = format!(
                "the directory holds {} entries, its end record says {}",
                entries.len(),
                self.zip.entries_hint()
            );
            return Err(Error::new("", self.zip.eocd_offset(), Fault::Archive(text)));
        }
        Ok(entries)
    }

    /// Overlapping entries make small archives that unpack to huge ones.
    fn check_overlaps(&self) -> Result<(), Error> {
        let mut spans: Vec<(u64, u64, &str)> = self
            .entries
            .iter()
            .map(|(name, it)| {
                (
                    it.data_offset,
                    it.data_offset + it.packed_bytes,
                    name.as_str(),
                )
            })
            .collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            let ((_, end, before), (start, _, name)) = (pair[0], pair[1]);
            if start < end {
                return Err(Error::new(name, start, Fault::Overlap(before.to_owned())));
            }
        }
        Ok(())
    }

    /// Whatever is unpacked of a package, time and space stay in proportion to its file.
    fn check_unpacked_size(&self) -> Result<(), Error> {
        let limit = self.bytes.len() as u64 * UNPACKED_PER_BYTE_MAX + UNPACKED_SLACK_BYTES;
        let sizes = self.entries.values().map(|it| it.bytes);
        let value = sizes.fold(0, u64::saturating_add);
        if value <= limit {
            return Ok(());
        }
        let what = "unpacked bytes of all entries";
        Err(Error::new("", 0, Fault::Limit { what, value, limit }))
    }

    /// Every entry by name, in the order of the names.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(name, entry)| (name.as_str(), entry))
    }

    /// Is there such an entry?
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// As [`Self::read`], for what is parsed or written to disk: it may unpack to
    /// [`UNPACKED_PER_BYTE_MAX`] times its packed size and [`DENSE_SLACK_BYTES`].
    pub fn read_dense(&self, name: &str) -> Result<Cow<'a, [u8]>, Error> {
        if let Some(entry) = self.entries.get(name) {
            let limit = entry.packed_bytes.saturating_mul(UNPACKED_PER_BYTE_MAX);
            let limit = limit.saturating_add(DENSE_SLACK_BYTES);
            if entry.bytes > limit {
                let (what, value) = ("unpacked bytes for its packed size", entry.bytes);
                let fault = Fault::Limit { what, value, limit };
                return Err(Error::new(name, entry.data_offset, fault));
            }
        }
        self.read(name)
    }

    /// The unpacked bytes of an entry, length and CRC-32 checked; borrowed when it is stored.
    pub fn read(&self, name: &str) -> Result<Cow<'a, [u8]>, Error> {
        let at = |offset, fault| Error::new(name, offset, fault);
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| at(0, Fault::NoEntry))?;
        let offset = entry.data_offset;
        if entry.is_encrypted {
            return Err(at(offset, Fault::Encrypted));
        }
        if entry.bytes > ENTRY_BYTES_MAX {
            let what = "unpacked bytes";
            let fault = Fault::Limit {
                what,
                value: entry.bytes,
                limit: ENTRY_BYTES_MAX,
            };
            return Err(at(offset, fault));
        }
        let local = self
            .zip
            .get_entry(entry.way)
            .map_err(|it| at(offset, Fault::Archive(it.to_string())))?;
        let (start, end) = local.compressed_data_range();
        // `get_entry` has found this range inside the archive.
        let packed = &self.bytes[start as usize..end as usize];
        let failed = |it: std::io::Error| at(offset, Fault::Unpack(it.to_string()));
        match entry.method {
            CompressionMethod::STORE => {
                std::io::copy(&mut local.verifying_reader(packed), &mut std::io::sink())
                    .map_err(failed)?;
                Ok(Cow::Borrowed(packed))
            }
            CompressionMethod::DEFLATE => {
                let inflater = flate2::bufread::DeflateDecoder::new(packed);
                let mut unpacked = Vec::new();
                // One byte more than promised, so that the verifier sees a lie.
                local
                    .verifying_reader(inflater)
                    .take(entry.bytes + 1)
                    .read_to_end(&mut unpacked)
                    .map_err(failed)?;
                if unpacked.len() as u64 != entry.bytes {
                    let text = format!(
                        "{} bytes where the directory says {}",
                        unpacked.len(),
                        entry.bytes
                    );
                    return Err(at(offset, Fault::Unpack(text)));
                }
                Ok(Cow::Owned(unpacked))
            }
            other => Err(at(offset, Fault::Method(other.as_u16()))),
        }
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where the central directory begins.
    pub(crate) fn directory_offset(&self) -> usize {
        self.zip.directory_offset() as usize
    }

    /// Where the end record begins.
    pub(crate) fn end_record_offset(&self) -> usize {
        self.zip.eocd_offset() as usize
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rawzip::ZipArchiveWriter;

    use super::*;

    fn deflated(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut zip = ZipArchiveWriter::new(&mut bytes);
        for (name, content) in entries {
            let file = zip
                .new_file(name)
                .compression_method(CompressionMethod::DEFLATE);
            let (mut entry, config) = file.start().unwrap();
            let level = flate2::Compression::best();
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, level);
            let mut writer = config.wrap(encoder);
            writer.write_all(content).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
        zip.finish().unwrap();
        bytes
    }

    /// The place of the only directory record of `name`, found by the record's magic.
    fn directory_record(bytes: &[u8], name: &str) -> usize {
        let is_record = |at: &usize| {
            bytes[*at..].starts_with(b"PK\x01\x02") && bytes[at + 46..].starts_with(name.as_bytes())
        };
        (0..bytes.len() - 46).find(is_record).unwrap()
    }

    #[track_caller]
    fn check(bytes: &[u8], name: &str, expected: &str) {
        let error = match Archive::parse(bytes) {
            Err(error) => error,
            Ok(archive) => archive.read(name).unwrap_err(),
        };
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn what_was_packed_comes_back() {
        let bytes = deflated(&[("a", b"hello"), ("b/c", &[7; 100_000])]);
        let archive = Archive::parse(&bytes).unwrap();
        assert_eq!(archive.read("a").unwrap(), &b"hello"[..]);
        assert_eq!(archive.read("b/c").unwrap(), &[7; 100_000][..]);
        check(&bytes, "d", "d at 0x0: no such entry");
    }

    #[test]
    fn a_name_twice_is_refused() {
        check(&deflated(&[("x", b"1"), ("x", b"2")]), "x", "twice");
    }

    #[test]
    fn bytes_in_front_of_the_archive_are_refused() {
        let mut bytes = b"dex\n".to_vec();
        bytes.extend(deflated(&[("x", b"1")]));
        check(&bytes, "x", "put in front of it");
    }

    #[test]
    fn a_changed_byte_is_found_by_the_checksum() {
        let mut bytes = deflated(&[("x", &[0; 1000])]);
        let crc = directory_record(&bytes, "x") + 16;
        bytes[crc] ^= 1;
        check(&bytes, "x", "does not unpack");
    }

    #[test]
    fn a_bomb_stops_at_what_the_directory_promised() {
        let mut bytes = deflated(&[("x", &vec![0; 10 << 20])]);
        let size = directory_record(&bytes, "x") + 24;
        bytes[size..size + 4].copy_from_slice(&100u32.to_le_bytes());
        check(&bytes, "x", "does not unpack");
        bytes[size..size + 4].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
        check(&bytes, "x", "over the limit");
    }

    #[test]
    fn two_names_for_the_same_bytes_are_refused() {
        let mut bytes = deflated(&[("x", &[3; 50]), ("y", &[3; 50])]);
        let record = directory_record(&bytes, "y");
        bytes[record + 42..record + 46].fill(0);
        check(&bytes, "y", "disagree about the name");
        // With the same name in the first local header, the overlap itself is seen.
        let mut twin = deflated(&[("x", &[3; 50]), ("xx", &[3; 50])]);
        let record = directory_record(&twin, "xx");
        twin[record + 20..record + 24].copy_from_slice(&200u32.to_le_bytes());
        assert!(Archive::parse(&twin).is_err());
    }

    #[test]
    fn a_directory_that_ends_early_is_refused() {
        let bytes = deflated(&[("x", b"1"), ("y", b"2")]);
        for size in 0..bytes.len() {
            assert!(Archive::parse(&bytes[..size]).is_err(), "{size} bytes");
        }
    }
}
