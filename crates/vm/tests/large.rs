// SPDX-License-Identifier: Apache-2.0
//! Large methods are compiled in pieces: they give what they give on HotSpot, in bounded time and
//! memory.
//!
//! Without a JDK 17 the tests say so and pass.

mod programs;

use std::path::Path;
use std::process::Output;

use programs::{compile, jdk, run, run_takt, shown};

/// Bytes of code, where every method is cut.
const BYTES: &str = "-Dbytes=8000";
/// Code units, where the machine finds that methods are large.
const UNITS: &str = "16000";
/// Code units that no method may have.
const TOO_MANY: &str = "1048600";
/// What a largest method may take: milliseconds of processor time, mebibytes.
const FIGURES_MAX: [u32; 2] = [2_000, 256];

fn sources() -> Vec<String> {
    ["large/Large", "large/LargeDex"]
        .map(str::to_owned)
        .to_vec()
}

/// Every line of its output says that all is as computed.
fn assert_as_computed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let is_right = |line: &str| line.ends_with(" as computed");
    assert!(
        text.lines().count() > 8 && text.lines().all(is_right),
        "{}",
        shown(output)
    );
}

/// All code, the class library's too, as if every method were large; then what is large.
#[test]
fn code_in_pieces_gives_what_it_gives_on_hotspot() {
    let jdk = jdk();
    let programs = ["Exceptions", "Nulls"].map(str::to_owned);
    let classes = compile(&jdk, &[&sources()[..], &programs].concat());
    let cache = tempfile::tempdir().expect("a directory for code");
    for program in [&["Exceptions"][..], &["Nulls"], &[BYTES, "Large"]] {
        let expected = run(&jdk, classes.path(), &[&["-Xmx48m"], program].concat());
        let options = ["-Xtakt:pieces", "-Xtakt:verify", "-Xmx48m"];
        let arguments = [&options, program].concat();
        let found = run_takt(&jdk, classes.path(), cache.path(), &arguments);
        assert_eq!(shown(&found), shown(&expected), "{program:?}");
        assert!(found.stdout.len() > 500, "{}", shown(&found));
    }
    let arguments = ["-Xtakt:verify", "LargeDex", UNITS];
    assert_as_computed(&run_takt(&jdk, classes.path(), cache.path(), &arguments));
    let arguments = ["LargeDex", TOO_MANY, "branches"];
    let refused = run_takt(&jdk, classes.path(), cache.path(), &arguments);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    let error = "java.lang.VerifyError: code of 10485";
    assert!(
        text.contains(error) && text.contains("Generated.run"),
        "{}",
        shown(&refused)
    );
}

/// The figures that a program wrote: name, milliseconds, mebibytes.
fn figures(jdk: &Path, classes: &Path, arguments: &[&str]) -> Vec<(String, [u32; 2])> {
    let cache = tempfile::tempdir().expect("a directory for code");
    let options = ["-Xtakt:no-code-cache", "-Dfigures=1", "-Xss8m"];
    let output = run_takt(jdk, classes, cache.path(), &[&options, arguments].concat());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let figure = |line: &str| {
        let (name, rest) = line.split_once(": ")?;
        let mut numbers = rest.split(' ').filter_map(|word| word.parse().ok());
        Some((name.to_owned(), [numbers.next()?, numbers.next()?]))
    };
    let figures: Vec<_> = text.lines().filter_map(figure).collect();
    assert!(figures.len() > 8, "{}", shown(&output));
    figures
}

/// For a release build: `cargo test --release -p vm --test large -- --ignored --nocapture`.
#[test]
#[ignore = "measures time"]
fn the_largest_methods_take_bounded_time_and_memory() {
    let jdk = jdk();
    let classes = compile(&jdk, &sources());
    let mut all = figures(&jdk, classes.path(), &["Large"]);
    for units in ["65536", "131072", "262144"] {
        let more = figures(&jdk, classes.path(), &["LargeDex", units]);
        all.extend(
            more.into_iter()
                .map(|(name, it)| (format!("{units} {name}"), it)),
        );
    }
    for (name, [ms, mebibytes]) in &all {
        println!("{name}: {ms} ms, {mebibytes} MiB");
    }
    let times = |units: &str| match units {
        "131072" => 2,
        "262144" => 4,
        _ => 1,
    };
    let is_over = |(name, found): &&(String, [u32; 2])| {
        let times = times(name.split(' ').next().unwrap_or_default());
        found
            .iter()
            .zip(FIGURES_MAX)
            .any(|(&found, most)| found > most * times)
    };
    let over: Vec<_> = all.iter().filter(is_over).collect();
    assert!(over.is_empty(), "{over:?}");
}
