// SPDX-License-Identifier: Apache-2.0
//! The experiment on this machine, on our Java machine or HotSpot; a native control beside each
//! row.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use report::Table;
use rt::policy::{Policy, Priority};
use serde::Serialize;

use super::control::{Control, Figures, Found};
use super::{Args, Machine, QUEUES, Row, front, load_arguments, of, parse, us, word};
use crate::bench::steal;
use crate::framework::Framework;
use crate::java;
use crate::jdk::Jdk;

/// A queue without a bound holds what nobody handles. In memory before it begins: a fault on a huge
/// page takes milliseconds where the host has to find it too, and the looper has them at the
/// priority of an urgent message.
const JAVA_HEAP: [&str; 2] = ["-Xmx1g", "-XX:+AlwaysPreTouch"];
/// How much later the 99.9th percentile may be with the most threads than with 30 or fewer.
const GROWTH_MAX: f64 = 1.5;
/// Where both queues handle all that is sent, their throughputs differ by what the run's ends cut
/// off.
const THROUGHPUT_MIN: f64 = 0.99;
/// More than the machines' start takes, and what follows a window.
const STARTING_MAX: Duration = Duration::from_secs(30);
const BETWEEN_MAX: Duration = Duration::from_secs(60);

/// What was measured beside a row.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Beside {
    /// None if its threads were not given the sender's priority.
    control: Option<Figures>,
    /// Time that the host gave to others in the row's windows.
    stolen_ms: u64,
}

/// All rows, as often as is asked for.
pub(super) fn measure(framework: &Framework, args: &Args) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for run in 1..=args.runs {
        let of_run = measure_once(framework, args, run)?;
        rows.extend(of_run.into_iter().map(|it| Row { run, ..it }));
    }
    Ok(rows)
}

/// One run: a machine for each row, all of them started before the first window. Whatever the host
/// does to this machine for longer than a window, it does to all rows alike. Rows over AOSP's queue
/// have one window: what is left in it takes longer than that to handle.
fn measure_once(framework: &Framework, args: &Args, run: u32) -> Result<Vec<Row>> {
    let priority = Priority::new(args.priority).context("1 to 99")?;
    let mut loads = Vec::new();
    for threads in &args.threads {
        for queue in QUEUES.iter().filter(|it| args.runs_over(it)) {
            loads.push(Load::start(framework, args, *threads, queue)?);
        }
    }
    let time_max = STARTING_MAX + loads.iter().map(Load::time_max).sum::<Duration>();
    let period_ns = args.period.as_nanos() as u64;
    let messages_max = time_max.as_nanos() as u64 / period_ns;
    // Refused: the rows' own senders are ordinary threads too, and there is nothing to compare.
    let control = Control::start(Policy::Fifo(priority), period_ns, messages_max as usize).ok();
    let turns = loads.iter().map(|it| it.window_count).max().unwrap_or(0);
    for turn in 0..turns {
        eprintln!("bench handler: run {run}, turn {} of {turns}", turn + 1);
        for load in loads.iter_mut().filter(|it| turn < it.window_count) {
            load.window()?;
        }
    }
    let control = control.map(Control::stop);
    let ended = loads.into_iter().map(|it| it.end(control.as_ref()));
    ended.collect()
}

/// A row's own machine, which waits for its windows.
struct Load {
    queue: &'static str,
    threads: u32,
    window: Duration,
    window_count: u32,
    machine: Child,
    /// None: it is to end.
    commands: Option<ChildStdin>,
    says: Lines<BufReader<ChildStdout>>,
    /// From and to, CLOCK_MONOTONIC, nanoseconds.
    windows: Vec<(u64, u64)>,
    stolen_ms: u64,
}

impl Load {
    fn start(
        framework: &Framework,
        args: &Args,
        threads: u32,
        queue: &'static str,
    ) -> Result<Self> {
        let (window, window_count) = match queue {
            "Takt" => (args.window(), args.window_count()),
            _ => (args.duration(), 1),
        };
        let java = Jdk::find()?.home.join("bin/java");
        let mut command = Command::new(&java);
        if args.machine == Machine::Takt {
            let own = std::env::current_exe().context("cannot find this program's own file")?;
            command.arg(java::alternative(&java::machine_beside(&own)?));
        }
        command
            .args(JAVA_HEAP)
            .args(framework.options(front(queue))?)
            .args(load_arguments(threads, window, args))
            .arg("on-command")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut machine = command
            .spawn()
            .with_context(|| format!("cannot start {}", java.display()))?;
        let says = machine.stdout.take().context("its output is piped")?;
        let mut load = Self {
            queue,
            threads,
            window,
            window_count,
            commands: machine.stdin.take(),
            machine,
            says: BufReader::new(says).lines(),
            windows: Vec::new(),
            stolen_ms: 0,
        };
        let ready = load.line()?;
        ensure!(ready == "ready", "HandlerLoad says no ready: {ready}");
        Ok(load)
    }

    /// Of all its windows, and what lies between.
    fn time_max(&self) -> Duration {
        (self.window + BETWEEN_MAX) * self.window_count
    }

    /// What it says next.
    fn line(&mut self) -> Result<String> {
        let line = self
            .says
            .next()
            .context("HandlerLoad ended too early; see above")?;
        Ok(line?)
    }

    fn window(&mut self) -> Result<()> {
        let stolen_ms = steal::since_start_ms();
        let mut commands = self.commands.as_ref().context("it has not ended")?;
        // Where it has ended, what it says tells more.
        let _ = commands.write_all(b"\n");
        let line = self.line()?;
        self.stolen_ms += steal::since_start_ms() - stolen_ms;
        let window = (word(&line, "start_ns")?, word(&line, "end_ns")?);
        self.windows.push(window);
        Ok(())
    }

    fn end(mut self, control: Option<&Found>) -> Result<Row> {
        self.commands = None;
        let row = self.line()?;
        let row = parse(self.queue, self.threads, &row)?;
        Ok(Row {
            beside: Some(Beside {
                control: control.and_then(|it| it.within(&self.windows)),
                stolen_ms: self.stolen_ms,
            }),
            ..row
        })
    }
}

impl Drop for Load {
    /// Also after an error in another.
    fn drop(&mut self) {
        let _ = self.machine.kill();
        let _ = self.machine.wait();
    }
}

/// The row with the most threads and, of those with 30 or fewer, the latest; none unless both were
/// run.
fn ends<'a>(run: &[&'a Row], queue: &str) -> Option<(&'a Row, &'a Row)> {
    let of_queue = || run.iter().copied().filter(|it| it.queue == queue);
    let most = of_queue().max_by_key(|it| it.threads)?;
    let few = of_queue().filter(|it| it.threads <= 30);
    let few = few.max_by_key(|it| it.p999_ns)?;
    (most.threads > 30).then_some((most, few))
}

/// The 99.9th percentile with the most threads over that with 30 or fewer.
fn growth(run: &[&Row], queue: &str) -> Option<f64> {
    let (most, few) = ends(run, queue)?;
    Some(most.p999_ns as f64 / few.p999_ns as f64)
}

/// The same of our queue, over the control beside the most threads if that was later than the queue
/// with few.
fn growth_beside_control(run: &[&Row]) -> Option<f64> {
    let (most, few) = ends(run, "Takt")?;
    let control = most.beside.and_then(|it| it.control);
    let few_ns = few.p999_ns.max(control.map_or(0, |it| it.p999_ns));
    Some(most.p999_ns as f64 / few_ns as f64)
}

/// The rows of each run.
fn runs(rows: &[Row]) -> Vec<Vec<&Row>> {
    let count = rows.iter().map(|it| it.run).max().unwrap_or(0);
    let of_run = |run| rows.iter().filter(|it| it.run == run).collect();
    (1..=count).map(of_run).collect()
}

/// What our queue was to show in one run and did not.
fn faults_of(run: &[&Row]) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(growth) = growth(run, "Takt")
        && growth > GROWTH_MAX
    {
        faults.push(format!(
            "p99.9 over our queue grows {growth:.2} times with the threads, {GROWTH_MAX} times at most"
        ));
    }
    let of = |queue| run.iter().filter(move |it| it.queue == queue);
    for (aosp, ours) in of("AOSP").zip(of("Takt")) {
        let least = aosp.messages_per_second as f64 * THROUGHPUT_MIN;
        if (ours.messages_per_second as f64) < least {
            faults.push(format!(
                "{} threads: {} messages a second over our queue, {} over AOSP's",
                ours.threads, ours.messages_per_second, aosp.messages_per_second
            ));
        }
    }
    faults
}

/// The faults of all runs, unless four of five have none.
pub(super) fn faults(rows: &[Row]) -> Vec<String> {
    let runs = runs(rows);
    let faults: Vec<_> = runs.iter().map(|it| faults_of(it)).collect();
    let held = faults.iter().filter(|it| it.is_empty()).count();
    if held * 5 >= runs.len() * 4 {
        return Vec::new();
    }
    let numbered = faults.into_iter().enumerate().flat_map(|(index, faults)| {
        let number = index + 1;
        faults
            .into_iter()
            .map(move |it| format!("run {number}: {it}"))
    });
    numbered.collect()
}

pub(super) fn text(rows: &[Row]) -> String {
    let mut table = Table::new([
        "µs",
        "threads",
        "samples",
        "p50",
        "p99",
        "p99.9",
        "max",
        "control p50",
        "p99.9",
        "max",
        "stolen ms",
        "messages/s",
        "sent/s",
        "pending",
        "sender",
    ]);
    for row in rows {
        let control = row.beside.and_then(|it| it.control);
        let control =
            |value: fn(Figures) -> u64| control.map_or("-".to_owned(), |it| us(value(it)));
        table.row([
            row.queue.to_owned(),
            row.threads.to_string(),
            row.samples.to_string(),
            us(row.p50_ns),
            us(row.p99_ns),
            us(row.p999_ns),
            us(row.max_ns),
            control(|it| it.p50_ns),
            control(|it| it.p999_ns),
            control(|it| it.max_ns),
            row.beside.map_or(0, |it| it.stolen_ms).to_string(),
            row.messages_per_second.to_string(),
            row.offered_per_second.to_string(),
            row.pending.to_string(),
            if row.is_realtime { "FIFO" } else { "ordinary" }.to_owned(),
        ]);
    }
    let mut text =
        format!("{table}\nRTDroid, on an RT kernel: 22–50 µs at 30 and at 300 threads.\n");
    let runs = runs(rows);
    for queue in QUEUES {
        let growths: Vec<f64> = runs.iter().filter_map(|it| growth(it, queue)).collect();
        if !growths.is_empty() {
            let _ = writeln!(
                text,
                "p99.9 over {queue}'s queue with the most threads, times that with 30 or fewer: {}.",
                listed(&growths)
            );
        }
    }
    let beside: Vec<f64> = runs
        .iter()
        .filter_map(|it| growth_beside_control(it))
        .collect();
    if of(rows, "Takt").any(|it| it.threads > 30) && !beside.is_empty() {
        let _ = writeln!(
            text,
            "Over Takt's, times the control's beside the most threads where that is later: {}.",
            listed(&beside)
        );
        let held = runs.iter().filter(|it| faults_of(it).is_empty()).count();
        let _ = writeln!(text, "The rule holds in {held} of {} runs.", runs.len());
    }
    text
}

fn listed(growths: &[f64]) -> String {
    let each: Vec<_> = growths.iter().map(|it| format!("{it:.2}")).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    fn run(number: u32, ours_with_most_ns: u64) -> [Row; 4] {
        let rows = [
            row("AOSP", 30, 10, 1000),
            row("Takt", 30, 10, 995),
            row("AOSP", 300, 1000, 100),
            row("Takt", 300, ours_with_most_ns, 3000),
        ];
        rows.map(|it| Row { run: number, ..it })
    }

    #[test]
    fn growth_and_a_lower_throughput_are_faults_of_our_queue_alone() {
        let mut rows = run(1, 15);
        assert_eq!(faults(&rows), [""; 0]);
        rows[1].messages_per_second = 900;
        rows[3].p999_ns = 16;
        assert_eq!(faults(&rows).len(), 2);
    }

    #[test]
    fn four_of_five_runs_are_enough_and_three_are_not() {
        let rows = |late: u32| -> Vec<Row> {
            let runs = (1..=5).map(|number| run(number, if number <= late { 16 } else { 15 }));
            runs.flatten().collect()
        };
        assert_eq!(faults(&rows(1)), [""; 0]);
        let faults = faults(&rows(2));
        assert_eq!(faults.len(), 2);
        assert!(faults[1].starts_with("run 2: "), "{faults:?}");
        assert!(text(&rows(2)).contains("holds in 3 of 5 runs"));
    }

    #[test]
    fn a_late_control_stands_for_a_late_host() {
        let mut rows = run(1, 30);
        rows[3].beside = Some(Beside {
            control: Some(Figures {
                samples: 1,
                p50_ns: 1,
                p999_ns: 25,
                max_ns: 40,
            }),
            stolen_ms: 0,
        });
        let all: Vec<&Row> = rows.iter().collect();
        assert_eq!(growth(&all, "Takt"), Some(3.0));
        assert_eq!(growth_beside_control(&all), Some(1.2));
    }
}
