// SPDX-License-Identifier: Apache-2.0
//! Experiment `handler` (RTDroid, 5): how late a real-time thread's messages are handled while many ordinary threads send
//! to the same Handler; AOSP's own queue and ours in turns, on one machine.
//!
//! The load is `takt.bench.HandlerLoad` in framework/bench; this starts it, here or in guests (`lab`), and prints what it found.

mod lab;

use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use report::Table;
use serde::Serialize;

use crate::framework::{Framework, Front};
use crate::java;
use crate::jdk::Jdk;
use crate::output;

/// RTDroid's ends are 30 and 300: 22–50 µs at both, on an RT kernel. See docs/bench.md.
const THREADS: [u32; 4] = [10, 30, 100, 300];
const QUEUES: [&str; 2] = ["AOSP", "Takt"];
/// A queue without a bound holds what nobody handles.
const JAVA_HEAP: &str = "-Xmx1g";
/// How much later the 99.9th percentile may be with the most threads than with 30 or fewer.
const GROWTH_MAX: f64 = 1.5;
/// Where both queues handle all that is sent, their throughputs differ by what the run's ends cut off.
const THROUGHPUT_MIN: f64 = 0.99;
/// A guest's second takes minutes of ours.
const DURATION: Duration = Duration::from_secs(20);
const DURATION_IN_LAB: Duration = Duration::from_millis(400);

/// How late are a real-time thread's messages while many ordinary threads send to the same Handler?
///
/// Each ordinary thread sends ten messages every 10 ms. Every row runs once over AOSP's own MessageQueue and once over ours.
/// Build the Java side first: cargo xtask framework. Without CAP_SYS_NICE the sender is an ordinary thread, and the rows
/// say so.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Numbers of ordinary threads
    #[arg(long, value_delimiter = ',', default_values_t = THREADS)]
    threads: Vec<u32>,
    /// Queues to run over
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Queue::Aosp, Queue::Takt])]
    queue: Vec<Queue>,
    /// Time of each run [default: 20s, in the lab 400ms]
    #[arg(long, short = 'D', value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
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
    /// Exit code 2 if our queue's latency grows with the number of threads, or its throughput lies below AOSP's; in the lab if its
    /// worst grows
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
    /// Messages that nobody had handled when the last one was sent.
    pending: i64,
    is_realtime: bool,
}

/// Runs all rows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.period.is_zero() || args.period > args.duration() {
        bail!("--period is not zero and not above --duration");
    }
    let framework = Framework::find(args.framework.as_deref())?;
    let rows = match args.lab {
        true => lab::measure(&framework, args)?,
        false => measure_all(&framework, args)?,
    };
    match (args.json, args.lab) {
        (true, _) => println!("{}", serde_json::to_string_pretty(&rows)?),
        (false, true) => print!("{}", lab::text(&rows)),
        (false, false) => print!("{}", text(&rows)),
    }
    let faults = match args.lab {
        true => lab::faults(&rows),
        false => faults(&rows),
    };
    for fault in &faults {
        eprintln!("bench handler: {fault}");
    }
    Ok(match args.check && !faults.is_empty() {
        true => ExitCode::from(2),
        false => ExitCode::SUCCESS,
    })
}

fn measure_all(framework: &Framework, args: &Args) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for threads in &args.threads {
        for queue in QUEUES.iter().filter(|it| args.runs_over(it)) {
            eprintln!("bench handler: {threads} threads, {queue}'s queue");
            rows.push(measure(framework, args, *threads, queue)?);
        }
    }
    Ok(rows)
}

/// What stands in front of AOSP's classes.
fn front(queue: &str) -> Front {
    match queue {
        "Takt" => Front::Realtime,
        _ => Front::Aosp,
    }
}

/// The load's class and its arguments.
fn load_arguments(threads: &[u32], duration: Duration, args: &Args) -> Vec<OsString> {
    let threads: Vec<String> = threads.iter().map(u32::to_string).collect();
    let words = [
        "takt.bench.HandlerLoad".to_owned(),
        threads.join(","),
        duration.as_millis().to_string(),
        args.period.as_micros().to_string(),
        args.priority.to_string(),
    ];
    words.map(OsString::from).into()
}

fn measure(framework: &Framework, args: &Args, threads: u32, queue: &'static str) -> Result<Row> {
    let java = Jdk::find()?.home.join("bin/java");
    let mut command = Command::new(&java);
    if args.machine == Machine::Takt {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        command.arg(java::alternative(&java::machine_beside(&own)?));
    }
    command
        .arg(JAVA_HEAP)
        .args(framework.options(front(queue))?)
        .args(load_arguments(&[threads], args.duration(), args));
    parse(queue, threads, &output::text(&mut command)?)
}

/// Reads `name=value` words.
fn parse(queue: &'static str, threads: u32, line: &str) -> Result<Row> {
    let word = |name: &str| {
        let found = line
            .split_whitespace()
            .find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
        found.with_context(|| format!("HandlerLoad says no {name}: {line}"))
    };
    Ok(Row {
        queue,
        threads,
        samples: word("samples")?.parse()?,
        p50_ns: word("p50_ns")?.parse()?,
        p99_ns: word("p99_ns")?.parse()?,
        p999_ns: word("p999_ns")?.parse()?,
        max_ns: word("max_ns")?.parse()?,
        messages_per_second: word("throughput")?.parse()?,
        offered_per_second: word("offered")?.parse()?,
        pending: word("pending")?.parse()?,
        is_realtime: word("realtime")?.parse()?,
    })
}

fn of<'a>(rows: &'a [Row], queue: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |it| it.queue == queue)
}

/// The 99.9th percentile with the most threads, over the worse of those with 30 or fewer; none unless both were run.
fn growth(rows: &[Row], queue: &str) -> Option<f64> {
    let most = of(rows, queue).max_by_key(|it| it.threads)?;
    let few = of(rows, queue).filter(|it| it.threads <= 30);
    let few_ns = few.map(|it| it.p999_ns).max()?;
    (most.threads > 30).then(|| most.p999_ns as f64 / few_ns as f64)
}

/// What our queue was to show and did not.
fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(growth) = growth(rows, "Takt")
        && growth > GROWTH_MAX
    {
        faults.push(format!(
            "p99.9 over our queue grows {growth:.2} times with the threads, {GROWTH_MAX} times at most"
        ));
    }
    for (aosp, ours) in of(rows, "AOSP").zip(of(rows, "Takt")) {
        let least = aosp.messages_per_second as f64 * THROUGHPUT_MIN;
        if (ours.messages_per_second as f64) < least {
            faults.push(format!(
                "{} threads: {} messages a second over our queue, {} over AOSP's",
                ours.threads, ours.messages_per_second, aosp.messages_per_second
            ));
        }
    }
    faults
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1000.0)
}

fn text(rows: &[Row]) -> String {
    let mut table = Table::new([
        "µs",
        "threads",
        "samples",
        "p50",
        "p99",
        "p99.9",
        "max",
        "messages/s",
        "sent/s",
        "pending",
        "sender",
    ]);
    for row in rows {
        let sender = if row.is_realtime { "FIFO" } else { "ordinary" };
        table.row([
            row.queue.to_owned(),
            row.threads.to_string(),
            row.samples.to_string(),
            us(row.p50_ns),
            us(row.p99_ns),
            us(row.p999_ns),
            us(row.max_ns),
            row.messages_per_second.to_string(),
            row.offered_per_second.to_string(),
            row.pending.to_string(),
            sender.to_owned(),
        ]);
    }
    let mut text =
        format!("{table}\nRTDroid, on an RT kernel: 22–50 µs at 30 and at 300 threads.\n");
    for queue in QUEUES {
        if let Some(growth) = growth(rows, queue) {
            let _ = writeln!(
                text,
                "p99.9 over {queue}'s queue with the most threads: {growth:.2} times that with 30 or fewer."
            );
        }
    }
    text
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
        }
    }

    #[test]
    fn growth_and_a_lower_throughput_are_faults_of_our_queue_alone() {
        let mut rows = vec![
            row("AOSP", 30, 10, 1000),
            row("Takt", 30, 10, 995),
            row("AOSP", 300, 1000, 100),
            row("Takt", 300, 15, 3000),
        ];
        assert_eq!(faults(&rows), [""; 0]);
        rows[1].messages_per_second = 900;
        rows[3].p999_ns = 16;
        assert_eq!(faults(&rows).len(), 2);
    }
}
