// SPDX-License-Identifier: Apache-2.0
//! Scheme v1: a signed JAR. Entries are digested in MANIFEST.MF, that in *.SF, and that is signed
//! in *.RSA, *.DSA, *.EC.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cms::content_info::ContentInfo;
use cms::signed_data::{SignedAttributes, SignedData, SignerIdentifier, SignerInfo};
use der::asn1::OctetString;
use der::{Decode as _, Encode as _};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};
use x509_cert::Certificate;

use super::key::{self, Family, Hash, Padding};
use super::{Doubt, name, refused, shape, unchecked};
use crate::Archive;

const MANIFEST: &str = "META-INF/MANIFEST.MF";
const SIGNERS_MAX: usize = 10;

const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const RSA_PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");
const MD5: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.2.5");
const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2");
const SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");

/// The signers' certificates; none if the package has no JAR signature.
pub(super) fn check(
    archive: &Archive<'_>,
    has_v2: bool,
    has_v3: bool,
) -> Result<Option<Vec<Vec<u8>>>, Doubt> {
    let signature_files: Vec<&str> = archive
        .entries()
        .map(|(name, _)| name)
        .filter(|name| is_signature_block(name))
        // As on the platform, one that signs nothing is none.
        .filter(|name| archive.contains(&signature_file(name)))
        .collect();
    if signature_files.is_empty() {
        return Ok(None);
    }
    if signature_files.len() > SIGNERS_MAX {
        return refused(format!("more than {SIGNERS_MAX} signers"));
    }
    let manifest = archive.read_dense(MANIFEST)?;
    let sections = Sections::parse(MANIFEST, &manifest)?;
    let mut certificates = Vec::new();
    for name in signature_files {
        let file = signature_file(name);
        let text = archive.read_dense(&file)?;
        let block = archive.read_dense(name)?;
        certificates.push(check_block(name, &block, &text)?);
        check_signature_file(&file, &text, &manifest, &sections, has_v2, has_v3)?;
    }
    check_entries(archive, &sections)?;
    Ok(Some(certificates))
}

fn is_signature_block(name: &str) -> bool {
    let Some(file) = name.strip_prefix("META-INF/") else {
        return false;
    };
    !file.contains('/')
        && matches!(
            file.rsplit_once('.'),
            Some((_, "RSA" | "DSA" | "EC" | "rsa" | "dsa" | "ec"))
        )
}

/// What a block signs, by its own name.
fn signature_file(block: &str) -> String {
    let stem = &block[..block.rfind('.').unwrap_or(block.len())];
    format!("{stem}.SF")
}

/// Is the entry outside of what JAR signatures cover?
fn is_unsigned_by_design(name: &str) -> bool {
    let file = name
        .strip_prefix("META-INF/")
        .filter(|it| !it.contains('/'));
    name.ends_with('/')
        || file.is_some_and(|it| {
            it == "MANIFEST.MF"
                || it.ends_with(".SF")
                || it.starts_with("SIG-")
                || is_signature_block(name)
        })
}

/// The sections of a manifest: attributes by name, and the section's raw bytes, which are what is
/// digested.
struct Sections<'a> {
    main: Section<'a>,
    by_entry: BTreeMap<String, Section<'a>>,
}

struct Section<'a> {
    raw: &'a [u8],
    attributes: BTreeMap<String, String>,
}

impl<'a> Sections<'a> {
    fn parse(file: &str, bytes: &'a [u8]) -> Result<Self, Doubt> {
        let mut rest = bytes;
        let mut sections = Vec::new();
        while !rest.is_empty() {
            let (raw, after) = rest.split_at(section_size(rest));
            rest = after;
            let attributes = attributes(raw);
            if !attributes.is_empty() {
                sections.push(Section { raw, attributes });
            }
        }
        let mut sections = sections.into_iter();
        let Some(main) = sections.next() else {
            return refused(format!("{file} is empty"));
        };
        let mut by_entry = BTreeMap::new();
        for section in sections {
            let Some(name) = section.attributes.get("name").cloned() else {
                return refused(format!("{file}: a section without a name"));
            };
            if by_entry.insert(name.clone(), section).is_some() {
                return refused(format!("{file}: two sections for '{name}'"));
            }
        }
        Ok(Self { main, by_entry })
    }
}

/// Bytes up to and with the empty line that ends a section.
fn section_size(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let line = bytes[at..]
            .iter()
            .position(|it| *it == b'\n')
            .map_or(bytes.len() - at, |it| it + 1);
        let is_blank = matches!(&bytes[at..at + line], b"\n" | b"\r\n");
        at += line;
        if at == bytes.len() || is_blank {
            return at;
        }
    }
}

/// Attributes with names in lower case; lines that begin with a space continue the one before.
fn attributes(raw: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(raw)
        .replace("\r\n ", "")
        .replace("\n ", "");
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim_end().to_owned()))
        .collect()
}

/// The strongest digest that the attributes give under `<ALGORITHM>-Digest<suffix>`.
fn digest_of(section: &Section<'_>, suffix: &str) -> Option<(Hash, Vec<u8>)> {
    let names = [
        ("sha-512", Hash::Sha512),
        ("sha-384", Hash::Sha384),
        ("sha-256", Hash::Sha256),
        ("sha1", Hash::Sha1),
        ("sha-1", Hash::Sha1),
        ("md5", Hash::Md5),
    ];
    names.into_iter().find_map(|(name, hash)| {
        let text = section.attributes.get(&format!("{name}-digest{suffix}"))?;
        // One that does not decode is equal to nothing, and no weaker one stands in for it.
        Some((hash, BASE64_STANDARD.decode(text).unwrap_or_default()))
    })
}

fn check_signature_file(
    file: &str,
    text: &[u8],
    manifest: &[u8],
    sections: &Sections<'_>,
    has_v2: bool,
    has_v3: bool,
) -> Result<(), Doubt> {
    let signed = Sections::parse(file, text)?;
    if let Some(schemes) = signed.main.attributes.get("x-android-apk-signed") {
        // Numbers as the platform reads them: what is none counts for nothing.
        for scheme in schemes
            .split(',')
            .filter_map(|it| it.trim().parse::<i32>().ok())
        {
            if (scheme == 2 && !has_v2) || (scheme == 3 && !has_v3) {
                return refused(format!(
                    "{file} says that the package is also signed by v{scheme}, and that signature was removed"
                ));
            }
        }
    }
    // The platform does not ask this of an old tool's packages.
    let creator = signed.main.attributes.get("created-by");
    let is_asked = !creator.is_some_and(|it| it.contains("signtool"));
    if is_asked
        && let Some((hash, expected)) = digest_of(&signed.main, "-manifest-main-attributes")
        && *hash.digest(sections.main.raw) != *expected
    {
        return refused(format!(
            "{MANIFEST}: its main section was changed after {file} was signed"
        ));
    }
    if let Some((hash, expected)) = digest_of(&signed.main, "-manifest")
        && *hash.digest(manifest) == *expected
    {
        return Ok(());
    }
    for (name, section) in &sections.by_entry {
        let Some(signed) = signed.by_entry.get(name) else {
            return refused(format!("{file} does not sign '{name}'"));
        };
        let Some((hash, expected)) = digest_of(signed, "") else {
            return unchecked(format!("{file}: the digest algorithm of '{name}'"));
        };
        if *hash.digest(section.raw) != *expected {
            return refused(format!(
                "{MANIFEST}: the section of '{name}' was changed after {file} was signed"
            ));
        }
    }
    Ok(())
}

fn check_entries(archive: &Archive<'_>, sections: &Sections<'_>) -> Result<(), Doubt> {
    let covered: BTreeSet<&str> = archive
        .entries()
        .map(|(name, _)| name)
        .filter(|name| !is_unsigned_by_design(name))
        .collect();
    for name in &covered {
        let Some(section) = sections.by_entry.get(*name) else {
            return refused(format!("'{name}' is in the package, but not in {MANIFEST}"));
        };
        let Some((hash, expected)) = digest_of(section, "") else {
            return unchecked(format!("{MANIFEST}: the digest algorithm of '{name}'"));
        };
        if *hash.digest(&archive.read(name)?) != *expected {
            return refused(format!(
                "'{name}' was changed after signing: its digest differs from {MANIFEST}"
            ));
        }
    }
    match sections
        .by_entry
        .keys()
        .find(|name| !archive.contains(name))
    {
        Some(name) => refused(format!(
            "{MANIFEST} names '{name}', which is not in the package"
        )),
        None => Ok(()),
    }
}

fn check_block(name: &str, block: &[u8], signed_file: &[u8]) -> Result<Vec<u8>, Doubt> {
    let not_der = |error: der::Error| Doubt::Unchecked(format!("{name} is not plain DER: {error}"));
    shape::check(name, block)?;
    let content = ContentInfo::from_der(block).map_err(not_der)?;
    if content.content_type != SIGNED_DATA {
        return refused(format!("{name} holds no PKCS #7 signed data"));
    }
    let data: SignedData = content.content.decode_as().map_err(not_der)?;
    // Which one of several counts is a matter of the reader.
    let [signer] = data.signer_infos.0.as_slice() else {
        let count = data.signer_infos.0.len();
        return refused(format!("{name} has {count} signers, and one is wanted"));
    };
    let Some(certificate) = certificate_of(&data, signer) else {
        return refused(format!("{name} lacks the signer's certificate"));
    };
    let content_type = data.encap_content_info.econtent_type;
    // Not encoded anew: not every tool sorts them as DER does, and the platform takes them as they
    // are.
    let attributes = shape::signed_attributes(block);
    if attributes.is_some() != signer.signed_attrs.is_some() {
        return refused(format!(
            "{name}: the signed attributes are read in two ways"
        ));
    }
    let message = attributes.as_deref().unwrap_or(signed_file);
    check_attributes(name, signer, content_type, signed_file)?;
    check_signer(name, signer, &certificate, message)?;
    certificate.to_der().map_err(not_der)
}

fn certificate_of(data: &SignedData, signer: &SignerInfo) -> Option<Certificate> {
    let SignerIdentifier::IssuerAndSerialNumber(id) = &signer.sid else {
        return None;
    };
    data.certificates
        .as_ref()?
        .0
        .iter()
        .find_map(|choice| match choice {
            cms::cert::CertificateChoices::Certificate(it)
                if it.tbs_certificate.serial_number == id.serial_number
                    && name::is_same(&it.tbs_certificate.issuer, &id.issuer) =>
            {
                Some(it.clone())
            }
            _ => None,
        })
}

fn hash_of(name: &str, signer: &SignerInfo) -> Result<Hash, Doubt> {
    Ok(match signer.digest_alg.oid {
        SHA1 => Hash::Sha1,
        SHA256 => Hash::Sha256,
        SHA384 => Hash::Sha384,
        SHA512 => Hash::Sha512,
        MD5 => Hash::Md5,
        other => return unchecked(format!("{name}: digest algorithm {other}")),
    })
}

/// What is signed in the signature file's place, if anything is, must speak of that file.
fn check_attributes(
    name: &str,
    signer: &SignerInfo,
    content_type: ObjectIdentifier,
    signed_file: &[u8],
) -> Result<(), Doubt> {
    let Some(attributes) = &signer.signed_attrs else {
        return Ok(());
    };
    let hash = hash_of(name, signer)?;
    let found = only_value::<ObjectIdentifier>(attributes, CONTENT_TYPE);
    if found != Some(content_type) {
        return refused(format!(
            "{name}: the signed attributes lack the content's type"
        ));
    }
    let digest = only_value::<OctetString>(attributes, MESSAGE_DIGEST);
    if digest.is_none_or(|it| it.as_bytes() != &*hash.digest(signed_file)) {
        return refused(format!(
            "{name}: the signed digest is not that of the signature file"
        ));
    }
    Ok(())
}

fn check_signer(
    name: &str,
    signer: &SignerInfo,
    certificate: &Certificate,
    message: &[u8],
) -> Result<(), Doubt> {
    let Some(family) = family_of(signer.signature_algorithm.oid) else {
        let oid = signer.signature_algorithm.oid;
        return unchecked(format!("{name}: signature algorithm {oid}"));
    };
    let key = certificate.tbs_certificate.subject_public_key_info.to_der();
    let key = key.map_err(|error| Doubt::Unchecked(format!("{name} is not plain DER: {error}")))?;
    let Ok(key) = SubjectPublicKeyInfoRef::try_from(&*key) else {
        return refused(format!("{name}: the signer's public key does not parse"));
    };
    let named = |text: String| format!("{name}: {text}");
    let way = key::Way {
        family,
        hash: hash_of(name, signer)?,
        padding: Padding::Pkcs1,
    };
    key::verify(key, way, message, signer.signature.as_bytes()).map_err(|doubt| match doubt {
        Doubt::Refused(text) => Doubt::Refused(named(text)),
        Doubt::Unchecked(text) => Doubt::Unchecked(named(text)),
    })
}

/// The value of an attribute that is there once, with one value.
fn only_value<'a, T: der::Choice<'a> + der::DecodeValue<'a>>(
    attributes: &'a SignedAttributes,
    oid: ObjectIdentifier,
) -> Option<T> {
    let mut found = attributes.iter().filter(|it| it.oid == oid);
    let attribute = found.next().filter(|_| found.next().is_none())?;
    match attribute.values.as_slice() {
        [value] => value.decode_as().ok(),
        _ => None,
    }
}

/// What kind of key a signature algorithm is of; of names such as sha256WithRSAEncryption the key's
/// part alone counts, as on the platform.
fn family_of(oid: ObjectIdentifier) -> Option<Family> {
    let name = oid.to_string();
    let is_below = |parent: &str| {
        name.strip_prefix(parent)
            .is_some_and(|it| it.starts_with('.'))
    };
    if RSA_PSS == oid {
        None
    } else if is_below("1.2.840.113549.1.1") {
        Some(Family::Rsa)
    } else if is_below("1.2.840.10040.4")
        || ["2.16.840.1.101.3.4.3.1", "2.16.840.1.101.3.4.3.2"].contains(&name.as_str())
    {
        Some(Family::Dsa)
    } else if is_below("1.2.840.10045.2") || is_below("1.2.840.10045.4") {
        Some(Family::Ec)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_at_empty_lines_and_lines_continue() {
        let text = b"Manifest-Version: 1.0\r\n\r\nName: a\r\n bc\r\nSHA1-Digest: AAAA\r\n\r\n\r\nName: d\n\n";
        let sections = Sections::parse("m", text).ok().unwrap();
        assert_eq!(sections.main.raw, b"Manifest-Version: 1.0\r\n\r\n");
        assert_eq!(
            sections.by_entry["abc"].raw,
            b"Name: a\r\n bc\r\nSHA1-Digest: AAAA\r\n\r\n"
        );
        assert_eq!(sections.by_entry["d"].raw, b"Name: d\n\n");
    }

    #[test]
    fn a_section_twice_is_refused() {
        assert!(Sections::parse("m", b"V: 1\n\nName: a\n\nName: a\n\n").is_err());
    }

    #[test]
    fn only_the_signature_files_themselves_are_exempt() {
        assert!(
            is_unsigned_by_design("META-INF/CERT.SF")
                && is_unsigned_by_design("META-INF/MANIFEST.MF")
        );
        assert!(
            !is_unsigned_by_design("META-INF/x/CERT.SF") && !is_unsigned_by_design("classes.dex")
        );
    }
}
