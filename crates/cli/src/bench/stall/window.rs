// SPDX-License-Identifier: Apache-2.0
//! One window: the program started with one load, the control beside it, and what both found.

use std::fmt::Write as _;
use std::fs::File;
use std::io::PipeReader;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};
use report::TimeBase;
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Priority};
use rustix::process::{Pid, Signal};
use serde::Deserialize;

use super::code::{Code, RESERVE_BYTES};
use super::judge::MACHINE_NS_MAX;
use super::{Args, Control, Load, Row, Spread};
use crate::bench::gc::control::{self, Plan, Sample};
use crate::bench::steal::Watch;
use crate::guest;

/// About as long as the measured thread works.
const CONTROL_WORK_NS: u64 = 15_000;
/// What a window may take beside its releases: the machine's start and its end, on a machine with
/// other work.
const BESIDE_NS_MAX: u64 = 120_000_000_000;
/// A load that has not done its least lengthens its window, at most so many times (Stall.java).
const WINDOWS_MAX: u64 = 4;
const LOOK_NS: u64 = 20_000_000;
/// Lines of the program's that an error shows: those of a dump of its threads too.
const LINES_SHOWN: usize = 400;
/// A dump is written by then.
const DUMP_NS: u64 = 2_000_000_000;

/// The control's releases, and the times in which the host's steal counter rose.
type Beside = (Vec<Sample>, Vec<(u64, u64)>);

/// What counts of the machine's report.
#[derive(Deserialize)]
struct Report {
    realtime_threads: Vec<Thread>,
}

#[derive(Deserialize)]
struct Thread {
    machine_ns: Machine,
    machine_lock_waits: Waits,
}

#[derive(Deserialize)]
struct Machine {
    /// Due time and processor time of the releases that are kept one by one.
    releases: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
struct Waits {
    count: u64,
    ns_max: u64,
}

pub(super) fn measure(args: &Args, code: &Code, load: Load, run: u64) -> Result<Row> {
    let folder = tempfile::tempdir().context("cannot make a directory for a window")?;
    let file = |name: &str| folder.path().join(name);
    code.copy_cache(&file("code"))?;
    let mut command = Command::new(&code.java);
    command
        .args(code.options(&file("code"), &file("report")))
        .args(code.words(args, load, args.releases, &file("samples")))
        .stdin(Stdio::null())
        .stdout(File::create(file("out"))?);
    let beside = match guest::time_base() {
        // One processor: the control would only be another load.
        TimeBase::Virtual => None,
        TimeBase::Real => Some((start_control(args)?, Watch::start()?)),
    };
    let ended = run_to_end(&mut command, load, args, &file("err"));
    let read = |name: &str| std::fs::read_to_string(file(name));
    let samples = ended.and_then(|()| read_samples(&read("samples")?));
    let bounds = |samples: &[Sample]| match samples {
        [first, .., last] => (first.due_ns, last.due_ns),
        _ => (0, 0),
    };
    let (from_ns, to_ns) = samples.as_deref().map_or((0, 0), bounds);
    let beside = beside.map(|(control, watch)| (control.stop(from_ns, to_ns), watch.stop()));
    let said = || {
        let text = read("out").unwrap_or_default() + &read("err").unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(LINES_SHOWN).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    let samples = samples.with_context(|| format!("{}: {}", load.title(), said()))?;
    let report: Report = serde_json::from_str(&read("report")?).context("the machine's report")?;
    let out = read("out")?;
    let line = out.lines().rev().find(|it| it.starts_with("window "));
    let line = line.with_context(|| format!("{} says no figures: {}", load.title(), said()))?;
    if let Some(fault) = out.lines().find(|it| it.starts_with("load: ")) {
        bail!("{}: {fault}", load.title());
    }
    row(load, run, &samples, beside, &report, line)
}

fn start_control(args: &Args) -> Result<control::Control> {
    let priority = Priority::new(args.priority).context("1 to 99")?;
    let period_ns = args.period_us * 1000;
    let plan = Plan {
        period_ns,
        // The measured thread comes at a quarter.
        phase_ns: period_ns / 4 * 3,
        spin_ns: 0,
        work_ns: CONTROL_WORK_NS,
        seconds_max: time_ns_max(args) / 1_000_000_000 + 1,
    };
    control::Control::start(Policy::Fifo(priority), plan)
}

fn time_ns_max(args: &Args) -> u64 {
    let releases = u64::from(args.warmup) + WINDOWS_MAX * u64::from(args.releases);
    2 * releases * args.period_us * 1000 + BESIDE_NS_MAX
}

/// Starts the program and waits for its end; a program that stands still is ended.
fn run_to_end(command: &mut Command, load: Load, args: &Args, log: &Path) -> Result<()> {
    // Its reader lives as long as the program, and never reads.
    let _unread: Option<PipeReader> = if load == Load::E {
        let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
        command.stderr(writer);
        Some(reader)
    } else {
        command.stderr(File::create(log)?);
        None
    };
    let mut child = command.spawn().context("cannot start java")?;
    let ended = wait(&mut child, Monotonic.now_ns() + time_ns_max(args));
    let status = match ended {
        Ok(Some(status)) => status,
        Ok(None) => {
            let threads = threads_of(child.id());
            // What it says itself is in its log then, if it still can.
            let _ = rustix::process::kill_process(Pid::from_child(&child), Signal::QUIT);
            Monotonic.sleep_until(Monotonic.now_ns() + DUMP_NS);
            end(&mut child);
            bail!("it stands still; its threads, by the kernel:\n{threads}");
        }
        Err(error) => {
            end(&mut child);
            return Err(error);
        }
    };
    ensure!(status.success(), "java ended with {status}");
    Ok(())
}

/// Until it ends; none if it has not by then.
fn wait(child: &mut Child, until_ns: u64) -> Result<Option<ExitStatus>> {
    while Monotonic.now_ns() <= until_ns {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
    }
    Ok(None)
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Each thread's name, state, system call and where in the kernel it waits, its priority (negative:
/// of real time), its time on a processor and its wait for one; without the right to know, less.
fn threads_of(process: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let mut text = String::new();
    for task in tasks.into_iter().flatten().flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let stat = read("stat");
        // After the name, which may hold anything: the state is the first, the priority the 16th.
        let fields: Vec<_> = stat
            .rsplit(") ")
            .next()
            .unwrap_or_default()
            .split(' ')
            .collect();
        let field = |index: usize| fields.get(index).copied().unwrap_or("?");
        let schedstat = read("schedstat");
        let mut times = schedstat
            .split_ascii_whitespace()
            .map(|it| it.parse().unwrap_or(0));
        let mut next_ms = || times.next().unwrap_or(0_u64) / 1_000_000;
        let (on_cpu_ms, waiting_ms) = (next_ms(), next_ms());
        let (name, call, place) = (read("comm"), read("syscall"), read("wchan"));
        let _ = writeln!(
            text,
            "  {} {} {} {place} {} priority {}, {on_cpu_ms} ms on a processor, {waiting_ms} ms \
             ready for one",
            task.file_name().display(),
            name.trim_end(),
            field(0),
            call.trim_end(),
            field(15),
        );
    }
    text
}

fn read_samples(text: &str) -> Result<Vec<Sample>> {
    let sample = |line: &str| {
        let mut values = line.split(',').map(str::parse::<i64>);
        let mut next = || -> Option<u64> {
            let value = values.next()?.ok()?;
            Some(value.max(0).unsigned_abs())
        };
        Some(Sample {
            due_ns: next()?,
            late_ns: next()?,
            work_ns: next()?,
            processor_ns: None,
        })
    };
    let samples: Option<Vec<_>> = text.lines().map(sample).collect();
    samples.context("a line of a release is due time, lateness, work")
}

/// A value among `name=value` words.
fn word(line: &str, name: &str) -> Result<u64> {
    let mut words = line.split_whitespace();
    let found = words.find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    let found = found.with_context(|| format!("the program says no {name}: {line}"))?;
    Ok(found.parse()?)
}

fn row(
    load: Load,
    run: u64,
    samples: &[Sample],
    beside: Option<Beside>,
    report: &Report,
    line: &str,
) -> Result<Row> {
    let (control, rises) = match beside {
        Some((control, rises)) => (Some(control), rises),
        None => (None, Vec::new()),
    };
    let is_stolen = |it: &Sample| {
        let end_ns = it.due_ns + it.late_ns + it.work_ns;
        rises
            .iter()
            .any(|(from, to)| *from <= end_ns && it.due_ns <= *to)
    };
    let (stolen, own): (Vec<Sample>, Vec<Sample>) = samples.iter().partition(|it| is_stolen(it));
    let late = |it: &[Sample]| Spread::of(it.iter().map(|it| it.late_ns));
    let work = |it: &[Sample]| Spread::of(it.iter().map(|it| it.work_ns));
    // The rehearsal's comes first.
    let thread = report.realtime_threads.last();
    let thread = thread.context("the report names no real-time thread")?;
    let kept = &thread.machine_ns.releases;
    let is_own = |due_ns: u64| own.binary_search_by_key(&due_ns, |it| it.due_ns).is_ok();
    let machine: Vec<u64> = kept
        .iter()
        .filter(|it| is_own(it.0))
        .map(|it| it.1)
        .collect();
    Ok(Row {
        load,
        run,
        releases: samples.len() as u64,
        stolen: stolen.len() as u64,
        late_ns: late(&own),
        work_ns: work(&own),
        stolen_late_ns_max: late(&stolen).max,
        stolen_work_ns_max: work(&stolen).max,
        machine_ns_max: machine.iter().copied().max().unwrap_or(0),
        machine_above: machine.iter().filter(|it| **it > MACHINE_NS_MAX).count() as u64,
        lock_waits: thread.machine_lock_waits.count,
        lock_wait_ns_max: thread.machine_lock_waits.ns_max,
        memory_errors: word(line, "memory_errors")?,
        exhausted: word(line, "exhausted")?,
        allocated_bytes: word(line, "allocated")?,
        reserve_bytes: RESERVE_BYTES,
        steps: word(line, "steps")?,
        is_realtime: word(line, "priority")? != 0,
        control: control.map(|control| {
            let used = control.iter().filter(|it| !is_stolen(it));
            let used: Vec<u64> = used.filter_map(|it| it.processor_ns).collect();
            Control {
                late_ns: late(&control),
                work_ns: work(&control),
                processor_ns_max: used.iter().copied().max().unwrap_or(0),
                processor_above: used.iter().filter(|it| **it > MACHINE_NS_MAX).count() as u64,
            }
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "window releases=3 steps=7 missed=0 memory_errors=0 exhausted=2 allocated=90 priority=80";

    fn report(releases: &str) -> Report {
        let text = format!(
            "{{\"realtime_threads\": [{{\"machine_ns\": {{\"max\": 1, \"above_usual\": 1, \"releases\": [{releases}]}},
             \"machine_lock_waits\": {{\"count\": 3, \"ns\": 9, \"ns_max\": 4, \"worst\": null}}}}]}}"
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn releases_in_which_steal_rose_are_counted_apart() {
        let samples = read_samples("1000,10,20\n2000,900,30\n3000,-5,25\n").unwrap();
        let kept = report("[500, 900000], [1000, 300000], [2000, 700000]");
        let mut control = samples.clone();
        for (sample, processor_ns) in control.iter_mut().zip([MACHINE_NS_MAX + 1, 900_000, 5]) {
            sample.processor_ns = Some(processor_ns);
        }
        let beside = Some((control, vec![(2800, 2950)]));
        let row = row(Load::I, 1, &samples, beside, &kept, LINE).unwrap();
        assert_eq!((row.releases, row.stolen), (3, 1));
        assert_eq!((row.late_ns.max, row.stolen_late_ns_max), (10, 900));
        assert_eq!((row.machine_ns_max, row.machine_above), (300_000, 1));
        assert_eq!((row.lock_waits, row.exhausted, row.steps), (3, 2, 7));
        let control = row.control.unwrap();
        assert_eq!((control.late_ns.max, control.processor_above), (900, 1));
        assert_eq!(control.processor_ns_max, MACHINE_NS_MAX + 1);
    }

    #[test]
    fn what_threads_wait_for_is_said_of_each() {
        let own = threads_of(std::process::id());
        let lines = own.lines().count();
        assert!(lines >= 1 && own.contains(" R "), "this one runs: {own}");
        assert_eq!(threads_of(u32::MAX), "");
    }

    #[test]
    fn what_is_missing_is_named() {
        let samples = read_samples("1,2,3\n").unwrap();
        let error = row(Load::A, 1, &samples, None, &report(""), "window").unwrap_err();
        assert!(error.to_string().contains("memory_errors"), "{error}");
        assert!(read_samples("1,2\n").is_err());
    }
}
