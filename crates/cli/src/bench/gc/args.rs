// SPDX-License-Identifier: Apache-2.0
//! [`Args`] of `takt bench gc --java`, and the words that its program is called with.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use super::machine::Machine;

/// What do collectors cost a periodic real-time thread in Java?
///
/// A thread (FIFO 80 where the system grants it; the same way on every machine) allocates in each
/// release. work: from the start of a release's work to its end; late: from the release to that
/// start. A native thread without a heap does the same to memory beside it, about as long
/// (control): what delays that is the system's doing. Load heavy has a thread beside it with a live
/// set and garbage. All machines have the same heap, touched before they begin. Exit code 1: a
/// window of rc saw too little of the collector.
#[derive(Parser)]
#[command(
    name = "takt bench gc --java",
    max_term_width = 100,
    after_help = "Example:\n  takt bench gc --java --machine rc,stw --seconds 10"
)]
pub(super) struct Args {
    /// Loads to run in turn
    #[arg(long, value_enum, value_delimiter = ',', default_value = "heavy")]
    pub(super) load: Vec<Load>,
    /// Collectors to run in turn; all that are found here unless named
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(super) machine: Vec<Machine>,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seconds: u64,
    /// Seconds before the measurement of each run
    #[arg(long, default_value_t = 10)]
    pub(super) warmup: u64,
    /// Runs of each collector, load and period
    #[arg(long, default_value_t = 1)]
    pub(super) runs: u32,
    /// Periods of the measured thread in µs, in turn; the thesis has 10 000
    #[arg(long, value_delimiter = ',', default_value = "1000", value_parser = clap::value_parser!(u64).range(200..))]
    pub(super) period_us: Vec<u64>,
    /// SCHED_FIFO priority of the measured and the control thread; 0 for ordinary threads
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(super) priority: u8,
    /// The control works about so many µs in each release, as rc's thread does under load heavy; 0:
    /// once over its nodes
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=100))]
    pub(super) control_us: u64,
    /// A second control beside the first, judged against it as rc is: how often does a thread
    /// without a heap hold the rule?
    #[arg(long)]
    pub(super) second_control: bool,
    /// Size of the heap
    #[arg(long, default_value_t = 1024)]
    pub(super) heap_mb: u32,
    /// Live objects under load heavy
    #[arg(long, default_value_t = 200)]
    pub(super) live_mb: u32,
    /// Garbage per second under load heavy
    #[arg(long, default_value_t = 200)]
    pub(super) garbage_mb: u32,
    /// How the thread waits for its release
    #[arg(long, value_enum, default_value = "hybrid")]
    pub(super) wait: Wait,
    /// Skip gc-latency, or gc-cost
    #[arg(long, value_enum)]
    pub(super) skip: Vec<Experiment>,
    /// Batches of each operation of gc-cost
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(4..))]
    pub(super) batches: u32,
    /// Where GcLatency.class and GcCost.class lie; compiled now unless named
    #[arg(long, value_name = "DIR")]
    pub(super) classes: Option<PathBuf>,
    /// Options for Takt's machine, such as -Xtakt:code-cache=DIR
    #[arg(long, allow_hyphen_values = true)]
    pub(super) takt_option: Vec<String>,
    /// Exit code 2 unless four of five runs of rc under load heavy hold the rule that is printed
    /// with them
    #[arg(long)]
    pub(super) check: bool,
    /// Exit code 2 if the thread of rc starts later than so many times the control, at the median
    /// or at the most of all runs; instead of what else decides about the exit code. For the lab,
    /// with --wait park
    #[arg(long, value_name = "RATIO", conflicts_with = "check")]
    pub(super) lateness_max: Option<f64>,
    /// Write gc-java.json, samples.csv, histogram.csv, NAME.hgrm, pause.svg and pause.png into this
    /// directory
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Print JSON instead of the tables
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Experiment {
    Latency,
    Cost,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Load {
    /// Nothing
    None,
    /// Eight objects of 16 bytes, given up at once
    Acyclic,
    /// Eight objects of 16 bytes in a circle, given up at once
    Cyclic,
    /// Four of each
    Mixed,
    /// 64 nodes of 64 bytes linked into a ring of 65 536, beside a live set and garbage
    Heavy,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Wait {
    /// It sleeps until 100 µs before its release, then it looks at the clock
    Hybrid,
    /// It sleeps
    Park,
}

impl Load {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Acyclic => "acyclic",
            Self::Cyclic => "cyclic",
            Self::Mixed => "mixed",
            Self::Heavy => "heavy",
        }
    }
}

impl Args {
    /// How long a run may take, with what precedes its window.
    pub(super) fn seconds_max(&self) -> u64 {
        2 * (self.warmup + self.seconds) + 60
    }

    /// How long before its release a thread wakes and looks at the clock.
    pub(super) fn spin_ns(&self) -> u64 {
        match self.wait {
            Wait::Hybrid => 100_000,
            Wait::Park => 0,
        }
    }

    pub(super) fn words(&self, load: Load, period_us: u64) -> Vec<String> {
        vec![
            format!("load={}", load.name()),
            format!("spin_ns={}", self.spin_ns()),
            format!("period_us={period_us}"),
            format!("seconds={}", self.seconds),
            format!("warmup={}", self.warmup),
            format!("live_mb={}", self.live_mb),
            format!("garbage_mb={}", self.garbage_mb),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_the_experiments() {
        let args = Args::parse_from(["x", "--load", "none,heavy", "--period-us", "1000,10000"]);
        assert_eq!(
            (args.load.len(), args.period_us.len(), args.seconds),
            (2, 2, 30)
        );
        let words = args.words(args.load[1], 10_000);
        assert!(
            words.contains(&"load=heavy".to_owned())
                && words.contains(&"period_us=10000".to_owned())
        );
        assert!(Args::try_parse_from(["x", "--machine", "cms"]).is_err());
    }
}
