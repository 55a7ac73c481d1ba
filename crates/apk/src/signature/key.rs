// SPDX-License-Identifier: Apache-2.0
//! Public keys and the signature algorithms that packages use, on the RustCrypto crates.

use dsa::pkcs8::DecodePublicKey as _;
use md5::Md5;
use rsa::sha2::digest::DynDigest;
use rsa::sha2::{Sha256, Sha384, Sha512};
use rsa::traits::SignatureScheme as _;
use rsa::{Pkcs1v15Sign, Pss, RsaPublicKey};
use sha1::Sha1;
use spki::der::asn1::UintRef;
use spki::der::{Decode as _, Encode as _};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

use super::{Doubt, refused, unchecked};

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const DSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10040.4.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

/// Keys longer than the platform's own limit cost minutes to check.
const RSA_BITS_MAX: usize = 16_384;
/// The largest sizes that the standard names (FIPS 186-4, 4.2); the cost grows with their product.
const DSA_PRIME_BITS_MAX: u32 = 3072;
const DSA_ORDER_BITS_MAX: u32 = 256;

/// Of an element of P-384's field.
const P384_BYTES: usize = 48;

/// What kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Rsa,
    Dsa,
    Ec,
}

/// How a signature is to be checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) family: Family,
    pub(super) hash: Hash,
    pub(super) padding: Padding,
}

/// A digest algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    /// Broken, and accepted by the platform in scheme v1: old packages carry it.
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// How the digest is padded before RSA; DSA and ECDSA know one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    Pkcs1,
    Pss,
}

impl Hash {
    pub(super) fn start(self) -> Box<dyn DynDigest> {
        match self {
            Self::Md5 => Box::new(Md5::default()),
            Self::Sha1 => Box::new(Sha1::default()),
            Self::Sha256 => Box::new(Sha256::default()),
            Self::Sha384 => Box::new(Sha384::default()),
            Self::Sha512 => Box::new(Sha512::default()),
        }
    }

    pub(super) fn digest(self, bytes: &[u8]) -> Box<[u8]> {
        let mut hash = self.start();
        hash.update(bytes);
        hash.finalize()
    }

    fn pkcs1(self) -> Pkcs1v15Sign {
        match self {
            Self::Md5 => Pkcs1v15Sign::new::<Md5>(),
            Self::Sha1 => Pkcs1v15Sign::new::<Sha1>(),
            Self::Sha256 => Pkcs1v15Sign::new::<Sha256>(),
            Self::Sha384 => Pkcs1v15Sign::new::<Sha384>(),
            Self::Sha512 => Pkcs1v15Sign::new::<Sha512>(),
        }
    }

    fn pss(self) -> Pss {
        match self {
            Self::Md5 => Pss::new::<Md5>(),
            Self::Sha1 => Pss::new::<Sha1>(),
            Self::Sha256 => Pss::new::<Sha256>(),
            Self::Sha384 => Pss::new::<Sha384>(),
            Self::Sha512 => Pss::new::<Sha512>(),
        }
    }
}

impl Family {
    /// Of a key's algorithm.
    pub(super) fn of(key: &SubjectPublicKeyInfoRef<'_>) -> Option<Self> {
        match key.algorithm.oid {
            RSA => Some(Self::Rsa),
            DSA => Some(Self::Dsa),
            EC => Some(Self::Ec),
            _ => None,
        }
    }

    /// The platform has no DSA with more than SHA-256, and MD5 with RSA alone.
    fn takes(self, hash: Hash) -> bool {
        match self {
            Self::Rsa => true,
            Self::Dsa => matches!(hash, Hash::Sha1 | Hash::Sha256),
            Self::Ec => hash != Hash::Md5,
        }
    }
}

/// Is `signature` the key's signature of `message`?
pub(super) fn verify(
    key: SubjectPublicKeyInfoRef<'_>,
    way: Way,
    message: &[u8],
    signature: &[u8],
) -> Result<(), Doubt> {
    let Ok(der) = key.to_der() else {
        return refused("the signer's public key cannot be encoded");
    };
    let Some(family) = Family::of(&key) else {
        return unchecked(format!("public key algorithm {}", key.algorithm.oid));
    };
    let Way { hash, padding, .. } = way;
    if family != way.family {
        let text = format!("a signature by {:?} with a key of {family:?}", way.family);
        return refused(text);
    }
    if !family.takes(hash) {
        return refused(format!(
            "a signature by {family:?} with {hash:?}, which Android has not"
        ));
    }
    let digest = hash.digest(message);
    let is_good = match family {
        Family::Rsa => rsa_verify(&der, hash, padding, &digest, signature)?,
        Family::Dsa => dsa_verify(&der, &digest, signature)?,
        Family::Ec => ec_verify(&der, &digest, signature)?,
    };
    if is_good {
        Ok(())
    } else {
        refused("the signature does not match the signed bytes")
    }
}

fn rsa_verify(
    der: &[u8],
    hash: Hash,
    padding: Padding,
    digest: &[u8],
    signature: &[u8],
) -> Result<bool, Doubt> {
    let Ok(info) = SubjectPublicKeyInfoRef::try_from(der) else {
        return refused("the RSA public key does not parse");
    };
    if info.subject_public_key.raw_bytes().len() > RSA_BITS_MAX / 8 + 64 {
        return unchecked(format!("an RSA key of more than {RSA_BITS_MAX} bits"));
    }
    let key = match RsaPublicKey::from_public_key_der(der) {
        Ok(key) => key,
        // The crate's own limit is 4096 bits; the platform takes more.
        Err(_) => match large_rsa_key(&info) {
            Some(key) => key,
            None => return refused("the RSA public key does not parse"),
        },
    };
    let outcome = match padding {
        Padding::Pkcs1 => hash.pkcs1().verify(&key, digest, signature),
        Padding::Pss => hash.pss().verify(&key, digest, signature),
    };
    Ok(outcome.is_ok())
}

fn large_rsa_key(info: &SubjectPublicKeyInfoRef<'_>) -> Option<RsaPublicKey> {
    let key = rsa::pkcs1::RsaPublicKey::try_from(info.subject_public_key.as_bytes()?).ok()?;
    let number = |it: rsa::pkcs1::UintRef<'_>| rsa::BigUint::from_bytes_be(it.as_bytes());
    let (modulus, exponent) = (number(key.modulus), number(key.public_exponent));
    RsaPublicKey::new_with_max_size(modulus, exponent, RSA_BITS_MAX).ok()
}

fn dsa_verify(der: &[u8], digest: &[u8], signature: &[u8]) -> Result<bool, Doubt> {
    use dsa::signature::hazmat::PrehashVerifier as _;
    let Some([prime, order, generator, public]) = dsa_sizes(der) else {
        return refused("the DSA public key does not parse");
    };
    if order > DSA_ORDER_BITS_MAX || prime.max(generator).max(public) > DSA_PRIME_BITS_MAX {
        return unchecked(format!(
            "a DSA key of more than {DSA_PRIME_BITS_MAX} and {DSA_ORDER_BITS_MAX} bits"
        ));
    }
    let Ok(key) = dsa::VerifyingKey::from_public_key_der(der) else {
        return refused("the DSA public key does not parse");
    };
    let Ok(signature) = dsa::Signature::try_from(signature) else {
        return refused("the DSA signature does not parse");
    };
    Ok(key.verify_prehash(digest, &signature).is_ok())
}

/// Bits of the prime, the order, the generator and the public number; none if they do not parse.
fn dsa_sizes(der: &[u8]) -> Option<[u32; 4]> {
    use spki::der::Reader as _;
    let bits = |it: UintRef<'_>| it.as_bytes().len() as u32 * 8;
    let info = SubjectPublicKeyInfoRef::try_from(der).ok()?;
    let parameters = info.algorithm.parameters?;
    let [prime, order, generator] = parameters
        .sequence(|it| Ok([it.decode()?, it.decode()?, it.decode()?].map(bits)))
        .ok()?;
    let public = UintRef::from_der(info.subject_public_key.as_bytes()?).ok()?;
    Some([prime, order, generator, bits(public)])
}

fn ec_verify(der: &[u8], digest: &[u8], signature: &[u8]) -> Result<bool, Doubt> {
    use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
    if let Ok(key) = p256::ecdsa::VerifyingKey::from_public_key_der(der) {
        let Ok(signature) = p256::ecdsa::DerSignature::try_from(signature) else {
            return refused("the ECDSA signature does not parse");
        };
        return Ok(key.verify_prehash(digest, &signature).is_ok());
    }
    if let Ok(key) = p384::ecdsa::VerifyingKey::from_public_key_der(der) {
        let Ok(signature) = p384::ecdsa::DerSignature::try_from(signature) else {
            return refused("the ECDSA signature does not parse");
        };
        // The crate takes no digest below half of the field's size, such as SHA-1's; the standard
        // takes any as a number.
        let mut number = [0; P384_BYTES];
        let digest = match P384_BYTES.checked_sub(digest.len()) {
            Some(start) => {
                number[start..].copy_from_slice(digest);
                &number
            }
            None => digest,
        };
        return Ok(key.verify_prehash(digest, &signature).is_ok());
    }
    unchecked("an elliptic curve other than P-256 and P-384")
}
