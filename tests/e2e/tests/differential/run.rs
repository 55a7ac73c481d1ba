// SPDX-License-Identifier: Apache-2.0
//! Batches of programs on both machines: one process each, a process more for each program that
//! ends its own.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use e2e::{Run, jar, takt_path};
use tempfile::TempDir;

use super::{program, reduce};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../differential");
const OUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../out/differential");
/// The last level whose DEX files are of version 039.
const API: &str = "32";
/// Programs that are made smaller: each takes minutes.
const REDUCED_MAX: u32 = 3;
/// With so many found a run is over.
const FOUND_MAX: u32 = 12;

/// What an output ends with whose process did.
const ENDED: &str = "the process ended with";
const INITIALIZER: &str = "ExceptionInInitializerError";
/// What tells kinds of faults apart.
const WAYS: [&str; 3] = [ENDED, "VerifyError", "InternalError"];

/// No option, then those of tests/passes-off.txt.
pub(crate) static OPTIONS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let lines = include_str!("../../../passes-off.txt").lines();
    let lines = lines.filter(|it| !it.is_empty() && !it.starts_with('#'));
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    std::iter::once(Vec::new())
        .chain(lines.map(words))
        .collect()
});

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Class,
    Dex,
}

/// What each program printed, and how its process ended if it did so before the program.
type Outcomes = BTreeMap<String, String>;

/// What all batches share.
pub(crate) struct Bench {
    code: TempDir,
    found: Cell<u32>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            code: tempfile::tempdir().expect("a directory for code"),
            found: Cell::new(0),
        }
    }

    pub(crate) fn batch(&self, seeds: std::ops::Range<u64>) -> Batch<'_> {
        eprintln!("seeds {seeds:?}");
        let sources = seeds
            .clone()
            .map(|it| (program::name(it), program::source(it)));
        let programs = Programs::compile(&sources.collect::<Vec<_>>());
        let expected = programs.hotspot();
        Batch {
            bench: self,
            seeds,
            programs,
            expected,
        }
    }

    /// Fails if anything differed.
    pub(crate) fn finish(self) {
        assert_eq!(self.found.get(), 0, "programs that differ, kept in {OUT}");
    }
}

pub(crate) struct Batch<'a> {
    bench: &'a Bench,
    seeds: std::ops::Range<u64>,
    programs: Programs,
    expected: Outcomes,
}

impl Batch<'_> {
    /// Runs the programs of this form on our machine, and keeps what differs.
    pub(crate) fn check(&self, form: Form, options: &[String]) {
        let found = self.programs.takt(form, options, self.bench.code.path());
        let mut count = 0;
        for (name, expected) in &self.expected {
            let (expected, found) = (seen(form, expected), seen(form, &found[name]));
            if expected != found {
                count += 1;
                self.keep(name, form, options, [&expected, &found]);
            }
        }
        eprintln!(
            "  {form:?} {options:?}: {count} of {} differ",
            self.expected.len()
        );
        assert!(
            self.bench.found.get() < FOUND_MAX,
            "so many differ; see {OUT}"
        );
    }

    fn keep(&self, name: &str, form: Form, options: &[String], texts: [&str; 2]) {
        let found = self.bench.found.get() + 1;
        self.bench.found.set(found);
        let seed = &name[1..];
        let folder = Path::new(OUT)
            .join(seed)
            .join(format!("{form:?}{}", options.concat()));
        std::fs::create_dir_all(&folder).expect("a folder in out");
        let write = |file: &str, text: &str| {
            std::fs::write(folder.join(file), text).expect("a file in out");
        };
        let source = program::source(seed.parse().expect("a seed"));
        let file = format!("{name}.java");
        write(&file, &source);
        write("hotspot", texts[0]);
        write("takt", texts[1]);
        let again = format!(
            "DIFFERENTIAL_FIRST={seed} DIFFERENTIAL_COUNT=1 cargo test --package e2e --test differential -- --ignored --nocapture"
        );
        let mut report = format!(
            "seed {seed} of {:?}, {form:?}, {options:?}\n{}\nagain: {again}\n",
            self.seeds,
            departure(texts[0], texts[1])
        );
        eprintln!("{report}");
        if found <= REDUCED_MAX {
            let mut attempt = Attempt::new(name, form, options);
            if attempt.differs(&source) {
                write(&file, &reduce::reduce(&source, |it| attempt.differs(it)));
                write(&format!("{name}.whole"), &source);
                let _ = writeln!(report, "made smaller: {}", folder.join(&file).display());
            } else {
                let _ = writeln!(
                    report,
                    "alone it does not differ: the seeds before it are needed"
                );
            }
            eprintln!("{report}");
        }
        write("report", &report);
    }
}

/// Whether a changed program still differs, again and again.
struct Attempt<'a> {
    name: &'a str,
    form: Form,
    options: &'a [String],
    compiler: reduce::Compiler,
    code: TempDir,
    /// Which of `WAYS` it is.
    way: Option<[bool; 3]>,
}

impl<'a> Attempt<'a> {
    fn new(name: &'a str, form: Form, options: &'a [String]) -> Self {
        let code = tempfile::tempdir().expect("a directory for code");
        Self {
            name,
            form,
            options,
            compiler: reduce::Compiler::start(SOURCES),
            code,
            way: None,
        }
    }

    fn differs(&mut self, source: &str) -> bool {
        let programs = Programs::new(vec![self.name.to_owned()]);
        copy_differ(self.compiler.differ(), programs.classes());
        let file = programs
            .directory
            .path()
            .join(format!("{}.java", self.name));
        std::fs::write(&file, source).expect("a source");
        if !self.compiler.compiles(programs.classes(), &file) {
            return false;
        }
        let expected = &programs.hotspot()[self.name];
        // What is no program any more says nothing.
        if expected.contains(ENDED) || expected.contains(INITIALIZER) {
            return false;
        }
        let found = &programs.takt(self.form, self.options, self.code.path())[self.name];
        let is_different = seen(self.form, expected) != seen(self.form, found);
        // A smaller program fails in the same way, as far as that is told by a word.
        let way = WAYS.map(|it| found.contains(it));
        is_different && *self.way.get_or_insert(way) == way
    }
}

fn copy_differ(from: &Path, to: PathBuf) {
    std::fs::create_dir_all(&to).expect("a folder for classes");
    for name in ["Differ.class", "Differ$Hashed.class"] {
        std::fs::copy(from.join(name), to.join(name)).expect("Differ is compiled");
    }
}

/// Compiled programs.
struct Programs {
    names: Vec<String>,
    directory: TempDir,
    dex: OnceCell<PathBuf>,
}

impl Programs {
    fn new(names: Vec<String>) -> Self {
        let directory = tempfile::tempdir().expect("a directory for programs");
        Self {
            names,
            directory,
            dex: OnceCell::new(),
        }
    }

    /// By one javac.
    fn compile(sources: &[(String, String)]) -> Self {
        let programs = Self::new(sources.iter().map(|it| it.0.clone()).collect());
        let files = sources.iter().map(|(name, source)| {
            let file = programs.directory.path().join(format!("{name}.java"));
            std::fs::write(&file, source).expect("a source");
            file
        });
        let files: Vec<PathBuf> = files.collect();
        let run = Run::of(
            Command::new("javac")
                .args(["-nowarn", "-encoding", "UTF-8", "-d"])
                .arg(programs.classes())
                .arg(Path::new(SOURCES).join("Differ.java"))
                .args(files),
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        programs
    }

    fn classes(&self) -> PathBuf {
        self.directory.path().join("classes")
    }

    fn hotspot(&self) -> Outcomes {
        let classes = self.classes();
        let run = |names: &[String]| {
            let mut java = Command::new("java");
            // What is thrown often would have neither message nor trace.
            java.args(["-Xmx512m", "-XX:-OmitStackTraceInFastThrow"]);
            java.arg("-cp").arg(&classes);
            Run::of(java.arg("Differ").args(names))
        };
        outcomes(&self.names, run)
    }

    fn takt(&self, form: Form, options: &[String], code: &Path) -> Outcomes {
        let path = match form {
            Form::Class => &self.classes(),
            Form::Dex => self.dex.get_or_init(|| self.d8()),
        };
        let run = |names: &[String]| {
            let mut takt = Command::new(takt_path());
            takt.args(["java", "-Xmx256m", "-Xtakt:verify"]);
            // Kept code is that of the same passes.
            let code = code.join(options.concat().replace([':', '='], "-"));
            takt.arg(format!("--code-cache={}", code.display()));
            takt.args(options).arg("-cp").arg(path);
            Run::of(takt.arg("Differ").args(names))
        };
        outcomes(&self.names, run)
    }

    fn d8(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.classes()).expect("classes are compiled");
        let mut files: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
        files.sort();
        let out = self.directory.path().join("programs.jar");
        let run = Run::of(
            Command::new("java")
                .args(["-cp", &jar("r8-"), "com.android.tools.r8.D8"])
                .args(["--min-api", API, "--lib"])
                .arg(home())
                .arg("--output")
                .arg(&out)
                .args(files),
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        out
    }
}

/// The JDK whose `java` is on the path.
fn home() -> PathBuf {
    let path = std::env::var_os("PATH").expect("a path");
    let mut programs = std::env::split_paths(&path).map(|it| it.join("java"));
    let java = programs.find_map(|it| std::fs::canonicalize(it).ok());
    let java = java.expect("a JDK on the path");
    java.ancestors().nth(2).expect("bin/java").to_owned()
}

/// Runs all programs, those behind one that ended its process in another one.
fn outcomes(names: &[String], run: impl Fn(&[String]) -> Run) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let mut first = 0;
    while first < names.len() {
        let run = run(&names[first..]);
        let mut is_over = false;
        let mut last = None;
        for part in run.stdout.split("== ").skip(1) {
            let (name, text) = part.split_once('\n').unwrap_or((part, ""));
            is_over = name == "all";
            if !is_over {
                outcomes.insert(name.to_owned(), text.to_owned());
                last = names.iter().position(|it| it == name);
            }
        }
        let last = last.unwrap_or_else(|| panic!("nothing ran: {run:#?}"));
        first = last + 1;
        if !is_over || run.code != 0 || !run.stderr.is_empty() {
            let end = format!("{ENDED} {}: {}", run.code, run.stderr);
            outcomes
                .entry(names[last].clone())
                .or_default()
                .push_str(&end);
        }
    }
    outcomes
}

/// What counts of an output: messages of null references quote bytecode, which DEX code has not.
fn seen(form: Form, text: &str) -> String {
    const MARK: &str = "NullPointerException <<";
    if form == Form::Class {
        return text.to_owned();
    }
    let mut rest = text;
    let mut seen = String::new();
    while let Some((before, after)) = rest.split_once(MARK) {
        seen.push_str(before);
        seen.push_str(MARK);
        rest = after.split_once(">>").map_or("", |it| it.1);
    }
    seen + rest
}

/// The first line that is not as it was expected.
fn departure(expected: &str, found: &str) -> String {
    let mut others = found.lines();
    for (at, line) in expected.lines().enumerate() {
        let other = others.next().unwrap_or("(the end)");
        if line != other {
            return format!("line {}\n  HotSpot: {line}\n  Takt:    {other}", at + 1);
        }
    }
    format!(
        "at the end\n  Takt:    {}",
        others.next().unwrap_or("(the end)")
    )
}
