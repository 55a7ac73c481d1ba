// SPDX-License-Identifier: Apache-2.0
//! Files of compiled code: bytes in, values out, and back.
//!
//! A file is a header, rows sorted by key, then the pieces of code that the rows
//! name. Header and rows have a checksum, each piece has its own: a damaged piece
//! is no piece, a damaged header no file. Numbers are little-endian.

use compiler::{Address, CallSite, CompiledCode, Relocation, StackMap};

use crate::question::{Exchange, Holds, Question, sum};
use crate::site::SiteKind;

const MAGIC: [u8; 8] = *b"TAKTCODE";
const HEADER_BYTES: usize = 40;
const ROW_BYTES: usize = 40;
/// In place of a handler's offset.
const NO_HANDLER: u32 = u32::MAX;

/// The first half of a SHA-256 sum.
pub(crate) type Sum = [u8; 16];

/// What a piece of code is kept under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key {
    /// Of the class file, or of what else it is made from.
    pub(crate) content: Sum,
    /// The method's place in the class.
    pub(crate) index: u32,
}

/// A question and when its answer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub(crate) scope: u16,
    pub(crate) question: Question,
    pub(crate) holds: Holds,
}

/// Code with what it rests on.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) asked: Vec<Asked>,
    /// Over the answers that hold only when equal.
    pub(crate) sum: u64,
    pub(crate) code: CompiledCode,
}

impl Piece {
    pub(crate) fn new(asked: &[Exchange], code: &CompiledCode) -> Self {
        let asked_of = |exchange: &Exchange| Asked {
            scope: exchange.scope,
            question: exchange.question,
            holds: exchange.holds(),
        };
        Self {
            asked: asked.iter().map(asked_of).collect(),
            sum: sum(asked),
            code: code.clone(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let code = &self.code;
        let mut out = Writer(Vec::with_capacity(code.bytes.len() * 2));
        out.word(self.asked.len() as u32);
        for asked in &self.asked {
            let (kind, index) = asked.question.code();
            out.word(u32::from(asked.scope) << 16 | kind << 8 | holds_code(asked.holds));
            out.word(index);
        }
        out.word(self.sum as u32);
        out.word((self.sum >> 32) as u32);
        out.word(code.relocations.len() as u32);
        for relocation in &code.relocations {
            out.word(relocation.offset);
            out.word(relocation.address.0);
        }
        out.word(code.call_sites.len() as u32);
        for site in &code.call_sites {
            out.word(site.return_offset);
            out.word(site.handler.unwrap_or(NO_HANDLER));
            out.word(site.frame_offset);
            out.word(site.at);
        }
        out.word(code.stack_maps.len() as u32);
        for map in &code.stack_maps {
            out.word(map.return_offset);
            out.word(map.slots.len() as u32);
            map.slots.iter().for_each(|&slot| out.word(slot));
        }
        out.word(code.bytes.len() as u32);
        out.0.extend_from_slice(&code.bytes);
        out.0
    }

    /// `None` for bytes that [`Self::to_bytes`] does not write.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader(bytes);
        let asked = input.list(|input| {
            let (kind, index) = (input.word()?, input.word()?);
            let question = Question::of_code(kind >> 8 & 0xff, index)?;
            let holds = holds_of(kind & 0xff, question)?;
            Some(Asked {
                scope: (kind >> 16) as u16,
                question,
                holds,
            })
        })?;
        let sum = u64::from(input.word()?) | u64::from(input.word()?) << 32;
        let relocations = input.list(|input| {
            Some(Relocation {
                offset: input.word()?,
                address: Address(input.word()?),
            })
        })?;
        let call_sites = input.list(|input| {
            Some(CallSite {
                return_offset: input.word()?,
                handler: Some(input.word()?).filter(|&handler| handler != NO_HANDLER),
                frame_offset: input.word()?,
                at: input.word()?,
            })
        })?;
        let stack_maps = input.list(|input| {
            Some(StackMap {
                return_offset: input.word()?,
                slots: input.list(Reader::word)?,
            })
        })?;
        let count = input.word()? as usize;
        let bytes = input.0.get(..count)?.to_vec();
        let fits = |relocation: &Relocation| relocation.offset as usize + 4 <= count;
        if input.0.len() != count || !relocations.iter().all(fits) {
            return None;
        }
        let code = CompiledCode {
            bytes,
            call_sites,
            stack_maps,
            relocations,
        };
        Some(Self { asked, sum, code })
    }
}

fn holds_code(holds: Holds) -> u32 {
    match holds {
        Holds::WhenEqual => 0,
        Holds::Site(SiteKind::Handle) => 2,
        Holds::Site(_) => 1,
    }
}

fn holds_of(code: u32, question: Question) -> Option<Holds> {
    match code {
        0 => Some(Holds::WhenEqual),
        1 => question.site_kind().map(Holds::Site),
        2 => Some(Holds::Site(SiteKind::Handle)),
        _ => None,
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn word(&mut self, word: u32) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    /// A count, then as many of what `read` reads.
    fn list<T>(&mut self, mut read: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let count = self.word()? as usize;
        // Nothing takes less than a word: a count beyond the end is refused before memory is taken.
        if count > self.0.len() / 4 {
            return None;
        }
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(read(self)?);
        }
        Some(all)
    }
}

/// One file, its header and rows checked.
#[derive(Clone, Copy)]
pub(crate) struct CodeFile<'a> {
    bytes: &'a [u8],
    rows: &'a [u8],
}

impl<'a> CodeFile<'a> {
    /// `None` for anything but a whole file of `target`'s.
    pub(crate) fn parse(bytes: &'a [u8], target: &Sum) -> Option<Self> {
        let mut input = Reader(bytes.strip_prefix(&MAGIC)?.strip_prefix(target)?);
        let (count, checksum) = (input.word()? as usize, input.word()?);
        let total = u64::from(input.word()?) | u64::from(input.word()?) << 32;
        let rows_end = count.checked_mul(ROW_BYTES)?.checked_add(HEADER_BYTES)?;
        let rows = bytes.get(HEADER_BYTES..rows_end)?;
        let is_whole = bytes.len() as u64 == total && crc32fast::hash(rows) == checksum;
        is_whole.then_some(Self { bytes, rows })
    }

    pub(crate) fn count(&self) -> usize {
        self.rows.len() / ROW_BYTES
    }

    fn key(&self, row: usize) -> Key {
        let row = &self.rows[row * ROW_BYTES..];
        Key {
            content: *row.first_chunk().expect("a row is longer"),
            index: word_at(row, 16),
        }
    }

    /// The bytes of a row's piece, if they are as they were written.
    fn piece(&self, row: usize) -> Option<&'a [u8]> {
        let row = &self.rows[row * ROW_BYTES..];
        let start = word_at(row, 24) as usize | (word_at(row, 28) as usize) << 32;
        let end = start.checked_add(word_at(row, 32) as usize)?;
        let bytes = self.bytes.get(start..end)?;
        (crc32fast::hash(bytes) == word_at(row, 20)).then_some(bytes)
    }

    /// All intact pieces under `key`.
    pub(crate) fn find(&self, key: &Key) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < *key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (file, key) = (*self, *key);
        let rows = (low..self.count()).take_while(move |&row| file.key(row) == key);
        rows.filter_map(move |row| file.piece(row))
    }

    /// All intact pieces.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (Key, &'a [u8])> + use<'a> {
        let file = *self;
        (0..file.count()).filter_map(move |row| Some((file.key(row), file.piece(row)?)))
    }
}

fn word_at(bytes: &[u8], offset: usize) -> u32 {
    let bytes = bytes[offset..].first_chunk().expect("inside a row");
    u32::from_le_bytes(*bytes)
}

/// A whole file; `pieces` are sorted by key.
pub(crate) fn to_bytes(target: &Sum, pieces: &[(Key, &[u8])]) -> Vec<u8> {
    debug_assert!(pieces.is_sorted_by_key(|(key, _)| *key));
    let mut rows = Writer(Vec::with_capacity(pieces.len() * ROW_BYTES));
    let mut offset = (HEADER_BYTES + pieces.len() * ROW_BYTES) as u64;
    for (key, bytes) in pieces {
        rows.0.extend_from_slice(&key.content);
        rows.word(key.index);
        rows.word(crc32fast::hash(bytes));
        rows.word(offset as u32);
        rows.word((offset >> 32) as u32);
        rows.word(bytes.len() as u32);
        rows.word(0);
        offset += bytes.len() as u64;
    }
    let mut out = Writer(Vec::with_capacity(offset as usize));
    out.0.extend_from_slice(&MAGIC);
    out.0.extend_from_slice(target);
    out.word(pieces.len() as u32);
    out.word(crc32fast::hash(&rows.0));
    out.word(offset as u32);
    out.word((offset >> 32) as u32);
    debug_assert_eq!(out.0.len(), HEADER_BYTES);
    out.0.extend_from_slice(&rows.0);
    for (_, bytes) in pieces {
        out.0.extend_from_slice(bytes);
    }
    out.0
}

#[cfg(test)]
mod tests {
    use compiler::MethodLink;
    use ir::InvokeKind;

    use crate::question::Answer;

    use super::*;

    const TARGET: Sum = [7; 16];

    fn piece(seed: u8) -> Piece {
        let question = Question::Method(InvokeKind::Virtual, u32::from(seed));
        let answer = Answer::Method(MethodLink::Virtual(128));
        let exchange = Exchange {
            scope: 3,
            question,
            answer,
        };
        let code = CompiledCode {
            bytes: vec![seed; 40],
            call_sites: vec![CallSite {
                return_offset: 16,
                handler: seed.is_multiple_of(2).then_some(32),
                frame_offset: 48,
                at: 3,
            }],
            stack_maps: vec![StackMap {
                return_offset: 16,
                slots: vec![8, 16],
            }],
            relocations: vec![Relocation {
                offset: 2,
                address: Address(0),
            }],
        };
        Piece::new(&[exchange], &code)
    }

    fn key(number: u8) -> Key {
        Key {
            content: [number; 16],
            index: u32::from(number),
        }
    }

    fn file() -> Vec<u8> {
        let pieces: Vec<(Key, Vec<u8>)> =
            (0..20).map(|n| (key(n / 2), piece(n).to_bytes())).collect();
        let borrowed: Vec<(Key, &[u8])> = pieces.iter().map(|(k, b)| (*k, &b[..])).collect();
        to_bytes(&TARGET, &borrowed)
    }

    #[test]
    fn what_was_written_is_found() {
        let bytes = file();
        let file = CodeFile::parse(&bytes, &TARGET).unwrap();
        assert_eq!((file.count(), file.pieces().count()), (20, 20));
        for number in 0..10 {
            let found: Vec<_> = file.find(&key(number)).collect();
            assert_eq!(found.len(), 2);
            let read = Piece::parse(found[1]).unwrap();
            assert_eq!(read.to_bytes(), piece(number * 2 + 1).to_bytes());
            assert_eq!(read.code.stack_maps[0].slots, [8, 16]);
        }
        assert_eq!(file.find(&key(10)).count(), 0);
    }

    #[test]
    fn files_of_others_and_parts_of_files_are_refused() {
        let bytes = file();
        assert!(CodeFile::parse(&bytes, &[8; 16]).is_none());
        for end in 0..bytes.len() {
            assert!(CodeFile::parse(&bytes[..end], &TARGET).is_none(), "{end}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(CodeFile::parse(&longer, &TARGET).is_none());
    }

    /// Every bit of every byte: what is still found is what was written.
    #[test]
    fn damage_anywhere_is_noticed() {
        let whole = file();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            let Some(file) = CodeFile::parse(&bytes, &TARGET) else {
                continue;
            };
            let intact = (0..10).flat_map(|number| {
                let pieces = file.find(&key(number)).map(Piece::parse);
                pieces.map(move |piece| (number, piece.unwrap().code.bytes[0]))
            });
            let intact: Vec<_> = intact.collect();
            assert!(intact.iter().all(|&(number, seed)| seed / 2 == number));
            assert!(intact.len() < 20, "{at}");
        }
    }
}
