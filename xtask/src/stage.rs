// SPDX-License-Identifier: Apache-2.0
//! Named stages with their time: what `make test` prints at the end.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::beside::Beside;

/// Runs stages one after the other and keeps how long each took.
pub(crate) struct Stages {
    only: Option<String>,
    longest: Option<Duration>,
    beside: Option<Beside>,
    done: Vec<(String, Duration, f64)>,
}

impl Stages {
    /// `only`: run just the stages whose name contains this text.
    pub(crate) fn new(only: Option<String>) -> Self {
        Self {
            only,
            longest: None,
            beside: None,
            done: Vec::new(),
        }
    }

    /// From now on a stage that takes longer ends the program, with its name.
    pub(crate) fn bounded_by(mut self, longest: Duration) -> Self {
        self.longest = Some(longest);
        self
    }

    /// Other stages, which run meanwhile: they count as this one's.
    pub(crate) fn beside(mut self, others: Beside) -> Self {
        self.beside = Some(others);
        self
    }

    /// Runs `body` unless the stage was deselected; the first failure ends the run with its name.
    pub(crate) fn run(&mut self, name: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
        if self
            .only
            .as_ref()
            .is_some_and(|only| !name.contains(only.as_str()))
        {
            return Ok(());
        }
        if let Some(others) = &mut self.beside {
            others.look()?;
        }
        println!("\n== {name}");
        let (start, busy) = (Instant::now(), processor_time());
        let guard = self.longest.map(|longest| guard(name, longest));
        let result = body();
        drop(guard);
        let taken = start.elapsed();
        let busy = (processor_time() - busy) / taken.as_secs_f64();
        // At once: a run that is ended from outside has no table.
        println!("== {name}: {:.1} s", taken.as_secs_f64());
        self.done.push((name.to_owned(), taken, busy));
        result.with_context(|| format!("stage '{name}' failed"))
    }

    /// Waits for what runs beside, and prints the table of times; an error if no stage was chosen.
    pub(crate) fn finish(mut self) -> Result<()> {
        if let Some(mut others) = self.beside.take() {
            self.run("the rest of what runs beside", || others.end())?;
        }
        if self.done.is_empty() {
            bail!("no stage matches '{}'", self.only.unwrap_or_default());
        }
        println!("\n{:<28} {:>8} {:>12}", "stage", "seconds", "processors");
        for (name, time, busy) in &self.done {
            println!("{name:<28} {:>8.1} {busy:>12.2}", time.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, time, _)| time).sum();
        println!("{:<28} {:>8.1}", "total", total.as_secs_f64());
        Ok(())
    }
}

/// Ends the program with what it has started, unless the answer is dropped before `longest`.
fn guard(name: &str, longest: Duration) -> SyncSender<()> {
    let (ended, is_ended) = sync_channel::<()>(0);
    let name = name.to_owned();
    std::thread::spawn(move || {
        if is_ended.recv_timeout(longest) == Err(RecvTimeoutError::Timeout) {
            eprintln!("stage '{name}' has not ended within {longest:?}: what it said last hangs");
            let own = std::process::id().to_string();
            // Whatever comes of it, the stage has failed.
            let _ = Command::new("pkill").args(["-P", &own]).status();
            std::process::exit(1);
        }
    });
    ended
}

/// The Cargo that started this program.
pub(crate) fn cargo_command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs Cargo with these arguments, output passed through.
pub(crate) fn cargo<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(args: I) -> Result<()> {
    command(cargo_command().args(args))
}

/// Runs a command and turns a bad exit into an error that names it.
pub(crate) fn command(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Where Cargo puts what it builds.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    Ok(metadata.target_directory.into_std_path_buf())
}

/// The `takt` command with its machine, Android's natives and AAudio, built for release.
pub(crate) fn takt() -> Result<PathBuf> {
    cargo([
        "build",
        "--release",
        "--locked",
        "--package",
        "cli",
        "--package",
        "vm",
        "--package",
        "pause",
        "--package",
        "burst",
        "--package",
        "natives",
        "--package",
        "aaudio",
    ])?;
    Ok(target_dir()?.join("release/takt"))
}

/// Seconds that all processors of this machine have worked, in ticks of 10 ms, for anybody.
fn processor_time() -> f64 {
    /// In proc(5)'s line `cpu`: user, nice, system, irq, softirq. The others are idle, or count a
    /// guest's time, which is in `user`.
    const BUSY: [usize; 5] = [1, 2, 3, 6, 7];
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<&str> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = BUSY
        .iter()
        .filter_map(|&it| fields.get(it)?.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
