// SPDX-License-Identifier: Apache-2.0
//! `takt compile` of packages and DEX files: what it keeps, a run takes.

use std::path::Path;
use std::process::Command;

use apk::Archive;
use e2e::apps::{Way, command, folder};
use e2e::{Run, cache, takt_path};
use serde_json::Value;

/// In two DEX files, and never run by the build.
const PACKAGE: &str = "parts";
const CLASSES: [&str; 2] = ["org.example.parts.Whole", "org.example.parts.Second"];

/// `takt compile` for a user who has what is in a folder.
fn compile(user: &Path, words: &[&str]) -> Value {
    let mut compile = Command::new(takt_path());
    compile.args(["compile", "--json"]).args(words);
    let run = Run::of(compile.env("XDG_CACHE_HOME", user));
    assert_eq!(run.code, 0, "{run:#?}");
    run.json()
}

fn file_of(package: &str) -> String {
    let file = folder().join(format!("{package}.apk"));
    file.to_str().expect("a text").to_owned()
}

/// A package's run, with a line for each method that it compiles or takes.
fn run(user: &Path) -> Vec<String> {
    let mut run = command(Way::Takt, PACKAGE, &user.join("data"));
    run.args(["--service", ".Whole"]);
    run.env("XDG_CACHE_HOME", user);
    run.env("JDK_JAVA_OPTIONS", "-Xtakt:compile");
    let run = Run::of(&mut run);
    assert_eq!(run.code, 0, "{run:#?}");
    let lines = run.stdout.lines().chain(run.stderr.lines());
    lines.map(str::to_owned).collect()
}

/// Lines of this kind about methods of a class.
fn count(lines: &[String], how: &str, class: &str) -> usize {
    let is_of_class = |it: &&String| it.starts_with(how) && it.contains(&format!(" {class}."));
    lines.iter().filter(is_of_class).count()
}

#[test]
fn a_package_that_was_compiled_compiles_nothing_of_its_own() {
    let user = tempfile::tempdir().expect("a temporary directory");
    let outcome = compile(user.path(), &[&file_of(PACKAGE)]);
    assert_eq!(outcome["classes"], 2, "{outcome}");
    assert_eq!(outcome["refused"], Value::Array(Vec::new()), "{outcome}");
    let number = |name: &str| outcome[name].as_u64().expect("a number");
    let (own, compiled) = (number("own_methods"), number("compiled"));
    assert!(own > 2 && compiled >= own, "{outcome}");
    assert!(number("methods") > 1_000, "{outcome}");
    assert!(
        number("kept_bytes") > 0 && number("not_kept") == 0,
        "{outcome}"
    );
    let lines = run(user.path());
    for class in CLASSES {
        assert_eq!(count(&lines, "[compile]", class), 0, "{lines:#?}");
        assert!(count(&lines, "[load]", class) > 0, "{class}: {lines:#?}");
    }
    // The same code from files that lie elsewhere, over the same framework.
    let files = dex_files(user.path());
    let place = folder().parent().expect("target/framework").to_owned();
    let place = place.to_str().expect("a text");
    let again = compile(user.path(), &["--framework", place, &files[0], &files[1]]);
    assert_eq!(again["compiled"], 0, "{again}");
    for same in ["classes", "own_methods", "methods"] {
        assert_eq!(again[same], outcome[same], "{same}: {again}");
    }
}

/// The DEX files of the package, in a folder.
fn dex_files(folder: &Path) -> [String; 2] {
    let package = std::fs::read(file_of(PACKAGE)).expect("it is built");
    let archive = Archive::parse(&package).expect("an archive");
    ["classes.dex", "classes2.dex"].map(|name| {
        let file = folder.join(name);
        std::fs::write(&file, archive.read(name).expect("in it")).expect("room for it");
        file.to_str().expect("a text").to_owned()
    })
}

#[test]
fn a_class_that_cannot_be_loaded_is_refused_by_name() {
    let user = tempfile::tempdir().expect("a temporary directory");
    let files = dex_files(user.path());
    // Nothing of the framework stands before it, which its first class inherits from.
    let outcome = compile(user.path(), &[&files[0]]);
    let refused = outcome["refused"].as_array().expect("a list");
    let [refused] = &refused[..] else {
        panic!("{outcome}");
    };
    let text = refused.as_str().expect("a text");
    let start = "org/example/parts/Whole: java.lang.NoClassDefFoundError: ";
    assert!(text.starts_with(start), "{text}");
    assert_eq!(outcome["compiled"], 0, "{outcome}");
}

#[test]
fn a_broken_package_is_refused_as_takt_run_does() {
    let of = |name: &str| cache().join("apks/fdroidserver-2.4.5/tests").join(name);
    for (name, fault) in [
        ("janus.apk", "refused: "),
        ("urzip-badsig.apk", "refused: signature v1: "),
    ] {
        let file = of(name);
        assert!(file.exists(), "{}: run tools/setup", file.display());
        let file = file.to_str().expect("a text");
        let ours = Run::takt(&["compile", file]);
        assert_eq!(ours.code, 2, "{ours:#?}");
        assert!(ours.stderr.contains(fault), "{ours:#?}");
        assert_eq!(ours.stderr, Run::takt(&["apk", "info", file]).stderr);
        assert_eq!(ours.stdout, "");
    }
    let two = Run::takt(&["compile", &file_of(PACKAGE), &file_of("heartbeat")]);
    assert_eq!(two.code, 2, "{two:#?}");
    assert!(
        two.stderr.contains("a package is compiled alone"),
        "{two:#?}"
    );
}
