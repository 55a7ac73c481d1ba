// SPDX-License-Identifier: Apache-2.0
//! [`Outcome`]: all windows together, as a table, as JSON and as files; what the rule says of them.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use report::picture::Picture;
use report::{Series, Summary, Table, TimeBase, export};
use rt::recorder::Recorder;
use serde::Serialize;

use super::control::Sample;
use super::cost;
use super::machine::Machine;
use super::measured::{Collections, Measured};

const LIMIT_NS: u64 = 10_000_000_000;
/// The rule for `rc` under load heavy: time in work.
const WORK_P99_99_NS_MAX: u64 = 20_000;
const WORK_NS_MAX: u64 = 100_000;
/// What a window of `rc` must contain to say anything.
const EPOCHS_MIN: u64 = 100;
const TRACES_MIN: u64 = 1;

/// What a window of `rc` must contain to say anything about lateness.
const COLLECTIONS_MIN: u64 = 10;

/// One window.
pub(super) struct Window {
    pub(super) machine: Machine,
    pub(super) load: &'static str,
    period_us: u64,
    number: usize,
    work: Recorder,
    late: Recorder,
    control_work: Recorder,
    control_late: Recorder,
    /// Without releases unless it was asked for.
    second_work: Recorder,
    second_late: Recorder,
    measured: Measured,
}

/// What the rule says of a thread's time in work.
struct Verdict {
    /// As `--check` has it: the control's figure counts in place of the maximum only.
    holds: bool,
    /// With the control's figure in place of either limit, where it is higher.
    holds_beside_control: bool,
}

impl Verdict {
    fn of(work: &Recorder, control: &Recorder) -> Self {
        let p99_99_ns = summary(work).p99_99_ns;
        let bound_ns = WORK_P99_99_NS_MAX.max(summary(control).p99_99_ns);
        let is_max_held = work.max_ns() <= WORK_NS_MAX.max(control.max_ns());
        Self {
            holds: is_max_held && p99_99_ns <= WORK_P99_99_NS_MAX,
            holds_beside_control: is_max_held && p99_99_ns <= bound_ns,
        }
    }
}

/// How many runs hold the rule, counted both ways.
fn tally(verdicts: &[Verdict]) -> String {
    let count = verdicts.len();
    let held = verdicts.iter().filter(|it| it.holds).count();
    let beside = verdicts.iter().filter(|it| it.holds_beside_control);
    let beside = beside.count();
    format!(
        "{held} of {count} runs; with the control's p99.99 in place of the former too, where it is higher, {beside} of {count}"
    )
}

/// See the module.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) windows: Vec<Window>,
    pub(super) costs: Vec<cost::Costs>,
}

#[derive(Serialize)]
struct JsonWindow<'a> {
    machine: &'a str,
    load: &'a str,
    period_us: u64,
    run: usize,
    is_real_time: bool,
    work: Summary,
    lateness: Summary,
    control_work: Summary,
    control_lateness: Summary,
    /// Of the second control, where there is one.
    second_control_work: Option<Summary>,
    second_control_lateness: Option<Summary>,
    collections: Collections,
    rss_mb: u64,
    pss_mb: u64,
    figures: &'a std::collections::HashMap<String, u64>,
}

fn recorder(samples: &[Sample], value: impl Fn(&Sample) -> u64) -> Recorder {
    let mut recorder = Recorder::new(LIMIT_NS, samples.len());
    samples.iter().for_each(|it| recorder.record(value(it)));
    recorder
}

fn summary(recorder: &Recorder) -> Summary {
    series("", recorder).summary()
}

fn series<'a>(name: &'a str, recorder: &'a Recorder) -> Series<'a> {
    Series {
        name,
        histogram: recorder.histogram(),
        max_ns: recorder.max_ns(),
    }
}

fn micros(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1000.0)
}

impl Window {
    fn name(&self) -> String {
        let Self {
            load,
            period_us,
            number,
            ..
        } = self;
        format!("{} {load} {period_us} µs {number}", self.machine.name())
    }

    /// A line of progress.
    pub(super) fn line(&self) -> String {
        let it = &self.measured;
        let of = |name: &str| it.figures.get(name).copied().unwrap_or(0);
        let stops = match it.collections.stop_ns_max {
            0 => String::new(),
            ns => format!(" of at most {} µs", micros(ns)),
        };
        format!(
            "{}: work max {} µs (control {}); {} collections, {} traces, {} stops{stops}; {} MB of garbage; {} releases \
             missed, {} page faults, {} involuntary switches, {:.2} ms ready without a processor, {} ms stolen by the \
             host, warm-up included; RSS {} MB, once each {} MB{}",
            self.name(),
            micros(self.work.max_ns()),
            micros(self.control_work.max_ns()),
            it.collections.count,
            it.collections.traces,
            it.collections.stops,
            of("garbage_bytes") / 1_000_000,
            of("missed"),
            of("page_faults"),
            of("involuntary"),
            of("ready_ns") as f64 / 1e6,
            of("stolen_ms"),
            it.rss_mb,
            it.pss_mb,
            if it.is_real_time {
                ""
            } else {
                "; DEGRADED: no real-time policy granted"
            },
        )
    }

    fn verdict(&self) -> Verdict {
        Verdict::of(&self.work, &self.control_work)
    }

    /// Of the second control, where there is one.
    fn second_verdict(&self) -> Option<Verdict> {
        let is_there = !self.measured.second_control.is_empty();
        is_there.then(|| Verdict::of(&self.second_work, &self.control_work))
    }

    /// Whether a thread without a heap, in the same window, was held up longer than the rule lets
    /// this one be.
    fn is_disturbed(&self) -> bool {
        summary(&self.control_work).p99_99_ns > WORK_P99_99_NS_MAX
    }

    /// Why the window says nothing about lateness.
    fn lack_of_collections(&self) -> Option<String> {
        let count = self.measured.collections.count;
        let name = self.name();
        (count < COLLECTIONS_MIN).then(|| {
            format!("{name}: {count} collections in the window, {COLLECTIONS_MIN} are needed")
        })
    }

    /// Why the window of `rc` says nothing.
    fn is_hollow(&self) -> bool {
        let it = &self.measured.collections;
        it.count < EPOCHS_MIN || it.traces < TRACES_MIN
    }
}

impl Outcome {
    pub(super) fn add(
        &mut self,
        machine: Machine,
        load: &'static str,
        period_us: u64,
        measured: Measured,
    ) -> &Window {
        let is_same =
            |it: &&Window| (it.machine, it.load, it.period_us) == (machine, load, period_us);
        let number = self.windows.iter().filter(is_same).count() + 1;
        self.windows.push(Window {
            machine,
            load,
            period_us,
            number,
            work: recorder(&measured.samples, |it| it.work_ns),
            late: recorder(&measured.samples, |it| it.late_ns),
            control_work: recorder(&measured.control, |it| it.work_ns),
            control_late: recorder(&measured.control, |it| it.late_ns),
            second_work: recorder(&measured.second_control, |it| it.work_ns),
            second_late: recorder(&measured.second_control, |it| it.late_ns),
            measured,
        });
        self.windows.last().expect("it was pushed")
    }

    /// Whether each window of `rc` under load heavy saw enough of the collector.
    pub(super) fn is_sound(&self) -> bool {
        !self.judged().any(Window::is_hollow)
    }

    /// Whether four of five judged windows hold the rule; none is not enough.
    pub(super) fn holds(&self) -> bool {
        let held = self.judged().filter(|it| it.verdict().holds).count();
        let count = self.judged().count();
        count > 0 && held * 5 >= count * 4
    }

    /// What speaks against `rc`'s thread starting at most so many times as late as the control, in
    /// all windows together: in one alone each of them meets the system's own short stops at its
    /// own phase, or none of them.
    pub(super) fn late(&self, ratio_max: f64) -> Vec<String> {
        let windows: Vec<_> = self
            .windows
            .iter()
            .filter(|it| it.machine == Machine::Rc)
            .collect();
        let mut faults: Vec<String> = windows
            .iter()
            .filter_map(|it| it.lack_of_collections())
            .collect();
        let all = |samples: fn(&Measured) -> &[Sample]| {
            let samples = windows.iter().flat_map(|it| samples(&it.measured));
            let mut late_ns: Vec<u64> = samples.map(|it| it.late_ns).collect();
            late_ns.sort_unstable();
            late_ns
        };
        let (own, control) = (all(|it| &it.samples), all(|it| &it.control));
        if own.is_empty() || control.is_empty() {
            faults.push("rc was not run".to_owned());
            return faults;
        }
        let middle = |late_ns: &[u64]| late_ns[late_ns.len() / 2];
        let last = |late_ns: &[u64]| late_ns[late_ns.len() - 1];
        for (what, own_ns, control_ns) in [
            ("median", middle(&own), middle(&control)),
            ("longest", last(&own), last(&control)),
        ] {
            let ratio = own_ns as f64 / control_ns.max(1) as f64;
            let (own, other) = (micros(own_ns), micros(control_ns));
            let line =
                format!("{what} lateness {own} µs, {ratio:.2} times the control's {other} µs");
            eprintln!("bench gc: rc, {} windows: {line}", windows.len());
            if ratio > ratio_max {
                faults.push(format!("{line}; {ratio_max} times at most"));
            }
        }
        faults
    }

    /// Of all judged windows together: in one alone it is the fourth longest of 30,000, and chance.
    fn p99_99_ns_of_all(&self, of: impl Fn(&Window) -> &Recorder) -> u64 {
        let mut all = Recorder::new(LIMIT_NS, 0);
        self.judged().for_each(|it| all.absorb(of(it)));
        summary(&all).p99_99_ns
    }

    fn judged(&self) -> impl Iterator<Item = &Window> {
        let is_judged = |it: &&Window| it.machine == Machine::Rc && it.load == "heavy";
        self.windows.iter().filter(is_judged)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if !self.windows.is_empty() {
            text = self.table();
            self.add_verdict(&mut text);
        }
        if !self.costs.is_empty() {
            text.push_str(&cost::text(&self.costs));
        }
        text
    }

    fn table(&self) -> String {
        let columns = ["µs", "count", "p50", "p99", "p99.9", "p99.99", "max"];
        let more = ["late p50", "p99.9", "max", "RSS MB"];
        let mut table = Table::new(columns.into_iter().chain(more));
        for window in &self.windows {
            let rss = window.measured.rss_mb.to_string();
            let control = "  control".to_owned();
            let second = "  second control".to_owned();
            let sides = [
                (window.name(), &window.work, &window.late, &*rss),
                (control, &window.control_work, &window.control_late, "-"),
                (second, &window.second_work, &window.second_late, "-"),
            ];
            for (name, work, late, rss) in sides {
                let (work, late) = (summary(work), summary(late));
                if work.count == 0 {
                    continue;
                }
                let work_ns = [
                    work.p50_ns,
                    work.p99_ns,
                    work.p99_9_ns,
                    work.p99_99_ns,
                    work.max_ns,
                ];
                let late_ns = [late.p50_ns, late.p99_9_ns, late.max_ns];
                table.row(
                    [name, work.count.to_string()]
                        .into_iter()
                        .chain(work_ns.map(micros))
                        .chain(late_ns.map(micros))
                        .chain([rss.to_owned()]),
                );
            }
        }
        format!(
            "time in work; late: from the release to the start of the work; control: a native thread without a heap, beside \
             it\n{table}"
        )
    }

    fn add_verdict(&self, text: &mut String) {
        for window in self.judged().filter(|it| it.is_hollow()) {
            let it = &window.measured.collections;
            writeln!(
                text,
                "{}: {} epochs and {} traces in the window: at least {EPOCHS_MIN} and {TRACES_MIN} are needed",
                window.name(),
                it.count,
                it.traces
            )
            .expect("a string grows");
        }
        let verdicts: Vec<_> = self.judged().map(Window::verdict).collect();
        if verdicts.is_empty() {
            return;
        }
        writeln!(
            text,
            "rc, heavy: work p99.99 <= {} µs and max <= {} µs or the control's: {} ({}); in {} of them the control's own \
             p99.99 is above that; in all runs together the p99.99 is {} µs, the control's {} µs",
            micros(WORK_P99_99_NS_MAX),
            micros(WORK_NS_MAX),
            tally(&verdicts),
            if self.holds() {
                "the rule holds"
            } else {
                "the rule does not hold: four of five are needed"
            },
            self.judged().filter(|it| it.is_disturbed()).count(),
            micros(self.p99_99_ns_of_all(|it| &it.work)),
            micros(self.p99_99_ns_of_all(|it| &it.control_work)),
        )
        .expect("a string grows");
        let verdicts: Vec<_> = self.judged().filter_map(Window::second_verdict).collect();
        if !verdicts.is_empty() {
            writeln!(
                text,
                "the second control, which has no heap either, judged by the same: {}; in all runs together its p99.99 is \
                 {} µs",
                tally(&verdicts),
                micros(self.p99_99_ns_of_all(|it| &it.second_work)),
            )
            .expect("a string grows");
        }
    }

    pub(super) fn json(&self) -> Result<String> {
        let windows = self.windows.iter().map(|it| JsonWindow {
            machine: it.machine.name(),
            load: it.load,
            period_us: it.period_us,
            run: it.number,
            is_real_time: it.measured.is_real_time,
            work: summary(&it.work),
            lateness: summary(&it.late),
            control_work: summary(&it.control_work),
            control_lateness: summary(&it.control_late),
            second_control_work: it.second_verdict().map(|_| summary(&it.second_work)),
            second_control_lateness: it.second_verdict().map(|_| summary(&it.second_late)),
            collections: it.measured.collections,
            rss_mb: it.measured.rss_mb,
            pss_mb: it.measured.pss_mb,
            figures: &it.measured.figures,
        });
        let windows: Vec<_> = windows.collect();
        let json = serde_json::json!({
            "experiment": "gc --java",
            "time_base": TimeBase::Real,
            "source": "RTAndroid thesis, 5.4.2 to 5.4.4",
            "latency": windows,
            "cost_ns": self.costs,
        });
        serde_json::to_string_pretty(&json).context("the results do not write as JSON")
    }

    /// Each release with its time on CLOCK_MONOTONIC, for comparison with a trace of the kernel's.
    fn releases(&self) -> String {
        let mut text = String::from("window,thread,due_ns,late_ns,work_ns\n");
        for window in &self.windows {
            let threads = [
                ("java", &window.measured.samples),
                ("control", &window.measured.control),
                ("second control", &window.measured.second_control),
            ];
            for (thread, samples) in threads {
                for it in samples {
                    let (name, due, late, work) =
                        (window.name(), it.due_ns, it.late_ns, it.work_ns);
                    writeln!(text, "{name},{thread},{due},{late},{work}").expect("a string grows");
                }
            }
        }
        text
    }

    /// The files.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let save = |name: String, bytes: &[u8]| {
            let path = directory.join(name);
            std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
        };
        save("gc-java.json".into(), self.json()?.as_bytes())?;
        let names: Vec<String> = self.windows.iter().map(Window::name).collect();
        let samples: Vec<_> = self
            .windows
            .iter()
            .zip(&names)
            .map(|(it, name)| (name.as_str(), it.work.samples_ns()))
            .collect();
        save(
            "samples.csv".into(),
            export::samples_csv(&samples).as_bytes(),
        )?;
        let all: Vec<_> = self
            .windows
            .iter()
            .zip(&names)
            .map(|(it, name)| series(name, &it.work))
            .collect();
        save(
            "histogram.csv".into(),
            export::histogram_csv(&all).as_bytes(),
        )?;
        for one in &all {
            let text = export::hgrm(one.histogram, TimeBase::Real);
            save(
                format!("{}.hgrm", one.name.replace(' ', "-")),
                text.as_bytes(),
            )?;
        }
        save("releases.csv".into(), self.releases().as_bytes())?;
        let Some(window) = self.windows.first() else {
            return Ok(());
        };
        // One line for each machine: of several runs the first.
        let mut shown: Vec<_> = self
            .windows
            .iter()
            .zip(all)
            .filter(|(it, _)| {
                it.number == 1 && it.load == window.load && it.period_us == window.period_us
            })
            .map(|(_, one)| one)
            .collect();
        shown.push(series("control", &window.control_work));
        let picture = Picture {
            title: "Time in work of a periodic Java thread that allocates",
            time_base: TimeBase::Real,
            series: &shown,
        };
        save("pause.svg".into(), picture.svg()?.as_bytes())?;
        save("pause.png".into(), &picture.png()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many releases of 4 µs, the last four this long.
    fn releases(long_us: u64) -> Recorder {
        let mut recorder = Recorder::new(LIMIT_NS, 30_000);
        (0..29_996).for_each(|_| recorder.record(4_000));
        (0..4).for_each(|_| recorder.record(long_us * 1000));
        recorder
    }

    #[test]
    fn the_controls_figure_counts_where_it_is_higher() {
        let verdict = |work, control| {
            let it = Verdict::of(&releases(work), &releases(control));
            (it.holds, it.holds_beside_control)
        };
        assert_eq!(verdict(19, 5), (true, true));
        assert_eq!(verdict(60, 5), (false, false));
        assert_eq!(verdict(60, 70), (false, true));
        assert_eq!(verdict(300, 200), (false, false));
        assert_eq!(verdict(200, 300), (false, true));
    }

    #[test]
    fn runs_are_counted_both_ways() {
        let verdicts = [(19, 5), (60, 70), (300, 200)]
            .map(|(work, control)| Verdict::of(&releases(work), &releases(control)));
        let line = tally(&verdicts);
        assert!(line.starts_with("1 of 3 runs; "), "{line}");
        assert!(line.ends_with(" 2 of 3"), "{line}");
    }
}
