// SPDX-License-Identifier: Apache-2.0
//! What signs a package, in a package that is otherwise sound: the first byte says whether the rest
//! is the value of scheme v2 or v3 in the signing block, or the PKCS #7 block of a JAR signature.
#![no_main]

use apk::{Archive, Signatures};

#[path = "../../crates/apk/tests/hostile/mod.rs"]
mod hostile;

const FILE: &[u8] = b"Signature-Version: 1.0\r\n\r\n";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((kind, value)) = bytes.split_first() else {
        return;
    };
    let package = match kind % 3 {
        0 => hostile::with_block(&hostile::zip(&[("a", FILE)]), &[(0x7109_871a, value.to_vec())]),
        1 => hostile::with_block(&hostile::zip(&[("a", FILE)]), &[(0xf053_68c0, value.to_vec())]),
        _ => hostile::zip(&[
            ("META-INF/MANIFEST.MF", FILE),
            ("META-INF/CERT.SF", FILE),
            ("META-INF/CERT.RSA", value),
        ]),
    };
    let archive = Archive::parse(&package).expect("the archive is sound");
    Signatures::check(&archive);
});
