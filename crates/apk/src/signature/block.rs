// SPDX-License-Identifier: Apache-2.0
//! Schemes v2 and v3: the signing block in front of the central directory.

use der::Encode as _;
use x509_cert::der::Decode as _;

use super::content::chunked_digest;
use super::key::{self, Hash, Padding};
use super::{Doubt, refused, unchecked};
use crate::reader::Reader;
use crate::{Archive, Error};

const MAGIC: &[u8; 16] = b"APK Sig Block 42";
const ENTRY: &str = "APK signing block";
/// The offset of the directory in the end record.
const END_RECORD_DIRECTORY_OFFSET: usize = 16;
const SIGNERS_MAX: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V2,
    V3,
}

impl Version {
    fn id(self) -> u32 {
        match self {
            Self::V2 => 0x7109_871a,
            Self::V3 => 0xf053_68c0,
        }
    }
}

/// The pairs of the signing block; none in a package without one.
pub(super) struct Blocks<'a> {
    offset: usize,
    pairs: Vec<(u32, Reader<'a>)>,
}

impl<'a> Blocks<'a> {
    pub(super) fn find(archive: &Archive<'a>) -> Result<Self, Error> {
        let bytes = archive.bytes();
        let end = archive.directory_offset();
        let whole = Reader::new(ENTRY, &bytes[..end]);
        let none = Self {
            offset: end,
            pairs: Vec::new(),
        };
        // Two sizes and the magic word frame it.
        let Some(footer) = end.checked_sub(24) else {
            return Ok(none);
        };
        if &bytes[footer + 8..end] != MAGIC {
            return Ok(none);
        }
        let mut tail = whole.at(footer, "size of the block")?;
        let size = tail.u64("size of the block")?;
        let start = usize::try_from(size)
            .ok()
            .and_then(|it| end.checked_sub(it)?.checked_sub(8));
        let Some(start) = start else {
            return Err(tail.malformed(format!(
                "a size of {size} bytes does not fit in front of the directory"
            )));
        };
        let mut head = whole.at(start, "size of the block")?;
        if head.u64("size of the block")? != size || size < 24 {
            return Err(head.malformed("the block's two sizes disagree"));
        }
        let mut body = head.part(size as usize - 24, "signing block")?;
        let mut pairs = Vec::new();
        while !body.is_empty() {
            let size = body.u64("size of a pair")?;
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let mut pair = body.part(size, "pair of the signing block")?;
            pairs.push((pair.u32("id of a pair")?, pair));
        }
        Ok(Self {
            offset: start,
            pairs,
        })
    }

    /// The certificates of the signers; none if the scheme is absent.
    pub(super) fn check(
        &self,
        archive: &Archive<'_>,
        version: Version,
    ) -> Result<Option<Vec<Vec<u8>>>, Doubt> {
        let mut found = self.pairs.iter().filter(|(id, _)| *id == version.id());
        let Some((_, value)) = found.next() else {
            return Ok(None);
        };
        if found.next().is_some() {
            return refused("the scheme's block occurs twice");
        }
        let mut value = *value;
        let mut signers = value.prefixed("signers")?;
        let mut certificates = Vec::new();
        while !signers.is_empty() {
            if certificates.len() == SIGNERS_MAX {
                return refused(format!("more than {SIGNERS_MAX} signers"));
            }
            let signer = signers.prefixed("signer")?;
            certificates.push(self.check_signer(archive, version, signer)?);
        }
        if certificates.is_empty() {
            return refused("no signer");
        }
        if version == Version::V3 && certificates.len() > 1 {
            return unchecked("v3 with signers for several platform versions");
        }
        Ok(Some(certificates))
    }

    fn check_signer(
        &self,
        archive: &Archive<'_>,
        version: Version,
        mut signer: Reader<'_>,
    ) -> Result<Vec<u8>, Doubt> {
        let signed = signer.prefixed("signed data")?;
        if version == Version::V3 {
            signer.u64("platform versions")?;
        }
        let mut signatures = signer.prefixed("signatures")?;
        let public_key = signer.prefixed("public key")?.rest();
        let (algorithm, signature) = strongest(&mut signatures)?;
        let Ok(info) = spki::SubjectPublicKeyInfoRef::try_from(public_key) else {
            return refused("the signer's public key does not parse");
        };
        key::verify(
            info,
            algorithm.hash,
            algorithm.padding,
            signed.rest(),
            signature,
        )?;

        // From here on `signed` is what the signer wrote.
        let mut signed = signed;
        let mut digests = signed.prefixed("digests")?;
        let mut certificates = signed.prefixed("certificates")?;
        let certificate = certificates.prefixed("certificate")?.rest();
        match x509_cert::Certificate::from_der(certificate) {
            Ok(parsed) => {
                let its_key = parsed.tbs_certificate.subject_public_key_info.to_der();
                if its_key.as_deref() != Ok(public_key) {
                    return refused("the public key is not that of the signer's certificate");
                }
            }
            Err(error) => return unchecked(format!("the certificate is not plain DER: {error}")),
        }
        let expected = digest_for(&mut digests, algorithm.id)?;
        self.check_content(archive, algorithm, expected)?;
        Ok(certificate.to_vec())
    }

    fn check_content(
        &self,
        archive: &Archive<'_>,
        algorithm: Algorithm,
        expected: &[u8],
    ) -> Result<(), Doubt> {
        let bytes = archive.bytes();
        let end = archive.end_record_offset();
        let mut end_record = bytes[end..].to_vec();
        let Some(field) =
            end_record.get_mut(END_RECORD_DIRECTORY_OFFSET..END_RECORD_DIRECTORY_OFFSET + 4)
        else {
            return refused("the archive's end record is too short");
        };
        field.copy_from_slice(&(self.offset as u32).to_le_bytes());
        let directory = &bytes[archive.directory_offset()..end];
        let mut hash = algorithm.hash.start();
        let actual = chunked_digest(&mut *hash, &bytes[..self.offset], directory, &end_record);
        if *actual == *expected {
            return Ok(());
        }
        refused("the package was changed after signing: the digest of its content differs")
    }
}

#[derive(Clone, Copy)]
struct Algorithm {
    id: u32,
    hash: Hash,
    padding: Padding,
}

impl Algorithm {
    fn of(id: u32) -> Option<Self> {
        let (hash, padding) = match id {
            0x0101 => (Hash::Sha256, Padding::Pss),
            0x0102 => (Hash::Sha512, Padding::Pss),
            0x0103 | 0x0201 | 0x0301 => (Hash::Sha256, Padding::Pkcs1),
            0x0104 | 0x0202 => (Hash::Sha512, Padding::Pkcs1),
            // 0x0421, 0x0423, 0x0425 sign an fs-verity tree.
            _ => return None,
        };
        Some(Self { id, hash, padding })
    }

    fn strength(self) -> usize {
        match self.hash {
            Hash::Sha512 => 2,
            _ => 1,
        }
    }
}

/// The strongest signature that we can check, as the platform chooses.
fn strongest<'a>(signatures: &mut Reader<'a>) -> Result<(Algorithm, &'a [u8]), Doubt> {
    let mut best: Option<(Algorithm, &[u8])> = None;
    let mut ids = Vec::new();
    while !signatures.is_empty() {
        let mut signature = signatures.prefixed("signature")?;
        let id = signature.u32("signature algorithm")?;
        let bytes = signature.prefixed("signature bytes")?.rest();
        ids.push(format!("{id:#06x}"));
        if let Some(algorithm) = Algorithm::of(id) {
            let is_better = best.is_none_or(|(it, _)| it.strength() < algorithm.strength());
            best = if is_better {
                Some((algorithm, bytes))
            } else {
                best
            };
        }
    }
    match best {
        Some(best) => Ok(best),
        None if ids.is_empty() => refused("the signer has no signature"),
        None => unchecked(format!("signature algorithms {}", ids.join(", "))),
    }
}

fn digest_for<'a>(digests: &mut Reader<'a>, algorithm: u32) -> Result<&'a [u8], Doubt> {
    while !digests.is_empty() {
        let mut digest = digests.prefixed("digest")?;
        let id = digest.u32("digest algorithm")?;
        let bytes = digest.prefixed("digest bytes")?.rest();
        if id == algorithm {
            return Ok(bytes);
        }
    }
    refused("the signed data has no digest for the signature's algorithm")
}
