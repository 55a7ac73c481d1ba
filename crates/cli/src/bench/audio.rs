// SPDX-License-Identifier: Apache-2.0
//! Experiment `audio` (the paper on deadline audio, section 6): bursts of 64 frames at 48 kHz whose
//! work jumps, under FIFO at the largest speed, under FIFO with a governor that looks back, and
//! under a reservation that the speed follows.
//!
//! One run is one process of `bench-audio`, which lies beside this program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab::{Flavour, Job, Mode, ModuleRequest, RtcSource};
use report::Table;
use serde::{Deserialize, Serialize};

use super::calls::guest::Guests;
use crate::load::{Kind, Load};

const NAME: &str = "bench-audio";
const BURST: u32 = 64;
const RATE: u64 = 48_000;
const CARD: &str = "alsa:hw:Dummy,0";
/// ALSA's own descriptions of cards.
const ALSA: &str = "/usr/share/alsa";
/// A guest that waits for ever would never end.
const TIME_MAX: Duration = Duration::from_secs(7_200);

/// Modes with the bursts in their buffers. The reactive one plays without an underrun only where
/// the buffer holds what its governor oversleeps: 20 bursts, says the paper.
const RUNS: [(&str, u32); 5] = [
    ("max", 2),
    ("reactive", 2),
    ("reactive", 20),
    ("paper", 2),
    ("ours", 2),
];
/// Two bursts take less, twenty more.
const SHORT_NS: u64 = 3_000_000;
/// What ours may take of the reactive mode's energy, where that plays as it should: at 2 bursts the
/// card stands so often that its governor sees an idle thread, and stays too slow.
const ENERGY_MAX: f64 = 1.04;
/// MHz of the paper's board, and its table 4: seconds at each while the notes are at random, of
/// FIFO with WALT and of its reservations.
const RESIDENCIES: [(u32, f64, f64); 5] = [
    (903, 20.976, 17.845),
    (1_421, 7.133, 7.608),
    (1_805, 3.240, 5.568),
    (2_112, 9.903, 6.452),
    (2_362, 19.391, 23.325),
];
const PAPER: &str = "Paper, energy and latency: FIFO at the largest speed 172.7, 2.67 ms; FIFO with WALT 96.2, \
                     26.67 ms; its reservations 102.2, 2.67 ms.";

/// Does sound hold 2.67 ms while the processor saves energy?
///
/// Bursts of 64 frames at 48 kHz compute 5 and 185 notes by turns, then numbers at random; 185 take
/// 88 % of a burst at the largest speed. Speeds and their power are those of the paper's board, and
/// work is stretched by the speed in force: no real clock is changed.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench audio --lab --check")]
pub(crate) struct Args {
    /// How long a number of notes sounds
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    step: Duration,
    /// Steps of 5 and 185 notes by turns
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Steps of numbers at random
    #[arg(long, default_value_t = 20)]
    random: u32,
    /// Only this mode: max, reactive, paper, ours; may be repeated
    #[arg(long, value_name = "MODE")]
    only: Vec<String>,
    /// What runs beside
    #[arg(long, value_enum, default_value = "none")]
    load: Kind,
    /// Varies the numbers at random and the load
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where it plays: as TAKT_SOUND names a device [in the lab: its card that is none]
    #[arg(long, default_value = "null", conflicts_with = "lab")]
    device: String,
    /// In deterministic guests: virtual time, PREEMPT_RT, snd-dummy
    #[arg(long)]
    lab: bool,
    /// Guests of each mode, each with random numbers of its own
    #[arg(long, default_value_t = 1, requires = "lab", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Exit code 2 if our mode has an underrun, takes more than 1.04 times the reactive mode's
    /// energy with 20 bursts in its buffer, or leaves more than one burst after a jump without a
    /// runtime that holds it; or if the reactive mode with 2 bursts has no underrun
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// What a run gave, and under which seed.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    #[serde(default)]
    seed: u64,
    mode: String,
    bursts: u64,
    latency_ns: u64,
    underruns: u32,
    residency_ns: Vec<u64>,
    #[serde(default)]
    random_ns: Vec<u64>,
    energy: f64,
    overruns: u64,
    jumps: u64,
    to_speed_ns_max: u64,
    uncovered_max: u64,
    uncovered_known_max: u64,
    policy: String,
}

/// Runs all modes and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let known = |it: &&String| RUNS.iter().any(|run| run.0 == it.as_str());
    if let Some(other) = args.only.iter().find(|it| !known(it)) {
        bail!("no mode '{other}': there are max, reactive, paper, ours");
    }
    let is_wanted = |mode: &str| args.only.is_empty() || args.only.iter().any(|it| it == mode);
    let mut rows = Vec::new();
    if args.lab {
        let guests = Guests::open()?;
        let mut modes: Vec<&str> = RUNS
            .iter()
            .map(|it| it.0)
            .filter(|it| is_wanted(it))
            .collect();
        modes.dedup();
        for mode in modes {
            eprintln!("bench audio: {mode}, {} seeds in the lab", args.seeds);
            rows.extend(in_lab(&guests, args, mode)?);
        }
    } else {
        let _beside = Load::start(args.load, args.seed)?;
        for (mode, buffer) in RUNS.into_iter().filter(|it| is_wanted(it.0)) {
            rows.push(here(args, mode, buffer)?);
        }
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows, args.lab)),
    }
    Ok(super::verdict("audio", &faults(&rows), args.check))
}

/// The program, beside this one.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find where takt lies")?;
    let program = own.with_file_name(NAME);
    ensure!(
        program.is_file(),
        "no {NAME} beside {}: build it with `cargo build --release -p burst`",
        own.display()
    );
    Ok(program)
}

/// One run of the program.
fn here(args: &Args, mode: &str, buffer: u32) -> Result<Row> {
    let step = args.step.as_nanos() * u128::from(RATE) / u128::from(BURST) / 1_000_000_000;
    let numbers = [
        ("--burst", u128::from(BURST)),
        ("--buffer", u128::from(buffer)),
        ("--step", step.max(1)),
        ("--turns", u128::from(args.turns)),
        ("--random", u128::from(args.random)),
        ("--seed", u128::from(args.seed)),
    ];
    let mut command = Command::new(program()?);
    command.args(["--mode", mode, "--device", &args.device]);
    for (option, number) in numbers {
        command.args([option, &number.to_string()]);
    }
    let output = command.output().context("cannot start it")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let row: Row = serde_json::from_slice(&output.stdout).context("no figures")?;
    Ok(Row {
        seed: args.seed,
        ..row
    })
}

/// This program again, in a guest for each seed.
fn in_lab(guests: &Guests, args: &Args, mode: &str) -> Result<Vec<Row>> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut rows = Vec::new();
    for seed in args.seed..args.seed + args.seeds {
        let mut command: Vec<OsString> = vec![own.clone().into()];
        command.extend(["bench", "audio", "--json", "--only", mode].map(OsString::from));
        let options = [
            ("--device", CARD.to_owned()),
            ("--step", format!("{}ns", args.step.as_nanos())),
            ("--turns", args.turns.to_string()),
            ("--random", args.random.to_string()),
            ("--load", args.load.name().to_owned()),
            ("--seed", seed.to_string()),
        ];
        for (option, value) in options {
            command.extend([option.into(), value.into()]);
        }
        let card: ModuleRequest = "snd-dummy".parse().map_err(anyhow::Error::msg)?;
        let job = Job {
            command,
            directory: PathBuf::from("/"),
            mode: Mode::Deterministic,
            kernel: Flavour::Rt,
            cpu_count: 1,
            memory_mib: None,
            modules: vec![card],
            with: vec![program()?.into(), ALSA.into()],
            java_modules: String::new(),
            environment: Vec::new(),
            out: None,
            seed,
            time_limit: Some(TIME_MAX),
            rtc: RtcSource::Virtual,
            console: None,
        };
        let found = guests.sweep_job::<Vec<Row>>(&job, 1)?;
        rows.extend(found.into_iter().flat_map(|it| it.1));
    }
    Ok(rows)
}

fn text(rows: &[Row], is_lab: bool) -> String {
    let unit = if is_lab { "virtual" } else { "this machine's" };
    let mut table = Table::new([
        "mode",
        "seed",
        "latency ms",
        "underruns",
        "energy",
        "to speed ms",
        "beyond",
        "after a jump",
        "policy",
    ]);
    for row in rows {
        table.row([
            row.mode.clone(),
            row.seed.to_string(),
            format!("{:.2}", row.latency_ns as f64 / 1e6),
            format!("{} of {}", row.underruns, row.bursts),
            format!("{:.1}", row.energy),
            format!("{:.2}", row.to_speed_ns_max as f64 / 1e6),
            row.overruns.to_string(),
            row.uncovered_max.to_string(),
            row.policy.clone(),
        ]);
    }
    let levels = levels(rows);
    format!(
        "Bursts of {BURST} frames at 48 kHz, {unit} time; seconds at each level times its power, over 1000\n\
         {table}to speed: from the first burst with more notes until the speed carries it, the longest; \
         beyond: bursts\nthat did not fit their reservation; after a jump: the most of them in a row\n{PAPER}\n\n\
         Time at each speed while the notes are at random, in percent; seeds from the least to the most\n\
         {levels}"
    )
}

/// How long each mode was at which speed, beside the paper's table 4.
fn levels(rows: &[Row]) -> Table {
    let is_counted = |mode: &str, is_short: bool| {
        let shares = rows.iter().filter(|it| {
            it.mode == mode && (it.latency_ns < SHORT_NS) == is_short && !it.random_ns.is_empty()
        });
        shares.map(|it| &it.random_ns).collect::<Vec<_>>()
    };
    let modes = [
        ("reactive", false, "reactive, 20 bursts"),
        ("paper", true, "its predictor"),
        ("ours", true, "ours"),
    ];
    let known = modes.map(|it| (it.2, is_counted(it.0, it.1)));
    let heads = known.iter().map(|it| it.0);
    let mut table = Table::new(
        ["MHz", "paper: WALT", "paper: reservations"]
            .into_iter()
            .chain(heads),
    );
    let total = |of: fn(&(u32, f64, f64)) -> f64| RESIDENCIES.iter().map(of).sum::<f64>() / 100.0;
    for (level, paper) in RESIDENCIES.iter().enumerate() {
        let mut row = vec![
            paper.0.to_string(),
            format!("{:.0}", paper.1 / total(|it| it.1)),
            format!("{:.0}", paper.2 / total(|it| it.2)),
        ];
        for (_, runs) in &known {
            let share = |it: &&Vec<u64>| {
                let all: u64 = it.iter().sum();
                it.get(level)
                    .map_or(0.0, |ns| *ns as f64 * 100.0 / all.max(1) as f64)
            };
            let shares: Vec<f64> = runs.iter().map(share).collect();
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            let most = shares.iter().copied().fold(0.0, f64::max);
            row.push(match shares.len() {
                0 => "-".to_owned(),
                1 => format!("{most:.0}"),
                _ => format!("{least:.0} to {most:.0}"),
            });
        }
        table.row(row);
    }
    table
}

fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    let is_short = |row: &&Row| row.latency_ns < SHORT_NS;
    let reactive: Vec<&Row> = rows.iter().filter(|it| it.mode == "reactive").collect();
    let (mut ours_energy, mut reactive_energy) = (0.0, 0.0);
    for ours in rows.iter().filter(|it| it.mode == "ours") {
        let seed = ours.seed;
        if ours.underruns > 0 {
            faults.push(format!("ours, seed {seed}: {} underruns", ours.underruns));
        }
        if !ours.policy.starts_with("DEADLINE") || ours.policy.contains(": ") {
            faults.push(format!(
                "ours, seed {seed}: no reservation: {}",
                ours.policy
            ));
        }
        if ours.uncovered_max > 1 {
            let count = ours.uncovered_max;
            faults.push(format!("ours, seed {seed}: {count} bursts after a jump"));
        }
        let same = |it: &&&Row| !is_short(it) && it.seed == seed;
        if let Some(other) = reactive.iter().find(same) {
            ours_energy += ours.energy;
            reactive_energy += other.energy;
        }
    }
    let ratio = ours_energy / reactive_energy;
    if reactive_energy > 0.0 && ratio > ENERGY_MAX {
        faults.push(format!(
            "ours takes {ratio:.3} of the reactive mode's energy"
        ));
    }
    for other in reactive.into_iter().filter(is_short) {
        if other.underruns == 0 {
            faults.push(format!("reactive, seed {}: no underrun", other.seed));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(mode: &str, underruns: u32, energy: f64) -> Row {
        Row {
            seed: 1,
            mode: mode.to_owned(),
            bursts: 1,
            latency_ns: 2_666_666,
            underruns,
            residency_ns: Vec::new(),
            random_ns: Vec::new(),
            energy,
            overruns: 0,
            jumps: 0,
            to_speed_ns_max: 0,
            uncovered_max: 0,
            uncovered_known_max: 0,
            policy: "DEADLINE 1/2/2 ns".to_owned(),
        }
    }

    #[test]
    fn the_rule() {
        let with = |energy| {
            let long = Row {
                latency_ns: 26_666_666,
                ..row("reactive", 0, 1.0)
            };
            faults(&[long, row("reactive", 1, 0.7), row("ours", 0, energy)])
        };
        assert!(with(1.04).is_empty());
        assert_eq!(with(1.05).len(), 1, "more than with 20 bursts");
        assert_eq!(
            faults(&[row("reactive", 0, 1.0), row("ours", 2, 1.0)]).len(),
            2
        );
        let late = Row {
            uncovered_max: 2,
            policy: "FIFO 80".to_owned(),
            ..row("ours", 0, 1.0)
        };
        assert_eq!(faults(&[late]).len(), 2);
    }
}
