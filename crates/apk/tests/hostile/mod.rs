// SPDX-License-Identifier: Apache-2.0
//! Packages made by program: archives, DER, signing blocks, and binary XML.
#![allow(dead_code, reason = "each test uses a part")]

use std::io::Write as _;

use p256::ecdsa::signature::Signer as _;
use p256::pkcs8::EncodePublicKey as _;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use rsa::sha2::{Digest as _, Sha256};

/// Entries, deflated.
pub(crate) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut zip = ZipArchiveWriter::new(&mut bytes);
    for (name, content) in entries {
        let file = zip.new_file(name);
        let file = file.compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().expect("memory has room");
        let level = flate2::Compression::fast();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, level);
        let mut writer = config.wrap(encoder);
        writer.write_all(content).expect("memory has room");
        let (encoder, descriptor) = writer.finish().expect("memory has room");
        encoder.finish().expect("memory has room");
        entry.finish(descriptor).expect("memory has room");
    }
    zip.finish().expect("memory has room");
    bytes
}

/// Where the end record and the directory begin.
fn ends(zip: &[u8]) -> (usize, usize) {
    let end = zip.len() - 22;
    let field = zip[end + 16..end + 20].try_into().expect("four bytes");
    (u32::from_le_bytes(field) as usize, end)
}

/// The archive with a signing block of these pairs.
pub(crate) fn with_block(zip: &[u8], pairs: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let (directory, end) = ends(zip);
    let mut block = Vec::new();
    for (id, value) in pairs {
        block.extend((value.len() as u64 + 4).to_le_bytes());
        block.extend(id.to_le_bytes());
        block.extend(value);
    }
    let size = (block.len() as u64 + 24).to_le_bytes();
    let mut whole = zip[..directory].to_vec();
    whole.extend(size);
    whole.extend(block);
    whole.extend(size);
    whole.extend(b"APK Sig Block 42");
    let moved = whole.len() as u32;
    whole.extend(&zip[directory..end + 16]);
    whole.extend(moved.to_le_bytes());
    whole.extend(&zip[end + 20..]);
    whole
}

fn prefixed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

/// What schemes v2 and v3 sign of a small archive.
fn content_digest(zip: &[u8]) -> Vec<u8> {
    let (directory, end) = ends(zip);
    let sections = [&zip[..directory], &zip[directory..end], &zip[end..]];
    let mut top = vec![0x5a, 3, 0, 0, 0];
    for section in sections {
        assert!(section.len() <= 1 << 20, "one chunk each");
        let size = (section.len() as u32).to_le_bytes();
        top.extend(Sha256::digest([&[0xa5][..], &size, section].concat()));
    }
    Sha256::digest(top).to_vec()
}

/// ECDSA on P-256 with SHA-256, as the signing block numbers it.
pub(crate) const EC_SHA256: u32 = 0x0201;
/// ECDSA with SHA-512.
pub(crate) const EC_SHA512: u32 = 0x0202;

/// One signer's record of v2, or of v3 with API levels; the signature is always the key's by ECDSA
/// with SHA-256.
#[derive(Clone, Copy)]
pub(crate) struct Signing<'a> {
    pub(crate) signatures: &'a [u32],
    pub(crate) digests: &'a [u32],
    pub(crate) attributes: &'a [(u32, u32)],
    /// As the record has them, and as they are signed.
    pub(crate) levels: Option<[(u32, u32); 2]>,
}

/// What a signer of today writes.
pub(crate) const PLAIN: Signing<'_> = Signing {
    signatures: &[EC_SHA256],
    digests: &[EC_SHA256],
    attributes: &[],
    levels: None,
};

impl Signing<'_> {
    /// The value of a scheme's block with this signer alone.
    pub(crate) fn block(&self, zip: &[u8]) -> Vec<u8> {
        prefixed(&self.signer(zip))
    }

    /// The signer with its size.
    pub(crate) fn signer(&self, zip: &[u8]) -> Vec<u8> {
        let record =
            |id: &u32, bytes: &[u8]| prefixed(&[&id.to_le_bytes()[..], &prefixed(bytes)].concat());
        let digest = content_digest(zip);
        let digests: Vec<u8> = self
            .digests
            .iter()
            .flat_map(|it| record(it, &digest))
            .collect();
        let attributes: Vec<u8> = self
            .attributes
            .iter()
            .flat_map(|(id, value)| prefixed(&[id.to_le_bytes(), value.to_le_bytes()].concat()))
            .collect();
        let levels = |index: usize| -> Vec<u8> {
            let pair = self.levels.map(|it| it[index]);
            pair.iter()
                .flat_map(|(low, high)| [low.to_le_bytes(), high.to_le_bytes()].concat())
                .collect()
        };
        let certificates = prefixed(&certificate(&ec_public_key()));
        let signed = [
            prefixed(&digests),
            prefixed(&certificates),
            levels(1),
            prefixed(&attributes),
        ]
        .concat();
        let signature = ec_sign(&signed);
        let signatures: Vec<u8> = self
            .signatures
            .iter()
            .flat_map(|it| record(it, &signature))
            .collect();
        prefixed(
            &[
                prefixed(&signed),
                levels(0),
                prefixed(&signatures),
                prefixed(&ec_public_key()),
            ]
            .concat(),
        )
    }
}

fn ec_key() -> p256::ecdsa::SigningKey {
    p256::ecdsa::SigningKey::from_slice(&[7; 32]).expect("a number below the order")
}

pub(crate) fn ec_public_key() -> Vec<u8> {
    let key = ec_key().verifying_key().to_public_key_der();
    key.expect("it encodes").into_vec()
}

pub(crate) fn ec_sign(message: &[u8]) -> Vec<u8> {
    let signature: p256::ecdsa::DerSignature = ec_key().sign(message);
    signature.as_bytes().to_vec()
}

/// A value of DER.
pub(crate) fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let size = content.len();
    let length = match size {
        0..=0x7f => vec![size as u8],
        0x80..=0xff => vec![0x81, size as u8],
        0x100..=0xffff => vec![0x82, (size >> 8) as u8, size as u8],
        _ => vec![0x83, (size >> 16) as u8, (size >> 8) as u8, size as u8],
    };
    [&[tag][..], &length, content].concat()
}

pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    der(0x30, &parts.concat())
}

/// A number that is not negative, from its big-endian bytes.
pub(crate) fn integer(bytes: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = bytes.iter().copied().skip_while(|it| *it == 0).collect();
    let sign: &[u8] = match digits.first() {
        Some(0..0x80) => &[],
        _ => &[0],
    };
    der(2, &[sign, &digits].concat())
}

pub(crate) fn oid(name: &str) -> Vec<u8> {
    der(6, spki::ObjectIdentifier::new_unwrap(name).as_bytes())
}

pub(crate) fn name() -> Vec<u8> {
    let attribute = sequence(&[&oid("2.5.4.3"), &der(0x0c, b"test")]);
    sequence(&[&der(0x31, &attribute)])
}

/// A certificate that nobody signed: packages are checked against its key alone.
pub(crate) fn certificate(public_key: &[u8]) -> Vec<u8> {
    let algorithm = sequence(&[&oid("1.2.840.10045.4.3.2")]);
    let time = der(0x17, b"200101000000Z");
    let validity = sequence(&[&time, &time]);
    let fields = [
        &integer(&[1])[..],
        &algorithm,
        &name(),
        &validity,
        &name(),
        public_key,
    ];
    sequence(&[&sequence(&fields), &algorithm, &der(3, &[0, 1])])
}

/// A chunk of binary XML or of a resource table.
pub(crate) fn chunk(kind: u16, header: &[u8], body: &[u8]) -> Vec<u8> {
    let header_size = header.len() as u16 + 8;
    let size = (header.len() + body.len() + 8) as u32;
    let start = [kind.to_le_bytes(), header_size.to_le_bytes()].concat();
    [&start, &size.to_le_bytes()[..], header, body].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// A string pool in UTF-16.
pub(crate) fn pool(strings: &[String]) -> Vec<u8> {
    let (mut offsets, mut data) = (Vec::new(), Vec::new());
    for string in strings {
        offsets.extend((data.len() as u32).to_le_bytes());
        let units: Vec<u16> = string.encode_utf16().collect();
        if units.len() > 0x7fff {
            data.extend((0x8000 | (units.len() >> 16) as u16).to_le_bytes());
        }
        data.extend((units.len() as u16).to_le_bytes());
        data.extend(units.iter().flat_map(|it| it.to_le_bytes()));
        data.extend([0, 0]);
    }
    data.resize(data.len().next_multiple_of(4), 0);
    let start = 28 + offsets.len() as u32;
    let header = words(&[strings.len() as u32, 0, 0, start, 0]);
    chunk(1, &header, &[offsets, data].concat())
}

/// A manifest: its elements name strings by index. String 0 is "manifest", 1 "package", 2 "a.b", 3
/// "application"; attribute names are the first `ids`.
pub(crate) struct Xml {
    strings: Vec<String>,
    ids: Vec<u32>,
    body: Vec<u8>,
}

const NONE: u32 = u32::MAX;
/// Types of values.
pub(crate) const TEXT: u32 = 3;
pub(crate) const REFERENCE: u32 = 1;

impl Xml {
    pub(crate) fn new() -> Self {
        let strings = ["manifest", "package", "a.b", "application"].map(str::to_owned);
        let mut xml = Self {
            strings: strings.to_vec(),
            ids: vec![0; 4],
            body: Vec::new(),
        };
        xml.start(0, &[(1, TEXT, 2)]);
        xml.start(3, &[]);
        xml.end(3);
        xml
    }

    /// The number of a string.
    pub(crate) fn string(&mut self, text: &str) -> u32 {
        self.strings.push(text.to_owned());
        self.ids.push(0);
        self.strings.len() as u32 - 1
    }

    /// The number of the name of an attribute that has a resource id.
    pub(crate) fn attribute(&mut self, name: &str, id: u32) -> u32 {
        let number = self.string(name);
        self.ids[number as usize] = id;
        number
    }

    pub(crate) fn start(&mut self, name: u32, attributes: &[(u32, u32, u32)]) {
        let mut body = words(&[NONE, name, 0x0014_0014, attributes.len() as u32, 0]);
        for (name, kind, data) in attributes {
            body.extend(words(&[NONE, *name, NONE, 8 | kind << 24, *data]));
        }
        self.body.extend(chunk(0x102, &words(&[1, NONE]), &body));
    }

    pub(crate) fn end(&mut self, name: u32) {
        let body = words(&[NONE, name]);
        self.body.extend(chunk(0x103, &words(&[1, NONE]), &body));
    }

    pub(crate) fn element(&mut self, name: u32, attributes: &[(u32, u32, u32)]) {
        self.start(name, attributes);
        self.end(name);
    }

    /// The document, with the manifest's element closed.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.end(0);
        let map = chunk(0x180, &[], &words(&self.ids));
        chunk(3, &[], &[pool(&self.strings), map, self.body].concat())
    }
}

/// A resource table of package 0x7f and type 1 with these type chunks.
pub(crate) fn table(types: &[Vec<u8>]) -> Vec<u8> {
    let package = chunk(0x200, &words(&[0x7f]), &types.concat());
    let strings = pool(&["text".to_owned()]);
    chunk(2, &words(&[1]), &[strings, package].concat())
}

/// A type chunk of sparse entries: pairs of index and offset in words.
pub(crate) fn sparse(pairs: &[(u16, u16)], entries: &[u8]) -> Vec<u8> {
    let start = 24 + 4 * pairs.len() as u32;
    let header = words(&[0x0101, pairs.len() as u32, start, 4]);
    let pairs = pairs
        .iter()
        .flat_map(|(index, offset)| [index.to_le_bytes(), offset.to_le_bytes()].concat());
    chunk(
        0x201,
        &header,
        &[pairs.collect(), entries.to_vec()].concat(),
    )
}

/// A plain entry: an integer.
pub(crate) fn entry(value: u32) -> Vec<u8> {
    words(&[8, 0, 8 | 0x10 << 24, value])
}
