// SPDX-License-Identifier: Apache-2.0
//! A machine that is copied: `-Xtakt:template`, by copied.c.

mod programs;

use std::path::Path;
use std::process::{Command, Output};

use programs::{build, compile, jdk, shown};

/// Runs a class's main, with a word, in two copies, to their ends: each holds the pipe that is read
/// here.
fn copied((class, word): (&str, &str), jdk: &Path, classes: &Path, options: &[&str]) -> Output {
    let program = classes.join("copied");
    build(jdk, "copied.c", &program);
    let place = classes.display();
    Command::new(&program)
        .arg(format!("-Djava.class.path={place}"))
        .args(options)
        .env("JAVA_HOME", jdk)
        .env("XDG_CACHE_HOME", classes)
        .env("TAKT_TEST_CLASS", class)
        .env("TAKT_TEST_WORD", word)
        .output()
        .expect("the program starts")
}

/// Both go on from where the template was, in a process of their own: numbers, threads, collector
/// and hashes are theirs.
#[test]
fn two_copies_are_machines_of_their_own() {
    let jdk = jdk();
    let classes = compile(&jdk, &["store/Copied".to_owned()]);
    for collector in ["-Xtakt:gc=rc", "-Xtakt:gc=stw"] {
        let options = ["-Xtakt:template", "-Xtakt:verify", collector, "-Xmx64m"];
        let output = copied(("Copied", ""), &jdk, classes.path(), &options);
        let said = shown(&output);
        let mut lines = said.lines().skip(1);
        let mut numbers: Vec<&str> = lines.by_ref().take(2).collect();
        let rows: Vec<Vec<&str>> = lines.map(|it| it.split(' ').collect()).collect();
        let [one, other] = &rows[..] else {
            panic!("{collector}: {said}");
        };
        assert_eq!(
            (one[0], other[0]),
            ("sound", "sound"),
            "{collector}: {said}"
        );
        assert_ne!(
            one[1], other[1],
            "hashes of the copies come in one order: {said}"
        );
        let mut own = [one[2], other[2]];
        own.sort_unstable();
        numbers.sort_unstable();
        assert_eq!(own[..], numbers[..], "the copies' numbers: {said}");
    }
}

/// Threads, monitors, exceptions, classes, references and collection, in two copies at once:
/// ten seconds.
#[test]
fn the_stress_test_passes_in_copies() {
    let jdk = jdk();
    let classes = tempfile::tempdir().expect("a directory");
    let sources = format!("{}/../../tests/stress", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(sources).expect("it is there");
    let mut javac = Command::new(jdk.join("bin/javac"));
    javac
        .args(["-Xlint:none", "-nowarn", "-d"])
        .arg(classes.path());
    javac.args(entries.map(|it| it.expect("an entry").path()));
    assert!(javac.status().expect("javac starts").success());
    let options = ["-Xtakt:template", "-Xtakt:verify", "-Xmx64m"];
    let output = copied(("Stress", "10"), &jdk, classes.path(), &options);
    let said = shown(&output);
    // One may write within the other's line.
    assert_eq!(said.matches("passed\n").count(), 2, "{said}");
}

/// A machine with threads is no template.
#[test]
fn a_machine_that_has_begun_is_not_copied() {
    let jdk = jdk();
    let classes = compile(&jdk, &["store/Copied".to_owned()]);
    let output = copied(("Copied", ""), &jdk, classes.path(), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
}
