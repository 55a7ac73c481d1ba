// SPDX-License-Identifier: Apache-2.0
//! Experiment `freq` (RTAndroid thesis, 4.4.3): a task that multiplies matrices, at each level of
//! the frequency lock, and what the lock leaves behind. The server ([`server`]) is crate
//! `system`'s; the task ([`app`]) is one of its applications. This program looks at the kernel's
//! own files.

pub(crate) mod app;
pub(crate) mod lab;
pub(crate) mod server;
mod states;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use report::Table;
use rt::clock::{Clock, Monotonic};
use rt::frequency::Cpufreq;
use serde::{Deserialize, Serialize};

use self::states::{Limits, States};
use super::native;
use crate::guest;

/// Until limits that are to come back have: the server hears of a death at once.
const BACK_NS: u64 = 5_000_000_000;
const LOOK_NS: u64 = 10_000_000;
/// What time_in_state may lack of the time that passed: it counts hundredths of a second, rounded.
const LACK_TICKS_MAX: u64 = 3;
const PAPER: &str = "Thesis, mean product on a phone: 3.5 (T = 1 ms) to 12.3 ms (2 s) without a lock, \
                     1.7 ms at the maximum whatever the period.";

/// Is a frequency that an application holds there, alone, and given back in whatever way it ends?
///
/// A FIFO-80 task of an application multiplies two matrices of 100 × 100 in each period, without a
/// lock and at the least, the middle and the greatest frequency. The kernel's time_in_state says
/// what the processors ran at. Then the task gives the lock back, takes it again and is killed;
/// then the server is killed while it holds one, and another one starts. Needs root and cpufreq.
/// The lab has a driver whose frequencies change nothing: there the product takes equally long.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask kernel && takt bench freq --lab --check")]
pub(crate) struct Args {
    /// Products of each period; of long ones as many as there are in half a second, but three
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    iterations: u32,
    /// In a deterministic guest with Debian's standard kernel and the virtual cpufreq driver
    #[arg(long)]
    lab: bool,
    /// Exit code 2 unless, at each level, time_in_state grew at that level alone while it was held,
    /// and the limits of before were there again after a release, a killed task and a killed server
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// What is asked of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Lock {
    None,
    Min,
    Middle,
    Max,
}

const LOCKS: [Lock; 4] = [Lock::None, Lock::Min, Lock::Middle, Lock::Max];

impl Lock {
    fn percent(self) -> Option<u8> {
        match self {
            Self::None => None,
            Self::Min => Some(0),
            Self::Middle => Some(50),
            Self::Max => Some(100),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Min => "min",
            Self::Middle => "middle",
            Self::Max => "max",
        }
    }
}

/// What one server's application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Plan {
    lock: Lock,
    iterations: u32,
    part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    /// Holds it, measures, gives it back, and holds it again.
    Measure,
    /// Holds it.
    Hold,
    /// Does nothing.
    Nothing,
}

/// What the server and the application say, a line each.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Said {
    /// The server is there.
    Serves,
    /// A period's products.
    Row(Row),
    /// The lock was given back, and the limits were these then.
    Released(Limits),
    /// The application of this number holds what it is to hold, or nothing.
    Holds(u32),
    /// It cannot.
    Failed(String),
}

/// One period at one lock.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    lock: Lock,
    period_us: u64,
    products: u32,
    /// Of a product.
    p50_ns: u64,
    max_ns: u64,
    /// From the release to the task's first instruction.
    late_ns_max: u64,
    /// From the first release to the last product's end.
    took_ns: u64,
    /// What the processors ran at meanwhile: kHz, and hundredths of a second of all of them.
    states: States,
    /// The limits at the end.
    limits: Limits,
}

/// All that one lock has shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Level {
    lock: Lock,
    rows: Vec<Row>,
    before: Limits,
    released: Option<Limits>,
    /// After the application was killed, and how long that took.
    killed: Option<Limits>,
    killed_us: u64,
    /// While the killed server's limits were there, and when the next one had started.
    left: Option<Limits>,
    next_server: Option<Limits>,
}

/// Runs it, and prints what was found.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let levels = match args.lab {
        true => lab::measure(args.iterations)?,
        false => {
            Limits::read()?;
            let levels = LOCKS.iter().map(|lock| measure(*lock, args.iterations));
            levels.collect::<Result<Vec<_>>>()?
        }
    };
    match args.json {
        true => println!("{}", serde_json::to_string(&levels)?),
        false => print!("{}", text(&levels, args.lab)),
    }
    let faults: Vec<String> = levels.iter().flat_map(faults).collect();
    Ok(super::verdict("freq", &faults, args.check))
}

/// A server with its application, which speak to this program.
struct Spoken {
    server: Child,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    _place: tempfile::TempDir,
}

impl Spoken {
    fn begin(plan: Plan) -> Result<Self> {
        let place = tempfile::tempdir().context("cannot make a directory for the server")?;
        let mut server = native::command("freq-server", place.path(), &plan)?
            .spawn()
            .context("cannot start the server")?;
        let output = server.stdout.take().context("it has an output")?;
        let mut it = Self {
            input: server.stdin.take(),
            lines: BufReader::new(output).lines(),
            server,
            _place: place,
        };
        match it.hear()? {
            Said::Serves => Ok(it),
            other => bail!("the server says {other:?}"),
        }
    }

    fn hear(&mut self) -> Result<Said> {
        let line = self.lines.next().context("the server ended too early")??;
        match serde_json::from_str(&line).context("what was said")? {
            Said::Failed(text) => bail!("{text}"),
            said => Ok(said),
        }
    }

    /// Its application's number, when it holds what it should.
    fn holds(&mut self) -> Result<u32> {
        match self.hear()? {
            Said::Holds(pid) => Ok(pid),
            other => bail!("the application says {other:?}"),
        }
    }

    /// The server ends in order, and its application with it.
    fn end(mut self) -> Result<()> {
        self.input = None;
        let status = self.server.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        // One that has ended is no fault.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn measure(lock: Lock, iterations: u32) -> Result<Level> {
    eprintln!("bench freq: {}", lock.name());
    let plan = |part| Plan {
        lock,
        iterations,
        part,
    };
    let mut level = Level {
        lock,
        rows: Vec::new(),
        before: Limits::read()?,
        released: None,
        killed: None,
        killed_us: 0,
        left: None,
        next_server: None,
    };
    let mut spoken = Spoken::begin(plan(Part::Measure))?;
    let pid = loop {
        match spoken.hear()? {
            Said::Row(row) => level.rows.push(row),
            Said::Released(limits) => level.released = Some(limits),
            Said::Holds(pid) => break pid,
            other => bail!("the application says {other:?}"),
        }
    };
    if lock == Lock::None {
        spoken.end()?;
        return Ok(level);
    }
    let held = Limits::read()?;
    ensure!(held != level.before, "the limits do not change: {held:?}");
    let killed_ns = Monotonic.now_ns();
    kill(pid)?;
    level.killed = Some(await_limits(&level.before)?);
    level.killed_us = (Monotonic.now_ns() - killed_ns) / 1_000;
    spoken.end()?;
    let mut spoken = Spoken::begin(plan(Part::Hold))?;
    spoken.holds()?;
    // Its application ends with it, and says nothing to anybody.
    drop(spoken);
    level.left = Some(Limits::read()?);
    let spoken = Spoken::begin(plan(Part::Nothing))?;
    level.next_server = Some(Limits::read()?);
    spoken.end()?;
    // Whatever was found, the next level begins from the same.
    Cpufreq::default().put_back_left()?;
    Ok(level)
}

fn kill(pid: u32) -> Result<()> {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).context("a number")?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
    Ok(())
}

/// What the limits are when they are these, or when it has taken too long.
fn await_limits(wanted: &Limits) -> Result<Limits> {
    let until = Monotonic.now_ns() + BACK_NS;
    loop {
        let limits = Limits::read()?;
        if limits == *wanted || Monotonic.now_ns() > until {
            return Ok(limits);
        }
        Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
    }
}

/// What was to be shown and was not.
fn faults(level: &Level) -> Vec<String> {
    let name = level.lock.name();
    let mut faults = Vec::new();
    let mut come_back = |when: &str, limits: &Option<Limits>| {
        if limits.as_ref() != Some(&level.before) {
            faults.push(format!(
                "{name}: after {when} the limits are {limits:?}, before {:?}",
                level.before
            ));
        }
    };
    if level.lock == Lock::None {
        for row in &level.rows {
            come_back("a row without a lock", &Some(row.limits.clone()));
        }
        return faults;
    }
    come_back("the release", &level.released);
    come_back("the task was killed", &level.killed);
    come_back("the next server's start", &level.next_server);
    if level.rows.is_empty() {
        faults.push(format!("{name}: nothing was measured"));
    }
    if level.left.as_ref() == Some(&level.before) {
        faults.push(format!(
            "{name}: the killed server has left nothing to put back"
        ));
    }
    for row in &level.rows {
        let at = format!("{name}, T = {} µs", row.period_us);
        let processors = row.limits.processors();
        let expected = row.took_ns / 10_000_000 * processors;
        match (row.limits.level(), row.states.grown()) {
            (Some(khz), grown) if grown.iter().any(|(it, _)| *it != khz) => {
                faults.push(format!("{at}: not at {khz} kHz alone: {grown:?}"));
            }
            (None, _) => faults.push(format!("{at}: the limits are {:?}", row.limits)),
            (Some(_), grown) => {
                let ticks: u64 = grown.iter().map(|it| it.1).sum();
                if ticks + LACK_TICKS_MAX * processors < expected {
                    faults.push(format!("{at}: {ticks} of {expected} hundredths are told"));
                }
            }
        }
    }
    faults
}

fn text(levels: &[Level], is_lab: bool) -> String {
    let base = match is_lab {
        true => report::TimeBase::Virtual,
        false => guest::time_base(),
    };
    let mut table = Table::new([
        base.microseconds(),
        "T, ms",
        "products",
        "product p50",
        "max",
        "late max",
        "MHz: share of the time",
    ]);
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
    for row in levels.iter().flat_map(|it| &it.rows) {
        table.row([
            row.lock.name().to_owned(),
            (row.period_us as f64 / 1000.0).to_string(),
            row.products.to_string(),
            us(row.p50_ns),
            us(row.max_ns),
            us(row.late_ns_max),
            row.states.shares(),
        ]);
    }
    let mut ends = Table::new([
        "lock",
        "before, kHz",
        "held",
        "released",
        "task killed",
        "after ms",
        "server killed",
        "next server",
    ]);
    let shown = |limits: Option<&Limits>| limits.map_or_else(|| "—".to_owned(), Limits::to_string);
    for it in levels.iter().filter(|it| it.lock != Lock::None) {
        ends.row([
            it.lock.name().to_owned(),
            it.before.to_string(),
            shown(it.rows.last().map(|it| &it.limits)),
            shown(it.released.as_ref()),
            shown(it.killed.as_ref()),
            format!("{:.1}", it.killed_us as f64 / 1000.0),
            shown(it.left.as_ref()),
            shown(it.next_server.as_ref()),
        ]);
    }
    format!("{table}{ends}{PAPER}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: (u64, u64) = (903_000, 2_362_000);

    fn limits(least: u64, most: u64) -> Limits {
        Limits::of(&[("policy0", least, most)])
    }

    fn row(states: &[(u64, u64)]) -> Row {
        Row {
            lock: Lock::Min,
            period_us: 1_000,
            products: 10,
            p50_ns: 0,
            max_ns: 0,
            late_ns_max: 0,
            took_ns: 500_000_000,
            states: States::of(states),
            limits: limits(903_000, 903_000),
        }
    }

    fn level() -> Level {
        let before = limits(BEFORE.0, BEFORE.1);
        Level {
            lock: Lock::Min,
            rows: vec![row(&[(903_000, 50), (1_421_000, 0)])],
            released: Some(before.clone()),
            killed: Some(before.clone()),
            killed_us: 1,
            left: Some(limits(903_000, 903_000)),
            next_server: Some(before.clone()),
            before,
        }
    }

    #[test]
    fn a_level_is_held_alone_and_given_back_in_each_way() {
        assert_eq!(faults(&level()), [""; 0]);
        let spoilt: [fn(&mut Level); 7] = [
            |it| it.rows = vec![row(&[(903_000, 49), (1_421_000, 1)])],
            |it| it.rows = vec![row(&[(903_000, 40)])],
            |it| it.rows[0].limits = it.before.clone(),
            |it| it.released = Some(limits(903_000, 903_000)),
            |it| it.killed = None,
            |it| it.next_server = it.left.clone(),
            |it| it.left = Some(it.before.clone()),
        ];
        for spoil in spoilt {
            let mut level = level();
            spoil(&mut level);
            assert_eq!(faults(&level).len(), 1, "{level:?}");
        }
    }
}
