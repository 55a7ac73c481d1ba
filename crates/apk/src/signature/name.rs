// SPDX-License-Identifier: Apache-2.0
//! Do two names of X.500 mean the same? By RFC 5280, 7.1: types and values count, not how a value
//! is encoded, nor its case and its blanks.
//!
//! Tools write the issuer into a block anew, and some take another string type than the
//! certificate has. A name only says which certificate is the signer's: its key decides the rest.

use spki::ObjectIdentifier;
use x509_cert::attr::AttributeValue;
use x509_cert::der::{Tag, Tagged as _};
use x509_cert::name::{Name, RelativeDistinguishedName};

/// A value for comparison.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Folded {
    Text(String),
    /// What is no text: its tag and its bytes.
    Other(u8, Vec<u8>),
}

pub(super) fn is_same(one: &Name, other: &Name) -> bool {
    one.0.len() == other.0.len()
        && (one.0.iter().zip(&other.0)).all(|(one, other)| part(one) == part(other))
}

/// Sorted by what counts: DER sorts a part of several attributes by their encoding.
fn part(of: &RelativeDistinguishedName) -> Vec<(ObjectIdentifier, Folded)> {
    let attributes = of.0.iter().map(|it| (it.oid, folded(&it.value)));
    let mut sorted: Vec<_> = attributes.collect();
    sorted.sort();
    sorted
}

fn folded(value: &AttributeValue) -> Folded {
    match text(value.tag(), value.value()) {
        Some(text) => {
            let words: Vec<&str> = text.split_whitespace().collect();
            Folded::Text(words.join(" ").to_lowercase())
        }
        None => Folded::Other(value.tag().into(), value.value().to_vec()),
    }
}

fn text(tag: Tag, bytes: &[u8]) -> Option<String> {
    match tag {
        Tag::Utf8String => String::from_utf8(bytes.to_vec()).ok(),
        // T.61 as it is used: Latin-1.
        Tag::PrintableString | Tag::Ia5String | Tag::VisibleString | Tag::TeletexString => {
            Some(bytes.iter().map(|it| char::from(*it)).collect())
        }
        Tag::BmpString if bytes.len().is_multiple_of(2) => {
            let units = bytes.chunks_exact(2);
            let units: Vec<u16> = units.map(|it| u16::from_be_bytes([it[0], it[1]])).collect();
            String::from_utf16(&units).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(tag: Tag, bytes: &[u8]) -> Folded {
        folded(&AttributeValue::new(tag, bytes).unwrap())
    }

    #[test]
    fn values_are_texts_whatever_their_encoding() {
        let plain = value(Tag::PrintableString, b"Some  One ");
        for (tag, bytes) in [
            (Tag::Utf8String, &b"some one"[..]),
            (Tag::Ia5String, b" SOME one"),
            (Tag::TeletexString, b"Some One"),
            (Tag::BmpString, b"\0S\0o\0m\0e\0 \0o\0n\0e"),
        ] {
            assert_eq!(value(tag, bytes), plain, "{tag}");
        }
        for (tag, bytes) in [
            (Tag::Utf8String, &b"someone"[..]),
            (Tag::OctetString, b"some one"),
            (Tag::Utf8String, b"some \xff"),
            (Tag::BmpString, b"\0S\0"),
        ] {
            assert_ne!(value(tag, bytes), plain, "{tag}");
        }
        let latin = value(Tag::TeletexString, b"M\xfcller");
        assert_eq!(latin, value(Tag::Utf8String, "MÜLLER".as_bytes()));
    }
}
