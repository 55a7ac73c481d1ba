// SPDX-License-Identifier: Apache-2.0
//! Schemes v2 and v3: the signing block in front of the central directory.

use der::Encode as _;
use x509_cert::der::Decode as _;

use super::content::chunked_digest;
use super::key::{self, Family, Hash, Padding};
use super::{Doubt, refused, shape, unchecked};
use crate::manifest::SDK;
use crate::reader::Reader;
use crate::{Archive, Error};

const MAGIC: &[u8; 16] = b"APK Sig Block 42";
const ENTRY: &str = "APK signing block";
/// The offset of the directory in the end record.
const END_RECORD_DIRECTORY_OFFSET: usize = 16;
/// As many as the platform takes.
const SIGNERS_MAX: usize = 10;
/// The platform knows ten algorithms; each costs a record in two lists.
const SIGNATURES_MAX: usize = 32;
/// The attribute of v2 by which a signer names a newer scheme that the package carries.
const NEWER_SCHEME: u32 = 0xbeef_f00d;
/// The attribute of v3 by which a signer says from which API level on v3.1 counts.
const ROTATION_LEVEL: u32 = 0x559f_8b02;
const V31: u32 = 0x1b93_ad61;
const DISAGREEMENT: &str = "the lists of signatures and of digests name different algorithms";

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
        let mut content = Content {
            archive,
            blocks_offset: self.offset,
            known: Vec::new(),
        };
        for count in 0.. {
            if signers.is_empty() {
                break;
            }
            if count == SIGNERS_MAX {
                return refused(format!("more than {SIGNERS_MAX} signers"));
            }
            let signer = Signer::parse(version, signers.prefixed("signer")?)?;
            if signer.is_for(SDK) {
                certificates.push(self.check_signer(&signer, &mut content)?);
            }
        }
        if certificates.is_empty() {
            return refused(format!("no signer for API level {SDK}"));
        }
        if version == Version::V3 && certificates.len() > 1 {
            return refused(format!("more than one signer for API level {SDK}"));
        }
        Ok(Some(certificates))
    }

    fn check_signer(
        &self,
        signer: &Signer<'_>,
        content: &mut Content<'_, '_>,
    ) -> Result<Vec<u8>, Doubt> {
        let (ids, algorithm, signature) = strongest(signer.signatures)?;
        let Ok(info) = spki::SubjectPublicKeyInfoRef::try_from(signer.public_key) else {
            return refused("the signer's public key does not parse");
        };
        let how = key::Way {
            family: algorithm.family,
            hash: algorithm.hash,
            padding: algorithm.padding,
        };
        key::verify(info, how, signer.signed.rest(), signature)?;

        // From here on `signed` is what the signer wrote.
        let mut signed = signer.signed;
        let digests = signed.prefixed("digests")?;
        let certificates = signed.prefixed("certificates")?;
        if let Some(claimed) = signer.levels {
            let written = (
                signed.u32("lowest API level")?,
                signed.u32("highest API level")?,
            );
            if written != claimed {
                return refused("the signer's API levels are not those that it signed");
            }
        }
        let attributes = signed.prefixed("attributes")?;
        let certificate = certificate(certificates, signer.public_key)?;
        let expected = digest_for(digests, &ids, algorithm.id)?;
        self.check_attributes(signer.version, attributes)?;
        content.check(algorithm.hash, expected)?;
        Ok(certificate)
    }

    /// A signer says which newer scheme the package carries as well: without that one it was taken
    /// out.
    fn check_attributes(&self, version: Version, mut attributes: Reader<'_>) -> Result<(), Doubt> {
        while !attributes.is_empty() {
            let mut attribute = attributes.prefixed("attribute")?;
            let newer = match (version, attribute.u32("id of an attribute")?) {
                (Version::V2, NEWER_SCHEME) => match attribute.u32("number of a scheme")? {
                    3 => ("v3", Version::V3.id()),
                    _ => continue,
                },
                (Version::V3, ROTATION_LEVEL) => ("v3.1", V31),
                _ => continue,
            };
            let (name, id) = newer;
            if !self.pairs.iter().any(|(it, _)| *it == id) {
                return refused(format!(
                    "the signer says that the package is also signed by {name}, and that signature was removed"
                ));
            }
        }
        Ok(())
    }
}

/// What stands in one signer's record.
struct Signer<'a> {
    version: Version,
    signed: Reader<'a>,
    /// The lowest and the highest API level that it is for, as v3 has them.
    levels: Option<(u32, u32)>,
    signatures: Reader<'a>,
    public_key: &'a [u8],
}

impl<'a> Signer<'a> {
    fn parse(version: Version, mut from: Reader<'a>) -> Result<Self, Doubt> {
        let signed = from.prefixed("signed data")?;
        let levels = match version {
            Version::V2 => None,
            Version::V3 => Some((
                from.u32("lowest API level")?,
                from.u32("highest API level")?,
            )),
        };
        Ok(Self {
            version,
            signed,
            levels,
            signatures: from.prefixed("signatures")?,
            public_key: from.prefixed("public key")?.rest(),
        })
    }

    fn is_for(&self, level: u16) -> bool {
        let level = u32::from(level);
        self.levels
            .is_none_or(|(low, high)| low <= level && level <= high)
    }
}

/// The first certificate, which is the signer's; all of them parse.
fn certificate(mut from: Reader<'_>, public_key: &[u8]) -> Result<Vec<u8>, Doubt> {
    let mut first = None;
    while !from.is_empty() {
        let bytes = from.prefixed("certificate")?.rest();
        shape::check("a certificate", bytes)?;
        let parsed = match x509_cert::Certificate::from_der(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return unchecked(format!("a certificate is not plain DER: {error}")),
        };
        if first.is_some() {
            continue;
        }
        let its_key = parsed.tbs_certificate.subject_public_key_info.to_der();
        if its_key.as_deref() != Ok(public_key) {
            return refused("the public key is not that of the signer's certificate");
        }
        first = Some(bytes.to_vec());
    }
    match first {
        Some(first) => Ok(first),
        None => refused("the signer has no certificate"),
    }
}

/// What is signed; each kind of digest is computed once, however many signers there are.
struct Content<'a, 'b> {
    archive: &'a Archive<'b>,
    blocks_offset: usize,
    known: Vec<(Hash, Box<[u8]>)>,
}

impl Content<'_, '_> {
    fn check(&mut self, hash: Hash, expected: &[u8]) -> Result<(), Doubt> {
        let known = self.known.iter().position(|(it, _)| *it == hash);
        let place = match known {
            Some(place) => place,
            None => {
                let digest = self.digest(hash)?;
                self.known.push((hash, digest));
                self.known.len() - 1
            }
        };
        if *self.known[place].1 == *expected {
            return Ok(());
        }
        refused("the package was changed after signing: the digest of its content differs")
    }

    fn digest(&self, hash: Hash) -> Result<Box<[u8]>, Doubt> {
        let bytes = self.archive.bytes();
        let end = self.archive.end_record_offset();
        let mut end_record = bytes[end..].to_vec();
        let Some(field) =
            end_record.get_mut(END_RECORD_DIRECTORY_OFFSET..END_RECORD_DIRECTORY_OFFSET + 4)
        else {
            return refused("the archive's end record is too short");
        };
        field.copy_from_slice(&(self.blocks_offset as u32).to_le_bytes());
        let entries = &bytes[..self.blocks_offset];
        let directory = &bytes[self.archive.directory_offset()..end];
        Ok(chunked_digest(
            &mut *hash.start(),
            entries,
            directory,
            &end_record,
        ))
    }
}

#[derive(Clone, Copy)]
struct Algorithm {
    id: u32,
    family: Family,
    hash: Hash,
    padding: Padding,
}

impl Algorithm {
    fn of(id: u32) -> Option<Self> {
        let (family, hash, padding) = match id {
            0x0101 => (Family::Rsa, Hash::Sha256, Padding::Pss),
            0x0102 => (Family::Rsa, Hash::Sha512, Padding::Pss),
            0x0103 => (Family::Rsa, Hash::Sha256, Padding::Pkcs1),
            0x0104 => (Family::Rsa, Hash::Sha512, Padding::Pkcs1),
            0x0201 => (Family::Ec, Hash::Sha256, Padding::Pkcs1),
            0x0202 => (Family::Ec, Hash::Sha512, Padding::Pkcs1),
            0x0301 => (Family::Dsa, Hash::Sha256, Padding::Pkcs1),
            // 0x0421, 0x0423, 0x0425 sign an fs-verity tree.
            _ => return None,
        };
        Some(Self {
            id,
            family,
            hash,
            padding,
        })
    }

    fn strength(self) -> usize {
        match self.hash {
            Hash::Sha512 => 2,
            _ => 1,
        }
    }
}

/// All algorithms in their order, and the strongest signature that we can check, as the platform
/// chooses.
fn strongest(mut signatures: Reader<'_>) -> Result<(Vec<u32>, Algorithm, &[u8]), Doubt> {
    let mut best: Option<(Algorithm, &[u8])> = None;
    let mut ids = Vec::new();
    while !signatures.is_empty() {
        if ids.len() == SIGNATURES_MAX {
            return refused(format!(
                "a signer with more than {SIGNATURES_MAX} signatures"
            ));
        }
        let mut signature = signatures.prefixed("signature")?;
        let id = signature.u32("signature algorithm")?;
        let bytes = signature.prefixed("signature bytes")?.rest();
        ids.push(id);
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
        Some((algorithm, bytes)) => Ok((ids, algorithm, bytes)),
        None if ids.is_empty() => refused("the signer has no signature"),
        None => {
            let ids: Vec<String> = ids.iter().map(|it| format!("{it:#06x}")).collect();
            unchecked(format!("signature algorithms {}", ids.join(", ")))
        }
    }
}

/// The digest for an algorithm. The digests are for the algorithms of the signatures, in the same
/// order: so none of the stronger signatures can be left out.
fn digest_for<'a>(
    mut digests: Reader<'a>,
    signatures: &[u32],
    algorithm: u32,
) -> Result<&'a [u8], Doubt> {
    let mut expected = None;
    let mut signatures = signatures.iter();
    while !digests.is_empty() {
        let mut digest = digests.prefixed("digest")?;
        let id = digest.u32("digest algorithm")?;
        if signatures.next() != Some(&id) {
            return refused(DISAGREEMENT);
        }
        if id == algorithm {
            expected = Some(digest.prefixed("digest bytes")?.rest());
        }
    }
    match expected {
        Some(expected) if signatures.next().is_none() => Ok(expected),
        _ => refused(DISAGREEMENT),
    }
}
