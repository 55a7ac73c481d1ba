// SPDX-License-Identifier: Apache-2.0
//! [`Outcome`]: all windows together, as a table, as JSON and as files.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use report::picture::Picture;
use report::{Series, Summary, Table, TimeBase, export};
use rt::policy::Policy;
use rt::recorder::Recorder;
use serde::Serialize;

use crate::latency::measure::{Measured, Plan, Window};
use crate::load::Kind;

/// What was asked for, what was granted, what was seen.
pub(crate) struct Outcome {
    plan: Plan,
    load: Kind,
    seed: u64,
    /// At which the processors are held.
    pub(crate) frequency_percent: Option<u8>,
    time_base: TimeBase,
    granted: Policy,
    remarks: Vec<String>,
    threads: Vec<Measured>,
    cyclictest: Option<Recorder>,
}

#[derive(Serialize)]
struct Json<'a> {
    program: &'static str,
    version: &'static str,
    kernel: String,
    time_base: TimeBase,
    policy_requested: String,
    policy_granted: String,
    is_degraded: bool,
    remarks: &'a [String],
    period_ns: u64,
    load: &'static str,
    seed: u64,
    /// At which the processors were held, from the least to the greatest.
    frequency_percent: Option<u8>,
    all: Summary,
    threads: Vec<JsonThread>,
    cyclictest: Option<Summary>,
    /// Our median over cyclictest's.
    median_ratio: Option<f64>,
    /// Of all threads: (largest value of the bucket in ns, how many).
    histogram: Vec<(u64, u64)>,
}

#[derive(Serialize)]
struct JsonThread {
    #[serde(flatten)]
    summary: Summary,
    overrun_count: u64,
    page_fault_count: u64,
}

impl Outcome {
    pub(crate) fn new(plan: &Plan, load: Kind, seed: u64) -> Self {
        Self {
            plan: *plan,
            load,
            seed,
            frequency_percent: None,
            time_base: crate::guest::time_base(),
            granted: plan.policy,
            remarks: Vec::new(),
            threads: Vec::new(),
            cyclictest: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.threads
            .iter()
            .all(|thread| thread.recorder.histogram().is_empty())
    }

    /// Adds a window of ours.
    pub(crate) fn add(&mut self, window: Window) {
        self.granted = window.policy;
        for remark in window.remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        if self.threads.is_empty() {
            self.threads = window.threads;
            return;
        }
        for (sum, thread) in self.threads.iter_mut().zip(&window.threads) {
            sum.recorder.absorb(&thread.recorder);
            sum.overrun_count += thread.overrun_count;
            sum.page_fault_count += thread.page_fault_count;
        }
    }

    /// Adds a window of cyclictest's, its threads together.
    pub(crate) fn add_cyclictest(&mut self, recorders: Vec<Recorder>) {
        for recorder in recorders {
            match &mut self.cyclictest {
                Some(sum) => sum.absorb(&recorder),
                None => self.cyclictest = Some(recorder),
            }
        }
    }

    /// What a person reads.
    pub(crate) fn text(&self) -> String {
        let all = self.all();
        let ours = Series {
            name: "takt",
            histogram: all.histogram(),
            max_ns: all.max_ns(),
        };
        let unit = self.time_base.microseconds();
        let mut table = Table::new(
            [unit]
                .into_iter()
                .chain(Summary::COLUMNS)
                .chain(["overruns", "faults"]),
        );
        if self.threads.len() > 1 {
            for (index, thread) in self.threads.iter().enumerate() {
                table.row(row(
                    &format!("thread {index}"),
                    &thread.summary(),
                    Some(thread),
                ));
            }
        }
        let (overruns, faults) = self.threads.iter().fold((0, 0), |(overruns, faults), it| {
            (overruns + it.overrun_count, faults + it.page_fault_count)
        });
        let cells = row("takt latency", &ours.summary(), None);
        table.row(
            cells
                .into_iter()
                .chain([overruns.to_string(), faults.to_string()]),
        );
        if let Some(peer) = &self.cyclictest {
            table.row(row("cyclictest", &series("", peer).summary(), None));
        }
        let mut text = format!(
            "{}, period {} µs, load {}, {}\n{table}",
            self.granted,
            self.plan.period_ns as f64 / 1000.0,
            self.load.name(),
            kernel(),
        );
        if let Some(percent) = self.frequency_percent {
            writeln!(text, "frequency held at {percent} %").expect("a string grows");
        }
        if let Some(ratio) = self.median_ratio() {
            writeln!(text, "median takt / cyclictest: {ratio:.3}").expect("a string grows");
        }
        if self.is_degraded() {
            writeln!(
                text,
                "DEGRADED: measured as {}, not as {}",
                self.granted, self.plan.policy
            )
            .expect("a string grows");
        }
        for remark in &self.remarks {
            writeln!(text, "remark: {remark}").expect("a string grows");
        }
        text
    }

    /// What a machine reads.
    pub(crate) fn json(&self) -> Result<String> {
        let all = self.all();
        let json = Json {
            program: "takt latency",
            version: env!("CARGO_PKG_VERSION"),
            kernel: kernel(),
            time_base: self.time_base,
            policy_requested: self.plan.policy.to_string(),
            policy_granted: self.granted.to_string(),
            is_degraded: self.is_degraded(),
            remarks: &self.remarks,
            period_ns: self.plan.period_ns,
            load: self.load.name(),
            seed: self.seed,
            frequency_percent: self.frequency_percent,
            all: series("all", &all).summary(),
            threads: self.threads.iter().map(JsonThread::of).collect(),
            cyclictest: self.cyclictest.as_ref().map(|it| series("", it).summary()),
            median_ratio: self.median_ratio(),
            histogram: all
                .histogram()
                .iter_recorded()
                .map(|it| (it.value_iterated_to(), it.count_at_value()))
                .collect(),
        };
        serde_json::to_string_pretty(&json).context("the results do not write as JSON")
    }

    /// samples.csv, histogram.csv, latency.{hgrm,json,svg,png} into `directory`, which is there.
    pub(crate) fn write_files(&self, directory: &Path) -> Result<()> {
        let all = self.all();
        let mut lines = vec![series("takt latency", &all)];
        lines.extend(self.cyclictest.as_ref().map(|it| series("cyclictest", it)));
        let title = format!(
            "Wake-up latency, {}, {} load",
            self.granted,
            self.load.name()
        );
        let picture = Picture {
            title: &title,
            time_base: self.time_base,
            series: &lines,
        };
        let names: Vec<String> = (0..self.threads.len())
            .map(|it| format!("thread_{it}"))
            .collect();
        let samples: Vec<(&str, &[u64])> = names
            .iter()
            .zip(&self.threads)
            .map(|(name, thread)| (name.as_str(), thread.recorder.samples_ns()))
            .collect();
        let write = |name: &str, bytes: &[u8]| {
            let path = directory.join(name);
            std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
        };
        write("samples.csv", export::samples_csv(&samples).as_bytes())?;
        write("histogram.csv", export::histogram_csv(&lines).as_bytes())?;
        write(
            "latency.hgrm",
            export::hgrm(all.histogram(), self.time_base).as_bytes(),
        )?;
        if let Some(peer) = &self.cyclictest {
            write(
                "cyclictest.hgrm",
                export::hgrm(peer.histogram(), self.time_base).as_bytes(),
            )?;
        }
        write("latency.json", self.json()?.as_bytes())?;
        write("latency.svg", picture.svg()?.as_bytes())?;
        write("latency.png", &picture.png()?)
    }

    /// All threads of ours together.
    fn all(&self) -> Recorder {
        let mut all = crate::latency::measure::recorder(0);
        self.threads
            .iter()
            .for_each(|thread| all.absorb(&thread.recorder));
        all
    }

    fn is_degraded(&self) -> bool {
        self.granted != self.plan.policy
    }

    fn median_ratio(&self) -> Option<f64> {
        let peer = series("", self.cyclictest.as_ref()?).summary().p50_ns;
        (peer > 0).then(|| series("", &self.all()).summary().p50_ns as f64 / peer as f64)
    }
}

impl Measured {
    fn summary(&self) -> Summary {
        series("", &self.recorder).summary()
    }
}

impl JsonThread {
    fn of(thread: &Measured) -> Self {
        Self {
            summary: thread.summary(),
            overrun_count: thread.overrun_count,
            page_fault_count: thread.page_fault_count,
        }
    }
}

fn series<'a>(name: &'a str, recorder: &'a Recorder) -> Series<'a> {
    Series {
        name,
        histogram: recorder.histogram(),
        max_ns: recorder.max_ns(),
    }
}

fn row(name: &str, summary: &Summary, thread: Option<&Measured>) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    cells.extend(summary.cells());
    if let Some(thread) = thread {
        cells.extend([
            thread.overrun_count.to_string(),
            thread.page_fault_count.to_string(),
        ]);
    }
    cells
}

/// The kernel that was measured, as `uname -rv` names it.
fn kernel() -> String {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    match (read("osrelease"), read("version")) {
        (Ok(release), Ok(version)) => format!("{} {}", release.trim(), version.trim()),
        _ => "unknown kernel".to_owned(),
    }
}
