// SPDX-License-Identifier: Apache-2.0
//! Experiment `rpc` (Binder's priority inheritance, 4.2 and 4.3): how long a FIFO-80 thread's call
//! takes to reach another process and to come back, beside ordinary threads that call the same.

mod judge;
mod window;

use std::process::ExitCode;

use anyhow::{Result, bail};
use report::{Table, TimeBase};
use serde::{Deserialize, Serialize};

use super::calls::Transport;
use super::calls::guest::{Guests, extended_module};
use super::calls::java::Calls;
use crate::guest;

/// The paper's numbers of ordinary threads.
const CALLERS: [u32; 6] = [0, 20, 40, 60, 80, 100];
/// T_CALL and T_RET at the most, in µs, that the paper gives for none and for 100 threads.
const PAPER: &str = "Paper, µs at the most: stock T_CALL 3,500 (k = 0) to 40,800 (k = 100), \
                     T_RET 4,300 to 54,200; theirs 94 to 103 and 76 to 72.";

/// How long does a real-time thread's call to another process take beside ordinary callers?
///
/// A (SCHED_FIFO 80, period 1.003 ms) calls getTimestamp() of B, whose threads are ordinary ones;
/// k ordinary threads of A call it without a pause. T_CALL is the way there, T_RET the way back.
/// The rows `hog` have a FIFO-50 thread that computes for 20 ms of each 25, and no other callers.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench rpc --lab --callers 0,100 --check")]
pub(crate) struct Args {
    /// Numbers of ordinary threads
    #[arg(long, value_delimiter = ',', default_values_t = CALLERS)]
    callers: Vec<u32>,
    /// What carries the calls [default: lent; with --lab stock as well, and extended once it is
    /// built]
    #[arg(long, value_enum, value_delimiter = ',')]
    transport: Vec<Transport>,
    /// Calls that are measured in each window
    #[arg(long, default_value_t = 2500, value_parser = clap::value_parser!(u32).range(10..))]
    calls: u32,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests for the fewest and the most threads and for the hog, of different seeds; others have
    /// one
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// Rows with both ends in Java as well, over `lent`, for the fewest and the most threads: after
    /// `cargo xtask framework`
    #[arg(long)]
    java: bool,
    /// Leave the rows with the hog out
    #[arg(long)]
    no_hog: bool,
    /// Leave the control out: the same thread beside the same callers, but handing over by a bare
    /// futex to a process that knows no Binder
    #[arg(long)]
    no_control: bool,
    /// Exit code 2 if the worst with the most threads, or beside the hog, is above 1.1 times that
    /// with the fewest and more than 5 µs above it, what the control grew by added; of the stock
    /// driver nothing is asked
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
    /// One window alone, here; for a guest
    #[arg(long, hide = true)]
    window: bool,
    /// That window is Java's
    #[arg(long, hide = true)]
    in_java: bool,
    /// That window has the hog
    #[arg(long, hide = true)]
    hog: bool,
    /// That window is the control's
    #[arg(long, hide = true)]
    control: bool,
    /// That window stops the kernel's trace behind the first call whose T_CALL is above this, and
    /// ends there
    #[arg(long, hide = true, requires = "window")]
    stop_above_us: Option<u64>,
}

/// What stands beside the measured thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Setup {
    transport: Transport,
    callers: u32,
    has_hog: bool,
    is_java: bool,
    /// The callers use the transport, the measured thread does not.
    is_control: bool,
}

/// One window.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    setup: Setup,
    /// On this machine 0.
    seed: u64,
    is_real_time: bool,
    /// Calls of ordinary threads that were served meanwhile.
    others: u64,
    call: Times,
    back: Times,
}

/// Durations in one direction.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Times {
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

impl Args {
    fn transports(&self) -> Vec<Transport> {
        match (self.transport.is_empty(), self.lab) {
            (false, _) => self.transport.clone(),
            (true, false) => vec![Transport::Lent],
            (true, true) => {
                let mut all = vec![Transport::Lent, Transport::Stock];
                all.extend(extended_module().is_ok().then_some(Transport::Extended));
                all
            }
        }
    }

    fn setups(&self) -> Vec<Setup> {
        let mut setups = Vec::new();
        for transport in self.transports() {
            let with = |callers, has_hog| Setup {
                transport,
                callers,
                has_hog,
                is_java: false,
                is_control: false,
            };
            setups.extend(self.callers.iter().map(|&callers| with(callers, false)));
            if !self.no_control && transport != Transport::Stock {
                let mut ends = self.ends();
                ends.dedup();
                setups.extend(ends.into_iter().map(|callers| Setup {
                    is_control: true,
                    ..with(callers, false)
                }));
            }
            if !self.no_hog {
                setups.push(with(0, true));
            }
        }
        let mut ends = self.ends();
        ends.dedup();
        setups.extend(ends.into_iter().filter(|_| self.java).map(|callers| Setup {
            transport: Transport::Lent,
            callers,
            has_hog: false,
            is_java: true,
            is_control: false,
        }));
        setups
    }

    /// The fewest and the most threads.
    fn ends(&self) -> Vec<u32> {
        let ends = [self.callers.iter().min(), self.callers.iter().max()];
        ends.into_iter().flatten().copied().collect()
    }

    /// The ends want several samples of their worst.
    fn seeds_of(&self, setup: Setup) -> u64 {
        match setup.has_hog || self.ends().contains(&setup.callers) {
            true => self.seeds,
            false => 1,
        }
    }

    /// The command line of one window.
    fn words(&self, setup: Setup) -> Vec<String> {
        let mut words: Vec<String> = ["bench", "rpc", "--window", "--json"]
            .map(Into::into)
            .into();
        words.extend(["--transport".into(), setup.transport.name().into()]);
        words.extend(["--callers".into(), setup.callers.to_string()]);
        words.extend(["--calls".into(), self.calls.to_string()]);
        words.extend(setup.has_hog.then(|| "--hog".into()));
        words.extend(setup.is_java.then(|| "--in-java".into()));
        words.extend(setup.is_control.then(|| "--control".into()));
        words
    }
}

/// Runs all rows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.window {
        let (&[transport], &[callers]) = (&args.transports()[..], &args.callers[..]) else {
            bail!("a window has one transport and one number of threads");
        };
        let setup = Setup {
            transport,
            callers,
            has_hog: args.hog,
            is_control: args.control,
            is_java: args.in_java,
        };
        let row = match setup.is_java {
            true => window::measure_java(&Calls::made()?, setup, args.calls)?,
            false => window::measure(setup, args.calls, args.stop_above_us.map(|it| it * 1000))?,
        };
        println!("{}", serde_json::to_string(&row)?);
        return Ok(ExitCode::SUCCESS);
    }
    let rows = match args.lab {
        true => in_lab(args)?,
        false => here(args)?,
    };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows, args.lab)),
    }
    let faults = judge::faults(&rows);
    Ok(super::verdict("rpc", &faults, args.check))
}

fn here(args: &Args) -> Result<Vec<Row>> {
    let measure = |setup: Setup| {
        eprintln!("bench rpc: {}", title(setup));
        match setup.is_java {
            true => window::measure_java(&Calls::find()?, setup, args.calls),
            false => window::measure(setup, args.calls, None),
        }
    };
    args.setups().into_iter().map(measure).collect()
}

fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let guests = Guests::open()?;
    let java = args
        .java
        .then(|| Calls::prepare(&guests.java()?))
        .transpose()?;
    let mut rows = Vec::new();
    for setup in args.setups() {
        let seeds = args.seeds_of(setup);
        eprintln!("bench rpc: {}, {seeds} seeds in the lab", title(setup));
        let words = args.words(setup);
        let found: Vec<(u64, Row)> = match &java {
            Some(java) if setup.is_java => guests.sweep_java(&words, java, seeds)?,
            _ => guests.sweep(&words, setup.transport, seeds)?,
        };
        rows.extend(found.into_iter().map(|(seed, row)| Row { seed, ..row }));
    }
    Ok(rows)
}

fn title(setup: Setup) -> String {
    let name = match setup.is_java {
        true => "lent, Java",
        false => setup.transport.name(),
    };
    match (setup.is_control, setup.has_hog) {
        (true, _) => format!("{name}'s control, k = {}", setup.callers),
        (false, true) => format!("{name}, hog"),
        (false, false) => format!("{name}, k = {}", setup.callers),
    }
}

/// A line for each setup, over all its seeds.
fn text(rows: &[Row], is_lab: bool) -> String {
    let base = match is_lab {
        true => TimeBase::Virtual,
        false => guest::time_base(),
    };
    let mut table = Table::new([
        base.microseconds(),
        "seeds",
        "T_CALL p50",
        "p99",
        "max",
        "T_RET p50",
        "p99",
        "max",
        "others' calls",
    ]);
    for group in rows.chunk_by(|left, right| left.setup == right.setup) {
        let worst = |value: fn(&Row) -> u64| {
            let worst = group.iter().map(value).max().unwrap_or_default();
            format!("{:.1}", worst as f64 / 1000.0)
        };
        table.row([
            title(group[0].setup),
            group.len().to_string(),
            worst(|it| it.call.p50_ns),
            worst(|it| it.call.p99_ns),
            worst(|it| it.call.max_ns),
            worst(|it| it.back.p50_ns),
            worst(|it| it.back.p99_ns),
            worst(|it| it.back.max_ns),
            group.iter().map(|it| it.others).sum::<u64>().to_string(),
        ]);
    }
    format!("{table}{}{PAPER}\n", judge::growth_text(rows))
}
