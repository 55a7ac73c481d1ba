// SPDX-License-Identifier: Apache-2.0
//! [`Outcome`]: all runs together, as a table and as files.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use report::picture::Picture;
use report::{Series, Summary, Table, TimeBase, export};

use crate::window::{HANDSHAKE_NS_MAX, Window};

/// See the module.
#[derive(Default)]
pub(crate) struct Outcome {
    runs: Vec<Run>,
}

struct Run {
    name: String,
    load: &'static str,
    window: Window,
}

/// How much smaller rc's worst delay must be than stw's, in four of five pairs of runs.
const RATIO_REQUIRED: f64 = 20.0;

impl Outcome {
    pub(crate) fn add(&mut self, collector: &'static str, load: &'static str, window: Window) {
        let number = self
            .runs
            .iter()
            .filter(|it| it.load == load && it.window.collector.name() == collector)
            .count();
        self.runs.push(Run {
            name: format!("{collector} {load} {}", number + 1),
            load,
            window,
        });
    }

    /// What a person reads.
    pub(crate) fn text(&self) -> String {
        let unit = time_base().microseconds();
        let header = ["work,", unit].join(" ");
        let mut table = Table::new(
            [header.as_str()]
                .into_iter()
                .chain(Summary::COLUMNS)
                .chain(["collector max", "late p99.9"]),
        );
        for run in &self.runs {
            let window = &run.window;
            let micros = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
            let late = series("", &window.lateness).summary().p99_9_ns;
            table.row(
                [run.name.clone()]
                    .into_iter()
                    .chain(series(&run.name, &window.work).summary().cells())
                    .chain([micros(window.collector_ns_max()), micros(late)]),
            );
            table.row(
                ["  control".to_owned()]
                    .into_iter()
                    .chain(series("", &window.control).summary().cells())
                    .chain(["-".to_owned(), "-".to_owned()]),
            );
        }
        let mut text = table.to_string();
        for run in self
            .runs
            .iter()
            .filter(|it| it.window.collector.name() == "rc")
        {
            let micros = |ns: [u64; 3]| {
                ns.map(|ns| format!("{:.2}", ns as f64 / 1000.0))
                    .join(" / ")
            };
            let (longest, mean) = (
                micros(run.window.answer_ns_max),
                micros(run.window.answer_ns_mean),
            );
            let name = &run.name;
            writeln!(
                text,
                "{name}: answers to H1 / H2 / H3: longest {longest}, mean {mean} {unit}"
            )
            .expect("a string grows");
        }
        for run in &self.runs {
            writeln!(text, "{}: {}", run.name, run.window.explanation()).expect("a string grows");
        }
        self.add_ratios(&mut text);
        text
    }

    /// Fails if a release was late by the collector's doing, or its own handshake long.
    pub(crate) fn check(&self) -> Result<()> {
        for run in &self.runs {
            let (late, answer_ns) = (run.window.late_count(), run.window.answer_ns_longest());
            ensure!(
                late == 0,
                "{}: {late} releases were late by the collector",
                run.name
            );
            ensure!(
                answer_ns <= HANDSHAKE_NS_MAX,
                "{}: an answer took {answer_ns} ns, at most {HANDSHAKE_NS_MAX} are allowed",
                run.name
            );
        }
        Ok(())
    }

    /// Each rc run beside the stw run of the same number: time in work, and the collector's own
    /// part.
    fn add_ratios(&self, text: &mut String) {
        let mut held = 0;
        let mut pairs = 0;
        for run in self
            .runs
            .iter()
            .filter(|it| it.window.collector.name() == "rc")
        {
            let partner = run.name.replacen("rc", "stw", 1);
            let Some(other) = self.runs.iter().find(|it| it.name == partner) else {
                continue;
            };
            let ratio = |stw: u64, rc: u64| stw as f64 / rc.max(1) as f64;
            let work = ratio(other.window.work.max_ns(), run.window.work.max_ns());
            let own = ratio(
                other.window.collector_ns_max(),
                run.window.collector_ns_max(),
            );
            pairs += 1;
            held += u32::from(work >= RATIO_REQUIRED);
            writeln!(
                text,
                "{}: worst time in work {work:.1} times below stw's; the collector's own part {own:.1} times",
                run.name
            )
            .expect("a string grows");
        }
        if pairs > 0 {
            writeln!(
                text,
                "work at least {RATIO_REQUIRED} times below stw's: {held} of {pairs} runs"
            )
            .expect("a string grows");
        }
        text.push_str("thesis 5.4.2 (HTC Dream, T = 10 ms): mark-sweep up to 126 ms; its reference counting max 518 to 544 µs\n");
    }

    /// The files.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let save = |name: String, bytes: &[u8]| {
            let path = dir.join(name);
            std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
        };
        let samples: Vec<_> = self
            .runs
            .iter()
            .map(|it| (it.name.as_str(), it.window.work.samples_ns()))
            .collect();
        save(
            "samples.csv".into(),
            export::samples_csv(&samples).as_bytes(),
        )?;
        let mut all: Vec<_> = self
            .runs
            .iter()
            .map(|it| series(&it.name, &it.window.work))
            .collect();
        save(
            "histogram.csv".into(),
            export::histogram_csv(&all).as_bytes(),
        )?;
        for one in &all {
            let text = export::hgrm(one.histogram, time_base());
            save(
                format!("{}.hgrm", one.name.replace(' ', "-")),
                text.as_bytes(),
            )?;
        }
        if let Some(run) = self.runs.first() {
            all.push(series("control", &run.window.control));
        }
        let picture = Picture {
            title: "Time in work of a periodic thread that allocates",
            time_base: time_base(),
            series: &all,
        };
        save("pause.svg".into(), picture.svg()?.as_bytes())?;
        save("pause.png".into(), &picture.png()?)
    }
}

fn series<'a>(name: &'a str, recorder: &'a rt::recorder::Recorder) -> Series<'a> {
    Series {
        name,
        histogram: recorder.histogram(),
        max_ns: recorder.max_ns(),
    }
}

fn time_base() -> TimeBase {
    match std::env::var("TAKT_LAB").as_deref() {
        Ok("deterministic") => TimeBase::Virtual,
        _ => TimeBase::Real,
    }
}
