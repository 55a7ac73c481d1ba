// SPDX-License-Identifier: Apache-2.0
//! `bench-gc`: what the two collectors cost a periodic real-time thread, on the heap alone (no
//! Java).
//!
//! Experiment gc-latency (RTAndroid thesis, 5.4.2): a periodic thread that allocates, under several
//! loads, `rc` and `stw` in turn, a control thread without allocation beside them. Experiment
//! gc-cost (5.4.4): the price of an allocation and of a reference store. `takt bench gc` starts
//! this program.
#![allow(clippy::print_stdout, reason = "a command talks to a person")]

mod cost;
mod day;
mod full;
mod outcome;
mod soak;
mod store_loop;
mod window;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use heap::CollectorKind;

use crate::outcome::Outcome;
use crate::workload::Load;

/// Pauses and costs of the collectors, rc beside stw
///
/// A periodic thread (FIFO 80 where the system grants it) allocates under a load; a control thread
/// of the same kind does not. `work` is a release's work from its start to its end; `collector` is
/// what the collector itself took of it: answers to handshakes (rc), pauses (stw), waits for
/// memory.
#[derive(Parser)]
#[command(
    name = "bench-gc",
    bin_name = "takt bench gc",
    version,
    max_term_width = 100
)]
struct Args {
    /// Loads to run in turn
    #[arg(long, value_enum, value_delimiter = ',', default_value = "heavy")]
    load: Vec<Load>,
    /// Collectors to run in turn
    #[arg(long, value_enum, value_delimiter = ',', default_value = "rc,stw")]
    collector: Vec<CollectorName>,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Seconds before the measurement of each run
    #[arg(long, default_value_t = 3)]
    warmup: u64,
    /// Runs of each collector and load
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// Period of the measured thread in µs; the thesis has 10 000
    #[arg(long, default_value_t = 1000)]
    period_us: u64,
    /// Priority of the measured and the control thread; 0 for ordinary threads
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u8).range(0..=99))]
    priority: u8,
    /// References in the measured thread's roots: 100 frames of 8
    #[arg(long, default_value_t = 800)]
    roots: u32,
    /// Maximum size of the heap
    #[arg(long, default_value_t = 1024)]
    heap_mb: u32,
    /// Live objects under load heavy
    #[arg(long, default_value_t = 200)]
    live_mb: u32,
    /// Garbage per second under load heavy
    #[arg(long, default_value_t = 200)]
    garbage_mb: u32,
    /// Skip gc-latency, or gc-cost
    #[arg(long, value_enum)]
    skip: Vec<Experiment>,
    /// Instead: mixed garbage for that many seconds under rc; fails if memory grows
    #[arg(long, value_name = "SECONDS")]
    soak: Option<u64>,
    /// Instead: a day in fast forward under rc, that many MB in all (a MB per second is 86400);
    /// fails if space is lost
    #[arg(long, value_name = "MB", num_args = 0..=1, default_missing_value = "86400")]
    day: Option<u64>,
    /// Instead: that many full pauses of stw over the live set, each on a line
    #[arg(long, value_name = "COUNT")]
    full_pauses: Option<u32>,
    /// Fail if the collector made a release later than its own handshake does, or that takes more
    /// than 50 µs; for the lab, where nothing else disturbs
    #[arg(long)]
    check: bool,
    /// Write samples.csv, histogram.csv, NAME.hgrm and pause.svg into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Experiment {
    Latency,
    Cost,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CollectorName {
    Rc,
    Stw,
}

impl CollectorName {
    fn kind(self) -> CollectorKind {
        match self {
            Self::Rc => CollectorKind::Rc,
            Self::Stw => CollectorKind::Stw,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rc => "rc",
            Self::Stw => "stw",
        }
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-gc: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    if let Some(seconds) = args.soak {
        return soak::run(args, seconds);
    }
    if let Some(megabytes) = args.day {
        return day::run(args, megabytes);
    }
    if let Some(rounds) = args.full_pauses {
        return full::run(args, rounds);
    }
    if !args.skip.contains(&Experiment::Latency) {
        let mut outcome = Outcome::default();
        for &load in &args.load {
            for run in 1..=args.runs {
                for &collector in &args.collector {
                    let window = window::measure(args, collector, load)?;
                    println!("{}", window.line(run));
                    outcome.add(collector.name(), load.name(), window);
                }
            }
        }
        println!("\n{}", outcome.text());
        if let Some(dir) = &args.out {
            outcome.write(dir)?;
        }
        if args.check {
            outcome.check()?;
        }
    }
    if !args.skip.contains(&Experiment::Cost) {
        println!("{}", cost::run()?);
    }
    Ok(())
}
