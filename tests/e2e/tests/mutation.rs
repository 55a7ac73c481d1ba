// SPDX-License-Identifier: Apache-2.0
//! Class files changed at random (tests/mutation) are judged as HotSpot judges them, and what is
//! accepted runs with the same outcome: never a crash, never a heap out of order. Each case is made
//! of seed and number alone: `java -cp DIR Mutate DIR SEED NUMBER 1 FILE` writes its class file.
//!
//! Beside them, classes that still mean something: superclasses, interfaces and names are drawn at
//! random, some of them those of the class library's own (`Meanings`). Some are held back at first,
//! some are verified at the end of the stack or of memory. As class files HotSpot judges them, as
//! DEX code rules do that were written from its specification.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use e2e::{Run, machine_options, takt_path};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mutation");
/// A case that did not come to an end ended its process, or one whose class, which stays on our
/// machine, fills the heap for all that follow; the next process goes on behind it.
const LOOPED: i32 = 3;
/// Of a thousand cases, those that HotSpot's verifier alone refuses: for types in stack maps, which
/// are inferred here, and for classes that only it loads to compare types
/// (docs/internals/tests-of-the-machine.md).
const HOTSPOT_REFUSED_PER_MILLE_MAX: usize = 8;
/// Of a thousand cases, those that the two judge differently otherwise.
const DIFFERENT_PER_MILLE_MAX: usize = 2;

/// What became of each case: its line without the number.
type Outcomes = BTreeMap<usize, String>;

/// Runs the cases from `first` on in as many processes as it takes.
fn outcomes(
    mut start: impl FnMut(&[&str]) -> Run,
    classes: &str,
    seed: u32,
    count: usize,
) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let seed = seed.to_string();
    let mut first = 0;
    while first < count {
        let before = first;
        let (from, left) = (first.to_string(), (count - first).to_string());
        let run = start(&[
            "-Xmx64m", "-cp", classes, "Mutate", classes, &seed, &from, &left,
        ]);
        for line in run.stdout.lines() {
            let (number, outcome) = line.split_once(' ').expect("a number and an outcome");
            let number: usize = number.parse().unwrap_or_else(|_| panic!("{line}"));
            outcomes.insert(number, outcome.to_owned());
            first = number + 1;
        }
        let is_over = run.code == 0 && first == count;
        assert!(
            is_over || (run.code == LOOPED && first > before),
            "seed {seed}, behind case {first}: code {}\n{}",
            run.code,
            run.stderr
        );
    }
    outcomes
}

fn judge(seed: u32, count: usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let classes = directory.path().display().to_string();
    // Strings are joined without `invokedynamic`, which older class files do not have.
    let compiled = Command::new("javac")
        .args(["-g", "-XDstringConcat=inline", "-d", &classes])
        .args(
            ["Mutate.java", "Random64.java", "Victims.java"].map(|it| Path::new(SOURCES).join(it)),
        )
        .status();
    assert!(compiled.expect("javac starts").success());
    let code = Path::new(env!("CARGO_TARGET_TMPDIR")).join("code");
    let cache = format!("--code-cache={}", code.display());
    let ours = ["java", "--gc=rc", "-Xtakt:verify", &cache];
    let hotspot = |args: &[&str]| Run::of(Command::new("java").args(args));
    let takt = |args: &[&str]| {
        let mut takt = Command::new(takt_path());
        Run::of(takt.args(ours).args(machine_options()).args(args))
    };
    let (expected, found) = std::thread::scope(|scope| {
        let found = scope.spawn(|| outcomes(takt, &classes, seed, count));
        let expected = outcomes(hotspot, &classes, seed, count);
        (expected, found.join().expect("the other half ends"))
    });
    let pairs = expected
        .iter()
        .map(|(number, outcome)| (number, outcome, &found[number]));
    let (refused, different): (Vec<_>, Vec<_>) = pairs
        .filter(|(_, expected, found)| expected != found)
        .partition(|(_, expected, found)| is_refused_by_hotspot(expected, found));
    let lines = |them: &[(&usize, &String, &String)]| -> String {
        let line = |(number, expected, found): &(_, _, _)| {
            format!("{number}: HotSpot {expected}; Takt {found}\n")
        };
        them.iter().map(line).collect()
    };
    let (refused_text, text) = (lines(&refused), lines(&different));
    let accepted = found
        .values()
        .filter(|it| it.contains(" accepted "))
        .count();
    eprintln!(
        "seed {seed}: {accepted} of {count} accepted, {} refused by HotSpot's verifier alone, {} otherwise judged \
         differently\n{text}",
        refused.len(),
        different.len()
    );
    assert!(accepted > count / 5, "{accepted} cases ran");
    for (kind, count_max, text) in [
        (&refused, HOTSPOT_REFUSED_PER_MILLE_MAX, refused_text),
        (&different, DIFFERENT_PER_MILLE_MAX, text),
    ] {
        let is_rare = kind.len() * 1000 <= count * count_max;
        assert!(is_rare, "seed {seed}: {}\n{text}", kind.len());
    }
}

/// Whether HotSpot's verifier refused what is accepted here.
fn is_refused_by_hotspot(expected: &str, found: &str) -> bool {
    let is_refused = ["java.lang.VerifyError", "java.lang.NoClassDefFoundError"]
        .iter()
        .any(|error| expected.contains(&format!(" refused {error}")));
    is_refused && found.contains(" accepted ")
}

#[test]
fn changed_classes_are_judged_as_on_hotspot() {
    judge(1, 2_000);
}

/// Compiles `Meanings`, against the machine's own class loaders.
fn compile_meanings() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/vm/java");
    let compiled = Command::new("javac")
        .args(["-nowarn", "-implicit:none", "-sourcepath", own, "-d"])
        .arg(directory.path())
        .args(
            [
                "Meanings", "Universe", "Rules", "AsClass", "AsDex", "Random64",
            ]
            .map(|it| Path::new(SOURCES).join(format!("{it}.java"))),
        )
        .status();
    assert!(compiled.expect("javac starts").success());
    directory
}

/// What `Meanings` prints for each case, and in the end of all, on our machine or on the JDK's.
fn meanings(command: &mut Command, classes: &Path, kind: &str, seed: u32, count: usize) -> Run {
    let (seed, count) = (seed.to_string(), count.to_string());
    let run = Run::of(
        command
            .args(["-Xmx64m", "-cp"])
            .arg(classes)
            .args(["Meanings", kind, &seed, "0", &count]),
    );
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    run
}

fn takt_verifying() -> Command {
    let code = Path::new(env!("CARGO_TARGET_TMPDIR")).join("code");
    let cache = format!("--code-cache={}", code.display());
    let mut takt = Command::new(takt_path());
    takt.args(["java", "--gc=rc", "-Xtakt:verify", &cache]);
    takt.args(machine_options());
    takt
}

fn judge_meanings(seeds: core::ops::Range<u32>, count: usize) {
    let directory = compile_meanings();
    let classes = directory.path();
    for seed in seeds {
        let expected = meanings(&mut Command::new("java"), classes, "class", seed, count);
        let found = meanings(&mut takt_verifying(), classes, "class", seed, count);
        let pairs = expected.stdout.lines().zip(found.stdout.lines());
        let different: Vec<_> = pairs
            .filter(|(expected, found)| expected != found)
            .collect();
        assert!(different.is_empty(), "seed {seed}: {different:#?}");
        // The second time by the proofs that the first one kept.
        for _ in 0..2 {
            let found = meanings(&mut takt_verifying(), classes, "dex", seed, count).stdout;
            assert!(!found.contains("FINDING"), "seed {seed}: {found}");
            // Cases of each kind were there.
            let kinds = [
                "VerifyError=",
                "accepted=",
                "IllegalAccessError=",
                "later LinkageError=",
            ];
            assert!(
                kinds.iter().all(|it| found.contains(it)),
                "seed {seed}: {found}"
            );
        }
    }
}

#[test]
fn classes_that_still_mean_something_are_judged_by_hotspot_and_the_rules() {
    judge_meanings(1..2, 200);
}

#[test]
#[ignore = "some minutes: make soak"]
fn many_classes_that_still_mean_something_are_judged() {
    judge_meanings(2..12, 5_000);
}

#[test]
#[ignore = "a quarter of an hour: make soak"]
fn many_changed_classes_are_judged_as_on_hotspot() {
    for seed in 2..12 {
        judge(seed, 5_000);
    }
}
