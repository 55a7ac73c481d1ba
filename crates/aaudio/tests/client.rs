// SPDX-License-Identifier: Apache-2.0
//! The library as C sees it: what it exports, and a client that the C compiler builds against our
//! header, whose sound is compared sample for sample.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::{Object as _, ObjectSymbol as _};

const MAP: &str = include_str!("../libaaudio.map");
const BURSTS: usize = 100;

/// The library, beside the test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libaaudio.so");
    assert!(
        library.exists(),
        "{} is built with the test",
        library.display()
    );
    library
}

/// The names between `start` and the next `}` of the map.
fn names(start: &str) -> BTreeSet<&'static str> {
    let (_, section) = MAP.split_once(start).unwrap();
    let (section, _) = section.split_once('}').unwrap();
    let lines = section
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'));
    lines.filter(|line| *line != "*").collect()
}

#[test]
fn it_exports_what_android_does_and_no_more() {
    let bytes = std::fs::read(library()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let exported: BTreeSet<_> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .map(|symbol| symbol.name().unwrap())
        .filter(|name| !["LIBAAUDIO", "TAKT_1"].contains(name))
        .collect();
    let (android, ours) = (names("LIBAAUDIO {"), names("TAKT_1 {"));
    // 72 of the first list with API 36's, and six that its release added.
    assert_eq!((android.len(), ours.len()), (72 + 6, 4));
    assert!(ours.iter().all(|name| name.starts_with("takt_")));
    let expected: BTreeSet<_> = android.union(&ours).copied().collect();
    assert_eq!(exported, expected);
}

const SIGABRT: i32 = 6;
const SINE: &str = "tests/c/sine.c";

/// Builds a program into `folder`; the compiler warns of nothing.
fn build(folder: &Path, source: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("program");
    let library = library();
    let (compiler, language) = match source.ends_with(".cpp") {
        true => ("c++", "-std=c++17"),
        false => ("cc", "-std=c11"),
    };
    let output = Command::new(compiler)
        .args([language, "-D_GNU_SOURCE", "-O1"])
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(root.join(source))
        .arg("-I")
        .arg(root.join("include"))
        .arg(&library)
        .arg("-lm")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

fn run(program: &Path, device: &str) -> Output {
    // Cargo's own path may lead to an older build of the library.
    let folder = library().parent().unwrap().to_owned();
    Command::new(program)
        .env("TAKT_SOUND", device)
        .env("LD_LIBRARY_PATH", folder)
        .output()
        .unwrap()
}

#[test]
fn a_program_in_c_plays_a_sine_into_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), SINE);
    let expected: Vec<f32> = (0..BURSTS * 64)
        .flat_map(|frame| {
            let turns = std::f64::consts::TAU * 440.0 * frame as f64 / 48_000.0;
            let value = (0.5 * turns.sin()) as f32;
            [value, -value]
        })
        .collect();
    for kind in ["file-fast", "file"] {
        let path = folder.path().join(kind);
        let output = run(&program, &format!("{kind}:{}", path.display()));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let problems = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{kind}: {said}{problems}");
        assert!(said.contains("policy "), "{said}");
        if kind == "file-fast" {
            assert!(said.contains("xruns 0\n"), "nothing can run dry: {said}");
            assert!(said.contains("never sleeps"), "{said}");
        }
        let heard: Vec<f32> = hound::WavReader::open(&path)
            .unwrap()
            .into_samples::<f32>()
            .map(Result::unwrap)
            .collect();
        assert_eq!(heard.len(), expected.len());
        for (index, (heard, expected)) in heard.iter().zip(&expected).enumerate() {
            // The two mathematics libraries may differ in a float's last place.
            assert!((heard - expected).abs() < 1e-6, "sample {index}");
        }
    }
    assert!(run(&program, "null").status.success());
}

#[test]
fn without_a_card_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), SINE);
    let output = run(&program, "alsa:no-such-card");
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        problems.contains("openStream(builder, &stream)"),
        "{problems}"
    );
}

/// Nothing of it may run on: who would play is no more what the program thinks.
#[test]
fn an_exception_that_leaves_a_callback_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "tests/c/throws.cpp");
    let output = run(&program, "null");
    assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
}

#[test]
fn the_synth_plays_what_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "examples/synth.c");
    let path = folder.path().join("heard");
    let run = |words: &[&str]| {
        Command::new(&program)
            .args(words)
            .env("TAKT_SOUND", format!("file-fast:{}", path.display()))
            .env("LD_LIBRARY_PATH", library().parent().unwrap())
            .output()
            .unwrap()
    };
    let output = run(&["a4", "a5+a5"]);
    assert!(output.status.success(), "{output:?}");
    let reader = hound::WavReader::open(&path).unwrap();
    let heard: Vec<f32> = reader.into_samples().map(Result::unwrap).collect();
    assert_eq!(heard.len(), 2 * 24_000, "half a second each");
    let crossings = |part: &[f32]| {
        let pairs = part.windows(2);
        pairs.filter(|it| (it[0] < 0.0) != (it[1] < 0.0)).count()
    };
    assert!(crossings(&heard[..24_000]).abs_diff(440) <= 2);
    assert!(crossings(&heard[24_000..]).abs_diff(880) <= 2);
    let refused = run(&["h4"]);
    assert_eq!(refused.status.code(), Some(2));
}
