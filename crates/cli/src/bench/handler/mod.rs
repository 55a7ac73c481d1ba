// SPDX-License-Identifier: Apache-2.0
//! Experiment `handler` (RTDroid, 5): how late a real-time thread's messages are handled while many
//! ordinary threads send to the same Handler; AOSP's own queue and ours in turns, on one machine.
//!
//! The load is `takt.bench.HandlerLoad` in framework/bench; this starts it, here (`host`) or in
//! guests (`lab`), and prints what it found.

mod control;
mod host;
mod lab;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::Serialize;

use super::word;
use crate::framework::{Framework, Front};

/// RTDroid's ends are 30 and 300: 22–50 µs at both, on an RT kernel. See docs/operate/bench.md.
const THREADS: [u32; 4] = [10, 30, 100, 300];
const QUEUES: [&str; 2] = ["AOSP", "Takt"];
/// A guest's second takes minutes of ours.
const DURATION: Duration = Duration::from_secs(20);
const DURATION_IN_LAB: Duration = Duration::from_millis(400);

/// How late are a real-time thread's messages while many ordinary threads send to the same Handler?
///
/// Each ordinary thread sends ten messages every 10 ms. Every row runs over AOSP's own MessageQueue
/// and over ours; the rows of a run over ours take turns: a window of one, then of the next. Build
/// the Java side first: cargo xtask framework. Without CAP_SYS_NICE the sender is an ordinary
/// thread, and the rows say so.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench handler --lab --threads 30,300")]
pub(crate) struct Args {
    /// Numbers of ordinary threads
    #[arg(long, value_delimiter = ',', default_values_t = THREADS)]
    threads: Vec<u32>,
    /// Queues to run over
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Queue::Aosp, Queue::Takt])]
    queue: Vec<Queue>,
    /// Time that each row is measured [default: 20s, in the lab 400ms]
    #[arg(long, short = 'D', value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// The rows over our queue take turns in windows of this length
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration, conflicts_with = "lab")]
    window: Duration,
    /// How often all rows are run; --check wants the rule held by four of five
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "lab")]
    runs: u32,
    /// Period of the real-time thread; the paper's is 100 ms over 40 s
    #[arg(long, default_value = "2ms", value_parser = humantime::parse_duration)]
    period: Duration,
    /// SCHED_FIFO priority of the real-time thread
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: u8,
    /// The Java machine
    #[arg(long, value_enum, default_value_t = Machine::Takt)]
    machine: Machine,
    /// In deterministic guests, on our machine: virtual time, one processor, PREEMPT_RT
    #[arg(long, conflicts_with = "machine")]
    lab: bool,
    /// Guests for each row, of different seeds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// Where `cargo xtask framework` has put the Java side
    #[arg(long, value_name = "DIR")]
    framework: Option<PathBuf>,
    /// Exit code 2 if our queue's latency grows with the number of threads, or its throughput lies
    /// below AOSP's, in more than one of five runs; in the lab if its worst grows
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Machine {
    /// Takt's own.
    Takt,
    /// The JDK's, whose monitors do not inherit priority.
    Hotspot,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Queue {
    Aosp,
    Takt,
}

impl Args {
    fn duration(&self) -> Duration {
        let usual = if self.lab { DURATION_IN_LAB } else { DURATION };
        self.duration.unwrap_or(usual)
    }

    /// In the lab the only one.
    fn window(&self) -> Duration {
        match self.lab {
            true => self.duration(),
            false => self.window.min(self.duration()),
        }
    }

    fn window_count(&self) -> u32 {
        (self.duration().as_nanos() / self.window().as_nanos()) as u32
    }

    fn runs_over(&self, queue: &str) -> bool {
        let asked = match queue {
            "Takt" => Queue::Takt,
            _ => Queue::Aosp,
        };
        self.queue.contains(&asked)
    }
}

#[derive(Debug, Serialize)]
struct Row {
    /// From 1; in the lab always that.
    run: u32,
    queue: &'static str,
    threads: u32,
    samples: u64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
    /// Handled, and sent.
    messages_per_second: u64,
    offered_per_second: u64,
    /// Messages that nobody had handled when the last one of a window was sent, at the most.
    pending: i64,
    is_realtime: bool,
    /// On the host.
    beside: Option<host::Beside>,
}

/// Runs all rows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.period.is_zero() || args.period > args.window().min(args.duration()) {
        bail!("--period is not zero and neither above --window nor above --duration");
    }
    let framework = Framework::find(args.framework.as_deref())?;
    let rows = match args.lab {
        true => lab::measure(&framework, args)?,
        false => host::measure(&framework, args)?,
    };
    match (args.json, args.lab) {
        (true, _) => println!("{}", serde_json::to_string_pretty(&rows)?),
        (false, true) => print!("{}", lab::text(&rows)),
        (false, false) => print!("{}", host::text(&rows)),
    }
    let faults = match args.lab {
        true => lab::faults(&rows),
        false => host::faults(&rows),
    };
    Ok(super::verdict("handler", &faults, args.check))
}

/// What stands in front of AOSP's classes.
fn front(queue: &str) -> Front {
    match queue {
        "Takt" => Front::Realtime,
        _ => Front::Aosp,
    }
}

/// The load's class and its arguments: for one window.
fn load_arguments(threads: u32, window: Duration, args: &Args) -> Vec<OsString> {
    let words = [
        "takt.bench.HandlerLoad".to_owned(),
        threads.to_string(),
        window.as_millis().to_string(),
        args.period.as_micros().to_string(),
        args.priority.to_string(),
    ];
    words.map(OsString::from).into()
}

/// Reads what the load says last.
fn parse(queue: &'static str, threads: u32, line: &str) -> Result<Row> {
    Ok(Row {
        run: 1,
        queue,
        threads,
        samples: word(line, "samples")?,
        p50_ns: word(line, "p50_ns")?,
        p99_ns: word(line, "p99_ns")?,
        p999_ns: word(line, "p999_ns")?,
        max_ns: word(line, "max_ns")?,
        messages_per_second: word(line, "throughput")?,
        offered_per_second: word(line, "offered")?,
        pending: word(line, "pending")?,
        is_realtime: word(line, "realtime")?,
        beside: None,
    })
}

fn of<'a>(rows: &'a [Row], queue: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |it| it.queue == queue)
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_words_are_read() {
        let line = "samples=400 p50_ns=1 p99_ns=2 p999_ns=3 max_ns=4 throughput=5 offered=7 pending=-6 realtime=false\n";
        let row = parse("Takt", 30, line).unwrap();
        assert_eq!(
            (row.samples, row.max_ns, row.pending, row.is_realtime),
            (400, 4, -6, false)
        );
        assert!(
            parse("Takt", 30, "samples=1")
                .unwrap_err()
                .to_string()
                .contains("p50_ns")
        );
    }

    pub(super) fn row(
        queue: &'static str,
        threads: u32,
        p999_ns: u64,
        messages_per_second: u64,
    ) -> Row {
        Row {
            run: 1,
            queue,
            threads,
            samples: 1,
            p50_ns: 0,
            p99_ns: 0,
            p999_ns,
            max_ns: 0,
            messages_per_second,
            offered_per_second: 0,
            pending: 0,
            is_realtime: true,
            beside: None,
        }
    }
}
