// SPDX-License-Identifier: Apache-2.0
//! Signatures that hold by themselves in packages that are not sound: each rule of the platform by
//! one package that breaks it.

mod hostile;

use apk::{Archive, Scheme, Signatures};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hostile::{
    EC_SHA256, EC_SHA512, PLAIN, Signing, certificate, der, ec_public_key, ec_sign, integer, name,
    oid, sequence, with_block, zip,
};
use rsa::BigUint;
use rsa::sha2::{Digest as _, Sha256, Sha384, Sha512};
use sha1::Sha1;

const V2: u32 = 0x7109_871a;
const V3: u32 = 0xf053_68c0;
const NEWER_SCHEME: u32 = 0xbeef_f00d;

/// The newest scheme and what it says of a package.
fn verdict(bytes: &[u8]) -> String {
    let archive = Archive::parse(bytes).expect("the archive itself is sound");
    match Signatures::check(&archive).verdict() {
        (version, Scheme::Verified(_)) => format!("{version} verified"),
        (version, other) => format!("{version} {other:?}"),
    }
}

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    let verdict = verdict(bytes);
    assert!(verdict.contains(expected), "{verdict}");
}

fn plain_zip() -> Vec<u8> {
    zip(&[("a", b"hello"), ("b", b"world")])
}

fn signed(id: u32, signing: Signing<'_>) -> Vec<u8> {
    let zip = plain_zip();
    with_block(&zip, &[(id, signing.block(&zip))])
}

#[test]
fn a_newer_scheme_that_was_taken_out_is_missed() {
    check(&signed(V2, PLAIN), "v2 verified");
    let named = Signing {
        attributes: &[(NEWER_SCHEME, 3)],
        ..PLAIN
    };
    check(
        &signed(V2, named),
        "also signed by v3, and that signature was removed",
    );
    check(
        &signed(
            V2,
            Signing {
                attributes: &[(NEWER_SCHEME, 2)],
                ..PLAIN
            },
        ),
        "v2 verified",
    );
    let levels = Some([(28, 99); 2]);
    let v3 = Signing { levels, ..PLAIN };
    let zip = plain_zip();
    let both = with_block(&zip, &[(V2, named.block(&zip)), (V3, v3.block(&zip))]);
    check(&both, "v3 verified");
    let archive = Archive::parse(&both).expect("it is sound");
    assert!(matches!(
        Signatures::check(&archive).v2,
        Scheme::Verified(_)
    ));
    let rotated = Signing {
        attributes: &[(0x559f_8b02, 33)],
        ..v3
    };
    check(
        &signed(V3, rotated),
        "also signed by v3.1, and that signature was removed",
    );
}

#[test]
fn signatures_and_digests_are_of_the_same_algorithms_in_the_same_order() {
    let both = [EC_SHA256, EC_SHA512];
    let turned = [EC_SHA512, EC_SHA256];
    for (signatures, digests) in [
        (&both[..1], &both[..]),
        (&both[..1], &turned[..]),
        (&both[..1], &both[1..]),
        (&[EC_SHA256, 0x0421], &both[..1]),
        (&[0x0421, EC_SHA256], &[EC_SHA256, 0x0421]),
    ] {
        let lists = Signing {
            signatures,
            digests,
            ..PLAIN
        };
        check(
            &signed(V2, lists),
            "the lists of signatures and of digests name different",
        );
    }
    let lists = [0x0421, EC_SHA256];
    check(
        &signed(
            V2,
            Signing {
                signatures: &lists,
                digests: &lists,
                ..PLAIN
            },
        ),
        "v2 verified",
    );
}

#[test]
fn a_signers_levels_are_signed_and_decide_whether_it_counts() {
    let levels = |written, signed| Signing {
        levels: Some([written, signed]),
        ..PLAIN
    };
    check(&signed(V3, levels((28, 99), (28, 99))), "v3 verified");
    check(
        &signed(V3, levels((28, 99), (28, 34))),
        "levels are not those that it signed",
    );
    check(
        &signed(V3, levels((28, 34), (28, 34))),
        "no signer for API level 35",
    );
    let zip = plain_zip();
    let two = |first: Signing<'_>, second: Signing<'_>| {
        let signers = [first.signer(&zip), second.signer(&zip)].concat();
        let value = [&(signers.len() as u32).to_le_bytes()[..], &signers].concat();
        with_block(&zip, &[(V3, value)])
    };
    let old = levels((28, 34), (28, 34));
    check(&two(old, levels((35, 99), (35, 99))), "v3 verified");
    let all = levels((28, 99), (28, 99));
    check(&two(all, all), "more than one signer for API level 35");
}

#[test]
fn an_algorithm_is_of_the_keys_kind() {
    let dsa = Signing {
        signatures: &[0x0301],
        digests: &[0x0301],
        ..PLAIN
    };
    check(&signed(V2, dsa), "a signature by Dsa with a key of Ec");
}

const DATA: &str = "1.2.840.113549.1.7.1";
const SHA1: &str = "1.3.14.3.2.26";
const SHA256: &str = "2.16.840.1.101.3.4.2.1";
const SHA384: &str = "2.16.840.1.101.3.4.2.2";
const SHA512: &str = "2.16.840.1.101.3.4.2.3";
const ECDSA: &str = "1.2.840.10045.2.1";
const DSA: &str = "1.2.840.10040.4.1";

fn attribute(name: &str, values: &[&[u8]]) -> Vec<u8> {
    sequence(&[&oid(name), &der(0x31, &values.concat())])
}

fn content_type() -> Vec<u8> {
    attribute("1.2.840.113549.1.9.3", &[&oid(DATA)])
}

fn digest_of(file: &[u8]) -> Vec<u8> {
    attribute("1.2.840.113549.1.9.4", &[&der(4, &Sha256::digest(file))])
}

/// A PKCS #7 block: `attributes` are signed in the file's place, if there are any.
struct Block<'a> {
    digest: &'a str,
    algorithm: &'a str,
    public_key: &'a [u8],
    attributes: Option<Vec<u8>>,
    signature: Vec<u8>,
}

impl Block<'_> {
    fn signer(&self) -> Vec<u8> {
        self.signer_by(&name())
    }

    /// The signer's certificate is found by its issuer's name.
    fn signer_by(&self, issuer: &[u8]) -> Vec<u8> {
        let digest = sequence(&[&oid(self.digest)]);
        let attributes = self.attributes.as_ref().map(|it| der(0xa0, it));
        sequence(&[
            &integer(&[1]),
            &sequence(&[issuer, &integer(&[1])]),
            &digest,
            attributes.as_deref().unwrap_or_default(),
            &sequence(&[&oid(self.algorithm)]),
            &der(4, &self.signature),
        ])
    }

    fn encode(&self, signers: &[u8]) -> Vec<u8> {
        let data = sequence(&[
            &integer(&[1]),
            &der(0x31, &sequence(&[&oid(self.digest)])),
            &sequence(&[&oid(DATA)]),
            &der(0xa0, &certificate(self.public_key)),
            &der(0x31, signers),
        ]);
        sequence(&[&oid("1.2.840.113549.1.7.2"), &der(0xa0, &data)])
    }
}

/// A signed JAR; `sign` makes the block for the signature file.
fn jar(header: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let sum = |bytes: &[u8]| BASE64_STANDARD.encode(Sha256::digest(bytes));
    let manifest = format!(
        "Manifest-Version: 1.0\r\n\r\nName: a\r\nSHA-256-Digest: {}\r\n\r\n",
        sum(b"hello")
    );
    let file = format!(
        "Signature-Version: 1.0\r\n{header}SHA-256-Digest-Manifest: {}\r\n\r\n",
        sum(manifest.as_bytes())
    );
    zip(&[
        ("META-INF/MANIFEST.MF", manifest.as_bytes()),
        ("META-INF/CERT.SF", file.as_bytes()),
        ("META-INF/CERT.EC", &sign(file.as_bytes())),
        ("a", b"hello"),
    ])
}

fn ec_jar(header: &str, attributes: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    jar(header, |file| {
        let attributes = attributes(file);
        let message = attributes
            .as_ref()
            .map_or(file.to_vec(), |it| der(0x31, it));
        let public_key = &ec_public_key();
        let signature = ec_sign(&message);
        let block = Block {
            digest: SHA256,
            algorithm: ECDSA,
            public_key,
            attributes,
            signature,
        };
        block.encode(&block.signer())
    })
}

#[test]
fn a_jar_names_the_schemes_that_it_carries() {
    check(&ec_jar("", |_| None), "v1 verified");
    for list in ["2", "1, 3", "02", " +3 ,x"] {
        let header = format!("X-Android-APK-Signed: {list}\r\n");
        check(&ec_jar(&header, |_| None), "and that signature was removed");
    }
    check(
        &ec_jar("X-Android-APK-Signed: 1, x\r\n", |_| None),
        "v1 verified",
    );
}

#[test]
fn the_main_section_is_what_was_signed() {
    let header = |sum: &[u8]| {
        let sum = BASE64_STANDARD.encode(sum);
        format!("SHA-256-Digest-Manifest-Main-Attributes: {sum}\r\n")
    };
    let main = header(&Sha256::digest("Manifest-Version: 1.0\r\n\r\n"));
    check(&ec_jar(&main, |_| None), "v1 verified");
    let text = "its main section was changed after META-INF/CERT.SF was signed";
    check(&ec_jar(&header(&[0; 32]), |_| None), text);
}

#[test]
fn signed_attributes_hold_type_and_digest_once() {
    let both = |file: &[u8]| Some([content_type(), digest_of(file)].concat());
    check(&ec_jar("", both), "v1 verified");
    let only_digest = |file: &[u8]| Some(digest_of(file));
    check(
        &ec_jar("", only_digest),
        "the signed attributes lack the content's type",
    );
    let other_type = |file: &[u8]| {
        let other = attribute("1.2.840.113549.1.9.3", &[&oid("1.2.840.113549.1.7.2")]);
        Some([other, digest_of(file)].concat())
    };
    check(
        &ec_jar("", other_type),
        "the signed attributes lack the content's type",
    );
    check(
        &ec_jar("", |_| Some(content_type())),
        "the signed digest is not that",
    );
    let twice = |file: &[u8]| {
        let digest = der(4, &Sha256::digest(file));
        let two = attribute("1.2.840.113549.1.9.4", &[&digest, &der(4, &[0xff; 32])]);
        Some([content_type(), two].concat())
    };
    check(&ec_jar("", twice), "the signed digest is not that");
}

/// The platform digests them as they stand, in whatever order the signer wrote them.
#[test]
fn signed_attributes_count_as_they_are_written() {
    let turned = |file: &[u8]| Some([digest_of(file), content_type()].concat());
    check(&ec_jar("", turned), "v1 verified");
    // Signed in one order and written in the other.
    let bytes = jar("", |file| {
        let sorted = [content_type(), digest_of(file)].concat();
        let block = Block {
            digest: SHA256,
            algorithm: ECDSA,
            public_key: &ec_public_key(),
            attributes: Some([digest_of(file), content_type()].concat()),
            signature: ec_sign(&der(0x31, &sorted)),
        };
        block.encode(&block.signer())
    });
    check(&bytes, "the signature does not match the signed bytes");
}

#[test]
fn an_issuer_is_the_same_whatever_its_strings_are() {
    let by = |issuer: &[u8]| {
        jar("", |file| {
            let block = Block {
                digest: SHA256,
                algorithm: ECDSA,
                public_key: &ec_public_key(),
                attributes: None,
                signature: ec_sign(file),
            };
            block.encode(&block.signer_by(issuer))
        })
    };
    let named = |kind: &str, tag: u8, text: &[u8]| {
        sequence(&[&der(0x31, &sequence(&[&oid(kind), &der(tag, text)]))])
    };
    const COMMON_NAME: &str = "2.5.4.3";
    for (tag, text) in [
        (0x0c, &b"test"[..]),
        (0x13, b"test"),
        (0x16, b"  TEST"),
        (0x14, b"Test "),
        (0x1e, b"\0t\0e\0s\0t"),
    ] {
        check(&by(&named(COMMON_NAME, tag, text)), "v1 verified");
    }
    let lacks = "lacks the signer's certificate";
    check(&by(&named(COMMON_NAME, 0x13, b"tent")), lacks);
    check(&by(&named("2.5.4.10", 0x0c, b"test")), lacks);
    check(&by(&sequence(&[])), lacks);
}

#[test]
fn a_block_without_its_signature_file_signs_nothing() {
    let block = [("META-INF/CERT.EC", &b"no DER"[..]), ("a", b"hello")];
    check(&zip(&block), "none Absent");
    let signed = jar("", |file| file.to_vec());
    check(&signed, "META-INF/CERT.EC is not plain DER");
}

/// A digest shorter than half of the key's numbers.
#[test]
fn the_longer_curve_comes_with_sha1() {
    use p384::ecdsa::signature::hazmat::PrehashSigner as _;
    use p384::pkcs8::EncodePublicKey as _;
    let key = p384::ecdsa::SigningKey::from_slice(&[7; 48]).expect("a number below the order");
    let public_key = key.verifying_key().to_public_key_der().expect("it encodes");
    let by = |signed: fn(&[u8]) -> [u8; 20]| {
        jar("", |file| {
            let mut number = [0; 48];
            number[28..].copy_from_slice(&signed(file));
            let signature: p384::ecdsa::DerSignature = key.sign_prehash(&number).expect("it signs");
            let block = Block {
                digest: SHA1,
                algorithm: ECDSA,
                public_key: public_key.as_bytes(),
                attributes: None,
                signature: signature.as_bytes().to_vec(),
            };
            block.encode(&block.signer())
        })
    };
    check(&by(|file| Sha1::digest(file).into()), "v1 verified");
    check(
        &by(|_| [1; 20]),
        "the signature does not match the signed bytes",
    );
}

#[test]
fn a_block_has_one_signer() {
    let bytes = jar("", |file| {
        let block = |digest| Block {
            digest,
            algorithm: ECDSA,
            public_key: &[],
            attributes: None,
            signature: ec_sign(file),
        };
        let signers = [block(SHA256).signer(), block(SHA384).signer()].concat();
        let public_key = &ec_public_key();
        Block {
            public_key,
            ..block(SHA256)
        }
        .encode(&signers)
    });
    check(&bytes, "has 2 signers, and one is wanted");
}

#[test]
fn the_signature_algorithm_is_of_the_keys_kind() {
    let bytes = jar("", |file| {
        let (public_key, signature) = (&ec_public_key(), ec_sign(file));
        let block = Block {
            digest: SHA256,
            algorithm: DSA,
            public_key,
            attributes: None,
            signature,
        };
        block.encode(&block.signer())
    });
    check(&bytes, "a signature by Dsa with a key of Ec");
}

/// Parameters of a DSA key for tests.
const PRIME: &[u8] = b"e4a6479ac6534eb8c289129b065d75dffca4c9fc4ce78927d0be82d0909f93cc00383029899cfe222413248deb72f82d28db82f6c36c967559ccccb1ba305b46c26a9010fab263de7191fc52f432222333a07b552bda81cc49dcaa366a73c067ebc772b67c5d18090d56db1f895fd0ce95916b7654be556718736e28ecfb5e87";
const ORDER: &[u8] = b"bcbae57ee348344fef126a4496a4824e7c51f3e4e0e12014c8560779";
const GENERATOR: &[u8] = b"e469c4302a11215defc763f22825a48587b17337d0fc24f6df8414aaa172e2c2a9ed047aacaca18bd35bfd57ee75201ad7ce08154711daf1436597158306d2cb776b72ff242334febe636b92554ee06ad60ef2917bdd35282b3ec32bbfa4d276548a9cf739aba5274659ab439668ea5e3b0f4af60db30efca3a265955d18e2ff";

fn dsa_key(prime: &[u8], order: &[u8], generator: &[u8], public: &[u8]) -> Vec<u8> {
    let parameters = sequence(&[&integer(prime), &integer(order), &integer(generator)]);
    let number = [&[0][..], &integer(public)].concat();
    sequence(&[&sequence(&[&oid(DSA), &parameters]), &der(3, &number)])
}

/// A jar that is signed by DSA, with a secret number of 5 and 1 for what is drawn.
fn dsa_jar(digest: &str, sum: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let number = |digits| BigUint::parse_bytes(digits, 16).expect("digits");
    let [prime, order, generator] = [PRIME, ORDER, GENERATOR].map(number);
    let public = generator.modpow(&BigUint::from(5u8), &prime);
    let key = [&prime, &order, &generator, &public].map(BigUint::to_bytes_be);
    let key = dsa_key(&key[0], &key[1], &key[2], &key[3]);
    jar("", |file| {
        let first = &generator % &order;
        let message = BigUint::from_bytes_be(&sum(file)[..28]);
        let second = (message + &first * BigUint::from(5u8)) % &order;
        let signature = sequence(&[
            &integer(&first.to_bytes_be()),
            &integer(&second.to_bytes_be()),
        ]);
        let block = Block {
            digest,
            algorithm: DSA,
            public_key: &key,
            attributes: None,
            signature,
        };
        block.encode(&block.signer())
    })
}

#[test]
fn dsa_comes_with_the_digests_that_android_has() {
    check(
        &dsa_jar(SHA256, |it| Sha256::digest(it).to_vec()),
        "v1 verified",
    );
    let text = "a signature by Dsa with Sha384, which Android has not";
    check(&dsa_jar(SHA384, |it| Sha384::digest(it).to_vec()), text);
    let text = "a signature by Dsa with Sha512, which Android has not";
    check(&dsa_jar(SHA512, |it| Sha512::digest(it).to_vec()), text);
}

#[test]
fn large_numbers_are_not_computed_with() {
    let large = [0xff; 500];
    for key in [
        dsa_key(&large, &[0xff; 32], &[2], &[3]),
        dsa_key(&[0xff; 384], &[0xff; 33], &[2], &[3]),
        dsa_key(&[0xff; 384], &[0xff; 32], &large, &[3]),
        dsa_key(&[0xff; 384], &[0xff; 32], &[2], &large),
    ] {
        let bytes = jar("", |_| {
            let signature = sequence(&[&integer(&[1]), &integer(&[1])]);
            let block = Block {
                digest: SHA256,
                algorithm: DSA,
                public_key: &key,
                attributes: None,
                signature,
            };
            block.encode(&block.signer())
        });
        check(
            &bytes,
            "Unchecked(\"META-INF/CERT.EC: a DSA key of more than 3072 and 256 bits",
        );
    }
}

/// Sets are sorted by insertion where they are parsed.
#[test]
fn sets_have_a_bound() {
    let bytes = jar("", |_| {
        let algorithms: Vec<u8> = (0..1000u16)
            .rev()
            .flat_map(|it| sequence(&[&der(6, &[0x2a, 0x81 + (it >> 7) as u8, (it & 0x7f) as u8])]))
            .collect();
        let data = sequence(&[&integer(&[1]), &der(0x31, &algorithms)]);
        sequence(&[&oid("1.2.840.113549.1.7.2"), &der(0xa0, &data)])
    });
    check(&bytes, "has a value of more than 256 elements");
}
