// SPDX-License-Identifier: Apache-2.0
//! Named stages with their time: what `make test` prints at the end.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Runs stages one after the other and keeps how long each took.
pub(crate) struct Stages {
    only: Option<String>,
    longest: Option<Duration>,
    done: Vec<(String, Duration)>,
}

impl Stages {
    /// `only`: run just the stages whose name contains this text.
    pub(crate) fn new(only: Option<String>) -> Self {
        Self {
            only,
            longest: None,
            done: Vec::new(),
        }
    }

    /// From now on a stage that takes longer ends the program, with its name.
    pub(crate) fn bounded_by(mut self, longest: Duration) -> Self {
        self.longest = Some(longest);
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
        println!("\n== {name}");
        let start = Instant::now();
        let guard = self.longest.map(|longest| guard(name, longest));
        let result = body();
        drop(guard);
        self.done.push((name.to_owned(), start.elapsed()));
        result.with_context(|| format!("stage '{name}' failed"))
    }

    /// Prints the table of times; an error if no stage was chosen.
    pub(crate) fn finish(self) -> Result<()> {
        if self.done.is_empty() {
            bail!("no stage matches '{}'", self.only.unwrap_or_default());
        }
        println!("\n{:<28} {:>8}", "stage", "seconds");
        for (name, time) in &self.done {
            println!("{name:<28} {:>8.1}", time.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, time)| time).sum();
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
