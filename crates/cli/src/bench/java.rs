// SPDX-License-Identifier: Apache-2.0
//! Throughput of Java programs on Takt beside HotSpot's interpreter, its first compiler, and all of
//! it, in one run.
//!
//! The programs are tests/java-bench, written from the published algorithms; each prints a
//! checksum, which must be the same everywhere.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use report::Table;
use serde::Serialize;

use super::classes::Classes;
use crate::jdk::Jdk;
use crate::output;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../tests/java-bench/", $name, ".java")))),*]
    };
}

/// The programs, `Main` and what they share.
const SOURCES: [(&str, &str); 16] = sources![
    "Richards",
    "DeltaBlue",
    "Json",
    "Havlak",
    "Mandelbrot",
    "NBody",
    "Sieve",
    "Queens",
    "Fft",
    "Lu",
    "Sor",
    "Sparse",
    "BinaryTrees",
    "SpectralNorm",
    "Main",
    "Random32",
];
const PROGRAM_COUNT: usize = SOURCES.len() - 2;

/// How each program is run: name, options; the first is Takt.
const MACHINES: [(&str, &[&str]); 4] = [
    ("takt", &[]),
    ("-Xint", &["-Xint"]),
    ("C1", &["-XX:TieredStopAtLevel=1"]),
    ("C2", &[]),
];

/// How many times as fast as which of them Takt is to be.
const LEAST: [(usize, f64); 2] = [(2, 1.1), (3, 0.65)];

/// How fast do Java programs run, beside HotSpot's interpreter and compilers?
///
/// Machines take turns. In each turn a program runs for the given time, after a warm-up of a third
/// of it; what counts is the shortest of the turns' medians. A checksum that differs is an error.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench java")]
pub(crate) struct Args {
    /// Programs; all of them unless named
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// Seconds of a turn
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Turns of each machine
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Options for Takt's machine, such as --code-cache=DIR
    #[arg(long, allow_hyphen_values = true)]
    takt_option: Vec<String>,
    /// Exit code 2 unless Takt is at least 1.1 times as fast as HotSpot's first compiler and 0.65
    /// times as all of it, geometric means
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    program: String,
    checksum: i64,
    /// Nanoseconds of the median run in each machine's best turn, as in `MACHINES`.
    median_ns: [u64; MACHINES.len()],
}

/// One line of `Main`: program, checksum, median, count.
struct Line {
    checksum: i64,
    median_ns: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let programs = chosen(&args.programs)?;
    let jdk = Jdk::find()?;
    let classes = Classes::compile(&jdk, &SOURCES)?;
    let mut rows = Vec::new();
    for program in programs {
        eprintln!("bench java: {program}");
        rows.push(measure(&jdk, classes.path(), args, program)?);
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows)),
    }
    Ok(super::verdict("java", &faults(&rows), args.check))
}

fn faults(rows: &[Row]) -> Vec<String> {
    let slow = LEAST.into_iter().filter_map(|(machine, least)| {
        let found = geometric_mean(rows, machine);
        let (name, _) = MACHINES[machine];
        (found < least).then(|| format!("{found:.2} times as fast as {name}, at least {least}"))
    });
    slow.collect()
}

fn chosen(names: &[String]) -> Result<Vec<&'static str>> {
    let all = SOURCES[..PROGRAM_COUNT].iter().map(|(name, _)| *name);
    if let Some(unknown) = names
        .iter()
        .find(|name| !all.clone().any(|one| one == **name))
    {
        bail!(
            "no program {unknown}: there are {}",
            all.collect::<Vec<_>>().join(", ")
        );
    }
    Ok(all
        .filter(|name| names.is_empty() || names.iter().any(|wanted| wanted == name))
        .collect())
}

/// By turns: a shared processor's speed may change by a half from one second to the next, and each
/// machine finds a fast one in one of several.
fn measure(jdk: &Jdk, classes: &Path, args: &Args, program: &str) -> Result<Row> {
    let mut known = None;
    let mut median_ns = [u64::MAX; MACHINES.len()];
    for _ in 0..args.turns {
        for ((machine, options), best_ns) in MACHINES.into_iter().zip(&mut median_ns) {
            let mut java = if machine == "takt" {
                let mut takt = Command::new(std::env::current_exe()?);
                takt.arg("java").args(&args.takt_option);
                takt
            } else {
                Command::new(jdk.home.join("bin/java"))
            };
            java.args(options).arg("-cp").arg(classes).args([
                "Main",
                program,
                &args.seconds.to_string(),
            ]);
            let said =
                output::text(&mut java).with_context(|| format!("{program} on {machine}"))?;
            let line = parse(program, &said)?;
            let checksum = *known.get_or_insert(line.checksum);
            if line.checksum != checksum {
                bail!(
                    "{program}: Takt's checksum is {checksum}, that of {machine} {}",
                    line.checksum
                );
            }
            *best_ns = line.median_ns.min(*best_ns);
        }
    }
    Ok(Row {
        program: program.to_owned(),
        checksum: known.context("no turn")?,
        median_ns,
    })
}

fn parse(program: &str, line: &str) -> Result<Line> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [name, checksum, median, _count] if name == program => Ok(Line {
            checksum: checksum.parse()?,
            median_ns: median.parse()?,
        }),
        _ => bail!("{program} says no figures: {line}"),
    }
}

/// How many times as fast Takt is as `machine`, over all rows.
fn geometric_mean(rows: &[Row], machine: usize) -> f64 {
    let logs = rows.iter().map(|row| speed(row, machine).ln());
    (logs.sum::<f64>() / rows.len() as f64).exp()
}

fn speed(row: &Row, machine: usize) -> f64 {
    row.median_ns[machine] as f64 / row.median_ns[0] as f64
}

fn text(rows: &[Row]) -> String {
    let heads = MACHINES.iter().map(|(name, _)| format!("{name} µs"));
    let ratios = MACHINES[1..].iter().map(|(name, _)| format!("× {name}"));
    let mut table = Table::new(
        ["program".to_owned()]
            .into_iter()
            .chain(heads)
            .chain(ratios),
    );
    for row in rows {
        let times = row
            .median_ns
            .iter()
            .map(|&ns| format!("{:.1}", ns as f64 / 1000.0));
        let speeds = (1..MACHINES.len()).map(|machine| format!("{:.2}", speed(row, machine)));
        table.row([row.program.clone()].into_iter().chain(times).chain(speeds));
    }
    let means = (1..MACHINES.len()).map(|machine| format!("{:.2}", geometric_mean(rows, machine)));
    let blank = MACHINES.iter().map(|_| String::new());
    table.row(
        ["geometric mean".to_owned()]
            .into_iter()
            .chain(blank)
            .chain(means),
    );
    format!("{table}\n× NAME: how many times as fast Takt is\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_their_figures() {
        let line = parse("Sieve", "Sieve -7 1500 20\n").unwrap();
        assert_eq!((line.checksum, line.median_ns), (-7, 1500));
        assert!(parse("Sieve", "Sor 1 2 3").is_err());
    }

    #[test]
    fn means_are_geometric() {
        let row = |takt: u64| Row {
            program: "Sor".to_owned(),
            checksum: 0,
            median_ns: [takt, 100, 100, 100],
        };
        let mean = geometric_mean(&[row(50), row(200)], 1);
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        assert!(text(&[row(50)]).contains("2.00"));
        assert!(faults(&[row(90)]).is_empty());
        assert_eq!(faults(&[row(100)]).len(), 1);
        assert_eq!(faults(&[row(200)]).len(), 2);
    }

    #[test]
    fn an_unknown_program_is_named() {
        let error = chosen(&["Chess".to_owned()]).unwrap_err().to_string();
        assert!(
            error.contains("Chess") && error.contains("Richards"),
            "{error}"
        );
        assert_eq!(chosen(&[]).unwrap().len(), PROGRAM_COUNT);
    }
}
