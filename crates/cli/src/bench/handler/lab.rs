// SPDX-License-Identifier: Apache-2.0
//! The experiment in deterministic guests: one processor, PREEMPT_RT, virtual time, several seeds
//! for each row.
//!
//! The guest has the trimmed image of the JDK and the few of AOSP's classes that the load needs.
//! Its code is made here, over the same image: in the guest, compiling would take minutes of the
//! host.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab::{Cache, Flavour, Job, Lab, Mode, RtcSource, Sweep};
use report::Table;
use rt::stop::StopFlag;

use super::{Args, QUEUES, Row, front, load_arguments, of, parse, us};
use crate::framework::{Framework, Front};
use crate::java;
use crate::jdk::Jdk;
use crate::output;

/// How much later the worst may be with the most threads than with 30 or fewer.
const GROWTH_MAX: f64 = 1.2;
/// Without a limit a guest whose threads wait for each other would never end.
const TIME_MAX: Duration = Duration::from_secs(900);
/// The guest has a gigabyte.
const JAVA_HEAP: &str = "-Xmx256m";
/// Messages of a run that makes code, for each number of threads.
const PREPARED: Duration = Duration::from_millis(400);
/// Such runs. What a run calls depends on how its threads meet: of `OrdinaryMessages.offered` half
/// of them make no code. A guest would compile it then, which takes a message 2 virtual ms.
const PREPARATIONS: u32 = 6;
const MODULES: &str = lab::JAVA_MODULES_DEFAULT;

/// What all guests have in common.
struct Guests<'a> {
    lab: &'a Lab,
    framework: &'a Framework,
    args: &'a Args,
    /// Of our machine, on the host as in the guest.
    machine: PathBuf,
    java: PathBuf,
}

/// A row for each queue, number of threads and seed.
pub(super) fn measure(framework: &Framework, args: &Args) -> Result<Vec<Row>> {
    let stop = StopFlag::on_signals().context("cannot catch Ctrl-C")?;
    let lab = Lab::open(Cache::of_user()?, stop)?;
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let guests = Guests {
        lab: &lab,
        framework,
        args,
        machine: java::machine_beside(&own)?,
        java: Jdk::find()?.home.join("bin/java"),
    };
    let mut rows = Vec::new();
    for queue in QUEUES.iter().filter(|it| args.runs_over(it)) {
        let code = guests.prepare(queue)?;
        for threads in &args.threads {
            eprintln!("bench handler: {threads} threads, {queue}'s queue, in the lab");
            rows.extend(guests.sweep(queue, *threads, &code)?);
        }
    }
    Ok(rows)
}

impl Guests<'_> {
    /// The load's command line, over any `java` of the same classes.
    fn words(
        &self,
        java: &Path,
        queue: &str,
        code: &Path,
        threads: u32,
        duration: Duration,
    ) -> Result<Vec<OsString>> {
        let mut cache = OsString::from("-Xtakt:code-cache=");
        cache.push(code);
        let mut words: Vec<OsString> = vec![
            java.into(),
            java::alternative(&self.machine),
            // The guest's processor is another.
            "-Xtakt:portable-code".into(),
            cache,
            JAVA_HEAP.into(),
        ];
        words.extend(self.framework.options(match front(queue) {
            Front::Aosp => Front::AospInLab,
            _ => Front::RealtimeInLab,
        })?);
        words.extend(load_arguments(threads, duration, self.args));
        Ok(words)
    }

    /// Makes the code of one queue, anew: always at the same place, for its path is among what the
    /// guest sees.
    fn prepare(&self, queue: &str) -> Result<PathBuf> {
        eprintln!("bench handler: makes the code of {queue}'s queue");
        let code = self
            .framework
            .folder(&format!("lab-code-{}", queue.to_lowercase()));
        if code.exists() {
            std::fs::remove_dir_all(&code)?;
        }
        std::fs::create_dir_all(&code)?;
        let image = self.lab.java_image(&self.java, MODULES)?;
        let java = image.join("bin/java");
        for _ in 0..PREPARATIONS {
            for threads in &self.args.threads {
                let words = self.words(&java, queue, &code, *threads, PREPARED)?;
                output::of(Command::new(&words[0]).args(&words[1..]))?;
            }
        }
        Ok(code)
    }

    fn sweep(&self, queue: &'static str, threads: u32, code: &Path) -> Result<Vec<Row>> {
        let duration = self.args.duration();
        let job = Job {
            command: self.words(&self.java, queue, code, threads, duration)?,
            directory: PathBuf::from("/"),
            mode: Mode::Deterministic,
            kernel: Flavour::Rt,
            cpu_count: 1,
            memory_mib: None,
            modules: Vec::new(),
            with: vec![
                code.into(),
                self.machine.join("libjvm.so").into(),
                self.framework.natives().into(),
            ],
            java_modules: MODULES.to_owned(),
            environment: Vec::new(),
            out: None,
            seed: 0,
            time_limit: Some(TIME_MAX),
            rtc: RtcSource::Virtual,
            console: None,
        };
        let sweep = Sweep {
            seed_count: self.args.seeds,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
        };
        let mut rows = Vec::new();
        let mut fault = None;
        self.lab.sweep(&job, sweep, |sample| {
            let row = sample.outcome.map_err(anyhow::Error::from).and_then(|it| {
                let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let streams = &sample.streams;
                if it.exit_code != 0 {
                    bail!("exit {}: {}", it.exit_code, said(&streams.stderr));
                }
                parse(queue, threads, &said(&streams.stdout))
            });
            match row {
                Ok(row) => rows.push(row),
                Err(error) => fault = Some(error.context(format!("seed {}", sample.seed))),
            }
        });
        match fault {
            None => Ok(rows),
            Some(fault) => Err(fault),
        }
    }
}

/// The worst with the most threads over the worst with 30 or fewer, of a queue; none unless both
/// were run.
fn growth(rows: &[Row], queue: &str) -> Option<f64> {
    let most = of(rows, queue).map(|it| it.threads).max()?;
    let worst_ns = |is_meant: &dyn Fn(u32) -> bool| {
        let meant = of(rows, queue).filter(|it| is_meant(it.threads));
        meant.map(|it| it.max_ns).max()
    };
    let few_ns = worst_ns(&|threads| threads <= 30)?;
    let most_ns = worst_ns(&|threads| threads == most)?;
    (most > 30).then(|| most_ns as f64 / few_ns as f64)
}

/// What our queue was to show and did not.
pub(super) fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(growth) = growth(rows, "Takt")
        && growth > GROWTH_MAX
    {
        faults.push(format!(
            "the worst over our queue grows {growth:.2} times with the threads, {GROWTH_MAX} times at most"
        ));
    }
    if rows.iter().any(|it| !it.is_realtime) {
        faults.push("a sender was not given its priority".to_owned());
    }
    faults
}

/// A line for each queue and number of threads, over all its seeds.
pub(super) fn text(rows: &[Row]) -> String {
    let mut table = Table::new([
        "virtual µs",
        "threads",
        "seeds",
        "samples",
        "p50",
        "worst",
        "median worst",
        "messages/s",
        "pending",
    ]);
    for queue in QUEUES {
        let mut threads: Vec<u32> = of(rows, queue).map(|it| it.threads).collect();
        threads.dedup();
        for threads in threads {
            let rows: Vec<&Row> = of(rows, queue).filter(|it| it.threads == threads).collect();
            let mean = |value: fn(&Row) -> u64| {
                rows.iter().copied().map(value).sum::<u64>() / rows.len() as u64
            };
            let mut worsts: Vec<u64> = rows.iter().map(|it| it.max_ns).collect();
            worsts.sort_unstable();
            table.row([
                queue.to_owned(),
                threads.to_string(),
                rows.len().to_string(),
                rows.iter().map(|it| it.samples).sum::<u64>().to_string(),
                us(mean(|it| it.p50_ns)),
                us(worsts[worsts.len() - 1]),
                us(worsts[(worsts.len() - 1) / 2]),
                mean(|it| it.messages_per_second).to_string(),
                mean(|it| it.pending.max(0).unsigned_abs()).to_string(),
            ]);
        }
    }
    let mut text = table.to_string();
    for queue in QUEUES {
        if let Some(growth) = growth(rows, queue) {
            text.push_str(&format!(
                "The worst over {queue}'s queue with the most threads: {growth:.2} times that with 30 or fewer.\n"
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    fn worst(queue: &'static str, threads: u32, max_ns: u64) -> Row {
        Row {
            max_ns,
            ..row(queue, threads, 0, 0)
        }
    }

    #[test]
    fn the_worst_of_all_seeds_counts_and_of_our_queue_alone() {
        let mut rows = vec![
            worst("AOSP", 30, 10),
            worst("AOSP", 300, 1000),
            worst("Takt", 30, 8),
            worst("Takt", 30, 10),
            worst("Takt", 300, 9),
            worst("Takt", 300, 12),
        ];
        assert_eq!(faults(&rows), [""; 0]);
        assert!(text(&rows).contains("100.00 times"), "{}", text(&rows));
        rows[5].max_ns = 13;
        assert_eq!(faults(&rows).len(), 1);
    }
}
