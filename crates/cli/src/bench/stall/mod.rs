// SPDX-License-Identifier: Apache-2.0
//! Experiment `stall`: what keeps a real-time thread in Java waiting while ordinary threads do
//! their worst?
//!
//! The program is bench/stall/java. A [`window`] is one start of it with one load, here or in a
//! guest ([`lab`]); [`judge`] holds the windows against the rule.

mod code;
mod judge;
mod lab;
mod window;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::guest;
use code::Code;

const THROTTLE: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Does anything that ordinary threads do keep a real-time thread waiting?
///
/// A javax.realtime thread (SCHED_FIFO) makes 64 small arrays and throws one exception in each
/// release, and logs a line per hundred, beside each of the loads a to i. Without one it does the
/// same first. On the host a native thread of the same priority without a heap runs beside it
/// (control); with --lab all of it happens in deterministic guests.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench stall --only a,c --runs 5 --check")]
pub(crate) struct Args {
    /// Loads to run; all of them unless named
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Load>,
    /// Releases of each window
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(10..))]
    releases: u32,
    /// Releases before each window
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    warmup: u32,
    /// Period in µs
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(200..))]
    period_us: u64,
    /// SCHED_FIFO priority of the measured thread and of the control
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u8).range(2..=99))]
    priority: u8,
    /// How often all windows are run
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "lab")]
    runs: u32,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests for each load, of different seeds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0, requires = "lab")]
    seed: u64,
    /// Exit code 2 unless the rule holds: in the lab with every seed, on the host in four of five
    /// runs
    #[arg(long)]
    check: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Classes and code that were made before; for a guest
    #[arg(long, value_name = "DIR", hide = true)]
    made: Option<PathBuf>,
}

/// What ordinary threads do meanwhile; names and order as in bench/stall/java/Load.java.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Load {
    /// Nothing
    None,
    /// First calls of huge methods
    A,
    /// javac in the same process, none of its code compiled before
    B,
    /// Class loading, definition and proofs without end
    C,
    /// Threads started and ended, 1000 at least
    D,
    /// Logging into a pipe that nobody reads
    E,
    /// Large arrays allocated and dropped
    F,
    /// Thread dumps and attach requests
    G,
    /// System.gc from several threads
    H,
    /// Memory exhausted by ordinary threads
    I,
}

impl Load {
    const ALL: [Self; 9] = [
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::G,
        Self::H,
        Self::I,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
            Self::E => "e",
            Self::F => "f",
            Self::G => "g",
            Self::H => "h",
            Self::I => "i",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::None => "no load",
            Self::A => "a: huge methods",
            Self::B => "b: javac",
            Self::C => "c: classes",
            Self::D => "d: threads",
            Self::E => "e: full pipe",
            Self::F => "f: large arrays",
            Self::G => "g: dumps, attach",
            Self::H => "h: System.gc",
            Self::I => "i: no memory left",
        }
    }
}

impl Args {
    /// What is run: nothing first, to compare with.
    fn loads(&self) -> Vec<Load> {
        let mut loads = match self.only.as_slice() {
            [] => Load::ALL.to_vec(),
            named => named.to_vec(),
        };
        // A guest runs one window, and who started it compares.
        if self.made.is_none() {
            loads.push(Load::None);
        }
        loads.sort_unstable();
        loads.dedup();
        loads
    }
}

/// One window. Times are nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    load: Load,
    /// Of the host, from 1; in the lab the seed.
    run: u64,
    /// Releases of the window, and those among them in which the host's steal counter rose; what
    /// follows is of the others.
    releases: u64,
    stolen: u64,
    late_ns: Spread,
    work_ns: Spread,
    /// Of the stolen ones.
    stolen_late_ns_max: u64,
    stolen_work_ns_max: u64,
    /// The most processor time that the ledger charges the machine's own causes with in one
    /// release, and in how many it is more than the rule allows.
    machine_ns_max: u64,
    machine_above: u64,
    /// Waits for the machine's locks, from the thread's start on.
    lock_waits: u64,
    lock_wait_ns_max: u64,
    /// OutOfMemoryErrors: of the measured thread; of ordinary ones.
    memory_errors: u64,
    exhausted: u64,
    /// By the measured thread within the window.
    allocated_bytes: u64,
    reserve_bytes: u64,
    /// What the load did.
    steps: u64,
    is_realtime: bool,
    control: Option<Control>,
}

/// The control's figures in the same window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Control {
    late_ns: Spread,
    work_ns: Spread,
    /// The most processor time that the kernel counts for one release without steal, and in how
    /// many it is more than the rule allows the machine: what this host does to anybody.
    processor_ns_max: u64,
    processor_above: u64,
}

/// Median and most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Spread {
    p50: u64,
    max: u64,
}

impl Spread {
    fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.collect();
        values.sort_unstable();
        Self {
            p50: values.get(values.len() / 2).copied().unwrap_or(0),
            max: values.last().copied().unwrap_or(0),
        }
    }
}

/// Runs all windows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let rows = match args.lab {
        true => lab::measure(args)?,
        false => here(args)?,
    };
    ensure!(!rows.is_empty(), "no window was measured");
    let is_virtual = args.lab || guest::time_base() == report::TimeBase::Virtual;
    match args.json {
        true => println!("{}", serde_json::to_string(&rows)?),
        false => print!("{}", judge::text(&rows, is_virtual)),
    }
    if args.made.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let faults = match args.lab {
        true => judge::faults_in_lab(&rows),
        false => judge::faults_on_host(&rows),
    };
    if let Some(line) = judge::of_control(&rows) {
        eprintln!("bench stall: {line}");
    }
    Ok(super::verdict("stall", &faults, args.check))
}

fn here(args: &Args) -> Result<Vec<Row>> {
    let code = match &args.made {
        Some(made) => Code::made(made)?,
        None => Code::make(args)?,
    };
    if guest::time_base() == report::TimeBase::Virtual {
        // With one processor the kernel stops all real-time threads for 50 ms of a second in which
        // they and the collector took the rest.
        std::fs::write(THROTTLE, "-1").with_context(|| format!("cannot write {THROTTLE}"))?;
    }
    let mut rows = Vec::new();
    for run in 1..=u64::from(args.runs) {
        for load in args.loads() {
            eprintln!("bench stall: run {run} of {}, {}", args.runs, load.title());
            rows.push(window::measure(args, &code, load, run)?);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn row(load: Load, run: u64, late_ns_max: u64, work_ns_max: u64) -> Row {
        Row {
            load,
            run,
            releases: 2000,
            stolen: 0,
            late_ns: Spread {
                p50: 1000,
                max: late_ns_max,
            },
            work_ns: Spread {
                p50: 1000,
                max: work_ns_max,
            },
            stolen_late_ns_max: 0,
            stolen_work_ns_max: 0,
            machine_ns_max: 0,
            machine_above: 0,
            lock_waits: 0,
            lock_wait_ns_max: 0,
            memory_errors: 0,
            exhausted: 1,
            allocated_bytes: 100,
            reserve_bytes: 10,
            steps: 1,
            is_realtime: true,
            control: None,
        }
    }

    #[test]
    fn every_load_is_one_of_the_programs() {
        let program = include_str!("../../../../../bench/stall/java/Load.java");
        for load in Load::ALL {
            assert!(
                program.contains(&format!("\n    {}(", load.name())),
                "{load:?}"
            );
        }
    }

    #[test]
    fn a_spread_is_the_median_and_the_most() {
        assert_eq!(Spread::of([3, 1, 2].into_iter()), Spread { p50: 2, max: 3 });
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
    }
}
