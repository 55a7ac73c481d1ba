// SPDX-License-Identifier: Apache-2.0
//! `takt latency`: how late a periodic thread wakes on this machine, as cyclictest measures it.

mod cyclictest;
mod measure;
mod outcome;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rt::affinity::CpuSet;
use rt::frequency::Cpufreq;
use rt::policy::{Policy, Priority, Reservation};
use rt::stop::StopFlag;

use crate::latency::cyclictest::Cyclictest;
use crate::latency::measure::{Plan, Progress};
use crate::latency::outcome::Outcome;
use crate::load::{Kind, Load};

/// How late does a periodic thread wake?
///
/// Threads of the given policy sleep until absolute times one period apart; what is measured is the
/// time from each due time to the thread's first instruction after it. Exit code: 0 measured; 2 not
/// measured.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  takt latency --load hackbench-like --compare cyclictest -D 30s"
)]
pub(crate) struct Args {
    /// Scheduling policy of the measured threads
    #[arg(long, value_enum, default_value = "fifo")]
    policy: PolicyName,
    /// Real-time priority, 1 to 99, for fifo and rr
    #[arg(long, short, default_value_t = 80, value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: u8,
    /// Time between two releases, such as 1ms or 500us
    #[arg(long, short = 'i', default_value = "1ms", value_parser = humantime::parse_duration)]
    period: Duration,
    /// Reserved processor time per period, for deadline [default: a tenth of the period]
    #[arg(long, value_parser = humantime::parse_duration)]
    runtime: Option<Duration>,
    /// Measured threads
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// CPUs, such as 0,2-3: thread N runs on the Nth of them [default: wherever the kernel puts it]
    #[arg(long, short)]
    affinity: Option<CpuSet>,
    /// How long to measure
    #[arg(long, short = 'D', default_value = "10s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Hold the processors' frequency meanwhile, in percent of the way from the least to the
    /// greatest; not measured where it cannot be held
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    frequency: Option<u8>,
    /// Work beside the measurement
    #[arg(long, value_enum, default_value = "none")]
    load: Kind,
    /// Varies the load; the same seed does the same work [default: $TAKT_SEED, or 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Run another program's measurement in alternating windows of the same run
    #[arg(long, value_enum)]
    compare: Option<Peer>,
    /// Write samples.csv, histogram.csv, .hgrm, .json, .svg and .png into this directory
    #[arg(long, value_name = "DIR", env = "TAKT_OUT", hide_env = true)]
    out: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Refuse to measure with less than was asked for (policy, locked memory)
    #[arg(long)]
    strict: bool,
    /// No progress line
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum PolicyName {
    Fifo,
    Rr,
    Deadline,
    Other,
    Batch,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// Debian's cyclictest (package rt-tests)
    Cyclictest,
}

/// A window of the comparison: long enough for a few hundred releases, short enough that both
/// programs meet the same moods of the machine.
const WINDOW: Duration = Duration::from_millis(200);

/// Each program gets at least this many turns.
const WINDOWS_MIN: u32 = 3;

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let plan = args.plan()?;
    // The limits of before are there again when this goes.
    let mut cpufreq = Cpufreq::default();
    if args.frequency.is_some() {
        cpufreq.hold(args.frequency).context("--frequency")?;
    }
    let mut outcome = Outcome::new(&plan, args.load, args.seed());
    outcome.frequency_percent = cpufreq.held();
    let peer = match args.compare {
        Some(Peer::Cyclictest) => Some(Cyclictest::find(&plan)?),
        None => None,
    };
    if let Some(directory) = &args.out {
        // Before the measurement: nobody should wait for figures that cannot be kept.
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let stop = StopFlag::on_signals().context("cannot catch Ctrl-C")?;
    let window_count = match peer {
        Some(_) => args
            .duration
            .div_duration_f64(WINDOW)
            .ceil()
            .max(f64::from(WINDOWS_MIN)) as u32,
        None => 1,
    };
    let window = args.duration / window_count;
    let mut progress = Progress::new(window * window_count, args.quiet || args.json);
    let load = Load::start(args.load, args.seed())?;
    // Starting a window, ours or cyclictest's, must not wait behind the load for its share of the
    // processor. Without the right to it, it waits.
    let coordinator = plan
        .policy
        .is_real_time()
        .then(|| Policy::Fifo(Priority::MIN).enter());
    for _ in 0..window_count {
        if stop.is_set() {
            break;
        }
        outcome.add(measure::window(
            &plan,
            window,
            args.strict,
            &stop,
            &mut progress,
        )?);
        if let Some(peer) = &peer
            && !stop.is_set()
        {
            outcome.add_cyclictest(peer.window(&plan, window)?);
        }
    }
    drop(coordinator);
    drop(load);
    progress.clear();
    if outcome.is_empty() {
        bail!("interrupted before the first release: nothing measured");
    }
    if let Some(directory) = &args.out {
        outcome.write_files(directory)?;
    }
    match args.json {
        true => println!("{}", outcome.json()?),
        false => print!("{}", outcome.text()),
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn seed(&self) -> u64 {
        let from_lab = || std::env::var("TAKT_SEED").ok()?.parse().ok();
        self.seed.or_else(from_lab).unwrap_or(1)
    }

    fn plan(&self) -> Result<Plan> {
        let period_ns = nanoseconds(self.period).context("--period")?;
        if self.duration < self.period {
            bail!(
                "--duration {} is shorter than one --period of {}: nothing would be released",
                humantime::format_duration(self.duration),
                humantime::format_duration(self.period)
            );
        }
        let priority = Priority::new(self.priority).context("--priority is 1 to 99")?;
        let policy = match self.policy {
            PolicyName::Fifo => Policy::Fifo(priority),
            PolicyName::Rr => Policy::RoundRobin(priority),
            PolicyName::Other => Policy::Other { nice: 0 },
            PolicyName::Batch => Policy::Batch { nice: 0 },
            PolicyName::Deadline => Policy::Deadline(Reservation {
                runtime_ns: nanoseconds(self.runtime.unwrap_or(self.period / 10))
                    .context("--runtime")?,
                deadline_ns: period_ns,
                period_ns,
            }),
        };
        if self.runtime.is_some() && !matches!(policy, Policy::Deadline(_)) {
            bail!("--runtime belongs to --policy deadline");
        }
        Ok(Plan {
            policy,
            period_ns,
            thread_count: self.threads.into(),
            affinity: self.affinity,
        })
    }
}

fn nanoseconds(duration: Duration) -> Result<u64> {
    match u64::try_from(duration.as_nanos()) {
        Ok(ns) if ns > 0 => Ok(ns),
        _ => bail!("{} is no usable time", humantime::format_duration(duration)),
    }
}
