// SPDX-License-Identifier: Apache-2.0
//! Programs in tests/java print from DEX code what they print on HotSpot from class files.
//!
//! D8 and dx make the DEX files when the test runs; tools/setup fetches both.

mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use programs::{JDKS, SOURCES, compile, jdk, names, run, run_takt, shown};

/// The last level whose DEX files are of version 039.
const API: &str = "32";

/// Programs that print something else from DEX code, and why.
const OTHERWISE: [(&str, &str); 3] = [
    ("Access", "changes the bytes of its own class files"),
    ("Nulls", "HotSpot's messages quote bytecode"),
    ("Verification", "changes the bytes of its own class files"),
];

/// Programs that javac compiles for Java 8, the last that dx reads.
const OLD: [&str; 4] = ["Arithmetic", "Hello", "Initialization", "Threads"];

fn jar(start: &str) -> PathBuf {
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = home("TAKT_CACHE").unwrap_or_else(|| {
        let cache = home("XDG_CACHE_HOME").or_else(|| home("HOME").map(|it| it.join(".cache")));
        cache.expect("a home directory").join("takt")
    });
    let entries = std::fs::read_dir(cache.join("maven")).expect("run tools/setup");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(start)
    };
    paths
        .find(is_it)
        .unwrap_or_else(|| panic!("no {start}* in the cache: run tools/setup"))
}

fn classes_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "class"));
    paths.sort();
    paths
}

fn java(jdk: &Path, jar: &Path, arguments: &[&str], files: &[PathBuf]) {
    let output = Command::new(jdk.join("bin/java"))
        .arg("-cp")
        .arg(jar)
        .args(arguments)
        .args(files)
        .output()
        .expect("java starts");
    assert!(output.status.success(), "{}", shown(&output));
}

/// D8's output for the classes in `folder`, beside them.
fn d8(jdk: &Path, folder: &Path) -> PathBuf {
    let (out, home) = (folder.display().to_string(), jdk.display().to_string());
    let main = "com.android.tools.r8.D8";
    let arguments = [main, "--min-api", API, "--lib", &home, "--output", &out];
    java(jdk, &jar("r8-"), &arguments, &classes_in(folder));
    folder.join("classes.dex")
}

fn dx(jdk: &Path, folder: &Path) -> PathBuf {
    let out = folder.join("classes.dex");
    let option = format!("--output={}", out.display());
    let main = "com.android.dx.command.Main";
    let arguments = [main, "--dex", "--min-sdk-version=26", &option];
    java(jdk, &jar("dalvik-dx-"), &arguments, &[folder.to_owned()]);
    out
}

/// Runs from DEX code.
fn run_dex(jdk: &Path, code: &Path, cache: &Path, arguments: &[&str]) -> Output {
    let loader = "-Djava.system.class.loader=dalvik.system.PathClassLoader";
    run_takt(jdk, code, cache, &[&[loader], arguments].concat())
}

/// What a program printed, but for what D8 and the class loader say in their own way.
fn normal(output: &Output) -> String {
    let text = shown(output);
    let mut lines = Vec::new();
    // Frames of the classes that D8 makes of lambdas; the JDK hides those of its own.
    for line in text
        .lines()
        .filter(|line| !line.contains("D8$$SyntheticClass"))
    {
        let missing = line.split_once("Didn't find class \"");
        let name = missing.and_then(|(front, rest)| Some((front, rest.split_once('"')?.0)));
        lines.push(match name {
            Some((front, name)) => format!("{front}{name}"),
            None => line.to_owned(),
        });
    }
    lines.join("\n")
}

fn differences(jdk: &Path, classes: &Path, code: &Path, names: &[String]) -> Vec<String> {
    let cache = tempfile::tempdir().expect("a directory for code");
    let differs = |name: &String| {
        let expected = normal(&run(jdk, classes, &[name]));
        let found = normal(&run_dex(jdk, code, cache.path(), &[name]));
        (expected != found).then(|| format!("{name}\n--- HotSpot: {expected}\n--- DEX: {found}"))
    };
    names.iter().filter_map(differs).collect()
}

#[test]
fn programs_from_d8_print_what_they_print_on_hotspot() {
    let Some(jdk) = jdk() else {
        eprintln!("skipped: no JDK 17 found in JAVA_HOME or {JDKS:?}");
        return;
    };
    let mut names = names();
    let classes = compile(&jdk, &names);
    let code = d8(&jdk, classes.path());
    names.retain(|name| !OTHERWISE.iter().any(|(own, _)| name == own));
    assert!(names.len() >= 10, "the programs are there");
    let differences = differences(&jdk, classes.path(), &code, &names);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn programs_from_dx_print_what_they_print_on_hotspot() {
    let Some(jdk) = jdk() else {
        eprintln!("skipped: no JDK 17 found in JAVA_HOME or {JDKS:?}");
        return;
    };
    let classes = tempfile::tempdir().expect("a directory for classes");
    let javac = Command::new(jdk.join("bin/javac"))
        .args(["-nowarn", "--release", "8", "-d"])
        .arg(classes.path())
        .args(OLD.map(|name| format!("{SOURCES}/{name}.java")))
        .output()
        .expect("javac starts");
    assert!(javac.status.success(), "{}", shown(&javac));
    let code = dx(&jdk, classes.path());
    let names = OLD.map(str::to_owned);
    let differences = differences(&jdk, classes.path(), &code, &names);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
