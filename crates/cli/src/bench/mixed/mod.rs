// SPDX-License-Identifier: Apache-2.0
//! `takt bench mixed`: three applications in sandboxed processes of `takt system`, and a native
//! thread of the control task's policy beside them, here or in guests ([`lab`]).

mod lab;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use report::TimeBase;
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Priority};
use rt::thread::{Builder, Thread};
use serde::{Deserialize, Serialize};

use super::control::{self, Row, Window as _, late};
use super::verdict;
use super::world::{LOOK_NS, WAIT, World, missing};
use crate::guest;

/// Does a control task keep its time beside an ordinary application and one that eats memory?
///
/// Three packages run under a `takt system` of their own, each in a process and a sandbox. The
/// first has a task of FIFO 80. The second sends it a message each 10 ms by a bound service, a
/// broadcast each 20 ms, and an alarm's broadcast each 40 ms. The third takes memory until it
/// fails, leaves a program behind, and is started again at once. A native thread of FIFO 80 runs in
/// the same windows. The first window is the control's alone.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench mixed --releases 20000")]
pub(crate) struct Args {
    /// Releases in a window
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(1..))]
    releases: u32,
    /// Milliseconds from one to the next
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    period: u32,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests of different seeds
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0, requires = "lab")]
    seed: u64,
    /// Fail unless the control task was a real-time thread and answered its client, the hog has
    /// failed again and again, and nothing of it is left. In the lab its worst is besides at most
    /// 1.2 times the native thread's beside the same load, or 20 µs above its own worst alone
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
/// Of the control task: a heap of 128 MB, the machine and the framework.
const MEMORY: &str = "512M";
/// How often the hog is started again: a person's word does not wait for its back-off.
const AGAIN_NS: u64 = 1_000_000_000;

/// The control task alone, and with the others beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Window {
    Alone,
    Mixed,
}

impl control::Window for Window {
    fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Mixed => "mixed",
        }
    }
}

/// What there was beside the figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Outcome {
    /// Of the guest; 0 on the host.
    seed: u64,
    rows: Vec<Row<Window>>,
    /// Bounds of the control's sandbox that do not hold.
    missing: Vec<String>,
    hog_failed: usize,
    /// Messages, broadcasts and alarms' broadcasts that the control application answered.
    answered: usize,
    told: usize,
    rang: usize,
    hog_left: usize,
    /// `takt ps` at the end of the second window; not of a guest.
    #[serde(skip)]
    processes: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let outcomes = match args.lab {
        true => lab::measure(args)?,
        false => vec![measure(args)?],
    };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&outcomes)?),
        false => outcomes
            .iter()
            .for_each(|it| print!("{}", text(it, args.lab))),
    }
    let faults: Vec<String> = outcomes
        .iter()
        .flat_map(|it| match args.lab {
            true => {
                let late = late(&it.rows, Window::Mixed, Window::Alone);
                let mut found = faults(it);
                found.extend(late);
                named(it.seed, found)
            }
            false => faults(it),
        })
        .collect();
    Ok(verdict("mixed", &faults, args.check))
}

fn named(seed: u64, faults: Vec<String>) -> Vec<String> {
    let faults = faults.into_iter();
    faults.map(|it| format!("seed {seed}: {it}")).collect()
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
    for (what, count) in [
        ("message", outcome.answered),
        ("broadcast", outcome.told),
        ("alarm", outcome.rang),
    ] {
        if count == 0 {
            faults.push(format!("no {what} was answered"));
        }
    }
    faults
}

fn measure(args: &Args) -> Result<Outcome> {
    let mut options = vec![format!("--realtime={CONTROL}={PRIORITY}:{MEMORY}")];
    if guest::time_base() == TimeBase::Virtual {
        options.extend(lab::options()?);
    }
    let world = World::begin(&options)?;
    for app in ["control", "panel", "hog"] {
        world.install(&format!("mixed-{app}"))?;
    }
    let mut rows = window(&world, args, Window::Alone, || Ok(()))?;
    world.said(&["am", "startservice", "-n", &format!("{PANEL}/.Panel")])?;
    for word in ["answered ", "told ", "rang "] {
        world.await_log(PANEL, "Panel", word)?;
    }
    let mut again_ns = 0;
    let hog = || {
        let now_ns = Monotonic.now_ns();
        if now_ns >= again_ns {
            again_ns = now_ns + AGAIN_NS;
            world.said(&["am", "startservice", "-n", &format!("{HOG}/.Hog")])?;
        }
        Ok(())
    };
    rows.extend(window(&world, args, Window::Mixed, hog)?);
    let hog_failed = world.log(HOG, "Hog")?.lines().count().saturating_sub(1);
    let answers = world.log(PANEL, "Panel")?;
    let count = |word: &str| answers.lines().filter(|it| it.contains(word)).count() * 100;
    let control = world.process(CONTROL)?;
    let processes = world.said(&["ps"])?;
    world.said(&["am", "force-stop", HOG])?;
    Ok(Outcome {
        seed: 0,
        rows,
        missing: missing(&control["sandbox"]),
        hog_failed,
        answered: count("answered "),
        told: count("told "),
        rang: count("rang "),
        hog_left: left()?,
        processes,
    })
}

/// One window: the application's task and the native thread, and what happens beside them.
fn window(
    world: &World,
    args: &Args,
    which: Window,
    mut beside: impl FnMut() -> Result<()>,
) -> Result<Vec<Row<Window>>> {
    let name = which.name();
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
    Ok(vec![Row::of_application(which, &line)?, native.end(which)])
}

/// A thread of this process, released as the application's.
struct Native {
    thread: Thread<Vec<u64>>,
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
            Ok(thread) => Ok(Self { thread }),
            Err(error) => bail!("no native thread of FIFO {PRIORITY}: {error}"),
        }
    }

    fn end(self, window: Window) -> Row<Window> {
        let late_ns = self.thread.join();
        let earliest_ns = late_ns.iter().copied().min().unwrap_or(0);
        Row::of_native(window, late_ns, earliest_ns, PRIORITY)
    }
}

fn text(outcome: &Outcome, is_virtual: bool) -> String {
    let mut text = control::text(&outcome.rows, is_virtual.then_some(outcome.seed));
    let _ = writeln!(
        text,
        "the hog failed {} times, {} of its processes are left; {} messages, {} broadcasts and {} \
         alarms answered",
        outcome.hog_failed, outcome.hog_left, outcome.answered, outcome.told, outcome.rang
    );
    let missing = match outcome.missing.is_empty() {
        true => "nothing".to_owned(),
        false => outcome.missing.join(", "),
    };
    let _ = writeln!(text, "missing of the sandbox: {missing}");
    text + &outcome.processes
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::control::Whose;

    fn outcome() -> Outcome {
        let row = |window, thread| Row {
            window,
            thread,
            releases: 1,
            priority: 80,
            missed: 0,
            p50_ns: 0,
            p999_ns: 0,
            max_ns: 1000,
        };
        let rows = [Window::Alone, Window::Mixed];
        let rows = rows.map(|it| [row(it, Whose::Application), row(it, Whose::Native)]);
        Outcome {
            seed: 0,
            rows: rows.concat(),
            missing: Vec::new(),
            hog_failed: 2,
            answered: 100,
            told: 100,
            rang: 100,
            hog_left: 0,
            processes: String::new(),
        }
    }

    #[test]
    fn what_did_not_happen_is_a_fault() {
        assert!(faults(&outcome()).is_empty());
        let idle = Outcome {
            hog_failed: 1,
            answered: 0,
            told: 0,
            rang: 0,
            hog_left: 1,
            ..outcome()
        };
        assert_eq!(faults(&idle).len(), 5);
        let mut ordinary = outcome();
        ordinary.rows[0].priority = 0;
        assert_eq!(faults(&ordinary).len(), 1);
    }
}
