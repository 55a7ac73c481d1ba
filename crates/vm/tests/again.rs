// SPDX-License-Identifier: Apache-2.0
//! A method that was compiled before the classes were there that it uses gets new code, and one
//! whose receivers were counted. A real-time thread's keeps its own, and counts nothing.

mod programs;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use programs::{compile_realtime, jdk, machine};
use tempfile::TempDir;

/// A minute of milliseconds: more than an idle thread waits for its turn on a busy machine.
const PERIODS: &str = "60000";

/// What a run of a program of tests/java/realtime said of its method `step`: how it came to code,
/// and whether that counts receivers. Whether the program computed what it should.
struct Run {
    told: Vec<String>,
    is_right: bool,
}

/// Runs the program until it says `awaited` of the method, or for so many periods.
fn run(classes: &Path, cache: &Path, option: &str, words: &[&str], awaited: &str) -> Run {
    let mut java = Command::new(jdk().join("bin/java"));
    java.arg(format!("-XXaltjvm={}", machine().display()))
        .arg(format!("-Xtakt:code-cache={}", cache.display()))
        .args(["-Xtakt:compile", "-Xtakt:verify", option, "-cp"])
        .arg(classes)
        .args(words);
    let method = format!("{}.step(", words[0]);
    java.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = java.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut told = Vec::new();
    for line in lines.map(|line| line.expect("text")) {
        let Some((how, what)) = line.split_once(']').filter(|it| it.1.contains(&method)) else {
            continue;
        };
        let counts = what.contains(", counts ").then_some(", counts");
        let how_told = how.trim_start_matches('[');
        told.push(format!("{how_told}{}", counts.unwrap_or_default()));
        if how.ends_with(awaited) {
            // It may have come to its end meanwhile.
            let _ = input.write_all(b"!");
        }
    }
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let is_right = output.status.success() && text == "right\n";
    Run { told, is_right }
}

#[test]
fn a_method_is_linked_again_unless_a_real_time_thread_runs_it() {
    let classes = compile_realtime(&jdk());
    let cache = tempfile::tempdir().expect("a directory for code");
    let go =
        |option, words: &[&str], awaited| run(classes.path(), cache.path(), option, words, awaited);
    let often = "-Xtakt:again=2";
    let first = go(often, &["Again", "ordinary", PERIODS], "compile again");
    assert_eq!(first.told, ["compile", "compile again"]);
    let second = go(often, &["Again", "ordinary", PERIODS], "load again");
    assert_eq!(second.told, ["load", "load again"], "its code was kept");
    let off = go("-Xtakt:again=off", &["Again", "ordinary", "300"], "again");
    assert_eq!(off.told, ["load"]);
    let control = go(often, &["Again", "realtime", "300"], "again");
    assert_eq!(
        control.told,
        ["load"],
        "the entry of a sealed method changed"
    );
    assert!([first, second, off, control].iter().all(|it| it.is_right));
}

/// The code that is told of squares is kept, and others come to it. Without profiles there is
/// nothing to be told.
#[test]
fn a_method_is_told_which_receivers_it_had() {
    let classes = compile_realtime(&jdk());
    let cache = tempfile::tempdir().expect("a directory for code");
    let go = |options, limit, awaited| {
        let words = ["Counted", limit];
        run(classes.path(), cache.path(), options, &words, awaited)
    };
    let often = "-Xtakt:again=2";
    let first = go(often, PERIODS, "compile again");
    assert_eq!(first.told, ["compile, counts", "compile again"]);
    // The class is there before the first call.
    let second = go("-Xtakt:again=off", "300", "load");
    assert_eq!(second.told, ["load"]);
    let without = go("-Xtakt:inline=received", "1000", "again");
    assert_eq!(without.told, ["compile"]);
    assert!([first, second, without].iter().all(|it| it.is_right));
}

/// Its code is kept beside the code that counts, and no ordinary process takes it for that.
#[test]
fn a_real_time_threads_code_counts_nothing() {
    let classes = compile_realtime(&jdk());
    let start = tempfile::tempdir().expect("a directory for code");
    let words = ["-Xtakt:again=off", "Again", "ordinary", "0"];
    run(classes.path(), start.path(), words[0], &words[1..], "again");
    // The start of the machine need not be compiled in each.
    let cache = || {
        let copied = tempfile::tempdir().expect("a directory for code");
        let mut cp = Command::new("cp");
        cp.arg("-rT").args([start.path(), copied.path()]);
        assert!(cp.status().expect("it starts").success());
        copied
    };
    let go = |cache: &TempDir, option, limit, who, awaited| {
        let run = run(
            classes.path(),
            cache.path(),
            option,
            &["Counted", limit, who],
            awaited,
        );
        assert!(run.is_right, "{who}: {:?}", run.told);
        run.told
    };
    let (often, off) = ("-Xtakt:again=2", "-Xtakt:again=off");
    let first = cache();
    assert_eq!(go(&first, often, "0", "realtime", "again"), ["compile"]);
    assert_eq!(go(&first, often, "0", "realtime", "again"), ["load"]);
    let counted = ["compile, counts", "compile again"];
    let ordinary = go(&first, often, PERIODS, "ordinary", "compile again");
    assert_eq!(ordinary, counted, "it took code that counts nothing");
    // What was told of receivers counts nothing either.
    let told = cache();
    let ordinary = go(&told, often, PERIODS, "ordinary", "compile again");
    assert_eq!(ordinary, counted);
    assert_eq!(go(&told, often, "0", "realtime", "again"), ["load"]);
    // Prepared when it counts already.
    let after = cache();
    let both = go(&after, off, "50", "after", "again");
    assert_eq!(both, ["compile, counts", "compile"]);
    let both = go(&after, off, "50", "after", "again");
    assert_eq!(both, ["load, counts", "load"]);
    // Foreseen by nobody: what there is comes sooner than what counts nothing, which is kept for
    // the next time.
    let late = cache();
    let ordinary = go(&late, off, "50", "ordinary", "again");
    assert_eq!(ordinary, ["compile, counts"]);
    assert_eq!(go(&late, off, "0", "late", "again"), ["load, counts"]);
    assert_eq!(go(&late, off, "0", "late", "again"), ["compile"]);
    assert_eq!(go(&late, off, "0", "late", "again"), ["load"]);
    assert_eq!(go(&cache(), off, "0", "late", "again"), ["compile"]);
}

#[test]
fn a_pace_that_is_none_is_refused() {
    for wrong in ["0", "-1", "60001", "often", ""] {
        let mut java = Command::new(jdk().join("bin/java"));
        java.arg(format!("-XXaltjvm={}", machine().display()));
        let output = java.arg(format!("-Xtakt:again={wrong}")).arg("-version");
        let output = output.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{wrong}: {text}");
        assert!(text.contains(&format!("-Xtakt:again={wrong}")), "{text}");
    }
}
