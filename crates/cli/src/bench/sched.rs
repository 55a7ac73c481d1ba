// SPDX-License-Identifier: Apache-2.0
//! Experiment `sched` (RTAndroid thesis, 4.4.2): how late a FIFO-80 thread with a period of 500 µs
//! starts, on a standard and on a PREEMPT_RT kernel, idle and under load; on the latter with the
//! frequency held at the maximum as well.
//!
//! Each row is `takt latency` in the deterministic lab under several seeds: one run is one sample
//! of the worst case.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab::{Cache, Flavour, Job, Lab, Mode, RtcSource, Sample, Sweep};
use report::picture::Picture;
use report::{Series, Table, TimeBase, export};
use rt::recorder::Recorder;
use rt::stop::StopFlag;
use serde::{Deserialize, Serialize};

use super::freq::lab::driver;

/// The thread of the thesis.
const PERIOD: &str = "500us";
const PRIORITY: &str = "80";

/// Latencies up to here are told apart.
const LATENCY_LIMIT_NS: u64 = 10_000_000_000;

/// How late does a FIFO-80 thread start: standard against PREEMPT_RT, idle and under load?
///
/// Runs `takt latency` in the deterministic lab, so the figures are virtual µs (a thousand
/// instructions) and the same each time. The thesis measured µs on a phone's processor for an hour:
/// compare the ratios, not the figures. Two rows hold the frequency at its maximum, over the
/// virtual cpufreq driver that `cargo xtask kernel` builds.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask kernel && takt bench sched")]
pub(crate) struct Args {
    /// Seeds for each row
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Virtual time of each run
    #[arg(long, short = 'D', default_value = "1s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Guests at a time [default: one per CPU here]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Write sched.json, histogram.csv, sched.svg and sched.png into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// One row of the experiment.
struct Setup {
    name: &'static str,
    kernel: Flavour,
    load: &'static str,
    /// The guest has the virtual cpufreq driver, and the frequency is held at its maximum.
    is_held: bool,
    /// The thesis's maximum in µs; it has no row for a standard kernel under load.
    paper_max_us: Option<f64>,
}

const SETUPS: [Setup; 6] = [
    Setup {
        name: "standard idle",
        kernel: Flavour::Standard,
        load: "none",
        is_held: false,
        paper_max_us: Some(7407.0),
    },
    Setup {
        name: "standard load",
        kernel: Flavour::Standard,
        load: "hackbench-like",
        is_held: false,
        paper_max_us: None,
    },
    Setup {
        name: "RT idle",
        kernel: Flavour::Rt,
        load: "none",
        is_held: false,
        paper_max_us: Some(118.0),
    },
    Setup {
        name: "RT load",
        kernel: Flavour::Rt,
        load: "hackbench-like",
        is_held: false,
        paper_max_us: Some(219.0),
    },
    Setup {
        name: "RT held idle",
        kernel: Flavour::Rt,
        load: "none",
        is_held: true,
        paper_max_us: Some(58.0),
    },
    Setup {
        name: "RT held load",
        kernel: Flavour::Rt,
        load: "hackbench-like",
        is_held: true,
        paper_max_us: Some(63.0),
    },
];

/// What a row gave, all seeds together.
struct Row {
    setup: &'static Setup,
    recorder: Recorder,
    max_ns_by_seed: Vec<(u64, u64)>,
    overrun_count: u64,
}

/// The part of `takt latency --json` that we read.
#[derive(Deserialize)]
struct Measured {
    is_degraded: bool,
    frequency_percent: Option<u8>,
    all: Figures,
    threads: Vec<Overruns>,
    histogram: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
struct Figures {
    max_ns: u64,
}

#[derive(Deserialize)]
struct Overruns {
    overrun_count: u64,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    name: &'a str,
    load: &'a str,
    is_frequency_held: bool,
    paper_max_us: Option<f64>,
    max_ns_by_seed: &'a [(u64, u64)],
    overrun_count: u64,
    #[serde(flatten)]
    summary: report::Summary,
}

/// Runs all rows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(directory) = &args.out {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let stop = StopFlag::on_signals().context("cannot catch Ctrl-C")?;
    let lab = Lab::open(Cache::of_user()?, stop)?;
    let mut rows = Vec::new();
    for setup in &SETUPS {
        eprintln!("bench sched: {}, {} seeds", setup.name, args.seeds);
        rows.push(measure(&lab, setup, args)?);
    }
    if let Some(directory) = &args.out {
        write_files(directory, &rows)?;
    }
    match args.json {
        true => println!("{}", json(&rows)?),
        false => print!("{}", text(&rows)),
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(lab: &Lab, setup: &'static Setup, args: &Args) -> Result<Row> {
    let job = job(setup, args)?;
    let host_cpus = || std::thread::available_parallelism().map_or(1, usize::from);
    let sweep = Sweep {
        seed_count: args.seeds,
        jobs: args.jobs.map_or_else(host_cpus, usize::from),
    };
    let mut row = Row {
        setup,
        recorder: Recorder::new(LATENCY_LIMIT_NS, 0),
        max_ns_by_seed: Vec::new(),
        overrun_count: 0,
    };
    let mut failure = None;
    lab.sweep(&job, sweep, |sample| {
        let seed = sample.seed;
        if let Err(error) = row.add(sample) {
            failure.get_or_insert(error.context(format!("{}, seed {seed}", setup.name)));
        }
    });
    match failure {
        Some(error) => Err(error),
        None if row.max_ns_by_seed.len() as u64 != args.seeds => bail!("interrupted"),
        None => Ok(row),
    }
}

fn job(setup: &Setup, args: &Args) -> Result<Job> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let duration = format!("{}ns", args.duration.as_nanos());
    let words = [
        "latency",
        "--strict",
        "--json",
        "--period",
        PERIOD,
        "--priority",
        PRIORITY,
    ];
    let mut command = vec![program.into_os_string()];
    command.extend(words.map(Into::into));
    command.extend(["--duration", &duration, "--load", setup.load].map(Into::into));
    if setup.is_held {
        command.extend(["--frequency", "100"].map(Into::into));
    }
    Ok(Job {
        command,
        directory: PathBuf::from("/"),
        mode: Mode::Deterministic,
        kernel: setup.kernel,
        cpu_count: 1,
        memory_mib: None,
        modules: match setup.is_held {
            true => vec![driver(setup.kernel)?],
            false => Vec::new(),
        },
        with: Vec::new(),
        java_modules: String::new(),
        environment: Vec::new(),
        out: None,
        seed: 1,
        time_limit: None,
        rtc: RtcSource::Virtual,
        console: None,
    })
}

impl Row {
    fn add(&mut self, sample: Sample) -> Result<()> {
        let outcome = sample.outcome?;
        if outcome.exit_code != 0 {
            let words = String::from_utf8_lossy(&sample.streams.stderr);
            bail!(
                "takt latency ended with {}: {}",
                outcome.exit_code,
                words.trim()
            );
        }
        let measured: Measured = serde_json::from_slice(&sample.streams.stdout)
            .context("the guest's figures do not read")?;
        if measured.frequency_percent != self.setup.is_held.then_some(100) {
            bail!("the frequency was held at {:?}", measured.frequency_percent);
        }
        if measured.is_degraded {
            bail!("the guest refused the policy");
        }
        for (value_ns, count) in measured.histogram {
            (0..count).for_each(|_| self.recorder.record(value_ns.min(measured.all.max_ns)));
        }
        self.max_ns_by_seed.push((sample.seed, measured.all.max_ns));
        self.overrun_count += measured
            .threads
            .iter()
            .map(|thread| thread.overrun_count)
            .sum::<u64>();
        Ok(())
    }

    fn series(&self) -> Series<'_> {
        Series {
            name: self.setup.name,
            histogram: self.recorder.histogram(),
            max_ns: self.recorder.max_ns(),
        }
    }
}

fn text(rows: &[Row]) -> String {
    let unit = TimeBase::Virtual.microseconds();
    let header = [
        unit,
        "releases",
        "p50",
        "p99",
        "p99.99",
        "max",
        "worst seed",
        "overruns",
        "thesis max µs",
    ];
    let mut table = Table::new(header);
    for row in rows {
        let summary = row.series().summary();
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
        let worst = row.max_ns_by_seed.iter().max_by_key(|(_, max_ns)| max_ns);
        table.row([
            row.setup.name.to_owned(),
            summary.count.to_string(),
            micros(summary.p50_ns),
            micros(summary.p99_ns),
            micros(summary.p99_99_ns),
            micros(summary.max_ns),
            worst.map_or_else(String::new, |(seed, _)| seed.to_string()),
            row.overrun_count.to_string(),
            row.setup
                .paper_max_us
                .map_or_else(|| "—".to_owned(), |us| format!("{us:.0}")),
        ]);
    }
    let max_ns = |name: &str| {
        rows.iter()
            .find(|row| row.setup.name == name)
            .map_or(0, |row| row.recorder.max_ns()) as f64
    };
    format!(
        "FIFO {PRIORITY}, period {PERIOD}, deterministic lab\n{table}\
         standard / RT, maxima: idle {:.1}×, load {:.1}× (thesis: idle {:.1}×)\n",
        max_ns("standard idle") / max_ns("RT idle"),
        max_ns("standard load") / max_ns("RT load"),
        7407.0 / 118.0,
    )
}

fn json(rows: &[Row]) -> Result<String> {
    let rows: Vec<JsonRow<'_>> = rows
        .iter()
        .map(|row| JsonRow {
            name: row.setup.name,
            load: row.setup.load,
            is_frequency_held: row.setup.is_held,
            paper_max_us: row.setup.paper_max_us,
            max_ns_by_seed: &row.max_ns_by_seed,
            overrun_count: row.overrun_count,
            summary: row.series().summary(),
        })
        .collect();
    let json = serde_json::json!({
        "experiment": "sched",
        "time_base": TimeBase::Virtual,
        "source": "RTAndroid thesis, 4.4.2",
        "rows": rows,
    });
    serde_json::to_string_pretty(&json).context("the results do not write as JSON")
}

fn write_files(directory: &Path, rows: &[Row]) -> Result<()> {
    let series: Vec<Series<'_>> = rows.iter().map(Row::series).collect();
    let picture = Picture {
        title: "Experiment sched: a FIFO-80 thread, T = 500 µs",
        time_base: TimeBase::Virtual,
        series: &series,
    };
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    write("sched.json", json(rows)?.as_bytes())?;
    write("histogram.csv", export::histogram_csv(&series).as_bytes())?;
    write("sched.svg", picture.svg()?.as_bytes())?;
    write("sched.png", &picture.png()?)
}
