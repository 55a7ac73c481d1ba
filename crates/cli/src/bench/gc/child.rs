// SPDX-License-Identifier: Apache-2.0
//! One run of `GcLatency` on one machine, from its start to its figures: [`Measured`].
//!
//! The program names its thread and waits; this gives the thread its policy from outside, the same
//! way on every machine, and starts the control beside it. What the machine logs meanwhile is noted
//! with the time at which it came.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Priority, Tid};

use super::args::Args;
use super::control::{Control, Plan, Sample};
use super::measured::{Collections, Measured};
use crate::bench::steal;

/// A line of the machine's log and when it came.
type Line = (u64, String);

/// Runs the program once; `command` is the machine with its options.
pub(super) fn measure(
    args: &Args,
    mut command: Command,
    words: &[String],
    period_us: u64,
    classes: &Path,
) -> Result<Measured> {
    let samples = std::env::temp_dir().join(format!("takt-bench-gc-{}.txt", std::process::id()));
    let mut child = command
        .arg("-cp")
        .arg(classes)
        .arg("GcLatency")
        .arg(format!("samples={}", samples.display()))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start java")?;
    let log = collect_log(child.stderr.take().context("it has a standard error")?);
    let outcome = converse(args, period_us, &mut child);
    if outcome.is_err() {
        // It may have ended already.
        let _ = child.kill();
    }
    let status = child.wait()?;
    let log = log.join().expect("reading does not panic");
    let said = || {
        let last: Vec<_> = log.iter().rev().take(20).map(|it| &*it.1).collect();
        last.into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    let mut measured = outcome.with_context(said)?;
    if !status.success() {
        bail!("java ended with {status}: {}", said());
    }
    let text = std::fs::read_to_string(&samples);
    // It lies in the directory for temporary files.
    let _ = std::fs::remove_file(&samples);
    measured.samples = read_samples(&text?)?;
    let (from_ns, to_ns) = (measured.figure("start_ns")?, measured.figure("end_ns")?);
    measured.collections = count(&log, from_ns, to_ns);
    for (_, line) in &log {
        let counter = line.strip_prefix("  ").and_then(|it| it.split_once(": "));
        if let Some((name, Ok(value))) = counter.map(|(name, value)| (name, value.parse())) {
            measured.figures.insert(name.to_owned(), value);
        }
    }
    Ok(measured)
}

/// From the program's first word to its last.
fn converse(args: &Args, period_us: u64, child: &mut Child) -> Result<Measured> {
    let mut input = child.stdin.take().context("it has a standard input")?;
    let mut output = BufReader::new(child.stdout.take().context("it has a standard output")?);
    let tid = expect_line(&mut output, "tid ")?.trim().parse()?;
    let policy = match Priority::new(args.priority) {
        Some(priority) => Policy::Fifo(priority),
        None => Policy::Other { nice: 0 },
    };
    let tid = Tid::new(tid).context("a thread number")?;
    let is_real_time = args.priority > 0 && policy.apply(tid).is_ok();
    let policy = if is_real_time {
        policy
    } else {
        Policy::Other { nice: 0 }
    };
    let period_ns = period_us * 1000;
    let plan = Plan {
        period_ns,
        // The program's thread comes at a quarter, a second control at the half.
        phase_ns: period_ns / 4 * 3,
        spin_ns: args.spin_ns(),
        work_ns: args.control_us * 1000,
        seconds_max: args.seconds_max(),
    };
    let control = Control::start(policy, plan)?;
    let half = Plan {
        phase_ns: period_ns / 2,
        ..plan
    };
    let second = args.second_control.then(|| Control::start(policy, half));
    let second = second.transpose()?;
    let stolen_ms = steal::since_start_ms();
    let talk = talk(&mut input, &mut output);
    let figures = match talk {
        Ok(mut figures) => {
            let stolen_ms = steal::since_start_ms().saturating_sub(stolen_ms);
            figures.insert("stolen_ms".to_owned(), stolen_ms);
            figures
        }
        Err(error) => {
            control.stop(0, 0);
            second.map(|it| it.stop(0, 0));
            return Err(error);
        }
    };
    let of = |name: &str| figures.get(name).copied().unwrap_or(0);
    let stop = |it: Control| it.stop(of("start_ns"), of("end_ns"));
    let control = stop(control);
    let second_control = second.map(stop).unwrap_or_default();
    let (rss_mb, pss_mb) = memory_of(child.id());
    // It waits for this before it ends. If it does not, its status says why.
    let _ = writeln!(input, "end");
    Ok(Measured {
        samples: Vec::new(),
        control,
        second_control,
        figures,
        collections: Collections::default(),
        rss_mb,
        pss_mb,
        is_real_time,
    })
}

fn talk(
    input: &mut ChildStdin,
    output: &mut BufReader<ChildStdout>,
) -> Result<HashMap<String, u64>> {
    writeln!(input, "go").context("it does not listen")?;
    let words = expect_line(output, "figures ")?;
    let pair = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Ok(words.split_whitespace().filter_map(pair).collect())
}

/// The rest of the next line that begins with `start`.
fn expect_line(output: &mut BufReader<ChildStdout>, start: &str) -> Result<String> {
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        if let Some(rest) = line.strip_prefix(start) {
            return Ok(rest.to_owned());
        }
        line.clear();
    }
    bail!("the program ended before it said \"{start}\"")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a reader of a pipe is no thread of the experiment"
)]
fn collect_log(stream: ChildStderr) -> JoinHandle<Vec<Line>> {
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).lines();
        lines
            .map_while(Result::ok)
            .map(|line| (Monotonic.now_ns(), line))
            .collect()
    })
}

fn read_samples(text: &str) -> Result<Vec<Sample>> {
    let sample = |line: &str| {
        let mut values = line.split(' ').map(|it| it.parse::<u64>());
        let mut next = || {
            values
                .next()
                .context("three values")?
                .context(line.to_owned())
        };
        Ok(Sample {
            due_ns: next()?,
            late_ns: next()?,
            work_ns: next()?,
            processor_ns: None,
        })
    };
    text.lines().map(sample).collect()
}

/// Resident memory of a process, and its proportional part of what is shared, in MB.
fn memory_of(process: u32) -> (u64, u64) {
    let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"));
    let rollup = rollup.unwrap_or_default();
    let of = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or(0) / 1024
    };
    (of("Rss:"), of("Pss:"))
}

/// What the log says of the time between `from_ns` and `to_ns`.
fn count(log: &[Line], from_ns: u64, to_ns: u64) -> Collections {
    let mut found = Collections::default();
    let mut numbers = std::collections::BTreeSet::new();
    let mut before = (0, 0);
    for (ns, line) in log {
        let is_before = *ns < from_ns;
        if *ns > to_ns {
            break;
        }
        let so_far = takt_counts(line);
        if is_before {
            before = so_far.unwrap_or(before);
            continue;
        }
        if let Some((traces, pauses)) = so_far {
            (found.traces, found.stops) = (traces - before.0, pauses - before.1);
        }
        numbers.extend(number_after(line, "GC("));
        if let Some(total_ns) = number_after(line, "Total: ").filter(|_| line.contains("afepoint"))
        {
            found.stops += 1;
            found.stop_ns_max = found.stop_ns_max.max(total_ns);
        }
    }
    found.count = numbers.len() as u64;
    found
}

/// Traces and pauses so far, in a line of Takt's.
fn takt_counts(line: &str) -> Option<(u64, u64)> {
    let mut parts = line.strip_prefix("[gc] ")?.rsplit(", ");
    let pauses = parts.next()?.strip_suffix(" pauses")?.parse().ok()?;
    let traces = parts.next()?.strip_suffix(" traces")?.parse().ok()?;
    Some((traces, pauses))
}

fn number_after(line: &str, mark: &str) -> Option<u64> {
    let rest = &line[line.find(mark)? + mark.len()..];
    let end = rest
        .find(|it: char| !it.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[(u64, &str)]) -> Vec<Line> {
        lines
            .iter()
            .map(|(ns, it)| (*ns, (*it).to_owned()))
            .collect()
    }

    #[test]
    fn epochs_and_traces_of_the_window_count() {
        let lines = log(&[
            (
                5,
                "[gc] GC(0) 10M in use, 3M freed so far, 1 traces, 0 pauses",
            ),
            (
                15,
                "[gc] GC(1) 10M in use, 3M freed so far, 1 traces, 0 pauses",
            ),
            (
                18,
                "[gc] GC(2) 10M in use, 3M freed so far, 3 traces, 0 pauses",
            ),
            (
                25,
                "[gc] GC(3) 10M in use, 3M freed so far, 4 traces, 0 pauses",
            ),
        ]);
        let found = count(&lines, 10, 20);
        assert_eq!((found.count, found.traces, found.stops), (2, 2, 0));
    }

    #[test]
    fn hotspots_safepoints_count() {
        let safepoint = "[1.2s][info][safepoint] Safepoint \"ZMarkStart\", Time since last: 9 ns, \
                         Reaching safepoint: 7 ns, At safepoint: 8 ns, Total: 4711 ns";
        let lines = log(&[
            (11, safepoint),
            (12, "[1.2s][info][gc] GC(7) Pause Mark Start 0.01ms"),
            (13, "[1.2s][info][gc] GC(7) Garbage Collection (Warmup)"),
            (30, safepoint),
        ]);
        let found = count(&lines, 10, 20);
        assert_eq!((found.count, found.stops, found.stop_ns_max), (1, 1, 4711));
    }

    #[test]
    fn samples_are_three_numbers() {
        let samples = read_samples("10 2 3\n20 4 5\n").unwrap();
        assert_eq!((samples.len(), samples[1].late_ns), (2, 4));
        assert!(read_samples("10 2\n").is_err());
    }
}
