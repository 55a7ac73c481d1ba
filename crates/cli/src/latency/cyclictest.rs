// SPDX-License-Identifier: Apache-2.0
//! [`Cyclictest`]: the measure that this field compares with, run beside ours.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use report::TimeBase;
use rt::policy::Policy;
use rt::recorder::Recorder;
use serde::Deserialize;

use crate::latency::measure::Plan;
use crate::output;

/// An installed cyclictest.
pub(crate) struct Cyclictest;

/// Its histogram has one bucket for each nanosecond up to here; what is later counts at its
/// maximum.
const HISTOGRAM_NS: u64 = 10_000_000;

/// The same in the deterministic lab: filling and printing ten million buckets there, at an
/// ordinary priority beside a load, takes minutes.
const HISTOGRAM_VIRTUAL_NS: u64 = 200_000;

/// The part of its `--json` file that we read. Times are nanoseconds (`--nsecs`).
#[derive(Deserialize)]
struct Results {
    thread: BTreeMap<String, ThreadResults>,
}

#[derive(Deserialize)]
struct ThreadResults {
    histogram: BTreeMap<String, u64>,
    cycles: u64,
    max: u64,
}

impl Cyclictest {
    /// Checks that it is there and can measure what is planned.
    pub(crate) fn find(plan: &Plan) -> Result<Self> {
        if matches!(plan.policy, Policy::Deadline(_)) {
            bail!("cyclictest knows no SCHED_DEADLINE: compare with another --policy");
        }
        if !plan.period_ns.is_multiple_of(1000) {
            bail!("cyclictest counts its interval in whole microseconds: choose such a --period");
        }
        let help = Command::new("cyclictest")
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match help {
            Ok(_) => Ok(Self),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("no cyclictest here: install it with `apt-get install rt-tests`")
            }
            Err(error) => Err(error).context("cannot start cyclictest"),
        }
    }

    /// Measures as our own window does: same policy, priority, period, threads, CPUs, locked
    /// memory.
    pub(crate) fn window(&self, plan: &Plan, length: Duration) -> Result<Vec<Recorder>> {
        let directory = tempfile::tempdir().context("cannot make a directory for results")?;
        let file = directory.path().join("cyclictest.json");
        let (policy, priority) = match plan.policy {
            Policy::Fifo(priority) => ("fifo", priority.get()),
            Policy::RoundRobin(priority) => ("rr", priority.get()),
            Policy::Batch { .. } => ("batch", 0),
            Policy::Other { .. } | Policy::Idle | Policy::Deadline(_) => ("other", 0),
        };
        let loops = (length.as_nanos() as u64 / plan.period_ns).max(1);
        let mut command = Command::new("cyclictest");
        command
            .args(["--quiet", "--mlockall", "--nsecs", "--distance=0"])
            .arg(format!("--policy={policy}"))
            .arg(format!("--priority={priority}"))
            .arg(format!("--interval={}", plan.period_ns / 1000))
            .arg(format!("--threads={}", plan.thread_count))
            .arg(format!("--loops={loops}"))
            .arg(format!("--histogram={}", histogram_ns()))
            .arg(format!("--json={}", file.display()))
            .stdout(Stdio::null());
        if let Some(cpus) = plan.affinity {
            command.arg(format!("--affinity={cpus}"));
        }
        output::of(&mut command)?;
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cyclictest left no results in {}", file.display()))?;
        parse(&text).context("cyclictest's results do not read")
    }
}

fn histogram_ns() -> u64 {
    match crate::guest::time_base() {
        TimeBase::Real => HISTOGRAM_NS,
        TimeBase::Virtual => HISTOGRAM_VIRTUAL_NS,
    }
}

fn parse(text: &str) -> Result<Vec<Recorder>> {
    let results: Results = serde_json::from_str(text)?;
    results
        .thread
        .into_values()
        .map(|thread| recorded(&thread))
        .collect()
}

/// One recorder for one of its threads. It keeps no order of samples, so none are kept singly.
fn recorded(thread: &ThreadResults) -> Result<Recorder> {
    let mut recorder = Recorder::new(HISTOGRAM_NS, 0);
    let mut count = 0;
    for (value_ns, times) in &thread.histogram {
        let value_ns = value_ns
            .parse::<u64>()
            .with_context(|| format!("bucket '{value_ns}'"))?;
        (0..*times).for_each(|_| recorder.record(value_ns));
        count += times;
    }
    (count..thread.cycles).for_each(|_| recorder.record(thread.max));
    Ok(recorder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_its_histogram_count_at_the_maximum() {
        let text = r#"{"thread": {"0": {"histogram": {"100": 2, "300": 1}, "cycles": 4, "min": 100,
            "max": 20000000, "avg": 1.0}}}"#;
        let recorders = parse(text).unwrap();
        assert_eq!(recorders.len(), 1);
        assert_eq!(recorders[0].histogram().len(), 4);
        assert_eq!(recorders[0].max_ns(), 20_000_000);
    }

    #[test]
    fn foreign_results_are_refused() {
        assert!(parse("{}").is_err());
        assert!(
            parse(r#"{"thread": {"0": {"histogram": {"x": 1}, "cycles": 1, "max": 1}}}"#).is_err()
        );
    }
}
