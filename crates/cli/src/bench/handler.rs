// SPDX-License-Identifier: Apache-2.0
//! Experiment `handler` (RTDroid, 5): how late a real-time thread's messages are handled while many ordinary threads send
//! to the same Handler; AOSP's own queue and ours in turns, on HotSpot.
//!
//! The load is `takt.bench.HandlerLoad` in framework/bench; this starts it and prints what it found.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use report::Table;
use serde::Serialize;

use crate::framework::{Framework, Front};
use crate::jdk::Jdk;

/// RTDroid's ends: 22–50 µs at both, on an RT kernel. See docs/bench.md.
const THREADS: [u32; 4] = [10, 30, 100, 300];
const QUEUES: [&str; 2] = ["AOSP", "Takt"];
/// A queue without a bound holds what nobody handles.
const JAVA_HEAP: &str = "-Xmx1g";

/// How late are a real-time thread's messages while many ordinary threads send to the same Handler?
///
/// Each ordinary thread sends ten messages every 10 ms. Every row runs once over AOSP's own MessageQueue and once over ours, on
/// HotSpot, whose monitors do not inherit priority. Build the Java side first: cargo xtask framework. Without
/// CAP_SYS_NICE the sender is an ordinary thread, and the rows say so.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Numbers of ordinary threads
    #[arg(long, value_delimiter = ',', default_values_t = THREADS)]
    threads: Vec<u32>,
    /// Time of each run, in whole seconds
    #[arg(long, short = 'D', default_value = "10s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Period of the real-time thread; the paper's is 100 ms over 40 s
    #[arg(long, default_value = "10ms", value_parser = humantime::parse_duration)]
    period: Duration,
    /// SCHED_FIFO priority of the real-time thread
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: u8,
    /// Where `cargo xtask framework` has put the Java side
    #[arg(long, value_name = "DIR")]
    framework: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
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
    messages_per_second: u64,
    /// Messages that nobody had handled when the last one was sent.
    pending: i64,
    is_realtime: bool,
}

/// Runs all rows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.duration.as_secs() == 0 || args.period.is_zero() || args.period > args.duration {
        bail!("--duration is at least 1s, and --period lies below it");
    }
    let java = Jdk::find()?.home.join("bin/java");
    let framework = Framework::find(args.framework.as_deref())?;
    let mut rows = Vec::new();
    for threads in &args.threads {
        for queue in QUEUES {
            eprintln!("bench handler: {threads} threads, {queue}'s queue");
            rows.push(measure(&java, &framework, args, *threads, queue)?);
        }
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows)),
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(
    java: &Path,
    framework: &Framework,
    args: &Args,
    threads: u32,
    queue: &'static str,
) -> Result<Row> {
    let front = match queue {
        "Takt" => Front::Realtime,
        _ => Front::Aosp,
    };
    let output = Command::new(java)
        .arg(JAVA_HEAP)
        .args(framework.options(front)?)
        .arg("takt.bench.HandlerLoad")
        .args([threads.to_string(), args.duration.as_secs().to_string()])
        .args([
            args.period.as_micros().to_string(),
            args.priority.to_string(),
        ])
        .output()
        .with_context(|| format!("cannot start {}", java.display()))?;
    if !output.status.success() {
        bail!(
            "HandlerLoad ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    parse(queue, threads, &String::from_utf8_lossy(&output.stdout))
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
        pending: word("pending")?.parse()?,
        is_realtime: word("realtime")?.parse()?,
    })
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
        "pending",
        "sender",
    ]);
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
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
            row.pending.to_string(),
            sender.to_owned(),
        ]);
    }
    format!(
        "{table}\nRTDroid, on an RT kernel: 22–50 µs at 30 and at 300 threads. Here the machine is HotSpot, whose monitors \
         do not\ninherit priority: the figures say what the queue does, not yet what Takt promises.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_words_are_read() {
        let line = "samples=400 p50_ns=1 p99_ns=2 p999_ns=3 max_ns=4 throughput=5 pending=-6 realtime=false\n";
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
}
