// SPDX-License-Identifier: Apache-2.0
//! Programs in tests/java print on this machine what they print on HotSpot.
//!
//! Sources are compiled by the installed javac when the test runs. Without a
//! JDK 17 the test says so and passes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const JDKS: [&str; 2] = [
    "/usr/lib/jvm/java-17-openjdk-amd64",
    "/usr/lib/jvm/default-java",
];
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/java");

/// The installed JDK 17.
fn jdk() -> Option<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let mut homes = home.into_iter().chain(JDKS.iter().map(PathBuf::from));
    homes.find(|home| {
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        release.contains("JAVA_VERSION=\"17.") && home.join("bin/javac").exists()
    })
}

/// The directory with the libjvm.so that was built with this test.
fn machine() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let deps = test.parent().expect("tests lie in a directory");
    assert!(
        deps.join("libjvm.so").exists(),
        "cargo builds libjvm.so beside the tests of its package"
    );
    deps.to_owned()
}

fn run(jdk: &Path, classes: &Path, arguments: &[&str], machine: Option<&Path>) -> Output {
    let mut java = Command::new(jdk.join("bin/java"));
    if let Some(machine) = machine {
        java.arg(format!("-XXaltjvm={}", machine.display()));
    }
    let output = java.arg("-cp").arg(classes).args(arguments).output();
    output.expect("the JDK's launcher starts")
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(SOURCES).expect("tests/java is there");
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".java")?.to_owned()))
        .collect();
    names.sort();
    names
}

fn compile(jdk: &Path, names: &[String]) -> tempfile::TempDir {
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

fn shown(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{:?}\n{}{}",
        output.status.code(),
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

#[test]
fn programs_print_what_they_print_on_hotspot() {
    let Some(jdk) = jdk() else {
        eprintln!("skipped: no JDK 17 found in JAVA_HOME or {JDKS:?}");
        return;
    };
    let names = names();
    let classes = compile(&jdk, &names);
    let machine = machine();
    let difference = |name: &String| {
        let expected = run(&jdk, classes.path(), &[name], None);
        let found = run(&jdk, classes.path(), &[name], Some(&machine));
        let (expected_text, found_text) = (shown(&expected), shown(&found));
        let text = format!("{name}\n--- HotSpot: {expected_text}\n--- Takt: {found_text}");
        (expected != found).then_some(text)
    };
    let half = names.len() / 2;
    let differences: Vec<String> = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            names[..half]
                .iter()
                .filter_map(difference)
                .collect::<Vec<_>>()
        });
        let mut all: Vec<String> = names[half..].iter().filter_map(difference).collect();
        all.extend(other.join().expect("the other half ends"));
        all
    });
    assert!(names.len() >= 10, "the programs are there");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// What the launcher says of a machine, and the libraries that a process on ours has mapped.
#[test]
fn no_other_machine_stands_behind() {
    let Some(jdk) = jdk() else {
        eprintln!("skipped: no JDK 17 found in JAVA_HOME or {JDKS:?}");
        return;
    };
    let machine = machine();
    let classes = tempfile::tempdir().expect("a directory for classes");
    let version = run(&jdk, classes.path(), &["-version"], Some(&machine));
    let version = String::from_utf8_lossy(&version.stderr).into_owned();
    assert!(version.starts_with("openjdk version \"17."), "{version}");
    assert!(version.contains("\nTakt "), "{version}");
    let source = classes.path().join("Maps.java");
    let program = "import java.nio.file.*; class Maps { public static void main(String[] a) \
        throws Exception { Files.lines(Path.of(\"/proc/self/maps\")).filter(l -> \
        l.endsWith(\"libjvm.so\")).map(l -> l.substring(l.indexOf('/'))).distinct() \
        .forEach(System.out::println); } }";
    std::fs::write(&source, program).expect("the source is written");
    let javac = Command::new(jdk.join("bin/javac")).arg(&source).status();
    assert!(javac.expect("javac starts").success());
    let maps = run(&jdk, classes.path(), &["Maps"], Some(&machine));
    let mapped = String::from_utf8_lossy(&maps.stdout).into_owned();
    let own = machine.canonicalize().expect("the directory is there");
    assert_eq!(mapped.trim(), own.join("libjvm.so").to_string_lossy());
}
