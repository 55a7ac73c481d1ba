// SPDX-License-Identifier: Apache-2.0
//! `takt bench mixed`: three applications in sandboxed processes of `takt system`, and a native
//! thread of the control task's policy beside them.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use report::Table;
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Priority};
use rt::thread::{Builder, Thread};
use serde::Serialize;

use super::verdict;
use super::world::{LOOK_NS, WAIT, World, missing};

/// Does a control task keep its time beside an ordinary application and one that eats memory?
///
/// Three packages run under a `takt system` of their own, each in a process and a sandbox. The
/// first has a task of FIFO 80. The second sends it a message each 10 ms by a bound service. The
/// third takes memory until it fails, leaves a program behind, and is started again at once. A
/// native thread of FIFO 80 runs in the same windows. The first window is the control's alone.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench mixed --releases 20000")]
pub(crate) struct Args {
    /// Releases in a window
    #[arg(long, default_value_t = 30_000)]
    releases: u32,
    /// Milliseconds from one to the next
    #[arg(long, default_value_t = 1)]
    period: u32,
    /// Fail unless the control task was a real-time thread and answered its client, the hog has
    /// failed again and again, and nothing of it is left
    #[arg(long)]
    check: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

const CONTROL: &str = "org.example.mixed.control";
const PANEL: &str = "org.example.mixed.panel";
const HOG: &str = "org.example.mixed.hog";
const PRIORITY: u8 = 80;
/// How often the hog is started again: a person's word does not wait for its back-off.
const AGAIN_NS: u64 = 1_000_000_000;

/// How late one thread was released in one window; nanoseconds.
#[derive(Clone, Debug, Serialize)]
struct Row {
    window: &'static str,
    thread: &'static str,
    releases: u64,
    priority: u64,
    missed: u64,
    p50_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

/// What there was beside the figures.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    rows: Vec<Row>,
    /// Bounds of the control's sandbox that do not hold.
    missing: Vec<String>,
    hog_failed: usize,
    answered: usize,
    hog_left: usize,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        args.releases > 0 && args.period > 0,
        "releases and period are at least 1"
    );
    let outcome = measure(args)?;
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&outcome)?),
        false => print!("{}", text(&outcome)),
    }
    Ok(verdict("mixed", &faults(&outcome), args.check))
}

/// Whatever this machine's host does to worst cases, these hold.
fn faults(outcome: &Outcome) -> Vec<String> {
    let mut faults = Vec::new();
    let mut rows = outcome.rows.iter();
    if rows.any(|it| it.priority == 0) {
        faults.push(
            "the control task ran as an ordinary thread: its policy was refused, as with neither \
             CAP_SYS_RESOURCE nor CAP_SYS_NICE (`takt ps --json` says what holds)"
                .to_owned(),
        );
    }
    if outcome.hog_failed < 2 {
        faults.push(format!("the hog failed {} times only", outcome.hog_failed));
    }
    if outcome.hog_left > 0 {
        faults.push(format!(
            "{} processes of the hog are left",
            outcome.hog_left
        ));
    }
    if outcome.answered == 0 {
        faults.push("no message was answered".to_owned());
    }
    faults
}

fn measure(args: &Args) -> Result<Outcome> {
    let realtime = format!("--realtime={CONTROL}={PRIORITY}");
    let world = World::begin(&[&realtime])?;
    for app in ["control", "panel", "hog"] {
        world.install(&format!("mixed-{app}"))?;
    }
    let mut rows = window(&world, args, "alone", || Ok(()))?;
    world.said(&["am", "startservice", "-n", &format!("{PANEL}/.Panel")])?;
    world.await_log(PANEL, "Panel", "answered ")?;
    let mut again_ns = 0;
    let hog = || {
        let now_ns = Monotonic.now_ns();
        if now_ns >= again_ns {
            again_ns = now_ns + AGAIN_NS;
            world.said(&["am", "startservice", "-n", &format!("{HOG}/.Hog")])?;
        }
        Ok(())
    };
    rows.extend(window(&world, args, "mixed", hog)?);
    let hog_failed = world.log(HOG, "Hog")?.lines().count().saturating_sub(1);
    let answers = world.log(PANEL, "Panel")?;
    let answered = answers.lines().filter(|it| it.contains("answered "));
    let answered = answered.count() * 100;
    let control = world.process(CONTROL)?;
    world.said(&["am", "force-stop", HOG])?;
    Ok(Outcome {
        rows,
        missing: missing(&control["sandbox"]),
        hog_failed,
        answered,
        hog_left: left()?,
    })
}

/// One window: the application's task and the native thread, and what happens beside them.
fn window(
    world: &World,
    args: &Args,
    name: &'static str,
    mut beside: impl FnMut() -> Result<()>,
) -> Result<Vec<Row>> {
    eprintln!("bench mixed: {name}, {} releases", args.releases);
    let (releases, period) = (args.releases.to_string(), args.period.to_string());
    let mut words = vec!["am", "startservice", "-n"];
    let component = format!("{CONTROL}/.Control");
    words.push(&component);
    for (extra, text) in [
        ("releases", &*releases),
        ("period", &*period),
        ("window", name),
    ] {
        words.extend(["--es", extra, text]);
    }
    let native = Native::start(args)?;
    world.said(&words)?;
    let time = Duration::from_millis(u64::from(args.releases) * u64::from(args.period));
    let until = Monotonic.now_ns() + (2 * time + WAIT).as_nanos() as u64;
    let of_window = format!("{name} releases ");
    let line = loop {
        let log = world.log(CONTROL, "Control")?;
        if let Some(line) = log.lines().find(|it| it.contains(&of_window)) {
            break line.to_owned();
        }
        ensure!(
            Monotonic.now_ns() < until,
            "the control task does not end: {log}"
        );
        beside()?;
        Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
    };
    Ok(vec![row(name, &line)?, native.end(name)])
}

fn row(window: &'static str, line: &str) -> Result<Row> {
    let mut words = line.split_whitespace();
    let mut number = |name: &str| {
        words.find(|it| *it == name);
        let word = words.next().and_then(|it| it.parse().ok());
        word.with_context(|| format!("no {name} in {line:?}"))
    };
    Ok(Row {
        window,
        thread: "application",
        releases: number("releases")?,
        priority: number("priority")?,
        missed: number("missed")?,
        p50_ns: number("p50")?,
        p999_ns: number("p999")?,
        max_ns: number("max")?,
    })
}

/// A thread of this process, released as the application's.
struct Native {
    thread: Thread<Vec<u64>>,
    priority: u64,
}

impl Native {
    fn start(args: &Args) -> Result<Self> {
        let period_ns = u64::from(args.period) * 1_000_000;
        let count = args.releases as usize;
        let body = move || {
            let clock = Monotonic;
            // Between the application's releases, so that neither waits for the other.
            let mut due_ns = clock.now_ns() / period_ns * period_ns + period_ns / 2;
            let mut late_ns = Vec::with_capacity(count);
            for _ in 0..count {
                due_ns += period_ns;
                clock.sleep_until(due_ns);
                late_ns.push(clock.now_ns().saturating_sub(due_ns));
            }
            late_ns
        };
        let priority = Priority::new(PRIORITY).context("1 to 99")?;
        let fifo = Builder::new("native").policy(Policy::Fifo(priority));
        match fifo.spawn(body) {
            Ok(thread) => Ok(Self {
                thread,
                priority: PRIORITY.into(),
            }),
            Err(error) => bail!("no native thread of FIFO {PRIORITY}: {error}"),
        }
    }

    fn end(self, window: &'static str) -> Row {
        let mut late_ns = self.thread.join();
        late_ns.sort_unstable();
        let least = late_ns.first().copied().unwrap_or(0);
        let last = late_ns.len().saturating_sub(1);
        let at = |index: usize| late_ns.get(index).map_or(0, |it| it - least);
        Row {
            window,
            thread: "native",
            releases: late_ns.len() as u64,
            priority: self.priority,
            missed: 0,
            p50_ns: at(last / 2),
            p999_ns: at(last * 999 / 1000),
            max_ns: at(last),
        }
    }
}

fn text(outcome: &Outcome) -> String {
    let mut table = Table::new([
        "window", "thread", "releases", "FIFO", "missed", "p50", "p99.9", "max µs",
    ]);
    let us = |ns: u64| format!("{:.0}", ns as f64 / 1e3);
    for it in &outcome.rows {
        table.row([
            it.window.to_owned(),
            it.thread.to_owned(),
            it.releases.to_string(),
            it.priority.to_string(),
            it.missed.to_string(),
            us(it.p50_ns),
            us(it.p999_ns),
            us(it.max_ns),
        ]);
    }
    let mut text = table.to_string();
    let _ = writeln!(
        text,
        "the hog failed {} times, {} of its processes are left; {} messages answered",
        outcome.hog_failed, outcome.hog_left, outcome.answered
    );
    let missing = match outcome.missing.is_empty() {
        true => "nothing".to_owned(),
        false => outcome.missing.join(", "),
    };
    let _ = writeln!(text, "missing of the sandbox: {missing}");
    text
}

/// Confined programs such as the hog leaves.
fn left() -> Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let place = entry.path();
        let command = std::fs::read(place.join("cmdline")).unwrap_or_default();
        let is_left = command == b"sleep\x001000\x00";
        let status = std::fs::read_to_string(place.join("status")).unwrap_or_default();
        let is_dead = status.lines().any(|it| it.starts_with("State:\tZ"));
        let is_confined = status.lines().any(|it| it == "NoNewPrivs:\t1");
        count += usize::from(is_left && is_confined && !is_dead);
    }
    Ok(count)
}
