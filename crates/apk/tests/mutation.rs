// SPDX-License-Identifier: Apache-2.0
//! Hostile bytes: every changed bit and every truncation of real packages, manifests and resource
//! tables gives a value or an error, never a panic, and memory stays under the stated bound.

use std::path::PathBuf;

use apk::{Apk, MANIFEST_ENTRY, MEMORY_PER_BYTE_MAX, Manifest, Signatures, Table};

/// Whole packages up to this size get every mutation.
const SMALL_BYTES: usize = 2_300;

fn packages() -> Vec<Vec<u8>> {
    let cache = std::env::var_os("TAKT_CACHE").map_or_else(
        || {
            let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let home = home
                .or_else(|| std::env::var_os("HOME").map(|it| PathBuf::from(it).join(".cache")));
            home.expect("a home directory").join("takt")
        },
        PathBuf::from,
    );
    let folder = cache.join("apks/fdroidserver-2.4.5/tests");
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = files.map(|it| it.expect("an entry").path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "apk"));
    paths.sort();
    let mut packages: Vec<_> = paths
        .iter()
        .map(|it| std::fs::read(it).expect("a package reads"))
        .collect();
    packages.sort_by_key(Vec::len);
    assert!(
        packages.len() > 10,
        "packages for tests are missing: run tools/setup"
    );
    packages
}

fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status
        .lines()
        .find_map(|it| it.strip_prefix("VmHWM:"))
        .expect("VmHWM");
    line.trim()
        .trim_end_matches(" kB")
        .parse::<usize>()
        .expect("a number")
        * 1024
}

/// Calls `check` with each single-bit change, each inversion and each truncation.
fn mutate(sample: &[u8], mut check: impl FnMut(&[u8])) {
    let mut bytes = sample.to_vec();
    for at in 0..bytes.len() {
        let original = bytes[at];
        for change in [1, 2, 4, 8, 16, 32, 64, 128, 0xff, original] {
            bytes[at] = original ^ change;
            check(&bytes);
        }
        bytes[at] = original;
    }
    for size in 0..sample.len() {
        check(&sample[..size]);
    }
}

#[test]
fn every_mutation_of_a_small_package_is_answered() {
    let packages = packages();
    let sample = &packages[0];
    assert!(sample.len() <= SMALL_BYTES && Apk::parse(sample).is_ok());
    let (mut accepted, mut refused) = (0, 0);
    mutate(sample, |bytes| match Apk::parse(bytes) {
        Ok(package) => {
            Signatures::check(&package.archive);
            accepted += 1;
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            refused += 1;
        }
    });
    println!("{accepted} mutations gave a package, {refused} an error");
    assert!(refused > 0 && accepted > 0);
}

#[test]
fn no_mutation_of_a_signed_package_is_taken_for_signed() {
    let packages = packages();
    let sample = packages
        .iter()
        .find(|bytes| {
            Apk::parse(bytes).is_ok_and(|it| {
                matches!(Signatures::check(&it.archive).v2, apk::Scheme::Verified(_))
            })
        })
        .expect("a package with a v2 signature");
    let mut bytes = sample.clone();
    let mut random = fastrand::Rng::with_seed(7);
    let mut is_refused = 0;
    for _ in 0..300 {
        let at = random.usize(..bytes.len());
        bytes[at] ^= 1 << random.u8(..8);
        match Apk::parse(&bytes) {
            Ok(package) => match Signatures::check(&package.archive).verdict().1 {
                // Only bytes between the scheme blocks, which nothing signs, may change.
                apk::Scheme::Verified(_) => {
                    let block = bytes
                        .windows(16)
                        .rposition(|it| it == b"APK Sig Block 42")
                        .expect("a block");
                    assert!(
                        at < block + 16 && at + 8192 > block,
                        "a change at {at:#x} went unseen"
                    );
                }
                _ => is_refused += 1,
            },
            Err(_) => is_refused += 1,
        }
        bytes.copy_from_slice(sample);
    }
    assert!(is_refused > 200, "{is_refused} of 300 changes were seen");
}

#[test]
fn every_mutation_of_manifests_and_tables_is_answered() {
    let packages = packages();
    let package = packages
        .iter()
        .filter_map(|it| Apk::parse(it).ok())
        .find(|it| it.archive.contains("resources.arsc"))
        .expect("a package with resources");
    let manifest = package
        .archive
        .read(MANIFEST_ENTRY)
        .expect("it was read before");
    let resources = package.archive.read("resources.arsc").expect("it is there");
    let table = Table::parse("resources.arsc", &resources).expect("it is sound");
    let before = peak_bytes();
    mutate(&manifest, |bytes| {
        drop(Manifest::parse(bytes, Some(&table)));
    });
    let excerpt = &resources[..resources.len().min(4_000)];
    let mut bytes = resources.to_vec();
    let mut at = 0;
    mutate(excerpt, |changed| {
        bytes[..changed.len()].copy_from_slice(changed);
        at += 1;
        if let Ok(table) = Table::parse("resources.arsc", &bytes) {
            drop(Manifest::parse(&manifest, Some(&table)));
        }
    });
    assert!(at > excerpt.len() * 10);
    let grown = peak_bytes() - before;
    let slack = 4 << 20;
    let limit = (manifest.len() + resources.len()) * MEMORY_PER_BYTE_MAX + slack;
    assert!(
        grown <= limit,
        "memory grew by {grown} bytes, at most {limit}"
    );
}
