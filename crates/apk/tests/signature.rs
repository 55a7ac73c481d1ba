// SPDX-License-Identifier: Apache-2.0
//! One changed byte in signed packages: every scheme notices a changed file, also when its CRC-32
//! is mended, and the schemes of the signing block notice a changed directory, which v1 does not
//! cover.

use apk::{Archive, Scheme, Signatures};

const PACKAGES: [(&str, &str); 3] = [
    ("v1", "SpeedoMeterApp.main_1.apk"),
    ("v2", "v2.only.sig_2.apk"),
    ("v3", "apk.embedded_1.apk"),
];

fn package(name: &str) -> Vec<u8> {
    let cache = std::env::var_os("TAKT_CACHE").map(std::path::PathBuf::from);
    let cache = cache.unwrap_or_else(|| {
        let home = std::env::var_os("XDG_CACHE_HOME").map(std::path::PathBuf::from);
        let home = home
            .or_else(|| Some(std::path::PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        home.expect("a home directory").join("takt")
    });
    let path = cache.join("apks/fdroidserver-2.4.5/tests").join(name);
    std::fs::read(&path).unwrap_or_else(|it| panic!("{}: {it}: run tools/setup", path.display()))
}

fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    let bytes = bytes[at..at + width].iter().rev();
    bytes.fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// Where a stored entry's record in the directory, its local header and its bytes lie (PKWARE's
/// APPNOTE, 4.3.7 and 4.3.12).
fn stored(bytes: &[u8]) -> (usize, usize, std::ops::Range<usize>) {
    let end = bytes
        .windows(4)
        .rposition(|it| it == b"PK\x05\x06")
        .expect("an end record");
    let mut record = number(bytes, end + 16, 4);
    loop {
        assert_eq!(&bytes[record..record + 4], b"PK\x01\x02", "no stored entry");
        let (name, more, note) = (
            number(bytes, record + 28, 2),
            number(bytes, record + 30, 2),
            number(bytes, record + 32, 2),
        );
        let (method, length) = (number(bytes, record + 10, 2), number(bytes, record + 20, 4));
        if method == 0 && length > 0 {
            let local = number(bytes, record + 42, 4);
            let start = local + 30 + number(bytes, local + 26, 2) + number(bytes, local + 28, 2);
            return (record, local, start..start + length);
        }
        record += 46 + name + more + note;
    }
}

/// The newest scheme and whether it holds.
fn verdict(bytes: &[u8]) -> (&'static str, Scheme) {
    let archive = Archive::parse(bytes).expect("the archive itself is sound");
    let signatures = Signatures::check(&archive);
    let (version, scheme) = signatures.verdict();
    (version, scheme.clone())
}

#[test]
fn a_changed_file_is_noticed_by_each_scheme() {
    for (version, name) in PACKAGES {
        let mut bytes = package(name);
        let (found, scheme) = verdict(&bytes);
        assert_eq!(found, version);
        assert!(matches!(scheme, Scheme::Verified(_)), "{name}: {scheme:?}");
        let (record, local, content) = stored(&bytes);
        bytes[content.start + content.len() / 2] ^= 1;
        let mut crc = flate2::Crc::new();
        crc.update(&bytes[content]);
        let sum = crc.sum().to_le_bytes();
        bytes[record + 16..record + 20].copy_from_slice(&sum);
        bytes[local + 14..local + 18].copy_from_slice(&sum);
        let (found, scheme) = verdict(&bytes);
        assert_eq!(found, version);
        assert!(matches!(scheme, Scheme::Refused(_)), "{name}: {scheme:?}");
    }
}

#[test]
fn a_changed_directory_is_noticed_by_signing_blocks_alone() {
    for (version, name) in PACKAGES {
        let mut bytes = package(name);
        let (record, local, _) = stored(&bytes);
        // The time of the entry.
        bytes[record + 12] ^= 1;
        bytes[local + 10] ^= 1;
        let (found, scheme) = verdict(&bytes);
        assert_eq!(found, version);
        let is_verified = matches!(scheme, Scheme::Verified(_));
        assert_eq!(is_verified, version == "v1", "{name}: {scheme:?}");
    }
}
