// SPDX-License-Identifier: Apache-2.0
//! Names and descriptors (JVM specification, 4.2 and 4.3), and modified UTF-8 (4.4.7).

use crate::{FieldType, MethodDescriptor};

/// From this version (Java 5) on, a name may be almost anything; before, it is a Java identifier.
const FREE_NAMES: u16 = 49;
/// Up to this version (Java 1.3), characters may be encoded in more bytes than they need.
const LONG_FORMS: u16 = 47;

/// What a constant of a file of version `major` may hold.
pub(super) fn is_utf8(bytes: &[u8], major: u16) -> bool {
    let mut rest = bytes;
    let tail = |byte: Option<&u8>| {
        byte.filter(|b| *b & 0xc0 == 0x80)
            .map(|b| u32::from(b & 0x3f))
    };
    while let Some(&first) = rest.first() {
        let (unit, least, size) = match first {
            0x01..=0x7f => (Some(u32::from(first)), 1, 1),
            0xc0..=0xdf => {
                let unit = tail(rest.get(1)).map(|low| u32::from(first & 0x1f) << 6 | low);
                (unit, 0x80, 2)
            }
            0xe0..=0xef => {
                let low = tail(rest.get(1)).zip(tail(rest.get(2)));
                let unit =
                    low.map(|(middle, low)| u32::from(first & 0x0f) << 12 | middle << 6 | low);
                (unit, 0x800, 3)
            }
            _ => return false,
        };
        // Zero is two bytes long so that no string holds a zero byte.
        let is_shortest = |unit: u32| unit >= least || (unit == 0 && size == 2);
        if !unit.is_some_and(|unit| is_shortest(unit) || major <= LONG_FORMS) {
            return false;
        }
        rest = &rest[size..];
    }
    true
}

/// A class or interface's internal name.
pub(super) fn is_class(name: &[u8], major: u16) -> bool {
    name.split(|&b| b == b'/')
        .all(|part| is_unqualified(part, major))
}

/// What a Class constant may name: a class or an array type.
pub(super) fn is_class_or_array(name: &[u8], major: u16) -> bool {
    if name.starts_with(b"[") {
        return is_field_descriptor(name, major);
    }
    is_class(name, major)
}

/// A field's or local variable's name.
pub(super) fn is_field(name: &[u8], major: u16) -> bool {
    is_unqualified(name, major)
}

/// A method's name, the two special ones included.
pub(super) fn is_method(name: &[u8], major: u16) -> bool {
    if name.starts_with(b"<") {
        return matches!(name, b"<init>" | b"<clinit>");
    }
    is_unqualified(name, major) && !name.iter().any(|b| matches!(b, b'<' | b'>'))
}

fn is_unqualified(name: &[u8], major: u16) -> bool {
    if major < FREE_NAMES {
        return is_identifier(name);
    }
    !name.is_empty() && !name.iter().any(|b| matches!(b, b'.' | b';' | b'[' | b'/'))
}

/// Characters beyond ASCII all pass: which of them are letters is not known here.
fn is_identifier(name: &[u8]) -> bool {
    let is_letter = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'$') || b >= 0x80;
    name.first().is_some_and(|&first| is_letter(first))
        && name.iter().all(|&b| is_letter(b) || b.is_ascii_digit())
}

/// A field's descriptor with legal class names in it.
pub(super) fn is_field_descriptor(descriptor: &[u8], major: u16) -> bool {
    FieldType::parse(descriptor).is_ok_and(|parsed| is_type(&parsed, major))
}

fn is_type(parsed: &FieldType<'_>, major: u16) -> bool {
    match parsed {
        FieldType::Class(name) => is_class(name, major),
        FieldType::Array(whole) => {
            let element = whole.iter().position(|&b| b != b'[').unwrap_or(0);
            match &whole[element..] {
                [b'L', name @ .., b';'] => is_class(name, major),
                _ => true,
            }
        }
        FieldType::Void | FieldType::Primitive(_) => true,
    }
}

/// The words that a method's parameters take, without the receiver; `None` if the descriptor does
/// not fit the name.
pub(super) fn parameter_words(name: &[u8], descriptor: &[u8], major: u16) -> Option<usize> {
    let parsed = MethodDescriptor::parse(descriptor).ok()?;
    let is_special = name.starts_with(b"<");
    let mut types = parsed.parameters.iter().chain([&parsed.result]);
    if (is_special && parsed.result != FieldType::Void) || !types.all(|it| is_type(it, major)) {
        return None;
    }
    Some(parsed.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_what_they_name() {
        let fits = |name: &[u8]| (is_class(name, 61), is_field(name, 61), is_method(name, 61));
        assert_eq!(fits(b"a"), (true, true, true));
        assert_eq!(fits(b"a/b"), (true, false, false));
        assert_eq!(fits(b"a<b"), (true, true, false));
        assert_eq!(fits(b"<init>"), (true, true, true));
        for bad in [&b""[..], b"/a", b"a/", b"a//b", b"a.b", b"a;", b"[a"] {
            assert_eq!(fits(bad), (false, false, false), "{bad:?}");
        }
        assert!(is_class_or_array(b"[[I", 61) && !is_class_or_array(b"[[a", 61));
        assert!(is_field(b"a-b", 61) && !is_field(b"a-b", 48) && !is_field(b"1a", 48));
    }

    #[test]
    fn descriptors_have_legal_names_and_widths() {
        assert_eq!(parameter_words(b"f", b"(IJ[DLa/b;)I", 61), Some(5));
        assert_eq!(parameter_words(b"<init>", b"()I", 61), None);
        assert_eq!(parameter_words(b"f", b"(La//b;)V", 61), None);
        assert_eq!(parameter_words(b"f", b"([La.b;)V", 61), None);
    }

    #[test]
    fn characters_take_the_bytes_they_need() {
        assert!(is_utf8(b"a\xc0\x80\xc3\xa4\xe2\x82\xac\xed\xa0\x80", 61));
        for bad in [
            &b"\0"[..],
            b"\xc1\x81",
            b"\xe0\x81\x81",
            b"\xf0\x9f\x98\x80",
            b"\xc3",
            b"\x80",
        ] {
            assert!(!is_utf8(bad, 61), "{bad:?}");
        }
        assert!(is_utf8(b"\xc1\x81\xe0\x81\x81", 47));
    }
}
