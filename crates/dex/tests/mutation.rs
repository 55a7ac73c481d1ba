// SPDX-License-Identifier: Apache-2.0
//! Hostile bytes: every changed bit and every truncation of real files gives a file or an error,
//! never a panic, and memory stays under the stated bound.

use std::path::PathBuf;

use dex::{DexFile, Directory, Listing, MEMORY_PER_BYTE_MAX};

const SEED: u64 = 20_260_801;
/// Files up to this size get every mutation; the time is quadratic in it.
const SMALL_BYTES: usize = 3_000;
const RANDOM_ROUNDS: usize = 4_000;

/// The DEX files of the packages that tools/setup fetches, smallest first.
fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = packages()
        .iter()
        .filter_map(|path| {
            let bytes = std::fs::read(path).expect("a package reads");
            let archive = apk::Archive::parse(&bytes).ok()?;
            Some(archive.read("classes.dex").ok()?.into_owned())
        })
        .collect();
    samples.sort_by_key(Vec::len);
    samples.dedup();
    assert!(
        samples.len() > 10,
        "packages for tests are missing: run tools/setup"
    );
    samples
}

fn packages() -> Vec<PathBuf> {
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
    let list = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten();
    let files = list(folder.clone()).chain(list(folder.join("repo")));
    let mut paths: Vec<PathBuf> = files.map(|it| it.expect("an entry").path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "apk"));
    paths.sort();
    paths
}

/// Parses, with the checksum made good so that the bytes behind it are looked at; then reads all
/// there is to read. Says whether the file and all code in it are sound.
fn check(bytes: &mut [u8]) -> bool {
    if bytes.len() >= 12 {
        let sum = adler2::adler32_slice(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    }
    match DexFile::parse(bytes) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
        Ok(file) => read_everything(&file),
    }
}

fn read_everything(file: &DexFile<'_>) -> bool {
    let mut is_sound = true;
    let listing = Listing::new(file);
    for index in 0..file.call_site_count() {
        file.call_site(index);
    }
    for index in 0..file.method_handle_count() {
        file.method_handle(index);
    }
    for class in file.classes() {
        file.descriptor(class.class);
        class
            .interfaces(file)
            .iter()
            .for_each(|it| drop(file.descriptor(it)));
        class.static_values(file);
        let directory = class.annotations(file);
        Directory::set(file, directory.class);
        for (_, set) in directory.fields.iter().chain(&directory.methods) {
            Directory::set(file, *set);
        }
        for method in class.data(file).methods() {
            let Some(code) = method.code(file) else {
                continue;
            };
            if let Err(fault) = method.check_code(file) {
                assert!(!fault.to_string().is_empty());
                is_sound = false;
                continue;
            }
            for (pc, unit) in code.units() {
                listing.line(pc, &unit.expect("it was verified"));
            }
            // Lines may rise and fall along the code: that both ends are found is all there is to
            // ask.
            if let Some(lines) = code.debug_info(file) {
                std::hint::black_box((lines.line_of(0), lines.line_of(u32::MAX)));
            }
        }
    }
    is_sound
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

#[test]
fn every_small_mutation_is_answered() {
    let samples = samples();
    let small = samples.iter().filter(|it| it.len() <= SMALL_BYTES);
    let largest = small.clone().map(Vec::len).max().expect("a small sample");
    let before = peak_bytes();
    let (mut accepted, mut refused) = (0, 0);
    for sample in small {
        let mut bytes = sample.clone();
        assert!(check(&mut bytes), "the sample itself is sound");
        for at in 0..bytes.len() {
            let original = bytes[at];
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 0xff, original] {
                bytes[at] = original ^ change;
                *if check(&mut bytes) {
                    &mut accepted
                } else {
                    &mut refused
                } += 1;
            }
            bytes[at] = original;
        }
        for size in 0..bytes.len() {
            assert!(
                !check(&mut sample[..size].to_vec()),
                "{size} bytes of {}",
                sample.len()
            );
        }
    }
    println!("{accepted} mutations gave a sound file, {refused} an error");
    assert!(refused > accepted, "most single changes break a file");
    let grown = peak_bytes() - before;
    let slack = 4 << 20; // the allocator's own, and threads' stacks
    assert!(
        grown <= largest * MEMORY_PER_BYTE_MAX + slack,
        "memory grew by {grown} bytes"
    );
}

#[test]
fn random_changes_of_larger_files_are_answered() {
    let samples = samples();
    let mut random = fastrand::Rng::with_seed(SEED);
    for _ in 0..RANDOM_ROUNDS {
        let sample = &samples[random.usize(..samples.len().min(25))];
        let mut bytes = sample.clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(0x20..bytes.len());
            match random.u8(..4) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] ^= 1 << random.u8(..8),
                2 => {
                    // Sizes and offsets are words.
                    let at = at & !3;
                    let value =
                        [0, 1, u32::MAX, random.u32(..bytes.len() as u32)][random.usize(..4)];
                    let end = (at + 4).min(bytes.len());
                    bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                }
                _ => {
                    let from = random.usize(0x20..bytes.len());
                    let size = random.usize(..64).min(bytes.len() - at.max(from));
                    bytes.copy_within(from..from + size, at);
                }
            }
        }
        check(&mut bytes);
    }
}
