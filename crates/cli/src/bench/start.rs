// SPDX-License-Identifier: Apache-2.0
//! `takt bench start`: from `takt am start` to an application's onCreate, beside HotSpot's way to
//! `main`; and what memory of the application is its own.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc::{Receiver, sync_channel};

use anyhow::{Context as _, Result, ensure};
use report::Table;
use rt::clock::{Clock, Monotonic};
use rt::thread::Builder;
use serde::Serialize;

use super::classes::Classes;
use super::verdict;
use super::world::{LOOK_NS, WAIT, World, missing};
use crate::jdk::Jdk;
use crate::output;

/// How long does an application take to start, and how much memory is its own?
///
/// A small package is installed under a `takt system` of its own, and started again and again by
/// `takt am start`. Between two starts HotSpot runs a program that says when it is in `main`. Both
/// times begin before the command is made. Starts before the first that counts fill the store of
/// compiled code. Then the application is left alone for a second, and its memory is read.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench start --runs 5")]
pub(crate) struct Args {
    /// Starts of each
    #[arg(long, default_value_t = 20)]
    runs: usize,
    /// Starts before those
    #[arg(long, default_value_t = 3)]
    warmup: usize,
    /// Fail unless the median start takes at most 150 ms or four times HotSpot's, and no start has
    /// more than 40 MB of memory of its own
    #[arg(long)]
    check: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Lines of a log that were read and not looked at yet.
const TIMES_MAX: usize = 64;
const APP: &str = "small";
const PACKAGE: &str = "org.example.small";
const TAG: &str = "Small";
/// What it says before the time.
const SAYS: &str = "onCreate at ";

const MAIN: (&str, &str) = (
    "Main",
    "final class Main {
        public static void main(String[] a) { System.out.println(System.nanoTime()); }
    }",
);

/// A warm start of at most so much, or of so many of HotSpot's.
const START_NS_MAX: u64 = 150_000_000;
const HOTSPOT_STARTS_MAX: u64 = 4;
const OWN_KB_MAX: u64 = 40_000;
/// What an application does behind its start.
const SETTLE_NS: u64 = 1_000_000_000;

/// What each run found, in the order of the runs.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    start_ns: Vec<u64>,
    hotspot_ns: Vec<u64>,
    /// Private_Dirty and Swap of the application, thousands of bytes.
    own_kb: Vec<u64>,
    /// Bounds of its sandbox that do not hold.
    missing: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.runs > 0, "one start at least is needed");
    let outcome = measure(args)?;
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&outcome)?),
        false => print!("{}", text(&outcome)),
    }
    Ok(verdict("start", &faults(&outcome), args.check))
}

fn measure(args: &Args) -> Result<Outcome> {
    let jdk = Jdk::find()?;
    let classes = Classes::compile(&jdk, &[MAIN])?;
    let world = World::begin(&[])?;
    world.install(APP)?;
    let mut lines = Lines::follow(&world)?;
    let mut outcome = Outcome {
        start_ns: Vec::new(),
        hotspot_ns: Vec::new(),
        own_kb: Vec::new(),
        missing: Vec::new(),
    };
    for round in 0..args.warmup + args.runs {
        let start = Start::measure(&world, &mut lines)?;
        let hotspot_ns = hotspot(&jdk, &classes)?;
        if round < args.warmup {
            continue;
        }
        eprintln!(
            "bench start: {} of {}: {}",
            round - args.warmup + 1,
            args.runs,
            ms(start.start_ns)
        );
        outcome.start_ns.push(start.start_ns);
        outcome.hotspot_ns.push(hotspot_ns);
        outcome.own_kb.push(start.own_kb);
        outcome.missing = start.missing;
    }
    Ok(outcome)
}

/// From before the command until `main`, as the program itself says.
fn hotspot(jdk: &Jdk, classes: &Classes) -> Result<u64> {
    let begun_ns = Monotonic.now_ns();
    let said = output::text(
        Command::new(jdk.home.join("bin/java"))
            .arg("-cp")
            .arg(classes.path())
            .arg(MAIN.0),
    )?;
    let there_ns: u64 = said.trim().parse().context("HotSpot says no time")?;
    between(begun_ns, there_ns)
}

/// Both are of one clock, whichever machine reads it.
fn between(begun_ns: u64, there_ns: u64) -> Result<u64> {
    let passed = there_ns
        .checked_sub(begun_ns)
        .filter(|_| there_ns <= Monotonic.now_ns());
    passed.context("the machine's nanoTime is not the kernel's monotonic clock")
}

/// One start of the application.
struct Start {
    start_ns: u64,
    own_kb: u64,
    missing: Vec<String>,
}

impl Start {
    fn measure(world: &World, lines: &mut Lines) -> Result<Self> {
        let component = format!("{PACKAGE}/.Main");
        let begun_ns = Monotonic.now_ns();
        world.said(&["am", "start", "-n", &component])?;
        let start_ns = between(begun_ns, lines.next_time()?)?;
        Monotonic.sleep_until(Monotonic.now_ns() + SETTLE_NS);
        let process = world.process(PACKAGE)?;
        let pid = process["pid"].as_u64().context("the application is gone")?;
        let own_kb = own_kb(pid)?;
        world.said(&["am", "force-stop", PACKAGE])?;
        let until_ns = Monotonic.now_ns() + WAIT.as_nanos() as u64;
        while !world.process(PACKAGE)?.is_null() {
            ensure!(
                Monotonic.now_ns() < until_ns,
                "the application does not end"
            );
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
        Ok(Self {
            start_ns,
            own_kb,
            missing: missing(&process["sandbox"]),
        })
    }
}

/// Memory of a process that no other shares, as the kernel counts it, in thousands of bytes.
fn own_kb(pid: u64) -> Result<u64> {
    let place = format!("/proc/{pid}/smaps_rollup");
    let text = std::fs::read_to_string(&place).with_context(|| format!("cannot read {place}"))?;
    own_kb_of(&text).with_context(|| format!("{place} has no such figures"))
}

fn own_kb_of(rollup: &str) -> Option<u64> {
    let kib = |name: &str| {
        let mut lines = rollup.lines();
        let line = lines.find_map(|it| it.strip_prefix(name))?;
        line.strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((kib("Private_Dirty:")? + kib("Swap:")?) * 1024 / 1000)
}

/// When the application was made, as it says so.
struct Lines {
    follower: Child,
    times: Receiver<u64>,
}

impl Lines {
    fn follow(world: &World) -> Result<Self> {
        let words = ["logcat", "--package", PACKAGE, "--tag", TAG];
        let mut follower = world.begun(&words)?;
        let lines = BufReader::new(follower.stdout.take().context("it is piped")?);
        let (sender, times) = sync_channel(TIMES_MAX);
        // It ends with the follower.
        let read = move || {
            let times = lines.lines().map_while(Result::ok);
            // Nobody hears the rest once the receiver is gone.
            let _ = times
                .filter_map(|it| time_of(&it))
                .try_for_each(|it| sender.send(it));
        };
        Builder::new("follower").spawn(read).map(drop)?;
        Ok(Self { follower, times })
    }

    fn next_time(&mut self) -> Result<u64> {
        let time = self.times.recv_timeout(WAIT);
        time.context("the application does not say that it was made")
    }
}

fn time_of(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(SAYS)?;
    rest.split_whitespace().next()?.parse().ok()
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It may have ended with the server.
        let _ = self.follower.kill();
        let _ = self.follower.wait();
    }
}

/// The lower one of the two in the middle.
fn median(all: &[u64]) -> u64 {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) / 2]
}

fn most(all: &[u64]) -> u64 {
    all.iter().copied().max().unwrap_or(0)
}

fn faults(outcome: &Outcome) -> Vec<String> {
    let mut faults = Vec::new();
    let (start_ns, hotspot_ns) = (median(&outcome.start_ns), median(&outcome.hotspot_ns));
    if start_ns > START_NS_MAX.max(HOTSPOT_STARTS_MAX * hotspot_ns) {
        faults.push(format!(
            "the median start takes {}: more than {} and than {HOTSPOT_STARTS_MAX} times \
             HotSpot's {}",
            ms(start_ns),
            ms(START_NS_MAX),
            ms(hotspot_ns)
        ));
    }
    let own_kb = most(&outcome.own_kb);
    if own_kb > OWN_KB_MAX {
        faults.push(format!(
            "the application has {} of memory of its own: more than {}",
            mb(own_kb),
            mb(OWN_KB_MAX)
        ));
    }
    faults
}

fn ms(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

fn mb(kb: u64) -> String {
    format!("{:.1} MB", kb as f64 / 1e3)
}

fn text(outcome: &Outcome) -> String {
    let mut table = Table::new(["", "runs", "least", "median", "most"]);
    type Form = fn(u64) -> String;
    let rows: [(&str, &[u64], Form); 3] = [
        ("am start to onCreate", &outcome.start_ns, ms),
        ("HotSpot to main", &outcome.hotspot_ns, ms),
        ("own memory", &outcome.own_kb, mb),
    ];
    for (name, all, form) in rows {
        let least = all.iter().copied().min().unwrap_or(0);
        table.row([
            name.to_owned(),
            all.len().to_string(),
            form(least),
            form(median(all)),
            form(most(all)),
        ]);
    }
    let mut text = table.to_string();
    let ratio = median(&outcome.start_ns) as f64 / median(&outcome.hotspot_ns).max(1) as f64;
    let _ = writeln!(text, "{ratio:.2} times HotSpot's median");
    if !outcome.missing.is_empty() {
        let _ = writeln!(
            text,
            "missing of the sandbox: {}",
            outcome.missing.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(start_ms: u64, hotspot_ms: u64, own_kb: u64, faults_expected: usize) {
        let outcome = Outcome {
            start_ns: vec![start_ms * 1_000_000, 1, u64::MAX],
            hotspot_ns: vec![hotspot_ms * 1_000_000],
            own_kb: vec![1, own_kb],
            missing: Vec::new(),
        };
        let faults = faults(&outcome);
        assert_eq!(faults.len(), faults_expected, "{faults:?}");
    }

    #[test]
    fn either_time_will_do_and_all_memory_counts() {
        check(150, 1, 40_000, 0);
        check(151, 1, 40_000, 1);
        check(200, 50, 40_000, 0);
        check(201, 50, 40_000, 1);
        check(150, 1, 40_001, 1);
        check(201, 50, 40_001, 2);
    }

    #[test]
    fn memory_of_ones_own_is_what_was_written_and_what_was_put_away() {
        let rollup = "1-2 ---p 0 00:00 0  [rollup]\nRss: 9 kB\nPrivate_Clean: 7 kB\n\
                      Private_Dirty:      1000 kB\nSwap:      250 kB\nSwapPss: 3 kB\n";
        assert_eq!(own_kb_of(rollup), Some(1280));
        assert_eq!(own_kb_of("Private_Dirty: 1 kB\n"), None);
    }

    #[test]
    fn a_line_of_the_log_tells_the_time() {
        let line = "11-26 15:00:00.000  12  12 I Small   : onCreate at 12345 of Small\n";
        assert_eq!(time_of(line), Some(12_345));
        assert_eq!(time_of("11-26 I Small   : onCreate\n"), None);
    }
}
