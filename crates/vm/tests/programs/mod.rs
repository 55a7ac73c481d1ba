// SPDX-License-Identifier: Apache-2.0
//! Compiling and running the programs in tests/java.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const JDKS: [&str; 2] = [
    "/usr/lib/jvm/java-17-openjdk-amd64",
    "/usr/lib/jvm/default-java",
];
pub(crate) const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/java");

/// The installed JDK 17; without one nothing can be tested here.
pub(crate) fn jdk() -> PathBuf {
    let home = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let mut homes = home.into_iter().chain(JDKS.iter().map(PathBuf::from));
    let found = homes.find(|home| {
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        release.contains("JAVA_VERSION=\"17.") && home.join("bin/javac").exists()
    });
    found.unwrap_or_else(|| {
        panic!("no JDK 17 in JAVA_HOME or {JDKS:?}: install openjdk-17-jdk-headless")
    })
}

/// The directory with the libjvm.so that was built with this test.
pub(crate) fn machine() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let deps = test.parent().expect("tests lie in a directory");
    assert!(
        deps.join("libjvm.so").exists(),
        "cargo builds libjvm.so beside the tests of its package"
    );
    deps.to_owned()
}

/// Options that every program is started with, between blanks: `cargo xtask soak --only passes`.
const OPTIONS: &str = "TAKT_TEST_OPTIONS";

fn options() -> Vec<String> {
    let words = std::env::var(OPTIONS).unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect()
}

/// Runs on HotSpot.
pub(crate) fn run(jdk: &Path, classes: &Path, arguments: &[&str]) -> Output {
    let mut java = Command::new(jdk.join("bin/java"));
    let output = java.arg("-cp").arg(classes).args(arguments).output();
    output.expect("the JDK's launcher starts")
}

/// As [`run_takt`], started by another command.
pub(crate) fn run_takt_by(
    launcher: &[&str],
    jdk: &Path,
    classes: &Path,
    cache: &Path,
    arguments: &[&str],
) -> Output {
    let java = jdk.join("bin/java");
    let mut words = launcher
        .iter()
        .map(std::ffi::OsStr::new)
        .chain([java.as_os_str()]);
    let mut command = Command::new(words.next().expect("one at least"));
    let output = command
        .args(words)
        .arg(format!("-XXaltjvm={}", machine().display()))
        .arg(format!("-Xtakt:code-cache={}", cache.display()))
        .args(options())
        .arg("-cp")
        .arg(classes)
        .args(arguments)
        .output();
    output.expect("the launcher starts")
}

/// Runs on Takt, with compiled code in `cache`.
pub(crate) fn run_takt(jdk: &Path, classes: &Path, cache: &Path, arguments: &[&str]) -> Output {
    let machine = format!("-XXaltjvm={}", machine().display());
    let cache = format!("-Xtakt:code-cache={}", cache.display());
    let options = options();
    let words = [&machine, &cache].into_iter().chain(&options);
    let words = words.map(String::as_str).chain(arguments.iter().copied());
    run(jdk, classes, &words.collect::<Vec<_>>())
}

pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(SOURCES).expect("tests/java is there");
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".java")?.to_owned()))
        .collect();
    names.sort();
    names
}

pub(crate) fn compile(jdk: &Path, names: &[String]) -> tempfile::TempDir {
    let classes = tempfile::tempdir().expect("a directory for classes");
    let javac = Command::new(jdk.join("bin/javac"))
        .args(["-nowarn", "-encoding", "UTF-8", "-d"])
        .arg(classes.path())
        .args(names.iter().map(|name| format!("{SOURCES}/{name}.java")))
        .output()
        .expect("javac starts");
    let complaint = String::from_utf8_lossy(&javac.stderr);
    assert!(javac.status.success(), "{complaint}");
    classes
}

/// The programs of tests/java/realtime, against the machine's own `javax.realtime`.
pub(crate) fn compile_realtime(jdk: &Path) -> tempfile::TempDir {
    let classes = tempfile::tempdir().expect("a directory for classes");
    let folder = format!("{SOURCES}/realtime");
    let entries = std::fs::read_dir(&folder).expect("tests/java/realtime is there");
    let sources = entries.map(|entry| entry.expect("an entry").path());
    let javac = Command::new(jdk.join("bin/javac"))
        .args([
            "-nowarn",
            "-encoding",
            "UTF-8",
            "-implicit:none",
            "-sourcepath",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/java"))
        .arg("-d")
        .arg(classes.path())
        .args(sources)
        .output()
        .expect("javac starts");
    let complaint = String::from_utf8_lossy(&javac.stderr);
    assert!(javac.status.success(), "{complaint}");
    classes
}

pub(crate) fn shown(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{:?}\n{}{}",
        output.status.code(),
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

/// A program of this folder, linked with the machine that was built with this test.
pub(crate) fn build(jdk: &Path, source: &str, program: &Path) {
    let include = jdk.join("include");
    let libraries = machine();
    let cc = Command::new("cc")
        .args(["-Wall", "-Werror", "-pthread", "-o"])
        .arg(program)
        .arg(format!("{}/tests/{source}", env!("CARGO_MANIFEST_DIR")))
        .arg(format!("-I{}", include.display()))
        .arg(format!("-I{}/linux", include.display()))
        .arg(format!("-L{}", libraries.display()))
        // Goes before LD_LIBRARY_PATH, where cargo also names a directory with the library of an
        // earlier build.
        .arg("-Wl,--disable-new-dtags")
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .arg("-ljvm")
        .output()
        .expect("a C compiler");
    assert!(cc.status.success(), "{}", shown(&cc));
}

/// Figures of `-Xtakt:report`: methods compiled, methods from the cache, files of the cache
/// refused.
pub(crate) fn figures(output: &Output) -> (u32, u32, u32) {
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let number_before = |mark: &str| {
        let front = report
            .split(mark)
            .next()
            .filter(|front| front.len() < report.len());
        let number = front.and_then(|front| front.rsplit(' ').next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no number before {mark:?} in {report}"))
    };
    let loaded = report.split("from the code cache: ").nth(1);
    let loaded = loaded.and_then(|rest| rest.split(' ').next()?.parse().ok());
    (
        number_before(" methods in"),
        loaded.unwrap_or_else(|| panic!("nothing of the cache in {report}")),
        number_before(" files refused"),
    )
}
