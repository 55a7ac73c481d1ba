// SPDX-License-Identifier: Apache-2.0
//! Compiled code on disk: kept as it comes, shared, mapped privately, and never mixed up.

mod programs;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use programs::{build, compile, figures, jdk, machine, run_takt, shown};

/// Where the machine may put code (`abi::address_map::CodeArea`): of a delivered store, of a
/// user's, of a process.
const AREAS: [u64; 3] = [0x2000_0000_0000, 0x3000_0000_0000, 0x4000_0000_0000];
const AREA_BYTES: u64 = 0x1000_0000_0000;

struct Case {
    jdk: PathBuf,
    classes: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Case {
    /// With an empty store.
    fn new(name: &str) -> Self {
        let jdk = jdk();
        let classes = compile(&jdk, &[format!("store/{name}")]);
        let cache = tempfile::tempdir().expect("a directory for code");
        Self {
            jdk,
            classes,
            cache,
        }
    }

    /// With a store of one file that holds what every start needs.
    fn warm(name: &str) -> Self {
        static WARM: OnceLock<tempfile::TempDir> = OnceLock::new();
        let case = Self::new(name);
        let warm = WARM.get_or_init(|| {
            let first = Case::new("Endless");
            let output = first.run(&["Mapped"]);
            assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
            first.cache
        });
        let copied = Command::new("cp")
            .arg("-a")
            .arg(warm.path().join("."))
            .arg(case.cache.path())
            .status();
        assert!(copied.expect("cp starts").success());
        case
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

/// How many methods whose names begin with `name` were compiled, and how many loaded
/// (`-Xtakt:compile`).
fn methods(output: &Output, name: &str) -> (usize, usize) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = |how: &str| {
        let lines = said.lines().filter(|line| line.starts_with(how));
        lines
            .filter(|line| line.contains(&format!(" {name}.")))
            .count()
    };
    (count("[compile]"), count("[load]"))
}

/// A run of `Endless once` compiled next to nothing.
fn all_is_kept(output: &Output) {
    assert_eq!(output.stdout, b"sum 4932\n", "{}", shown(output));
    let (compiled, loaded, refused) = figures(output);
    let is_kept = compiled < 10 && loaded > 1000 && refused == 0;
    assert!(is_kept, "{}", shown(output));
}

#[test]
fn a_killed_process_loses_nothing() {
    let case = Case::warm("Endless");
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
    assert_eq!(line, "sum 4932\n");
    let next = case.run(&["-Xtakt:compile", "Endless", "once"]);
    assert_eq!(next.stdout, b"sum 4932\n", "{}", shown(&next));
    assert_eq!(methods(&next, "Endless"), (0, 2), "{}", shown(&next));
    assert_eq!(case.files("data").len(), 1, "nobody wrote it any more");
}

#[test]
fn two_processes_at_once_keep_all_and_mix_nothing() {
    let case = Case::new("Endless");
    let start = || {
        let mut java = case.java();
        java.args(["Endless", "once"]).stdout(Stdio::piped());
        java.spawn().expect("the launcher starts")
    };
    let both = [start(), start()];
    for child in both {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.stdout, b"sum 4932\n", "{}", shown(&output));
    }
    assert_eq!(case.files("data").len(), 2, "each has a file of its own");
    assert_eq!(case.files("base").len() + case.files("new").len(), 0);
    all_is_kept(&case.run(&["-Xtakt:report", "Endless", "once"]));
    // A process that adds something goes on with a file that nobody writes.
    assert_eq!(case.files("data").len(), 2);
}

#[test]
fn what_ran_is_gathered_in_a_file_of_its_own() {
    let case = Case::warm("Endless");
    let first = case.run(&["Endless", "once"]);
    assert_eq!(first.stdout, b"sum 4932\n", "{}", shown(&first));
    let older = case.files("data");
    assert_eq!(older.len(), 1);
    let gathers = case.run(&["-Xtakt:gather-code", "Endless", "once"]);
    assert_eq!(gathers.stdout, b"sum 4932\n", "{}", shown(&gathers));
    assert_eq!(case.files("data").len(), 2);
    // All of it is there: nothing is missed where the older file is gone.
    for end in ["data", "index", "code"] {
        let _ = std::fs::remove_file(older[0].with_extension(end));
    }
    let alone = case.run(&["-Xtakt:report", "-Xtakt:compile", "Endless", "once"]);
    all_is_kept(&alone);
    assert_eq!(methods(&alone, "Endless"), (0, 2), "{}", shown(&alone));
}

#[test]
fn code_is_mapped_privately_from_its_file_at_a_place_of_the_store() {
    let case = Case::warm("Mapped");
    let first = case.mapped(&[]);
    let second = case.mapped(&[]);
    let of = |mapped: &[(u64, String)], is_stores: bool| -> BTreeSet<u64> {
        let own = mapped.iter();
        let own = own.filter(|it| it.1.ends_with(".code") == is_stores);
        own.map(|it| it.0).collect()
    };
    assert_eq!(of(&first, true).len(), 1, "{first:x?}");
    assert_eq!(of(&first, true), of(&second, true));
    for (start, name) in &first {
        let area = if name.ends_with(".code") { 1 } else { 2 };
        assert_eq!(area_of(*start), Some(area), "{start:x} {name}");
    }
    // What belongs to one process lies elsewhere each time.
    assert_ne!(of(&first, false), of(&second, false));
    // Another store has another place, and one that lost its place gets a new one.
    let other = Case::warm("Mapped");
    for target in std::fs::read_dir(other.cache.path()).expect("ours") {
        let base = target.expect("an entry").path().join("base");
        std::fs::remove_file(base).expect("a store has one");
    }
    let output = other.run(&["-Xtakt:report", "Mapped"]);
    assert!(figures(&output).1 > 1000, "{}", shown(&output));
    assert_ne!(of(&first, true), of(&other.mapped(&[]), true));
}

/// Cuts the store's one file of this ending, changes bits of it, and says what the next start does.
fn damaged(end: &str) -> (u32, u32, u32) {
    let case = Case::warm("Endless");
    let files = case.files(end);
    assert_eq!(files.len(), 1, "one process, one file");
    let mut bytes = std::fs::read(&files[0]).expect("it is there");
    bytes.truncate(bytes.len() / 40 * 39);
    // Past the header.
    let flips = (64..bytes.len()).step_by(65_537);
    flips.for_each(|at| bytes[at] ^= 1 << (at % 8));
    std::fs::write(&files[0], bytes).expect("ours");
    case.files("index")
        .iter()
        .for_each(|index| std::fs::remove_file(index).expect("ours"));
    let output = case.run(&["-Xtakt:report", "Endless", "once"]);
    assert_eq!(output.stdout, b"sum 4932\n", "{}", shown(&output));
    let again = case.run(&["-Xtakt:report", "Endless", "once"]);
    assert!(figures(&again).0 < 10, "{}", shown(&again));
    figures(&output)
}

#[test]
fn damaged_and_torn_files_are_refused_piece_by_piece() {
    for end in ["data", "code"] {
        let (compiled, loaded, refused) = damaged(end);
        assert!(
            compiled > 20 && loaded > 1000 && refused == 0,
            "{end}: {compiled} {loaded} {refused}"
        );
    }
}

#[test]
fn a_forked_child_and_its_parent_compile_each_for_itself() {
    let case = Case::warm("Forked");
    let expected = programs::run(&case.jdk, case.classes.path(), &["Forked"]);
    let program = case.classes.path().join("forked");
    build(&case.jdk, "forked.c", &program);
    let classes = format!("-Djava.class.path={}", case.classes.path().display());
    let cache = format!("-Xtakt:code-cache={}", case.cache.path().display());
    for option in [cache.as_str(), "-Xtakt:no-code-cache"] {
        let output = Command::new(&program)
            .args([&classes, option])
            .env("JAVA_HOME", &case.jdk)
            .output()
            .expect("the program starts");
        assert_eq!(shown(&output), shown(&expected), "{option}");
    }
    // What both compiled is kept, each in a file of its own.
    assert_eq!(case.files("data").len(), 2);
    let next = case.run(&["-Xtakt:compile", "Forked"]);
    assert_eq!(next.stdout, expected.stdout);
    // Only `main` is new; short bodies stand in their callers.
    let (compiled, loaded) = methods(&next, "Forked");
    assert!(compiled == 1 && loaded >= 2, "{}", shown(&next));
}

/// A store made for delivery runs only where it was installed, and then beside the user's own.
#[test]
fn a_delivered_store_gets_its_place_where_it_is_installed() {
    let (case, delivered) = (Case::warm("Mapped"), Case::warm("Endless"));
    let delivered = delivered.cache.path().display();
    let library = format!("-Xtakt:code-library={delivered}");
    let install = format!("-Xtakt:install-code={delivered}");
    let run = || case.run(&[&library, "-Xtakt:report", "Mapped"]);
    let said = String::from_utf8_lossy(&run().stderr).into_owned();
    assert!(said.contains("it was not installed"), "{said}");
    let installed = case.run(&[&install, "-version"]);
    assert!(installed.status.success(), "{}", shown(&installed));
    std::fs::remove_dir_all(case.cache.path()).expect("ours");
    // The library's code is there, and what it has not goes into the user's store.
    let first = figures(&run());
    assert!(0 < first.0 && first.0 < 500 && first.1 > 1000, "{first:?}");
    assert!(figures(&run()).0 < 10);
    let areas: BTreeSet<Option<usize>> = case
        .mapped(&[&library])
        .iter()
        .map(|it| area_of(it.0))
        .collect();
    assert_eq!(areas, [Some(0), Some(1), Some(2)].into());
    // Nobody runs from a folder that others may write to, or from what another version made.
    let said = || String::from_utf8_lossy(&run().stderr).into_owned();
    let root = library.split('=').nth(1).expect("an option");
    let mut folders = std::fs::read_dir(root).expect("ours");
    let folder = folders.next().expect("one target").expect("ours").path();
    let mode = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&folder, mode).expect("ours");
    let text = said();
    assert!(text.contains("be writable by no one else"), "{text}");
    assert!(text.contains("none delivered ("), "{text}");
    std::fs::rename(&folder, folder.with_file_name("00")).expect("ours");
    let text = said();
    assert!(text.contains("(another version or"), "{text}");
}
