// SPDX-License-Identifier: Apache-2.0
//! Compiled code on disk: kept as it comes, shared, mapped privately, and never mixed up.

mod programs;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use programs::{JDKS, build, compile, figures, jdk, machine, run_takt, shown};

/// Where the machine may put code (`abi::address_map::CodeArea`): of a delivered store, of a user's, of a process.
const AREAS: [u64; 3] = [0x2000_0000_0000, 0x3000_0000_0000, 0x4000_0000_0000];
const AREA_BYTES: u64 = 0x1000_0000_0000;

struct Case {
    jdk: PathBuf,
    classes: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Case {
    fn new(name: &str) -> Option<Self> {
        let Some(jdk) = jdk() else {
            eprintln!("skipped: no JDK 17 found in JAVA_HOME or {JDKS:?}");
            return None;
        };
        let classes = compile(&jdk, &[format!("store/{name}")]);
        let cache = tempfile::tempdir().expect("a directory for code");
        Some(Self {
            jdk,
            classes,
            cache,
        })
    }

    fn run(&self, arguments: &[&str]) -> Output {
        run_takt(&self.jdk, self.classes.path(), self.cache.path(), arguments)
    }

    fn java(&self) -> Command {
        let mut java = Command::new(self.jdk.join("bin/java"));
        java.arg(format!("-XXaltjvm={}", machine().display()))
            .arg(format!("-Xtakt:code-cache={}", self.cache.path().display()))
            .arg("-cp")
            .arg(self.classes.path());
        java
    }

    /// The files of the store, by their ending.
    fn files(&self, end: &str) -> Vec<PathBuf> {
        let list = |directory: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(directory).expect("the directory is there");
            entries
                .map(|entry| entry.expect("an entry").path())
                .collect()
        };
        let targets = list(self.cache.path());
        let all = targets.iter().flat_map(|target| list(target));
        all.filter(|path| path.extension().is_some_and(|it| it == end))
            .collect()
    }

    /// Start and name of the executable mappings that are code of ours.
    fn mapped(&self, options: &[&str]) -> Vec<(u64, String)> {
        let output = self.run(&[options, &["Mapped"]].concat());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = said.lines().collect();
        assert!(!lines.is_empty(), "{}", shown(&output));
        let read = |line: &&str| {
            let mut words = line.split_whitespace();
            let start = words.next().and_then(|it| it.split('-').next());
            let start = u64::from_str_radix(start.expect("an address"), 16);
            assert_eq!(words.next(), Some("r-xp"), "{line}");
            let name = words.nth(3).unwrap_or("").to_owned();
            (start.expect("an address"), name)
        };
        lines.iter().map(read).collect()
    }
}

fn area_of(address: u64) -> Option<usize> {
    AREAS
        .iter()
        .position(|start| (*start..start + AREA_BYTES).contains(&address))
}

#[test]
fn a_killed_process_loses_nothing() {
    let Some(case) = Case::new("Endless") else {
        return;
    };
    let mut child = case
        .java()
        .arg("Endless")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the launcher starts");
    let mut line = String::new();
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    said.read_line(&mut line).expect("it says a line");
    // SIGKILL: nothing of the process runs any more.
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    assert_eq!(line, "sum 4938\n");
    let next = case.run(&["-Xtakt:report", "Endless", "once"]);
    let (compiled, loaded, refused) = figures(&next);
    assert!(
        compiled < 100 && loaded > 1000 && refused == 0,
        "{}",
        shown(&next)
    );
}

#[test]
fn two_processes_at_once_keep_all_and_mix_nothing() {
    let Some(case) = Case::new("Endless") else {
        return;
    };
    let start = || {
        let mut java = case.java();
        java.args(["Endless", "once"]).stdout(Stdio::piped());
        java.spawn().expect("the launcher starts")
    };
    let both = [start(), start()];
    for child in both {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.stdout, b"sum 4938\n", "{}", shown(&output));
    }
    assert_eq!(case.files("data").len(), 2, "each has a file of its own");
    let third = case.run(&["-Xtakt:report", "Endless", "once"]);
    assert_eq!(third.stdout, b"sum 4938\n", "{}", shown(&third));
    let (compiled, loaded, refused) = figures(&third);
    assert!(
        compiled < 10 && loaded > 1000 && refused == 0,
        "{}",
        shown(&third)
    );
    // Whoever has to add something goes on with a file that nobody writes.
    assert_eq!(case.files("data").len(), 2);
}

#[test]
fn code_is_mapped_privately_from_its_file_at_a_place_of_the_store() {
    let Some(case) = Case::new("Mapped") else {
        return;
    };
    let cold = case.mapped(&[]);
    let warm = [case.mapped(&[]), case.mapped(&[])];
    let store = |mapped: &[(u64, String)]| -> BTreeSet<u64> {
        let own = mapped.iter().filter(|it| it.1.ends_with(".code"));
        own.map(|it| it.0).collect()
    };
    assert_eq!(store(&cold).len(), 1, "{cold:x?}");
    assert_eq!(store(&cold), store(&warm[0]));
    assert_eq!(store(&cold), store(&warm[1]));
    for (start, name) in cold.iter().chain(&warm[0]) {
        let area = if name.ends_with(".code") { 1 } else { 2 };
        assert_eq!(area_of(*start), Some(area), "{start:x} {name}");
    }
    // What belongs to one process lies elsewhere each time.
    let process = |mapped: &[(u64, String)]| -> BTreeSet<u64> {
        let own = mapped.iter().filter(|it| !it.1.ends_with(".code"));
        own.map(|it| it.0).collect()
    };
    assert_ne!(process(&warm[0]), process(&warm[1]));
    let without = case.mapped(&["-Xtakt:no-code-cache"]);
    assert!(without.iter().all(|it| area_of(it.0) == Some(2)));
    let other = Case::new("Mapped").expect("a JDK");
    assert_ne!(store(&cold), store(&other.mapped(&[])));
}

/// Changes the store's one file of records or code, and says what the next start does.
fn damaged(case: &Case, end: &str, change: &dyn Fn(&mut Vec<u8>)) -> (u32, u32, u32) {
    let copy = Case {
        jdk: case.jdk.clone(),
        classes: compile(&case.jdk, &["store/Endless".to_owned()]),
        cache: tempfile::tempdir().expect("a directory for code"),
    };
    let copied = Command::new("cp")
        .arg("-a")
        .arg(case.cache.path().join("."))
        .arg(copy.cache.path())
        .status();
    assert!(copied.expect("cp starts").success());
    let files = copy.files(end);
    assert_eq!(files.len(), 1, "one process, one file");
    let mut bytes = std::fs::read(&files[0]).expect("it is there");
    change(&mut bytes);
    std::fs::write(&files[0], bytes).expect("ours");
    let output = copy.run(&["-Xtakt:report", "Endless", "once"]);
    assert_eq!(output.stdout, b"sum 4938\n", "{}", shown(&output));
    figures(&output)
}

#[test]
fn damaged_and_torn_files_are_refused_piece_by_piece() {
    let Some(case) = Case::new("Endless") else {
        return;
    };
    let first = case.run(&["-Xtakt:report", "Endless", "once"]);
    let (all, ..) = figures(&first);
    assert!(all > 1000, "{}", shown(&first));
    for end in ["data", "code"] {
        let (compiled, loaded, refused) = damaged(&case, end, &|bytes| {
            bytes.truncate(bytes.len() / 2);
        });
        assert!(
            compiled > 100 && loaded > 100 && refused == 0,
            "half of {end}: {compiled} {loaded} {refused}"
        );
        // One bit in each page, past the header.
        let (compiled, loaded, refused) = damaged(&case, end, &|bytes| {
            let flips = (64..bytes.len()).step_by(4099);
            flips.for_each(|at| bytes[at] ^= 1 << (at % 8));
        });
        assert!(
            compiled > 100 && loaded > 100 && refused == 0,
            "bits of {end}: {compiled} {loaded} {refused}"
        );
    }
    let another = damaged(&case, "data", &|bytes| bytes[9] ^= 1);
    assert_eq!((another.1, another.2), (0, 1), "another target's");
}

#[test]
fn a_forked_child_and_its_parent_compile_each_for_itself() {
    let Some(case) = Case::new("Forked") else {
        return;
    };
    let expected = programs::run(&case.jdk, case.classes.path(), &["Forked"]);
    let program = case.classes.path().join("forked");
    build(&case.jdk, "forked.c", &program);
    let classes = format!("-Djava.class.path={}", case.classes.path().display());
    let cache = format!("-Xtakt:code-cache={}", case.cache.path().display());
    for option in [cache.as_str(), cache.as_str(), "-Xtakt:no-code-cache"] {
        let output = Command::new(&program)
            .args([&classes, option])
            .env("JAVA_HOME", &case.jdk)
            .output()
            .expect("the program starts");
        assert_eq!(shown(&output), shown(&expected), "{option}");
    }
}

/// A store made for delivery runs only where it was installed, and then beside the user's own.
#[test]
fn a_delivered_store_gets_its_place_where_it_is_installed() {
    let Some(case) = Case::new("Mapped") else {
        return;
    };
    let delivered = Case::new("Mapped").expect("a JDK");
    delivered.mapped(&[]);
    let library = format!("-Xtakt:code-library={}", delivered.cache.path().display());
    let report = |options: &[&str]| case.run(&[options, &["-Xtakt:report", "Mapped"]].concat());
    let before = report(&[&library]);
    let said = String::from_utf8_lossy(&before.stderr).into_owned();
    assert!(said.contains("it was not installed"), "{said}");
    let install = format!("-Xtakt:install-code={}", delivered.cache.path().display());
    let installed = case.run(&[&install, "-version"]);
    assert!(installed.status.success(), "{}", shown(&installed));
    std::fs::remove_dir_all(case.cache.path()).expect("ours");
    let (compiled, loaded, _) = figures(&report(&[&library]));
    assert!(compiled < 10 && loaded > 1000, "{compiled} {loaded}");
    // Both at once: the user's store holds what the library's has not, each in its area.
    std::fs::remove_dir_all(case.cache.path()).expect("ours");
    let endless = compile(&case.jdk, &["store/Endless".to_owned()]);
    let once = ["-Xtakt:report", &library, "Endless", "once"];
    let run = || run_takt(&case.jdk, endless.path(), case.cache.path(), &once);
    assert!(figures(&run()).0 > 0);
    let (compiled, ..) = figures(&run());
    assert!(compiled < 10, "{compiled}");
    let areas: BTreeSet<Option<usize>> = case
        .mapped(&[&library])
        .iter()
        .map(|it| area_of(it.0))
        .collect();
    assert_eq!(areas, [Some(0), Some(1), Some(2)].into());
}
