// SPDX-License-Identifier: Apache-2.0
//! `takt bench panel`: examples/panel's control task without a window and beside one that scrolls,
//! and a native thread of the same policy beside both, here or in guests.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::{Context as _, Result, bail, ensure};
use report::TimeBase;
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Priority};
use rt::thread::{Builder, Thread};
use serde::{Deserialize, Serialize};

use super::control::{self, Row, Window as _, late};
use super::prepared::{OPTIONS, Prepared};
use super::verdict;
use crate::framework::Framework;
use crate::guest;

/// Does a control task keep its time beside a window that scrolls?
///
/// The package examples/panel has a task of FIFO 80 at 1 kHz. It runs in a process without a window
/// first (`alone`). Then it runs beside AOSP's views, which are drawn in software: with the list at
/// rest (`at-rest`), and while it scrolls at each beat of the display (`scrolling`). A native
/// thread of FIFO 80 is released half a period beside it all the time.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench panel --seconds 3")]
pub(crate) struct Args {
    /// How long each of the three windows lasts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=25))]
    seconds: u32,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests of different seeds
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0, requires = "lab")]
    seed: u64,
    /// Fail unless the control task was a real-time thread, had at least nine in ten of its
    /// releases, and the list scrolled ten times a second. In the lab its worst with scrolling is
    /// besides at most 1.2 times the native thread's beside the same load, or 20 µs above its own
    /// worst without a window
    #[arg(long)]
    check: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

const PRIORITY: u8 = 80;
const PERIOD_NS: u64 = 1_000_000;
const RELEASES_PER_SECOND: u64 = 1_000_000_000 / PERIOD_NS;
/// Of the native thread: two minutes, more than the longest run may have.
const RELEASES_MAX: usize = 120_000;
/// Of the beats of a display: an emulator's processor draws as it can.
const SCROLLS_PER_SECOND_MIN: u64 = 10;

const PREPARED: Prepared = Prepared {
    experiment: "panel",
    code: "lab-code-panel",
    runs: &[
        "run --sandbox none APPS/panel.apk --service .Alone --extra seconds=1",
        "run --sandbox none APPS/panel.apk --screen picture --extra seconds=2 --for 8s",
    ],
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Window {
    Alone,
    AtRest,
    Scrolling,
}

impl Window {
    const ALL: [Self; 3] = [Self::Alone, Self::AtRest, Self::Scrolling];
}

impl control::Window for Window {
    fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::AtRest => "at-rest",
            Self::Scrolling => "scrolling",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Outcome {
    /// Of the guest; 0 on the host.
    seed: u64,
    seconds: u64,
    rows: Vec<Row<Window>>,
    /// How often the list moved.
    scrolled: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let outcomes = match args.lab {
        true => measure_in_guests(args)?,
        false => vec![measure(args)?],
    };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&outcomes)?),
        false => outcomes
            .iter()
            .for_each(|it| print!("{}", text(it, args.lab))),
    }
    let mut all = Vec::new();
    for outcome in &outcomes {
        let mut found = faults(outcome);
        if args.lab {
            found.extend(late(&outcome.rows, Window::Scrolling, Window::Alone));
            found = found
                .iter()
                .map(|it| format!("seed {}: {it}", outcome.seed))
                .collect();
        }
        all.extend(found);
    }
    Ok(verdict("panel", &all, args.check))
}

/// Whatever this machine's host does to worst cases, these hold.
fn faults(outcome: &Outcome) -> Vec<String> {
    let mut faults = Vec::new();
    for row in &outcome.rows {
        let (window, thread) = (row.window.name(), row.thread.name());
        if row.priority != u64::from(PRIORITY) {
            faults.push(format!(
                "{window}, {thread}: an ordinary thread, for its policy was refused: see `takt doctor`"
            ));
        }
        if row.releases * 10 < outcome.seconds * RELEASES_PER_SECOND * 9 {
            faults.push(format!(
                "{window}, {thread}: {} releases only",
                row.releases
            ));
        }
    }
    if outcome.scrolled < outcome.seconds * SCROLLS_PER_SECOND_MIN {
        faults.push(format!("the list scrolled {} times only", outcome.scrolled));
    }
    faults
}

fn measure_in_guests(args: &Args) -> Result<Vec<Outcome>> {
    let seconds = args.seconds.to_string();
    let words = ["bench", "panel", "--json", "--seconds", &seconds].map(str::to_owned);
    let found: Vec<(u64, Vec<Outcome>)> = PREPARED.measure(&words, args.seed, args.seeds)?;
    let of_guest = |(seed, outcomes): (u64, Vec<Outcome>)| {
        let outcomes = outcomes.into_iter();
        outcomes.map(move |it| Outcome { seed, ..it })
    };
    Ok(found.into_iter().flat_map(of_guest).collect())
}

fn measure(args: &Args) -> Result<Outcome> {
    let alone = Run::of(
        args,
        &[("started", None), ("alone", Some(Window::Alone))],
        &["--service", ".Alone"],
    )?;
    let shown = Run::of(
        args,
        &[
            ("started", Some(Window::AtRest)),
            ("scrolls", Some(Window::Scrolling)),
        ],
        &["--screen", "picture"],
    )?;
    let rows = [alone.rows, shown.rows].concat();
    ensure!(
        rows.len() == 2 * Window::ALL.len(),
        "the package said figures of {} threads and windows: run `cargo xtask framework`",
        rows.len()
    );
    Ok(Outcome {
        seed: 0,
        seconds: args.seconds.into(),
        rows,
        scrolled: shown.scrolled,
    })
}

/// One process of the package, to its task's end.
struct Run {
    rows: Vec<Row<Window>>,
    scrolled: u64,
}

impl Run {
    /// With the words after which a window begins.
    fn of(args: &Args, begins: &[(&str, Option<Window>)], words: &[&str]) -> Result<Self> {
        eprintln!(
            "bench panel: {} s, takt run {}",
            args.seconds,
            words.join(" ")
        );
        let data = tempfile::tempdir().context("cannot make a directory for data")?;
        let mut command = Command::new(std::env::current_exe()?);
        let package = Framework::find(None)?.folder("apps").join("panel.apk");
        command.arg("run").arg(package).args(words);
        command.args(["--realtime", "--heap", "128m", "--anr", "100s"]);
        command.args(["--extra", &format!("seconds={}", args.seconds), "--data"]);
        command.arg(data.path()).stderr(Stdio::piped());
        if guest::time_base() == TimeBase::Virtual {
            command.env(OPTIONS, PREPARED.machine_options()?.join(" "));
        }
        let native = Native::start()?;
        let mut process = command.spawn().context("cannot start takt run")?;
        let said = listen(&mut process, begins, &native);
        // Its window would stay.
        let _ = process.kill();
        process.wait()?;
        let late = native.end();
        let said = said?;
        let mut found = Self {
            rows: Vec::new(),
            scrolled: 0,
        };
        for line in &said {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_of = |it: &Window| line.contains(&format!("figures {} ", it.name()));
            if let Some(window) = Window::ALL.into_iter().find(is_of) {
                let own = Row::of_application(window, line)?;
                found.rows.extend([own, native_row(window, &late)]);
            } else if let Some(at) = words.iter().position(|it| *it == "scrolled") {
                let count = words.get(at + 1).and_then(|it| it.parse().ok());
                found.scrolled = count.with_context(|| format!("no count in {line:?}"))?;
            }
        }
        Ok(found)
    }
}

/// All lines until the task has said its last one; tells the native thread which window it is.
fn listen(
    process: &mut Child,
    begins: &[(&str, Option<Window>)],
    native: &Native,
) -> Result<Vec<String>> {
    let stderr = process.stderr.take().context("no standard error")?;
    let mut said = Vec::new();
    for line in BufReader::new(stderr).lines() {
        let line = line?;
        let begun = begins
            .iter()
            .find(|(word, _)| line.ends_with(&format!(": {word}")));
        if let Some((_, window)) = begun {
            native.enter(*window);
        } else if line.contains(": stopped") {
            native.enter(None);
        }
        let is_last = line.contains("deadlines missed");
        said.push(line);
        if is_last {
            return Ok(said);
        }
    }
    bail!("the package does not come to its end:\n{}", said.join("\n"))
}

/// What the native thread is told: a window's place in [`Window::ALL`], or one of these.
const BETWEEN: usize = 3;
const END: usize = 4;

/// A thread of this process, released half a period beside the application's.
struct Native {
    thread: Thread<Vec<(usize, u64)>>,
    window: Arc<AtomicUsize>,
}

impl Native {
    fn start() -> Result<Self> {
        let window = Arc::new(AtomicUsize::new(BETWEEN));
        let told = Arc::clone(&window);
        let mut late: Vec<(usize, u64)> = vec![(BETWEEN, 0); RELEASES_MAX];
        let body = move || {
            let clock = Monotonic;
            let mut due_ns = clock.now_ns() / PERIOD_NS * PERIOD_NS + PERIOD_NS / 2;
            let mut count = 0;
            while count < RELEASES_MAX {
                due_ns += PERIOD_NS;
                clock.sleep_until(due_ns);
                let late_ns = clock.now_ns().saturating_sub(due_ns);
                match told.load(Relaxed) {
                    END => break,
                    BETWEEN => {}
                    window => {
                        late[count] = (window, late_ns);
                        count += 1;
                    }
                }
            }
            late.truncate(count);
            late
        };
        let priority = Priority::new(PRIORITY).context("1 to 99")?;
        let fifo = Builder::new("native").policy(Policy::Fifo(priority));
        match fifo.spawn(body) {
            Ok(thread) => Ok(Self { thread, window }),
            Err(error) => bail!("no native thread of FIFO {PRIORITY}: {error}"),
        }
    }

    fn enter(&self, window: Option<Window>) {
        self.window
            .store(window.map_or(BETWEEN, |it| it as usize), Relaxed);
    }

    /// What it measured: in which window, and how late.
    fn end(self) -> Vec<(usize, u64)> {
        self.window.store(END, Relaxed);
        self.thread.join()
    }
}

fn native_row(window: Window, late: &[(usize, u64)]) -> Row<Window> {
    let earliest_ns = late.iter().map(|it| it.1).min().unwrap_or(0);
    let of_window = late.iter().filter(|it| it.0 == window as usize);
    Row::of_native(
        window,
        of_window.map(|it| it.1).collect(),
        earliest_ns,
        PRIORITY,
    )
}

fn text(outcome: &Outcome, is_virtual: bool) -> String {
    let mut text = control::text(&outcome.rows, is_virtual.then_some(outcome.seed));
    let _ = writeln!(text, "the list scrolled {} times", outcome.scrolled);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::control::Whose;

    fn outcome() -> Outcome {
        let row = |window, thread| Row {
            window,
            thread,
            releases: 1000,
            priority: 80,
            missed: 0,
            p50_ns: 0,
            p999_ns: 0,
            max_ns: 1000,
        };
        let rows = Window::ALL.map(|it| [row(it, Whose::Application), row(it, Whose::Native)]);
        Outcome {
            seed: 0,
            seconds: 1,
            rows: rows.concat(),
            scrolled: 60,
        }
    }

    #[test]
    fn what_did_not_happen_is_a_fault() {
        assert!(faults(&outcome()).is_empty());
        let mut idle = outcome();
        idle.scrolled = 9;
        idle.rows[0].priority = 0;
        idle.rows[3].releases = 899;
        assert_eq!(faults(&idle).len(), 3);
    }

    #[test]
    fn the_earliest_release_is_that_of_all_windows() {
        let late = [(0, 5), (2, 9), (2, 30), (1, 7)];
        let row = native_row(Window::Scrolling, &late);
        assert_eq!((row.releases, row.p50_ns, row.max_ns), (2, 4, 25));
    }
}
