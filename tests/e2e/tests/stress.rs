// SPDX-License-Identifier: Apache-2.0
//! Threads, monitors, exceptions, classes, references and collection at once (tests/stress), in a
//! small heap that is checked at the end. An excerpt; the long run is a stage of `make soak`.

use std::path::Path;
use std::process::Command;

use e2e::{Run, machine_options};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../stress");

/// Runs all parts for some seconds. A part that finds a fault, hangs or grows without end says
/// so and fails.
fn everything_for(seconds: u32) {
    let classes = tempfile::tempdir().expect("a directory");
    let entries = std::fs::read_dir(SOURCES).expect("tests/stress is there");
    let sources = entries.map(|entry| entry.expect("an entry").path());
    let compiled = Command::new("javac")
        .args(["-Xlint:none", "-nowarn", "-d"])
        .arg(classes.path())
        .args(sources)
        .status();
    assert!(compiled.expect("javac starts").success());
    let code = Path::new(env!("CARGO_TARGET_TMPDIR")).join("code");
    let cache = format!("--code-cache={}", code.display());
    let directory = classes.path().display().to_string();
    let heap = ["java", "--gc=rc", "-Xmx64m", "-Xtakt:verify", &cache];
    let program = ["-cp", &directory, "Stress", &seconds.to_string()];
    let options = machine_options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let run = Run::takt(&[&heap[..], &options, &program].concat());
    eprintln!("{}", run.stdout);
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    assert!(run.stdout.ends_with("passed\n"), "{}", run.stdout);
}

#[test]
fn everything_at_once() {
    everything_for(20);
}

#[test]
#[ignore = "half an hour: make soak"]
fn everything_at_once_for_half_an_hour() {
    everything_for(1800);
}
