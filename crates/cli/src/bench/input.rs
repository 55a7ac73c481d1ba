// SPDX-License-Identifier: Apache-2.0
//! `takt bench input`: the thesis's input experiments on a game: from a touch to the handler and to
//! the frame after it, stage by stage, by our ring and by a socket pair as stock Android has it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail, ensure};
use report::Table;
use serde::Serialize;

use crate::framework::Framework;

/// From a touch to the handler and to the frame after it: how long does each stage take?
///
/// The game examples/lander draws at 800 by 480 while a finger moves on it, 80 times a second. In
/// each run touches go by the ring in shared memory, and then, in another process, by a socket pair
/// with messages of AOSP's size, as in stock Android.
/// `obtain` is from the display to the looper, `dispatch` from there until the handler has
/// returned, `frame` until the next frame is posted, `path` all three. `processor` is what all
/// threads of the process used from the touch to that frame. A frame is late if a beat of the
/// display at 60 Hz came without one.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench input --runs 1 --touches 200")]
pub(crate) struct Args {
    /// The game's package; by default the one that the build made
    #[arg(long, value_name = "FILE")]
    package: Option<PathBuf>,
    /// Runs, of which the best counts
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Touches that are measured in a run
    #[arg(long, default_value_t = 400)]
    touches: u32,
    /// Fail unless in the ring's best run the median of `processor` is at most 8 ms, and 99 % of
    /// the frames are on time
    #[arg(long)]
    check: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Where the lines of each run and the logs go
    #[arg(long, value_name = "DIR", default_value = "out/input")]
    out: PathBuf,
}

/// A second and a half for code to be compiled, before what is measured.
const WARM_UP_TOUCHES: u32 = 120;
const PERIOD_NS: u64 = 1_000_000_000 / 60;
const PROCESSOR_NS_MAX: u64 = 8_000_000;
const ON_TIME_PERCENT_MIN: f64 = 99.0;
/// The thesis's figures for the stages, in microseconds: OKL4, and Linux on the same phone.
const THESIS: &str = "the thesis, on its phone, OKL4 and Linux: obtain 8 and 31, dispatch 619 and 759, path 1038 and 2872";

/// What brings touches to the looper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Channel {
    Ring,
    SocketPair,
}

const CHANNELS: [Channel; 2] = [Channel::Ring, Channel::SocketPair];

impl Channel {
    fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::SocketPair => "socket pair",
        }
    }
}

/// One stage of one run, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
struct Stage {
    name: &'static str,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    run: u32,
    channel: Channel,
    touches: usize,
    stages: Vec<Stage>,
    beats: u64,
    beats_without_frame: u64,
    on_time_percent: f64,
}

impl Row {
    fn processor_ns(&self) -> u64 {
        let found = self.stages.iter().find(|it| it.name == "processor");
        found.map_or(u64::MAX, |it| it.p50_ns)
    }

    fn holds(&self) -> bool {
        self.processor_ns() <= PROCESSOR_NS_MAX && self.on_time_percent >= ON_TIME_PERCENT_MIN
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    ensure!(args.touches > 1, "--touches must be at least 2");
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make {}", args.out.display()))?;
    let mut rows = Vec::new();
    for run in 1..=args.runs {
        for channel in CHANNELS {
            let name = channel.name();
            eprintln!("bench input: run {run} of {}, {name}", args.runs);
            rows.push(measure(args, run, channel)?);
        }
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows)),
    }
    let mut by_ring = rows.iter().filter(|it| it.channel == Channel::Ring);
    if args.check && !by_ring.any(Row::holds) {
        bail!(
            "in no run of the ring was the median of processor at most 8 ms with {ON_TIME_PERCENT_MIN} % of the frames on time"
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args, run: u32, channel: Channel) -> Result<Row> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let package = match &args.package {
        Some(package) => package.clone(),
        None => Framework::find(None)?.folder("apps").join("lander.apk"),
    };
    let name = channel.name().replace(' ', "-");
    let lines = args.out.join(format!("input-{run}-{name}.txt"));
    let log = args.out.join(format!("input-{run}-{name}.log"));
    let data = args.out.join("data");
    let mut command = Command::new(own);
    command.arg("run").arg(&package).arg("--data").arg(&data);
    command.args(["--display", "800x480"]);
    if channel == Channel::SocketPair {
        command.arg("--input-by-socket");
    }
    for (count, file) in [(WARM_UP_TOUCHES, "warm-up.txt"), (args.touches, "")] {
        let path = match file {
            "" => lines.clone(),
            other => args.out.join(other),
        };
        command.arg(format!("--measure-input={count},{}", path.display()));
    }
    let file =
        std::fs::File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
    let status = command.stderr(file).status();
    let status = status.context("cannot start takt run")?;
    if !status.success() {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        bail!("takt run ended with {status}:\n{said}");
    }
    let text = std::fs::read_to_string(&lines);
    let text = text.with_context(|| format!("cannot read {}", lines.display()))?;
    row(run, channel, &text)
}

/// Of lines `input AT TAKEN FINISHED POSTED PROCESSOR` and `frame POSTED`, in nanoseconds.
fn row(run: u32, channel: Channel, text: &str) -> Result<Row> {
    let (mut inputs, mut frames) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers: Result<Vec<u64>, _> = rest.split(' ').map(str::parse).collect();
        match (kind, numbers.as_deref()) {
            ("input", Ok(&[at, taken, finished, posted, processor])) => {
                inputs.push([at, taken, finished, posted, processor]);
            }
            ("frame", Ok(&[at])) => frames.push(at),
            _ => bail!("a line of another form: {line}"),
        }
    }
    ensure!(!inputs.is_empty(), "no touch was measured");
    let stage = |name, of: fn(&[u64; 5]) -> u64| {
        let mut sorted: Vec<u64> = inputs.iter().map(of).collect();
        sorted.sort_unstable();
        let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
        Stage {
            name,
            p50_ns: at(50),
            p99_ns: at(99),
            max_ns: at(100),
        }
    };
    let stages = vec![
        stage("obtain", |it| it[1].saturating_sub(it[0])),
        stage("dispatch", |it| it[2].saturating_sub(it[1])),
        stage("frame", |it| it[3].saturating_sub(it[2])),
        stage("path", |it| it[3].saturating_sub(it[0])),
        stage("processor", |it| it[4]),
    ];
    let (beats, beats_without_frame) = beats(&frames);
    Ok(Row {
        run,
        channel,
        touches: inputs.len(),
        stages,
        beats,
        beats_without_frame,
        on_time_percent: 100.0 * (beats - beats_without_frame) as f64 / beats.max(1) as f64,
    })
}

/// How many beats there were between the first frame and the last, and how many found none waiting.
fn beats(frames: &[u64]) -> (u64, u64) {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return (0, 0);
    };
    let mut left = frames.iter().peekable();
    let (mut waiting, mut without, mut count) = (0u64, 0, 0);
    let mut beat_ns = (first / PERIOD_NS + 1) * PERIOD_NS;
    while beat_ns <= *last {
        while left.next_if(|it| **it < beat_ns).is_some() {
            waiting += 1;
        }
        count += 1;
        match waiting.checked_sub(1) {
            Some(rest) => waiting = rest,
            None => without += 1,
        }
        beat_ns += PERIOD_NS;
    }
    (count, without)
}

/// A channel's best run: the one with the least processor time, of those with the most frames on
/// time.
fn best(rows: &[Row], channel: Channel) -> Option<&Row> {
    let all = rows.iter().filter(|it| it.channel == channel);
    all.min_by_key(|it| (it.on_time_percent < ON_TIME_PERCENT_MIN, it.processor_ns()))
}

fn text(rows: &[Row]) -> String {
    let micros = |ns: u64| format!("{:.0}", ns as f64 / 1000.0);
    let best: Vec<&Row> = CHANNELS.iter().filter_map(|it| best(rows, *it)).collect();
    let names = best[0].stages.iter().map(|it| it.name);
    let head: Vec<&str> = ["best run, µs"].into_iter().chain(names).collect();
    let mut table = Table::new(head);
    for (place, figure) in ["p50", "p99", "max"].into_iter().enumerate() {
        for row in &best {
            let first = format!("{}, {figure}", row.channel.name());
            let figures = row.stages.iter();
            let figures = figures.map(|it| micros([it.p50_ns, it.p99_ns, it.max_ns][place]));
            table.row([first].into_iter().chain(figures));
        }
    }
    let mut text = format!("{table}\n");
    for row in rows {
        // A string grows.
        let _ = writeln!(
            text,
            "run {}, {}: {} touches, {:.1} % of {} frames on time, processor {} µs",
            row.run,
            row.channel.name(),
            row.touches,
            row.on_time_percent,
            row.beats,
            micros(row.processor_ns())
        );
    }
    let _ = writeln!(text, "{THESIS}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_stages_and_the_rule_counts_the_best_run() {
        let mut lines = String::new();
        for index in 1..=100u64 {
            let at = index * PERIOD_NS + 5;
            let (taken, finished, posted) = (at + 10, at + 30, at + 60);
            writeln!(lines, "input {at} {taken} {finished} {posted} 7000000").unwrap();
            writeln!(lines, "frame {posted}").unwrap();
        }
        let row = row(1, Channel::Ring, &lines).unwrap();
        let medians: Vec<u64> = row.stages.iter().map(|it| it.p50_ns).collect();
        assert_eq!(medians, [10, 20, 30, 60, 7_000_000]);
        assert_eq!((row.beats, row.beats_without_frame), (99, 0));
        assert!(row.holds());
        let mut other = row.clone();
        other.channel = Channel::SocketPair;
        other.stages[4].p50_ns = 9_000_000;
        let mut late = row.clone();
        (late.run, late.on_time_percent, late.stages[4].p50_ns) = (2, 90.0, 1);
        assert!(!other.holds() && !late.holds());
        let rows = [late, row, other];
        assert_eq!(best(&rows, Channel::Ring).map(|it| it.run), Some(1));
        let text = text(&rows);
        for part in ["ring, p50", "socket pair, max", "processor 9000"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(super::row(1, Channel::Ring, "input 1 2").is_err());
    }

    #[test]
    fn a_beat_without_a_frame_is_late_and_one_ahead_helps() {
        let at = |index: u64| index * PERIOD_NS + 1;
        assert_eq!(beats(&[at(1), at(2), at(4)]), (3, 1));
        assert_eq!(beats(&[at(1), at(1), at(3)]), (2, 0));
        assert_eq!(beats(&[]), (0, 0));
    }
}
