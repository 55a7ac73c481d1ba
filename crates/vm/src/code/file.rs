// SPDX-License-Identifier: Apache-2.0
//! Files of compiled code: bytes in, values out, and back.
//!
//! Machine code stands in one file, which is mapped where it runs. A file of records beside it
//! says what each piece is, where it lies and what it rests on. Both only grow: code first, then
//! its record. A record has a sum for itself, for what follows it and for its code. So a process
//! that is killed leaves a torn end at most, and what is damaged is no record. Numbers are
//! little-endian. An index, made when a process ends well, saves looking at every record.

use compiler::{Address, CallSite, CompiledCode, HIDDEN, Relocation, StackMap, scope_and_offset};

use crate::classes::site::SiteKind;
use crate::code::question::{Exchange, Question, Validity, sum};
use crate::memory::sum::Sum;
use crate::memory::symbol::Symbol;

const MAGIC: [u8; 8] = *b"TAKTDATA";
const INDEX_MAGIC: [u8; 8] = *b"TAKTINDX";
/// Magic, target, region, sum.
pub(crate) const HEADER_BYTES: usize = 32;
/// How a record begins.
const RECORD_MAGIC: u32 = 0x5243_4b54;
const RECORD_BYTES: usize = 56;
/// Records begin at multiples of this.
const RECORD_STEP: usize = 8;
const INDEX_HEADER_BYTES: usize = 56;
const ROW_BYTES: usize = 24;
/// In place of a handler's offset.
const NO_HANDLER: u32 = u32::MAX;

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
    pub(crate) validity: Validity,
}

/// Code with what it rests on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piece {
    pub(crate) asked: Vec<Asked>,
    /// Over the answers that hold only when equal.
    pub(crate) sum: u64,
    pub(crate) code: CompiledCode,
    /// The classes that [`Question::Profiled`] is about, by number.
    pub(crate) classes: Vec<Symbol>,
    /// It was taken before all others under its key, by a process that looked at each.
    pub(crate) is_chosen: bool,
}

impl Piece {
    pub(crate) fn new(asked: &[Exchange], mut code: CompiledCode) -> Self {
        let asked_of = |exchange: &Exchange| Asked {
            scope: exchange.scope,
            question: exchange.question,
            validity: exchange.validity(),
        };
        code.unlink();
        Self {
            asked: asked.iter().map(asked_of).collect(),
            sum: sum(asked),
            code,
            classes: Vec::new(),
            is_chosen: false,
        }
    }

    /// With the classes that it was told are likely.
    pub(crate) fn with_classes(self, classes: &[Symbol]) -> Self {
        let classes = classes.to_vec();
        Self { classes, ..self }
    }

    /// How many addresses the code names.
    pub(crate) fn slot_count(&self) -> usize {
        let numbers = self.code.relocations.iter().map(|it| it.address.0 + 1);
        numbers.max().unwrap_or(0) as usize
    }

    /// All but the machine code.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let code = &self.code;
        let mut out = Writer(Vec::with_capacity(code.bytes.len()));
        out.word(self.asked.len() as u32);
        for asked in &self.asked {
            let (kind, index) = asked.question.code();
            out.word(u32::from(asked.scope) << 16 | kind << 8 | validity_code(asked.validity));
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
        for places in [&code.inlined, &code.counted, &code.profiled] {
            out.word(places.len() as u32);
            places.iter().for_each(|&place| out.word(place));
        }
        out.word(self.classes.len() as u32);
        for class in &self.classes {
            out.text(class.bytes());
        }
        out.word(self.is_chosen.into());
        out.0
    }

    /// A piece whose code takes so many bytes, without them; `None` for what [`Self::to_bytes`]
    /// does not write.
    pub(crate) fn parse(bytes: &[u8], code_bytes: usize) -> Option<Self> {
        let mut input = Reader(bytes);
        let asked = input.list(|input| {
            let (kind, index) = (input.word()?, input.word()?);
            let question = Question::of_code(kind >> 8 & 0xff, index)?;
            let validity = validity_of(kind & 0xff, question)?;
            Some(Asked {
                scope: (kind >> 16) as u16,
                question,
                validity,
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
                slots: input.words()?,
            })
        })?;
        let inlined = input.words()?;
        let counted = input.words()?;
        let profiled = input.words()?;
        let classes = input.list(|input| Some(Symbol::new(input.text()?)))?;
        let is_chosen = input.word()? != 0;
        let code = CompiledCode {
            bytes: Vec::new(),
            call_sites,
            stack_maps,
            relocations,
            inlined,
            counted,
            profiled,
        };
        let piece = Self {
            asked,
            sum,
            code,
            classes,
            is_chosen,
        };
        (input.0.is_empty() && piece.is_sound(code_bytes)).then_some(piece)
    }

    /// Whether what it names is there.
    fn is_sound(&self, code_bytes: usize) -> bool {
        let code = &self.code;
        let bodies = self.asked.iter().filter(|it| it.question.is_of_body());
        let places = code.call_sites.iter().map(|site| site.at);
        let places = places.chain(code.counted.iter().chain(&code.profiled).copied());
        let is_known = |it: &Asked| match it.question {
            Question::Profiled(number) => (number as usize) < self.classes.len(),
            _ => true,
        };
        let fits = |relocation: &Relocation| {
            relocation.offset as usize + 4 <= code_bytes && relocation.address.0 < ADDRESSES_MAX
        };
        bodies.count() == code.inlined.len()
            && are_places(&code.inlined, places)
            && code.profiled.len() == self.classes.len()
            && self.asked.iter().all(is_known)
            && code.relocations.iter().all(fits)
    }
}

/// Whether each place is in a scope that there is, and each body in an earlier one's.
fn are_places(inlined: &[u32], mut sites: impl Iterator<Item = u32>) -> bool {
    let is_below = |place: u32, scopes: usize| usize::from(scope_and_offset(place).0) < scopes;
    let mut bodies = (1..).zip(inlined);
    bodies.all(|(scope, &call)| is_below(call, scope))
        && sites.all(|at| at == HIDDEN || is_below(at, inlined.len() + 1))
}

fn validity_code(validity: Validity) -> u32 {
    match validity {
        Validity::WhenEqual => 0,
        Validity::Site(SiteKind::Handle) => 2,
        Validity::Site(_) => 1,
        Validity::Own => 3,
    }
}

fn validity_of(code: u32, question: Question) -> Option<Validity> {
    if (code == 3) != (question == Question::Cells) {
        return None;
    }
    match code {
        0 => Some(Validity::WhenEqual),
        1 => question.site_kind().map(Validity::Site),
        2 => Some(Validity::Site(SiteKind::Handle)),
        3 => Some(Validity::Own),
        _ => None,
    }
}

/// More than any method names.
const ADDRESSES_MAX: u32 = 1 << 20;

struct Writer(Vec<u8>);

impl Writer {
    fn word(&mut self, word: u32) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    /// Its length, then its bytes, and zeroes up to a whole word.
    fn text(&mut self, text: &[u8]) {
        self.word(text.len() as u32);
        self.0.extend_from_slice(text);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    /// A count, then as many words.
    fn words<T: FromIterator<u32>>(&mut self) -> Option<T> {
        let count = self.word()? as usize;
        let (words, rest) = self.0.split_at_checked(count.checked_mul(4)?)?;
        self.0 = rest;
        let (words, _) = words.as_chunks();
        Some(words.iter().copied().map(u32::from_le_bytes).collect())
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = self.word()? as usize;
        let (padded, rest) = self
            .0
            .split_at_checked(bytes.checked_next_multiple_of(4)?)?;
        self.0 = rest;
        padded.get(..bytes)
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

/// What a file of records says of one piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PieceRecord {
    pub(crate) key: Key,
    /// Where its code lies in the region, and how much it is: none for what is no code.
    pub(crate) code_offset: u32,
    pub(crate) code_bytes: u32,
    /// Its part of the region's table.
    pub(crate) slot: u32,
    pub(crate) slot_count: u32,
    code_sum: u32,
    body_bytes: u32,
    body_sum: u32,
}

impl PieceRecord {
    /// A record of `body` and linked code, with the body behind it.
    pub(crate) fn to_bytes(
        key: &Key,
        (code_offset, code): (u32, &[u8]),
        (slot, slot_count): (u32, u32),
        body: &[u8],
    ) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(RECORD_BYTES + body.len() + RECORD_STEP));
        out.word(RECORD_MAGIC);
        out.0.extend_from_slice(&key.content);
        for word in [
            key.index,
            code_offset,
            code.len() as u32,
            slot,
            slot_count,
            crc32fast::hash(code),
            body.len() as u32,
            crc32fast::hash(body),
        ] {
            out.word(word);
        }
        out.word(crc32fast::hash(&out.0));
        debug_assert_eq!(out.0.len(), RECORD_BYTES);
        out.0.extend_from_slice(body);
        let padded = out.0.len().next_multiple_of(RECORD_STEP);
        out.0.resize(padded, 0);
        out.0
    }

    /// The intact record at the start of `bytes`.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..RECORD_BYTES)?;
        let sum_at = RECORD_BYTES - 4;
        if word_at(bytes, 0) != RECORD_MAGIC
            || crc32fast::hash(&bytes[..sum_at]) != word_at(bytes, sum_at)
        {
            return None;
        }
        let (record, word) = (&bytes[4..], |number: usize| word_at(bytes, 20 + number * 4));
        Some(Self {
            key: Key {
                content: *record.first_chunk().expect("a record is longer"),
                index: word(0),
            },
            code_offset: word(1),
            code_bytes: word(2),
            slot: word(3),
            slot_count: word(4),
            code_sum: word(5),
            body_bytes: word(6),
            body_sum: word(7),
        })
    }

    /// From this record's start to the next.
    fn step(&self) -> usize {
        (RECORD_BYTES + self.body_bytes as usize).next_multiple_of(RECORD_STEP)
    }

    /// What follows the record at `offset` in `bytes`, if it is as it was written.
    pub(crate) fn body<'a>(&self, bytes: &'a [u8], offset: u32) -> Option<&'a [u8]> {
        let start = offset as usize + RECORD_BYTES;
        let body = bytes.get(start..start.checked_add(self.body_bytes as usize)?)?;
        (crc32fast::hash(body) == self.body_sum).then_some(body)
    }

    /// Whether code is as it was written.
    pub(crate) fn is_code(&self, code: &[u8]) -> bool {
        crc32fast::hash(code) == self.code_sum
    }

    /// The ends of its code and of its part of the table. The code's end is a return address too.
    pub(crate) fn ends(&self) -> (u32, u32) {
        (
            self.code_offset
                .saturating_add(self.code_bytes)
                .saturating_add(1),
            self.slot.saturating_add(self.slot_count),
        )
    }
}

/// How a file of records begins.
pub(crate) fn header(target: &Sum, region: u32) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    out.0.extend_from_slice(target);
    out.word(region);
    out.word(crc32fast::hash(&out.0));
    debug_assert_eq!(out.0.len(), HEADER_BYTES);
    out.0
}

/// The region of a file of records; `None` for anything but a file of `target`'s.
pub(crate) fn region_of(bytes: &[u8], target: &Sum) -> Option<u32> {
    let header_bytes = bytes.get(..HEADER_BYTES)?;
    let region = word_at(header_bytes, 24);
    (header(target, region) == header_bytes).then_some(region)
}

/// The intact record at `offset`.
pub(crate) fn record_at(bytes: &[u8], offset: u32) -> Option<PieceRecord> {
    PieceRecord::parse(bytes.get(offset as usize..)?)
}

/// All records from `start` on, with their offsets; damaged ones are passed over.
pub(crate) fn records(bytes: &[u8], start: usize) -> impl Iterator<Item = (u32, PieceRecord)> {
    let mut next = start.next_multiple_of(RECORD_STEP);
    core::iter::from_fn(move || {
        while next + RECORD_BYTES <= bytes.len() {
            let at = next;
            if let Some(record) = PieceRecord::parse(&bytes[at..]) {
                // Behind one that is torn, another may begin before it would have ended.
                let is_whole = record.body(bytes, at as u32).is_some();
                next += if is_whole { record.step() } else { RECORD_STEP };
                return Some((at as u32, record));
            }
            next += RECORD_STEP;
        }
        None
    })
}

/// The first records of a file in the order of their keys.
#[derive(Clone, Copy)]
pub(crate) struct Index<'a> {
    rows: &'a [u8],
    /// How much of the file it is of.
    pub(crate) covered_bytes: u64,
    /// Where code and addresses of those records end.
    pub(crate) ends: (u32, u32),
}

impl<'a> Index<'a> {
    /// `rows` are sorted: key, then where its record is.
    pub(crate) fn to_bytes(
        target: &Sum,
        covered_bytes: u64,
        ends: (u32, u32),
        rows: &[(Key, u32)],
    ) -> Vec<u8> {
        debug_assert!(rows.is_sorted_by_key(|(key, _)| *key));
        let mut body = Writer(Vec::with_capacity(rows.len() * ROW_BYTES));
        for (key, offset) in rows {
            body.0.extend_from_slice(&key.content);
            body.word(key.index);
            body.word(*offset);
        }
        let mut out = Writer(INDEX_MAGIC.to_vec());
        out.0.extend_from_slice(target);
        for word in [
            covered_bytes as u32,
            (covered_bytes >> 32) as u32,
            rows.len() as u32,
            ends.0,
            ends.1,
            crc32fast::hash(&body.0),
            0,
        ] {
            out.word(word);
        }
        out.word(crc32fast::hash(&out.0));
        debug_assert_eq!(out.0.len(), INDEX_HEADER_BYTES);
        out.0.extend_from_slice(&body.0);
        out.0
    }

    /// `None` for anything but a whole index of `target`'s.
    pub(crate) fn parse(bytes: &'a [u8], target: &Sum) -> Option<Self> {
        let (header, rows) = bytes.split_at_checked(INDEX_HEADER_BYTES)?;
        let own = header
            .strip_prefix(&INDEX_MAGIC)?
            .strip_prefix(&target[..])?;
        let sum_at = INDEX_HEADER_BYTES - 4;
        let is_whole = word_at(header, sum_at) == crc32fast::hash(&header[..sum_at])
            && word_at(own, 8) as usize * ROW_BYTES == rows.len()
            && word_at(own, 20) == crc32fast::hash(rows);
        is_whole.then(|| Self {
            rows,
            covered_bytes: u64::from(word_at(own, 0)) | u64::from(word_at(own, 4)) << 32,
            ends: (word_at(own, 12), word_at(own, 16)),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.rows.len() / ROW_BYTES
    }

    fn row(&self, number: usize) -> (Key, u32) {
        let row = &self.rows[number * ROW_BYTES..];
        let key = Key {
            content: *row.first_chunk().expect("a row is longer"),
            index: word_at(row, 16),
        };
        (key, word_at(row, 20))
    }

    /// Where the records under `key` are, the oldest first.
    pub(crate) fn find(&self, key: &Key) -> impl Iterator<Item = u32> + use<'a> {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.row(middle).0 < *key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (index, key) = (*self, *key);
        let rows = (low..self.count()).map(move |number| index.row(number));
        rows.take_while(move |row| row.0 == key).map(|row| row.1)
    }
}

fn word_at(bytes: &[u8], offset: usize) -> u32 {
    let bytes = bytes[offset..].first_chunk().expect("inside a row");
    u32::from_le_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use compiler::MethodLink;
    use ir::InvokeKind;

    use crate::code::question::Answer;

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
        let body = Exchange {
            scope: 0,
            question: Question::Whole(InvokeKind::Static, 9),
            answer: Answer::Body([1; 16], 2),
        };
        let code = CompiledCode {
            inlined: vec![7],
            counted: vec![3, 9, 11],
            profiled: vec![5],
            bytes: vec![seed; 40],
            call_sites: vec![CallSite {
                return_offset: 16,
                handler: seed.is_multiple_of(2).then_some(32),
                frame_offset: 48,
                at: 3,
            }],
            stack_maps: vec![StackMap {
                return_offset: 16,
                slots: [8, 16][..].into(),
            }],
            relocations: vec![Relocation {
                offset: 2,
                address: Address(0),
            }],
        };
        Piece::new(&[exchange, body], code).with_classes(&[Symbol::new(b"a/Name")])
    }

    fn key(number: u8) -> Key {
        Key {
            content: [number; 16],
            index: u32::from(number),
        }
    }

    fn record(number: u8) -> Vec<u8> {
        let piece = piece(number);
        let place = (u32::from(number) * 64, &piece.code.bytes[..]);
        let slots = (u32::from(number), piece.slot_count() as u32);
        PieceRecord::to_bytes(&key(number / 2), place, slots, &piece.to_bytes())
    }

    /// Twenty records, two under each key.
    fn file() -> Vec<u8> {
        let mut bytes = header(&TARGET, 3);
        (0..20).for_each(|number| bytes.extend(record(number)));
        bytes
    }

    /// The numbers of the pieces that are whole in `bytes`.
    fn intact(bytes: &[u8]) -> Vec<u8> {
        let found = records(bytes, HEADER_BYTES).filter_map(|(offset, record)| {
            let body = record.body(bytes, offset)?;
            let number = (record.code_offset / 64) as u8;
            let read = Piece::parse(body, record.code_bytes as usize).expect("as it was written");
            assert_eq!(read.to_bytes(), piece(number).to_bytes());
            assert_eq!(record.key, key(number / 2));
            assert!(record.is_code(&piece(number).code.bytes));
            assert!(!record.is_code(&piece(number + 1).code.bytes));
            Some(number)
        });
        found.collect()
    }

    #[test]
    fn what_was_written_is_found() {
        let bytes = file();
        assert_eq!(region_of(&bytes, &TARGET), Some(3));
        assert_eq!(region_of(&bytes, &[8; 16]), None);
        assert_eq!(intact(&bytes), (0..20).collect::<Vec<_>>());
    }

    /// Walks of stacks follow places without looking.
    #[test]
    fn a_place_is_of_a_body_that_there_is() {
        const BODY: u32 = 1 << 31;
        let parsed = |change: fn(&mut Piece)| {
            let mut piece = piece(1);
            change(&mut piece);
            Piece::parse(&piece.to_bytes(), piece.code.bytes.len()).is_some()
        };
        assert!(parsed(|it| it.code.call_sites[0].at = BODY | 1 << 16 | 5));
        assert!(parsed(|it| it.code.call_sites[0].at = HIDDEN));
        assert!(!parsed(|it| it.code.call_sites[0].at = BODY | 2 << 16));
        assert!(!parsed(|it| it.code.inlined[0] = BODY | 1 << 16), "its own");
        assert!(!parsed(|it| it.code.inlined.push(0)), "nobody asked");
        assert!(parsed(|it| it.code.counted[0] = BODY | 1 << 16 | 5));
        assert!(!parsed(|it| it.code.counted[0] = BODY | 2 << 16));
        assert!(!parsed(|it| it.classes.clear()), "a place without a class");
    }

    #[test]
    fn a_torn_end_costs_what_was_torn() {
        let (bytes, one) = (file(), record(0).len());
        let padding = one - RECORD_BYTES - piece(0).to_bytes().len();
        for end in HEADER_BYTES..bytes.len() {
            let whole = (end + padding - HEADER_BYTES) / one;
            assert_eq!(intact(&bytes[..end]).len(), whole, "{end}");
        }
        // Somebody went on behind a torn end.
        let torn = HEADER_BYTES + one * 3 + 64;
        let mended = [&bytes[..torn], &record(7)[..]].concat();
        assert_eq!(intact(&mended), [0, 1, 2, 7]);
    }

    /// Every bit of every byte: what is still found is what was written, and all the others are.
    #[test]
    fn damage_anywhere_costs_one_piece() {
        let whole = file();
        for at in HEADER_BYTES..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            let found = intact(&bytes).len();
            assert!(found == 19 || found == 20, "{at}: {found}");
        }
        for at in 0..HEADER_BYTES {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            assert_eq!(region_of(&bytes, &TARGET), None, "{at}");
        }
    }

    #[test]
    fn an_index_finds_what_it_was_made_of_or_is_none() {
        let bytes = file();
        let mut rows: Vec<(Key, u32)> = records(&bytes, HEADER_BYTES)
            .map(|(offset, record)| (record.key, offset))
            .collect();
        rows.sort_by_key(|row| row.0);
        let index = Index::to_bytes(&TARGET, bytes.len() as u64, (9, 8), &rows);
        let read = Index::parse(&index, &TARGET).expect("it is whole");
        assert_eq!(
            (read.covered_bytes, read.ends),
            (bytes.len() as u64, (9, 8))
        );
        for number in 0..10 {
            let found: Vec<u32> = read.find(&key(number)).collect();
            let code = |offset: &u32| record_at(&bytes, *offset).expect("there").code_offset / 64;
            let found: Vec<u32> = found.iter().map(code).collect();
            assert_eq!(found, [u32::from(number) * 2, u32::from(number) * 2 + 1]);
        }
        assert_eq!(read.find(&key(10)).count(), 0);
        for at in 0..index.len() {
            let mut damaged = index.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Index::parse(&damaged, &TARGET).is_none(), "{at}");
            assert!(Index::parse(&index[..at], &TARGET).is_none(), "{at}");
        }
    }
}
