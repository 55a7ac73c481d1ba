// SPDX-License-Identifier: Apache-2.0
//! The outline of DER before anything parses it: the parser sorts each set by insertion, which is
//! quadratic in its elements.

use super::{Doubt, refused, unchecked};

/// Elements of one set or sequence. Certificates have a dozen extensions, chains a handful of
/// certificates.
const ELEMENTS_MAX: usize = 256;
/// A signer's certificate inside a PKCS #7 block reaches twelve.
const DEPTH_MAX: usize = 32;
const CONSTRUCTED: u8 = 0x20;
const LONG_TAG: u8 = 0x1f;
const SET: u8 = 0x31;
/// The first field of a signer that need not be there.
const SIGNED_ATTRIBUTES: u8 = 0xa0;

/// Refuses what would take more than linear time to parse; `what` names it.
pub(super) fn check(what: &str, bytes: &[u8]) -> Result<(), Doubt> {
    // Ends of the values around this place, with how many elements each has had.
    let mut open: Vec<(usize, usize)> = vec![(bytes.len(), 0)];
    let mut at = 0;
    while let Some((end, count)) = open.last_mut() {
        if at == *end {
            open.pop();
            continue;
        }
        *count += 1;
        if *count > ELEMENTS_MAX {
            return refused(format!(
                "{what} has a value of more than {ELEMENTS_MAX} elements"
            ));
        }
        let end = *end;
        let header = (bytes.get(at), length(&bytes[at..end]));
        let (Some(tag), Some((start, size))) = header else {
            return unchecked(format!("{what} is not plain DER"));
        };
        let start = at + start;
        let Some(inner_end) = start.checked_add(size).filter(|it| *it <= end) else {
            return unchecked(format!("{what} is not plain DER"));
        };
        at = inner_end;
        if tag & CONSTRUCTED != 0 {
            if open.len() == DEPTH_MAX {
                return refused(format!("{what} is nested deeper than {DEPTH_MAX}"));
            }
            open.push((inner_end, 0));
            at = start;
        }
    }
    Ok(())
}

/// The attributes that the one signer of a PKCS #7 block signed, as the bytes that count: in their
/// own order, and with the tag of a set in place of the field's (RFC 2315, 9.3). `check` took it.
pub(super) fn signed_attributes(block: &[u8]) -> Option<Vec<u8>> {
    let (_, content) = parts(block).next()?;
    let (_, explicit) = parts(inside(content)).nth(1)?;
    let (_, data) = parts(inside(explicit)).next()?;
    // The signers are the last field.
    let (_, signers) = parts(inside(data)).last()?;
    let (_, signer) = parts(inside(signers)).next()?;
    let (_, attributes) = parts(inside(signer)).find(|(tag, _)| *tag == SIGNED_ATTRIBUTES)?;
    let mut bytes = attributes.to_vec();
    bytes[0] = SET;
    Some(bytes)
}

/// The values that stand one behind the other: each one's tag, and the whole.
fn parts(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    core::iter::from_fn(move || {
        let (start, size) = length(bytes)?;
        let (whole, rest) = bytes.split_at_checked(start.checked_add(size)?)?;
        bytes = rest;
        Some((whole[0], whole))
    })
}

/// A value without its tag and length.
fn inside(value: &[u8]) -> &[u8] {
    length(value).map_or(&[], |(start, _)| &value[start..])
}

/// Bytes of the tag and the length, and the length; none for what DER has not.
fn length(bytes: &[u8]) -> Option<(usize, usize)> {
    let [tag, first, rest @ ..] = bytes else {
        return None;
    };
    if tag & LONG_TAG == LONG_TAG {
        return None;
    }
    match first {
        0..=0x7f => Some((2, usize::from(*first))),
        0x81..=0x84 => {
            let width = usize::from(first - 0x80);
            let digits = rest.get(..width)?;
            let size = digits.iter().fold(0, |sum, it| sum << 8 | usize::from(*it));
            Some((2 + width, size))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(count: usize) -> Vec<u8> {
        let content = [5, 0].repeat(count);
        let size = (content.len() as u16).to_be_bytes();
        [&[0x31, 0x82, size[0], size[1]][..], &content].concat()
    }

    #[test]
    fn elements_and_depth_are_bounded() {
        assert!(check("x", &set(ELEMENTS_MAX)).is_ok());
        assert!(matches!(
            check("x", &set(ELEMENTS_MAX + 1)),
            Err(Doubt::Refused(_))
        ));
        let nested = |depth: usize| {
            (0..depth).fold(Vec::new(), |inner: Vec<u8>, _| {
                [&[0x30, inner.len() as u8][..], &inner].concat()
            })
        };
        assert!(check("x", &nested(DEPTH_MAX - 1)).is_ok());
        assert!(matches!(
            check("x", &nested(DEPTH_MAX)),
            Err(Doubt::Refused(_))
        ));
    }

    #[test]
    fn what_is_not_der_is_not_taken() {
        for bytes in [
            &[0x30][..],
            &[0x30, 0x80, 0, 0],
            &[0x30, 2, 5],
            &[0x3f, 1, 0],
            &[0x30, 0x85, 0, 0, 0, 0, 0],
        ] {
            assert!(
                matches!(check("x", bytes), Err(Doubt::Unchecked(_))),
                "{bytes:?}"
            );
        }
    }
}
