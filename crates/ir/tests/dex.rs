// SPDX-License-Identifier: Apache-2.0
//! Every class of real packages becomes a class file, and every method IR whose references are
//! proven.

mod anything;

use std::path::PathBuf;

use anything::Anything;
use classfile::ClassFile;
use dex::{ClassDef, DexFile};
use ir::dex::{Outline, translate};
use ir::{Subject, check_references};

/// The DEX files of the packages that tools/setup fetches.
fn samples() -> Vec<(String, Vec<u8>)> {
    let mut samples = Vec::new();
    for path in packages() {
        let bytes = std::fs::read(&path).expect("a package reads");
        let Ok(archive) = apk::Archive::parse(&bytes) else {
            continue;
        };
        for number in 1.. {
            let name = match number {
                1 => "classes.dex".to_owned(),
                number => format!("classes{number}.dex"),
            };
            let Ok(code) = archive.read(&name) else { break };
            samples.push((format!("{}!{name}", path.display()), code.into_owned()));
        }
    }
    samples.sort_by_key(|(_, code)| code.len());
    samples.dedup_by(|a, b| a.1 == b.1);
    assert!(
        samples.len() > 10,
        "packages for tests are missing: run tools/setup"
    );
    samples
}

fn packages() -> Vec<PathBuf> {
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = home("TAKT_CACHE").unwrap_or_else(|| {
        let cache = home("XDG_CACHE_HOME").or_else(|| home("HOME").map(|it| it.join(".cache")));
        cache.expect("a home directory").join("takt")
    });
    let folder = cache.join("apks/fdroidserver-2.4.5/tests");
    let list = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten();
    let files = list(folder.clone()).chain(list(folder.join("repo")));
    let mut paths: Vec<PathBuf> = files.map(|it| it.expect("an entry").path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "apk"));
    paths.sort();
    paths
}

/// What became of methods.
#[derive(Default)]
struct Outcome {
    proven: usize,
    /// Of those: no proof that they lock in a structured way, so they note their locks.
    noting: usize,
    /// What was said of the others.
    refused: Vec<String>,
}

/// Lowers and proves all classes but those that `is_wanted` leaves out.
fn lower(file: &DexFile<'_>, is_wanted: impl Fn(&ClassDef) -> bool) -> Outcome {
    let mut outcome = Outcome::default();
    for class in file.classes().filter(is_wanted) {
        let name = file.descriptor(class.class);
        let outline = match Outline::new(file, &class) {
            Ok(outline) => outline,
            Err(what) => {
                outcome.refused.push(format!("{name}: {what}"));
                continue;
            }
        };
        let parsed = ClassFile::parse(&outline.bytes);
        let parsed = parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(parsed.methods.len(), outline.methods.len());
        let methods = outline.methods.iter().zip(&parsed.methods);
        for (method, described) in methods.filter(|(it, _)| it.code(file).is_some()) {
            match prove(file, &outline, method, &parsed, described) {
                Ok(is_noting) => {
                    outcome.proven += 1;
                    outcome.noting += usize::from(is_noting);
                }
                Err(what) => {
                    let method = classfile::to_string_lossy(described.name);
                    outcome.refused.push(format!("{name}.{method}: {what}"));
                }
            }
        }
    }
    outcome
}

fn prove(
    file: &DexFile<'_>,
    outline: &Outline<'_>,
    method: &dex::Method,
    class: &ClassFile<'_>,
    described: &classfile::Method<'_>,
) -> Result<bool, String> {
    let function = translate(file, outline, method).map_err(|error| error.to_string())?;
    let subject = Subject::of(class, described);
    check_references(&function, &subject, &class.constants, &mut Anything)
        .map_err(|error| error.to_string())?;
    Ok(function.notes_locks())
}

#[test]
fn real_packages_translate() {
    let (mut total, mut noting) = (0, 0);
    let mut problems = Vec::new();
    for (name, bytes) in samples() {
        let Ok(file) = DexFile::parse(&bytes) else {
            continue;
        };
        let outcome = lower(&file, |_| true);
        total += outcome.proven;
        noting += outcome.noting;
        problems.extend(
            outcome
                .refused
                .into_iter()
                .map(|it| format!("{name}: {it}")),
        );
    }
    println!("{total} methods; {noting} note their locks");
    assert!(
        problems.is_empty(),
        "{} of {total}:\n{}",
        problems.len(),
        problems.join("\n")
    );
    assert!(total > 1_000, "{total}");
}

const SEED: u64 = 20_261_122;
const ROUNDS: usize = 20_000;
/// Larger files take their time to be read again in every round.
const MUTATED_BYTES_MAX: usize = 60_000;

/// Class by class, where in the file the code of its methods lies.
fn places_of_code(bytes: &[u8]) -> Vec<(u32, core::ops::Range<usize>)> {
    let Ok(file) = DexFile::parse(bytes) else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for class in file.classes() {
        let data = class.data(&file);
        for code in data.methods().filter_map(|method| method.code(&file)) {
            let start = code.instructions.as_ptr() as usize - bytes.as_ptr() as usize;
            places.push((class.class, start..start + code.instructions.len()));
        }
    }
    places
}

fn mutate(random: &mut fastrand::Rng, bytes: &mut [u8], place: &core::ops::Range<usize>) {
    for _ in 0..random.usize(1..4) {
        let at = random.usize(place.clone());
        match random.u8(..4) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(..8),
            // Registers are numbered from zero, and most operations lie below 0xe3.
            2 => bytes[at] = random.u8(..16),
            _ => bytes[at & !1] = random.u8(..0xe3),
        }
    }
    let sum = adler2::adler32_slice(&bytes[12..]);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn changed_instructions_are_refused_or_proven() {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut samples: Vec<_> = samples()
        .into_iter()
        .filter(|(_, bytes)| bytes.len() <= MUTATED_BYTES_MAX)
        .map(|(_, bytes)| (places_of_code(&bytes), bytes))
        .collect();
    samples.retain(|(places, _)| !places.is_empty());
    let (mut sound, mut proven, mut refused) = (0, 0, 0);
    for _ in 0..ROUNDS {
        let (places, bytes) = &samples[random.usize(..samples.len())];
        let (class, place) = &places[random.usize(..places.len())];
        let mut bytes = bytes.clone();
        mutate(&mut random, &mut bytes, place);
        let Ok(file) = DexFile::parse(&bytes) else {
            continue;
        };
        sound += 1;
        let outcome = lower(&file, |it| it.class == *class);
        proven += outcome.proven;
        refused += outcome.refused.len();
        assert!(outcome.refused.iter().all(|what| !what.is_empty()));
    }
    println!("{sound} of {ROUNDS} sound; {proven} methods proven, {refused} refused");
    assert!(
        sound > ROUNDS / 10 && refused > sound / 10,
        "{sound} {refused}"
    );
}
