// SPDX-License-Identifier: Apache-2.0
//! An application's real-time threads under both collectors: what their ledgers say, side by side.
//!
//! Each run is a `takt run` of its own with `--report=FILE`; this reads the files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use report::picture::Picture;
use report::{Series, Table, TimeBase};
use serde::{Deserialize, Serialize};

use crate::run::Intents;

/// What does the collector cost an application's real-time threads: rc against stop-the-world?
///
/// The application must end by itself. Figures are from the ledgers of its real-time threads: how
/// late the releases were, how long the work on one took, and `collector`: the longest that the
/// collector itself held the thread.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  takt bench app target/framework/apps/heartbeat.apk --service .Heartbeat"
)]
pub(crate) struct Args {
    /// The package
    file: PathBuf,
    #[command(flatten)]
    intents: Intents,
    /// Runs under each collector, in turn
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// The most that the heap may take
    #[arg(long, value_name = "SIZE", default_value = "512m")]
    heap: String,
    /// Fail unless rc's worst delay is so many times below stw's in four of five runs
    #[arg(long, value_name = "TIMES")]
    require: Option<f64>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Where reports, logs and pictures go
    #[arg(long, value_name = "DIR", default_value = "out/app")]
    out: PathBuf,
}

const COLLECTORS: [&str; 2] = ["rc", "stw"];

/// The part of a report that counts here.
#[derive(Debug, Deserialize)]
struct Report {
    heap: Heap,
    realtime_threads: Vec<Thread>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Heap {
    epochs: u64,
    traces: u64,
    pauses: u64,
    pause_ns_max: u64,
    allocated_bytes: u64,
    live_bytes: u64,
}

#[derive(Debug, Deserialize)]
struct Thread {
    name: String,
    degraded: Option<String>,
    lateness_ns: Times,
    work_ns: Times,
    #[serde(flatten)]
    ledger: Ledger,
}

/// What made the thread late, or could have: see docs/use/real-time-java.md.
#[derive(Debug, Deserialize, Serialize)]
struct Ledger {
    late_methods: Late,
    late_classes: Late,
    late_initializations: Late,
    late_constants: Late,
    monitor_waits: Waits,
    lock_waits: Waits,
    ownerless_waits: Waits,
    machine_lock_waits: Waits,
    allocation_slow_paths: Waits,
    handshakes: Waits,
    minor_faults: u64,
    major_faults: u64,
    involuntary_switches: u64,
}

#[derive(Debug, Deserialize, Serialize)]
struct Late {
    count: u64,
    ns: u64,
    names: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Waits {
    count: u64,
    ns_max: u64,
}

#[derive(Debug, Deserialize)]
struct Times {
    p50: u64,
    #[serde(rename = "p99.9")]
    p99_9: u64,
    max: u64,
    count: u64,
    /// (up to so many nanoseconds, so many).
    histogram: Vec<(u64, u64)>,
}

/// One thread of one run.
#[derive(Debug, Serialize)]
struct Row {
    collector: &'static str,
    run: u32,
    thread: String,
    releases: u64,
    late_p50_ns: u64,
    late_p99_9_ns: u64,
    late_max_ns: u64,
    work_max_ns: u64,
    /// The longest that the collector held it: an answer to a handshake, a pause, a wait for
    /// memory.
    collector_max_ns: u64,
    heap: Heap,
    ledger: Ledger,
    #[serde(skip)]
    histogram: Histogram<u64>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make {}", args.out.display()))?;
    let mut rows = Vec::new();
    for run in 1..=args.runs {
        for collector in COLLECTORS {
            eprintln!("bench app: {collector}, run {run} of {}", args.runs);
            rows.extend(measure(args, collector, run)?);
        }
    }
    let ratios = ratios(&rows, args.runs);
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows, &ratios)),
    }
    draw(&rows, &args.out)?;
    if let Some(required) = args.require {
        let held = ratios.iter().filter(|&&ratio| ratio >= required).count();
        let enough = (ratios.len() * 4).div_ceil(5);
        ensure!(
            held >= enough,
            "rc's worst delay was {required} times below stw's in {held} runs; {enough} of {} are required",
            ratios.len()
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args, collector: &'static str, run: u32) -> Result<Vec<Row>> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let report = args.out.join(format!("{collector}-{run}.json"));
    let log = args.out.join(format!("{collector}-{run}.log"));
    // Files of an application of this name, maybe another signer's, are none of the experiment's.
    let data = tempfile::tempdir().context("cannot make a directory for data")?;
    let mut command = Command::new(own);
    command
        .env("XDG_DATA_HOME", data.path())
        .arg("run")
        .arg(&args.file)
        .args(["--realtime", "--gc", collector]);
    command.arg(format!("--heap={}", args.heap));
    command.arg(format!("--report={}", report.display()));
    command.args(args.intents.options());
    let file =
        std::fs::File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
    let status = command
        .stderr(file)
        .status()
        .context("cannot start takt run")?;
    if !status.success() {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        bail!("takt run under {collector} ended with {status}:\n{said}");
    }
    let bytes =
        std::fs::read(&report).with_context(|| format!("cannot read {}", report.display()))?;
    let report: Report = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is no report", report.display()))?;
    let heap = report.heap;
    let rows: Vec<Row> = report
        .realtime_threads
        .into_iter()
        .filter(|thread| thread.lateness_ns.count > 0)
        .map(|thread| row(thread, collector, run, heap))
        .collect::<Result<_>>()?;
    ensure!(
        !rows.is_empty(),
        "{} has no periodic real-time thread: see {}",
        args.file.display(),
        log.display()
    );
    Ok(rows)
}

fn row(thread: Thread, collector: &'static str, run: u32, heap: Heap) -> Result<Row> {
    if let Some(refusal) = &thread.degraded {
        eprintln!("bench app: thread {}: DEGRADED: {refusal}", thread.name);
    }
    let mut histogram = Histogram::new(3)?;
    for &(ns, count) in &thread.lateness_ns.histogram {
        histogram.record_n(ns.max(1), count)?;
    }
    let ledger = thread.ledger;
    let held = [&ledger.handshakes, &ledger.allocation_slow_paths];
    Ok(Row {
        collector,
        run,
        thread: thread.name,
        releases: thread.lateness_ns.count,
        late_p50_ns: thread.lateness_ns.p50,
        late_p99_9_ns: thread.lateness_ns.p99_9,
        late_max_ns: thread.lateness_ns.max,
        work_max_ns: thread.work_ns.max,
        collector_max_ns: held.map(|it| it.ns_max).into_iter().max().unwrap_or(0),
        heap,
        ledger,
        histogram,
    })
}

/// How many times rc's longest hold is below stw's, run by run, the worst thread of each.
fn ratios(rows: &[Row], runs: u32) -> Vec<f64> {
    let worst = |collector: &str, run: u32| {
        let of_run = rows
            .iter()
            .filter(|row| row.collector == collector && row.run == run);
        of_run.map(|row| row.collector_max_ns).max().unwrap_or(0)
    };
    (1..=runs)
        .map(|run| worst("stw", run) as f64 / worst("rc", run).max(1) as f64)
        .collect()
}

fn text(rows: &[Row], ratios: &[f64]) -> String {
    let micros = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
    let mut table = Table::new([
        "µs",
        "releases",
        "late p50",
        "p99.9",
        "max",
        "work max",
        "collector max",
        "epochs",
        "traces",
        "pauses",
        "MB live",
        "MB allocated",
    ]);
    for row in rows {
        let heap = &row.heap;
        table.row([
            format!("{} {} {}", row.collector, row.run, row.thread),
            row.releases.to_string(),
            micros(row.late_p50_ns),
            micros(row.late_p99_9_ns),
            micros(row.late_max_ns),
            micros(row.work_max_ns),
            micros(row.collector_max_ns),
            heap.epochs.to_string(),
            heap.traces.to_string(),
            heap.pauses.to_string(),
            (heap.live_bytes / 1_000_000).to_string(),
            (heap.allocated_bytes / 1_000_000).to_string(),
        ]);
    }
    let mut text = format!("{table}\n{}\n", ledgers(rows));
    for (index, ratio) in ratios.iter().enumerate() {
        writeln!(
            text,
            "run {}: the worst delay by the collector is {ratio:.1} times smaller under rc",
            index + 1
        )
        .expect("a string grows");
    }
    text
}

/// The ledgers of the first run side by side, a column for each collector and thread.
fn ledgers(rows: &[Row]) -> Table {
    let first: Vec<&Row> = rows.iter().filter(|row| row.run == 1).collect();
    let name = |row: &&Row| format!("{} {}", row.collector, row.thread);
    let mut table = Table::new(
        ["ledger, µs".to_owned()]
            .into_iter()
            .chain(first.iter().map(name)),
    );
    let cells: Vec<_> = first.iter().map(|row| row.ledger.cells()).collect();
    for line in 0..cells.first().map_or(0, Vec::len) {
        let of_line = cells.iter().map(|column| column[line].1.clone());
        table.row([cells[0][line].0.to_owned()].into_iter().chain(of_line));
    }
    table
}

impl Ledger {
    /// Each line's name and what stands in it.
    fn cells(&self) -> Vec<(&'static str, String)> {
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
        let late = |it: &Late| format!("{} in {}", it.count, micros(it.ns));
        let waits = |it: &Waits| format!("{}, longest {}", it.count, micros(it.ns_max));
        vec![
            ("methods compiled or fetched late", late(&self.late_methods)),
            ("classes loaded late", late(&self.late_classes)),
            ("classes initialised late", late(&self.late_initializations)),
            ("constants resolved late", late(&self.late_constants)),
            ("waits for monitors", waits(&self.monitor_waits)),
            ("waits for locks that inherit", waits(&self.lock_waits)),
            ("waits for what nobody owns", waits(&self.ownerless_waits)),
            (
                "waits for the machine's locks",
                waits(&self.machine_lock_waits),
            ),
            (
                "allocations on the slow path",
                waits(&self.allocation_slow_paths),
            ),
            ("answers to the collector", waits(&self.handshakes)),
            ("page faults, minor", self.minor_faults.to_string()),
            ("page faults, major", self.major_faults.to_string()),
            (
                "involuntary switches",
                self.involuntary_switches.to_string(),
            ),
        ]
    }
}

/// Lateness of every run and thread, one line each.
fn draw(rows: &[Row], out: &Path) -> Result<()> {
    let names: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {} {}", row.collector, row.run, row.thread))
        .collect();
    let series: Vec<Series<'_>> = rows
        .iter()
        .zip(&names)
        .map(|(row, name)| Series {
            name,
            histogram: &row.histogram,
            max_ns: row.late_max_ns,
        })
        .collect();
    let picture = Picture {
        title: "How late the releases of the application's real-time threads were",
        time_base: TimeBase::Real,
        series: &series,
    };
    std::fs::write(out.join("app.svg"), picture.svg()?)?;
    std::fs::write(out.join("app.png"), picture.png()?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"collector": "rc", "heap": {"epochs": 3, "traces": 1, "pauses": 0, "pause_ns_max": 0,
        "allocated_bytes": 5000000, "live_bytes": 2000000, "other": 1},
        "realtime_threads": [{"name": "control", "degraded": null,
        "lateness_ns": {"p50": 1000, "p99.9": 9000, "max": 9500, "count": 10, "histogram": [[1000, 9], [9500, 1]]},
        "work_ns": {"p50": 1, "p99.9": 2, "max": 2000, "count": 10, "histogram": []},
        "late_methods": {"count": 1, "ns": 5000, "names": ["A.b()V"]}, "late_classes": {"count": 0, "ns": 0, "names": []},
        "late_initializations": {"count": 0, "ns": 0, "names": []}, "late_constants": {"count": 0, "ns": 0, "names": []},
        "monitor_waits": {"count": 0, "ns_max": 0}, "lock_waits": {"count": 0, "ns_max": 0},
        "ownerless_waits": {"count": 0, "ns_max": 0}, "machine_lock_waits": {"count": 0, "ns_max": 0},
        "handshakes": {"count": 3, "ns": 5, "ns_max": 400, "worst": null},
        "allocation_slow_paths": {"count": 1, "ns": 5, "ns_max": 700, "worst": null},
        "minor_faults": 0, "major_faults": 0, "involuntary_switches": 0}]}"#;

    fn of(collector: &'static str, ns_max: &str) -> Row {
        let report = REPORT.replace("\"ns_max\": 700", ns_max);
        let report: Report = serde_json::from_str(&report).unwrap();
        let thread = report.realtime_threads.into_iter().next().unwrap();
        row(thread, collector, 1, report.heap).unwrap()
    }

    #[test]
    fn a_report_becomes_a_row_and_two_rows_a_ratio() {
        let rows = [of("rc", "\"ns_max\": 500"), of("stw", "\"ns_max\": 10000")];
        assert_eq!(rows[0].collector_max_ns, 500);
        assert_eq!(rows[0].histogram.len(), 10);
        let ratios = ratios(&rows, 1);
        assert_eq!(ratios, [20.0]);
        let text = text(&rows, &ratios);
        assert!(text.contains("rc 1 control"), "{text}");
        assert!(text.contains("20.0 times smaller"), "{text}");
        assert!(text.contains("1 in 5.0"), "{text}");
    }
}
