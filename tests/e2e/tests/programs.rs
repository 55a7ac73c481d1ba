// SPDX-License-Identifier: Apache-2.0
//! Programs that no one here wrote do the same on Takt's machine as on HotSpot: compilers make the
//! same bytes, the others print the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{Run, jar, machine_options, takt_path};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs");

fn hotspot(args: &[&str]) -> Run {
    Run::of(Command::new("java").args(args))
}

/// Compiled code is kept between tests: what programs do must not depend on it.
fn takt(args: &[&str]) -> Run {
    let code = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("code");
    let cache = format!("--code-cache={}", code.display());
    let mut takt = Command::new(takt_path());
    takt.args(["java", &cache]).args(machine_options());
    Run::of(takt.args(args))
}

fn assert_same(args: &[&str]) {
    let (expected, found) = (hotspot(args), takt(args));
    assert_eq!(expected.code, found.code, "{args:?}: {}", found.stderr);
    assert_eq!(expected.stdout, found.stdout, "{args:?}");
    assert_eq!(expected.stderr, found.stderr, "{args:?}");
}

/// All files below `folder` with their bytes.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it lies in there");
                files.insert(name.to_owned(), std::fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

/// Runs a compiler on both machines; `-d` or the like with the directory comes last.
fn assert_makes_the_same(args: &[&str], output: &str, file_count_min: usize) {
    let (expected, found) = (tempfile::tempdir(), tempfile::tempdir());
    let (expected, found) = (expected.expect("a directory"), found.expect("a directory"));
    let into = |directory: &tempfile::TempDir| directory.path().display().to_string();
    let run = hotspot(&[args, &[output, &into(&expected)]].concat());
    assert_eq!(run.code, 0, "HotSpot: {run:?}");
    let run = takt(&[args, &[output, &into(&found)]].concat());
    assert_eq!(run.code, 0, "Takt: {run:?}");
    let (expected, found) = (tree(expected.path()), tree(found.path()));
    assert!(expected.len() >= file_count_min, "{} files", expected.len());
    assert!(expected.keys().eq(found.keys()), "the same files");
    for (name, bytes) in &expected {
        assert!(found[name] == *bytes, "{} differs", name.display());
    }
}

/// The sources of a library with more than 200 files, and a list of them for compilers.
fn sources() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let unpacked = Command::new("jar")
        .args(["xf", &jar("commons-lang3-3.17.0-sources")])
        .current_dir(folder.path())
        .status();
    assert!(unpacked.expect("the JDK's jar starts").success());
    let mut list = String::new();
    let mut count = 0;
    for name in tree(folder.path()).into_keys() {
        if name.extension().is_some_and(|it| it == "java") {
            list.push_str(&format!("{}\n", folder.path().join(name).display()));
            count += 1;
        }
    }
    assert!(count > 200, "{count} sources");
    let path = folder.path().join("sources.txt");
    std::fs::write(&path, list).expect("it is ours");
    (folder, format!("@{}", path.display()))
}

#[test]
fn javac_makes_the_same_class_files() {
    let (_folder, sources) = sources();
    let javac = "jdk.compiler/com.sun.tools.javac.Main";
    let args = ["-m", javac, "-nowarn", "-proc:none", &sources];
    assert_makes_the_same(&args, "-d", 350);
}

#[test]
fn ecj_makes_the_same_class_files() {
    let (_folder, sources) = sources();
    let args = [
        "-jar",
        &jar("ecj-"),
        "-17",
        "-nowarn",
        "-proc:none",
        &sources,
    ];
    assert_makes_the_same(&args, "-d", 350);
}

#[test]
fn d8_makes_the_same_dex() {
    let (r8, library) = (jar("r8-"), jar("android-all-"));
    let input = jar("commons-lang3-3.17.0.jar");
    let main = "com.android.tools.r8.D8";
    let args = [
        "-cp",
        &r8,
        main,
        "--release",
        "--min-api",
        "26",
        "--lib",
        &library,
        &input,
    ];
    assert_makes_the_same(&args, "--output", 1);
}

/// Compiles tests/programs and gives its class path.
fn programs() -> (tempfile::TempDir, String) {
    let classes = tempfile::tempdir().expect("a directory");
    let jars = ["rhino-", "h2-", "lucene-core-", "junit-platform-console"].map(jar);
    let jackson = ["databind", "core", "annotations"].map(|part| jar(&format!("jackson-{part}-")));
    let mockito = [
        "mockito-core-",
        "byte-buddy-1",
        "byte-buddy-agent-",
        "objenesis-",
    ]
    .map(jar);
    let path = [&jars[..], &jackson[..], &mockito[..]].concat().join(":");
    let sources = tree(Path::new(PROGRAMS)).into_keys();
    let javac = Command::new("javac")
        .args(["-cp", &path, "-d"])
        .arg(classes.path())
        .args(sources.map(|name| Path::new(PROGRAMS).join(name)))
        .status();
    assert!(javac.expect("javac starts").success());
    let path = format!("{}:{path}", classes.path().display());
    (classes, path)
}

#[test]
fn libraries_give_the_same_answers() {
    let (_classes, path) = programs();
    for program in ["Script", "Json", "Database", "Search"] {
        assert_same(&["-cp", &path, program]);
    }
}

#[test]
fn junit_reports_the_same() {
    let (classes, _) = programs();
    let (console, folder) = (
        jar("junit-platform-console"),
        classes.path().display().to_string(),
    );
    let args = [
        "-jar",
        &console,
        "execute",
        "-cp",
        &folder,
        "-c",
        "UnitTests",
    ];
    let args = [&args[..], &["--details=tree", "--disable-banner"]].concat();
    let (expected, found) = (hotspot(&args), takt(&args));
    let lines = |run: &Run| -> Vec<String> {
        let lines = run.stdout.lines();
        let stable = lines.filter(|line| !line.contains("Test run finished after"));
        stable.map(str::to_owned).collect()
    };
    assert_eq!(lines(&expected), lines(&found), "{}", found.stderr);
    assert_eq!(
        (expected.code, found.code),
        (1, 1),
        "one test fails on purpose"
    );
}

/// Mockito with the maker of mocks that makes subclasses; its inline one is refused by name.
#[test]
fn mockito_mocks_the_same() {
    let (classes, path) = programs();
    let plugins = classes.path().join("mockito-extensions");
    std::fs::create_dir(&plugins).expect("it is ours");
    let name = |maker: &str| {
        let chosen = std::fs::write(plugins.join("org.mockito.plugins.MockMaker"), maker);
        chosen.expect("it is ours");
    };
    name("mock-maker-subclass");
    let args = ["-cp", &path, "Mocks", "mock-maker-subclass"];
    let (expected, found) = (hotspot(&args), takt(&args));
    assert_eq!((expected.code, found.code), (0, 0), "{found:?}");
    assert_eq!(expected.stdout, found.stdout, "{}", found.stderr);

    name("mock-maker-inline");
    let found = takt(&["-cp", &path, "Mocks", "mock-maker-inline"]);
    assert_eq!(found.code, 1, "{found:?}");
    // Mockito's agent attached, and asked.
    let refusal = "Mockito requires retransformation for creating inline mocks. \
                   This feature is unavailable on the current VM.";
    assert!(found.stderr.contains(refusal), "{found:?}");
}

/// Compiles one file of tests/torture with the processor of annotations that is among `jars`.
fn torture(source: &str, jars: &[&str]) -> (tempfile::TempDir, String) {
    let classes = tempfile::tempdir().expect("a directory");
    let path = jars.iter().map(|it| jar(it)).collect::<Vec<_>>().join(":");
    let javac = Command::new("javac")
        .args(["-cp", &path, "-d"])
        .arg(classes.path())
        .arg(Path::new(PROGRAMS).join("../torture").join(source))
        .status();
    assert!(javac.expect("javac starts").success());
    let path = format!("{}:{path}", classes.path().display());
    (classes, path)
}

/// The option that has a process that a harness starts run on Takt.
fn fork_option() -> String {
    let machine = takt_path();
    let machine = machine.parent().expect("it lies in a directory");
    let option = format!("-XXaltjvm={}", machine.display());
    [vec![option], machine_options()].concat().join(" ")
}

/// A benchmark of JMH's kind, in the harness's own process and in one that it starts.
#[test]
fn jmh_measures() {
    let jars = [
        "jmh-core-",
        "jmh-generator-annprocess-",
        "jopt-simple-",
        "commons-math3-",
    ];
    let (classes, path) = torture("Sums.java", &jars);
    let times = [
        "-wi",
        "1",
        "-i",
        "2",
        "-w",
        "100ms",
        "-r",
        "100ms",
        "-p",
        "size=1000",
        "-rf",
        "json",
    ];
    for forks in ["0", "1"] {
        let result = classes
            .path()
            .join(format!("{forks}.json"))
            .display()
            .to_string();
        let fork = ["-f", forks, "-jvmArgs", &fork_option(), "-rff", &result];
        let main = ["-cp", &path, "org.openjdk.jmh.Main", "Sums"];
        let run = takt(&[&main[..], &times, &fork].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let text = std::fs::read_to_string(&result).expect("JMH writes its results");
        let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let results = results.as_array().expect("a list");
        assert_eq!(results.len(), 2, "{text}");
        for result in results {
            assert_eq!(result["vmName"], "Takt Real-Time VM", "{text}");
            assert!(
                result["primaryMetric"]["score"].as_f64() > Some(1.0),
                "{text}"
            );
        }
    }
}

/// What the memory model forbids is not seen; that the harness can see reorderings at all is shown
/// by its last test.
#[test]
fn jcstress_sees_nothing_forbidden() {
    let jars = ["jcstress-core-", "jopt-simple-", "jna-5", "jna-platform-"];
    let (classes, path) = torture("Memory.java", &jars);
    let code = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("code");
    let cache = format!("--code-cache={}", code.display());
    let kept = format!("{} -Xtakt:code-cache={}", fork_option(), code.display());
    let length = [
        "-m", "quick", "-iters", "1", "-time", "200", "-f", "1", "-c", "2",
    ];
    let harness = ["-af", "NONE", "-sc", "false", "-jvmArgs", &kept];
    let main = ["-cp", &path, "org.openjdk.jcstress.Main"];
    let run = Run::of(
        Command::new(takt_path())
            .args(["java", &cache])
            .args(machine_options())
            .args([&main[..], &length, &harness].concat())
            .current_dir(classes.path()),
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("Failed tests: No matches."), "{run:?}");
    assert!(run.stdout.contains("Error tests: No matches."), "{run:?}");
    // Eight tests, each compiled as one and by actor; the ninth needs four processors.
    let all = "planned; 16 passed, 0 failed, 0 soft errs, 0 hard errs";
    assert!(run.stdout.contains(all), "{run:?}");
}
