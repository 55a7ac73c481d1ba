// SPDX-License-Identifier: Apache-2.0
//! Modified UTF-8: Java's strings in class files.
//!
//! Each UTF-16 unit is encoded by itself, so unpaired surrogates survive, and
//! NUL takes two bytes.

use crate::Error;

/// Decodes to UTF-16 units.
pub fn to_utf16(bytes: &[u8]) -> Result<Vec<u16>, Error> {
    const WHAT: Error = Error::Malformed("modified UTF-8");
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let tail = |byte: Option<&u8>| match byte {
        Some(b) if b & 0xc0 == 0x80 => Ok(u16::from(b & 0x3f)),
        _ => Err(WHAT),
    };
    while let Some(&first) = rest.first() {
        let (unit, size) = match first {
            0x01..=0x7f => (u16::from(first), 1),
            0xc0..=0xdf => ((u16::from(first & 0x1f) << 6) | tail(rest.get(1))?, 2),
            0xe0..=0xef => {
                let high = u16::from(first & 0x0f) << 12;
                (high | (tail(rest.get(1))? << 6) | tail(rest.get(2))?, 3)
            }
            _ => return Err(WHAT),
        };
        units.push(unit);
        rest = &rest[size..];
    }
    Ok(units)
}

/// Encodes UTF-16 units.
pub fn from_utf16(units: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(units.len());
    for &unit in units {
        match unit {
            0x0001..=0x007f => bytes.push(unit as u8),
            0x0000..=0x07ff => {
                bytes.extend([0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]);
            }
            _ => bytes.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | ((unit >> 6) & 0x3f) as u8,
                0x80 | (unit & 0x3f) as u8,
            ]),
        }
    }
    bytes
}

/// For messages: what cannot be decoded becomes U+FFFD.
pub fn to_string_lossy(bytes: &[u8]) -> String {
    match to_utf16(bytes) {
        Ok(units) => String::from_utf16_lossy(&units),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_survives_a_round_trip() {
        let units: Vec<u16> = (0..=u16::MAX).collect();
        assert_eq!(to_utf16(&from_utf16(&units)).unwrap(), units);
    }

    #[test]
    fn four_byte_forms_and_raw_nul_are_refused() {
        assert!(to_utf16(&[0xf0, 0x9f, 0x98, 0x80]).is_err());
        assert!(to_utf16(&[0]).is_err());
        assert!(to_utf16(&[0xc3]).is_err());
    }
}
