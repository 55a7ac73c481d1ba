// SPDX-License-Identifier: Apache-2.0
//! Whole runs of programs that no one here wrote, beside HotSpot: a DEX compiler, a Java compiler,
//! a database, a search engine. What counts is the processor's time of the process, all threads:
//! compiling, collecting and starting are in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use report::Table;
use serde::Serialize;
use tempfile::TempDir;

use super::classes::Classes;
use super::whole::{self, Whole};
use crate::jdk::Jdk;

/// The two that a loop makes long enough, and the loop.
const SOURCES: [(&str, &str); 3] = [
    (
        "Database",
        include_str!("../../../../tests/programs/Database.java"),
    ),
    (
        "Search",
        include_str!("../../../../tests/programs/Search.java"),
    ),
    (
        "Rounds",
        include_str!("../../../../tests/java-bench/Rounds.java"),
    ),
];
/// Rounds of these: some seconds.
const DATABASE_ROUNDS: &str = "60";
const SEARCH_ROUNDS: &str = "60";

/// What Takt may take, of what HotSpot takes: geometric means of the programs' best runs.
const WARM_MAX: f64 = 0.9;
const COLD_MAX: f64 = 1.5;

/// How long do whole runs of other people's programs take, beside HotSpot?
///
/// D8 and javac compile a library, H2 and Lucene do the work of some seconds. Takt runs each with
/// the code that it kept of the run before (warm), and with none (cold). Machines take turns.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench programs --check")]
pub(crate) struct Args {
    /// Runs of each machine; the best counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Only these of D8, javac, H2 and Lucene
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Where their jars lie [default: what tools/setup fetched]
    #[arg(long)]
    jars: Option<PathBuf>,
    /// Exit code 2 unless Takt takes at most 0.9 times HotSpot's processor time warm, and 1.5 times
    /// cold: geometric means of the best runs
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Machine {
    Cold,
    Warm,
    HotSpot,
}

const MACHINES: [Machine; 3] = [Machine::Cold, Machine::Warm, Machine::HotSpot];

/// A program, and what its runs took by [`MACHINES`].
#[derive(Debug, Serialize)]
struct Row {
    program: &'static str,
    cold: Vec<Whole>,
    warm: Vec<Whole>,
    hotspot: Vec<Whole>,
}

impl Row {
    fn new(program: &'static str) -> Self {
        let (cold, warm, hotspot) = Default::default();
        Self {
            program,
            cold,
            warm,
            hotspot,
        }
    }

    fn runs(&mut self, machine: Machine) -> &mut Vec<Whole> {
        match machine {
            Machine::Cold => &mut self.cold,
            Machine::Warm => &mut self.warm,
            Machine::HotSpot => &mut self.hotspot,
        }
    }
}

/// The least processor time.
fn best_ms(runs: &[Whole]) -> u64 {
    runs.iter().map(Whole::processor_ms).min().unwrap_or(0)
}

fn best_wall_ms(runs: &[Whole]) -> u64 {
    runs.iter().map(|it| it.wall_ms).min().unwrap_or(0)
}

/// A program.
struct Program {
    name: &'static str,
    /// Its command line behind `java`.
    words: Vec<OsString>,
    /// A folder for what it makes follows, a new one in each run.
    makes_files: bool,
}

/// What the programs need, unpacked and compiled.
struct Stage {
    programs: Vec<Program>,
    jdk: Jdk,
    /// Gone when this is.
    _folders: (Classes, TempDir),
}

impl Stage {
    fn prepare(args: &Args) -> Result<Self> {
        let jdk = Jdk::find()?;
        let jars = match &args.jars {
            Some(jars) => jars.clone(),
            None => lab::Cache::of_user()?.root().join("maven"),
        };
        let jar = |start: &str| find_jar(&jars, start);
        let (h2, lucene) = (jar("h2-")?, jar("lucene-core-")?);
        let path = std::env::join_paths([&h2, &lucene])?;
        let classes = Classes::compile_with(&jdk, &SOURCES, &["-cp".into(), path])?;
        let path = std::env::join_paths([classes.path(), &h2, &lucene])?;
        let (sources, list) = unpack(&jdk, &jar("commons-lang3-3.17.0-sources")?)?;
        let rounds = |program: &str, count: &str| -> Vec<OsString> {
            let mut words = vec!["-cp".into(), path.clone()];
            words.extend(["Rounds", program, count].map(OsString::from));
            words
        };
        let word = |it: &str| OsString::from(it);
        let d8 = [
            word("-cp"),
            jar("r8-")?.into(),
            word("com.android.tools.r8.D8"),
            word("--release"),
            word("--min-api"),
            word("26"),
            word("--lib"),
            jar("android-all-")?.into(),
            h2.into(),
            word("--output"),
        ];
        let javac = [
            "-m",
            "jdk.compiler/com.sun.tools.javac.Main",
            "-nowarn",
            "-proc:none",
        ];
        let javac = javac.into_iter().map(word).chain([list, word("-d")]);
        let all = [
            ("D8", d8.to_vec(), true),
            ("javac", javac.collect(), true),
            ("H2", rounds("Database", DATABASE_ROUNDS), false),
            ("Lucene", rounds("Search", SEARCH_ROUNDS), false),
        ];
        let known = |it: &&String| all.iter().any(|program| program.0 == it.as_str());
        if let Some(other) = args.only.iter().find(|it| !known(it)) {
            bail!("no program {other}: there are D8, javac, H2, Lucene");
        }
        let is_wanted = |it: &str| args.only.is_empty() || args.only.iter().any(|only| only == it);
        let wanted = all.into_iter().filter(|it| is_wanted(it.0));
        let program = |(name, words, makes_files)| Program {
            name,
            words,
            makes_files,
        };
        Ok(Self {
            programs: wanted.map(program).collect(),
            jdk,
            _folders: (classes, sources),
        })
    }

    /// One run; `code` is where Takt keeps code.
    fn once(&self, program: &Program, machine: Machine, code: &Path) -> Result<Whole> {
        let mut java = match machine {
            Machine::HotSpot => Command::new(self.jdk.home.join("bin/java")),
            Machine::Cold | Machine::Warm => {
                let mut takt = Command::new(std::env::current_exe()?);
                let mut cache = OsString::from("--code-cache=");
                cache.push(code);
                takt.arg("java").arg(cache);
                takt
            }
        };
        java.args(&program.words);
        let out = tempfile::tempdir().context("no folder for what it makes")?;
        if program.makes_files {
            java.arg(out.path());
        }
        let ran = whole::run(&mut java);
        let (whole, _) = ran.with_context(|| format!("{} on {machine:?}", program.name))?;
        Ok(whole)
    }
}

/// The jar whose name begins so.
fn find_jar(folder: &Path, start: &str) -> Result<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("no jars in {}: run tools/setup", folder.display()))?;
    let mut names = entries.filter_map(|it| Some(it.ok()?.path()));
    let is_it = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    names
        .find(is_it)
        .with_context(|| format!("no {start}*.jar in {}: run tools/setup", folder.display()))
}

/// A library's sources, and the word that has a compiler read their list.
fn unpack(jdk: &Jdk, jar: &Path) -> Result<(TempDir, OsString)> {
    let folder = tempfile::tempdir().context("no folder for sources")?;
    let mut unpacking = Command::new(jdk.home.join("bin/jar"));
    unpacking.arg("xf").arg(jar).current_dir(folder.path());
    crate::output::of(&mut unpacking)?;
    let (mut pending, mut list) = (vec![folder.path().to_owned()], String::new());
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|it| it == "java") {
                list.push_str(&format!("{}\n", path.display()));
            }
        }
    }
    let file = folder.path().join("sources.txt");
    std::fs::write(&file, list)?;
    let mut word = OsString::from("@");
    word.push(file);
    Ok((folder, word))
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let stage = Stage::prepare(args)?;
    let mut rows = Vec::new();
    for program in &stage.programs {
        eprintln!("bench programs: {}", program.name);
        let kept = tempfile::tempdir().context("no folder for code")?;
        stage.once(program, Machine::Warm, kept.path())?;
        let mut row = Row::new(program.name);
        for _ in 0..args.runs {
            for machine in MACHINES {
                let none = tempfile::tempdir().context("no folder for code")?;
                let code = match machine {
                    Machine::Warm => kept.path(),
                    _ => none.path(),
                };
                let run = stage.once(program, machine, code)?;
                row.runs(machine).push(run);
            }
        }
        rows.push(row);
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows)),
    }
    Ok(super::verdict("programs", &faults(&rows), args.check))
}

/// How much of HotSpot's processor time, over all programs.
fn geometric_mean(rows: &[Row], of: impl Fn(&Row) -> &[Whole]) -> f64 {
    let share = |row: &Row| best_ms(of(row)) as f64 / best_ms(&row.hotspot).max(1) as f64;
    let logs: f64 = rows.iter().map(|it| share(it).ln()).sum();
    (logs / rows.len().max(1) as f64).exp()
}

fn faults(rows: &[Row]) -> Vec<String> {
    let warm = geometric_mean(rows, |it| &it.warm);
    let cold = geometric_mean(rows, |it| &it.cold);
    let found = [("warm", warm, WARM_MAX), ("cold", cold, COLD_MAX)];
    let over = found.into_iter().filter(|(_, found, most)| found > most);
    over.map(|(name, found, most)| {
        format!("{name}, Takt takes {found:.2} of HotSpot's processor time, at most {most}")
    })
    .collect()
}

fn text(rows: &[Row]) -> String {
    let mut table = Table::new([
        "program",
        "cold s",
        "warm s",
        "HotSpot s",
        "cold ×",
        "warm ×",
        "cold wall",
        "warm wall",
        "HotSpot wall",
    ]);
    let seconds = |ms: u64| format!("{:.2}", ms as f64 / 1e3);
    for row in rows {
        let share = |runs: &[Whole]| {
            format!(
                "{:.2}",
                best_ms(runs) as f64 / best_ms(&row.hotspot).max(1) as f64
            )
        };
        table.row([
            row.program.to_owned(),
            seconds(best_ms(&row.cold)),
            seconds(best_ms(&row.warm)),
            seconds(best_ms(&row.hotspot)),
            share(&row.cold),
            share(&row.warm),
            seconds(best_wall_ms(&row.cold)),
            seconds(best_wall_ms(&row.warm)),
            seconds(best_wall_ms(&row.hotspot)),
        ]);
    }
    let blank = || String::new();
    table.row([
        "geometric mean".to_owned(),
        blank(),
        blank(),
        blank(),
        format!("{:.2}", geometric_mean(rows, |it| &it.cold)),
        format!("{:.2}", geometric_mean(rows, |it| &it.warm)),
    ]);
    format!("{table}Processor time of all threads, and wall time; the best runs. ×: of HotSpot's\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cold: u64, warm: u64) -> Row {
        let runs = |ms| {
            [ms + 7, ms].map(|user_ms| Whole {
                user_ms,
                ..Whole::default()
            })
        };
        Row {
            program: "D8",
            cold: runs(cold).into(),
            warm: runs(warm).into(),
            hotspot: runs(1_000).into(),
        }
    }

    #[test]
    fn the_rule() {
        assert!(faults(&[row(1_500, 900)]).is_empty());
        assert!(faults(&[row(3_000, 1_800), row(750, 450)]).is_empty());
        assert_eq!(faults(&[row(1_600, 1_000)]).len(), 2);
    }
}
