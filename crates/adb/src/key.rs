// SPDX-License-Identifier: Apache-2.0
//! [`Key`]: the public half of a client's key, in the form that `adb` keeps and sends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rsa::sha2::{Digest as _, Sha256};
use rsa::{BigUint, Pkcs1v15Sign, RsaPublicKey};
use sha1::Sha1;

/// Bytes of a token.
pub const TOKEN_BYTES: usize = 20;

/// What a client signs: drawn anew each time it is asked.
pub type Token = [u8; TOKEN_BYTES];

/// Keys that are known at once: each is tried at each signature.
pub const KEYS_MAX: usize = 16;

/// `adb` makes keys of one size.
const MODULUS_BYTES: usize = 256;
/// Words of the modulus, its inverse for a way to multiply, the modulus, a square, the exponent.
const FORM_BYTES: usize = 4 + 4 + MODULUS_BYTES + MODULUS_BYTES + 4;
/// Its text: base64, and the name of who has it behind a space.
const TEXT_BYTES_MAX: usize = 2 << 10;
/// Of a name, which anybody may choose.
const NAME_CHARS_MAX: usize = 64;
/// Bytes of the sum that a key is called by.
const PRINT_BYTES: usize = 8;

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Not in base64, too long, or of another length than the form has.
    #[error("not in the form of adb's public keys, as ~/.android/adbkey.pub is")]
    Form,
    /// Its numbers are no key's: another size or exponent, or an even modulus.
    #[error("not a key of 2048 bits")]
    Numbers,
}

/// A key that a client can be known by. Two are equal by their numbers, no matter who has them.
#[derive(Clone, Debug)]
pub struct Key {
    key: RsaPublicKey,
    name: String,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Key {}

impl Key {
    /// The line of `adbkey.pub`, or what a client sends of it.
    ///
    /// # Errors
    ///
    /// [`KeyFault`]
    pub fn parse(text: &[u8]) -> Result<Self, KeyFault> {
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        let text = (text.len() <= TEXT_BYTES_MAX).then_some(text);
        let text = text.and_then(|it| std::str::from_utf8(it).ok());
        let mut words = text.ok_or(KeyFault::Form)?.split_ascii_whitespace();
        let packed = words.next().ok_or(KeyFault::Form)?;
        let bytes = STANDARD.decode(packed).map_err(|_| KeyFault::Form)?;
        let bytes: [u8; FORM_BYTES] = bytes.try_into().map_err(|_| KeyFault::Form)?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let exponent = word(FORM_BYTES - 4);
        let modulus = &bytes[8..8 + MODULUS_BYTES];
        let is_whole = word(0) as usize == MODULUS_BYTES / 4
            && matches!(exponent, 3 | 65537)
            && modulus[0] & 1 == 1
            && modulus[MODULUS_BYTES - 1] & 0x80 != 0;
        if !is_whole {
            return Err(KeyFault::Numbers);
        }
        let modulus = BigUint::from_bytes_le(modulus);
        let key = RsaPublicKey::new(modulus, BigUint::from(exponent));
        // What a stranger calls himself goes to a terminal.
        let name = words.next().unwrap_or_default().chars();
        let name = name.filter(char::is_ascii_graphic).take(NAME_CHARS_MAX);
        Ok(Self {
            key: key.map_err(|_| KeyFault::Numbers)?,
            name: name.collect(),
        })
    }

    /// Who has it, by that one's own word: `user@host`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a person calls it by: the beginning of a SHA-256 sum, in hexadecimal digits.
    pub fn print(&self) -> String {
        use rsa::traits::PublicKeyParts as _;
        let mut sum = Sha256::new();
        sum.update(self.key.n().to_bytes_le());
        sum.update(self.key.e().to_bytes_le());
        let sum = sum.finalize();
        let digits = sum[..PRINT_BYTES].iter().map(|it| format!("{it:02x}"));
        digits.collect()
    }

    /// Whether `signature` was made of this token by who has the private half. The token stands
    /// where a digest of SHA-1 does: that is how `adb` signs.
    pub fn has_signed(&self, token: &Token, signature: &[u8]) -> bool {
        let scheme = Pkcs1v15Sign::new::<Sha1>();
        self.key.verify(scheme, token, signature).is_ok()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The form of a modulus; the words for a way to multiply are not looked at.
    pub(crate) fn form(modulus: &[u8], exponent: u32, name: &str) -> String {
        let mut bytes = vec![0; FORM_BYTES];
        bytes[..4].copy_from_slice(&64_u32.to_le_bytes());
        bytes[8..8 + MODULUS_BYTES].copy_from_slice(modulus);
        bytes[FORM_BYTES - 4..].copy_from_slice(&exponent.to_le_bytes());
        format!("{} {name}", STANDARD.encode(bytes))
    }

    fn modulus() -> [u8; MODULUS_BYTES] {
        let mut modulus = [0x5a; MODULUS_BYTES];
        modulus[0] |= 1;
        modulus[MODULUS_BYTES - 1] |= 0x80;
        modulus
    }

    #[test]
    fn a_key_has_a_name_that_a_terminal_may_show() {
        let text = form(&modulus(), 65537, "\x1b[2Jme@host");
        let key = Key::parse(format!("{text} more\0").as_bytes()).unwrap();
        assert_eq!(key.name(), "[2Jme@host");
        assert_eq!(key.print().len(), 2 * PRINT_BYTES);
        let other = Key::parse(form(&modulus(), 3, "me@host").as_bytes()).unwrap();
        assert_ne!(key, other);
        assert_ne!(key.print(), other.print());
        let long = form(&modulus(), 3, &"a".repeat(500));
        assert_eq!(Key::parse(long.as_bytes()).unwrap().name().len(), 64);
        assert!(!key.has_signed(&[1; TOKEN_BYTES], &[1; MODULUS_BYTES]));
        assert!(!key.has_signed(&[1; TOKEN_BYTES], &[]));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let fault = |text: &[u8]| Key::parse(text).unwrap_err();
        assert_eq!(fault(b""), KeyFault::Form);
        assert_eq!(fault(b"\xff\xfe"), KeyFault::Form);
        assert_eq!(fault(b"AAAA me@host"), KeyFault::Form);
        assert_eq!(fault(&[b'A'; TEXT_BYTES_MAX + 1]), KeyFault::Form);
        assert_eq!(
            fault(form(&modulus(), 4, "me").as_bytes()),
            KeyFault::Numbers
        );
        for (at, value) in [(0, 0x5a), (MODULUS_BYTES - 1, 0x5a)] {
            let mut modulus = modulus();
            modulus[at] = value;
            let text = form(&modulus, 65537, "me");
            assert_eq!(fault(text.as_bytes()), KeyFault::Numbers);
        }
    }
}
