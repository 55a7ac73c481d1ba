// SPDX-License-Identifier: Apache-2.0
//! [`Key`]: the public half of a client's key, in the form that `adb` keeps and sends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rsa::{BigUint, Pkcs1v15Sign, RsaPublicKey};
use sha1::Sha1;

/// Bytes of a token.
pub const TOKEN_BYTES: usize = 20;

/// What a client signs: drawn anew each time it is asked.
pub type Token = [u8; TOKEN_BYTES];

/// `adb` makes keys of one size.
const MODULUS_BYTES: usize = 256;
/// Words of the modulus, its inverse for a way to multiply, the modulus, a square, the exponent.
const FORM_BYTES: usize = 4 + 4 + MODULUS_BYTES + MODULUS_BYTES + 4;
/// Its text: base64, and the name of who has it behind a space.
const TEXT_BYTES_MAX: usize = 2 << 10;

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Not in base64, too long, or of another length than the form has.
    #[error("not in the form of adb's public keys")]
    Form,
    /// Its numbers are no key's: another size or exponent, or an even modulus.
    #[error("not a key of 2048 bits")]
    Numbers,
}

/// A key that a client can be known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    key: RsaPublicKey,
    name: String,
}

impl Key {
    /// The line of `adbkey.pub`, or what a client sends of it.
    pub fn parse(text: &[u8]) -> Result<Self, KeyFault> {
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        let text = std::str::from_utf8(text).ok();
        let text = text.filter(|it| it.len() <= TEXT_BYTES_MAX);
        let mut words = text.ok_or(KeyFault::Form)?.split_ascii_whitespace();
        let packed = words.next().ok_or(KeyFault::Form)?;
        let name = words.next().unwrap_or_default();
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
        Ok(Self {
            key: key.map_err(|_| KeyFault::Numbers)?,
            name: name.to_owned(),
        })
    }

    /// Who has it, by that one's own word: `user@host`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether `signature` was made of this token by who has the private half. The token stands
    /// where a digest of SHA-1 does: that is how `adb` signs.
    pub fn has_signed(&self, token: &Token, signature: &[u8]) -> bool {
        let scheme = Pkcs1v15Sign::new::<Sha1>();
        self.key.verify(scheme, token, signature).is_ok()
    }
}
