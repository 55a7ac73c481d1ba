// SPDX-License-Identifier: Apache-2.0
//! Stages that wait for nothing but a processor run beside the others: in a second `xtask`, with
//! what the first leaves of the processors.

use std::fs::File;
use std::io::{copy, stdout};
use std::os::unix::process::{CommandExt as _, parent_id};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::stage::target_dir;

/// A tenth of a processor that others want, so that it goes on beside anything.
const NICE: &str = "10";
/// What a test of tests/e2e may take, in seconds, where it has only that tenth.
const BOUND: (&str, &str) = ("E2E_LONGEST_SECONDS", "1800");

/// The second `xtask`. What it prints is shown when it has ended: a failure ends the first one too.
pub(crate) struct Beside {
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// Starts `xtask` with these words.
    pub(crate) fn start(words: &[&str]) -> Result<Self> {
        let log = target_dir()?.join("beside.log");
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = Command::new("nice")
            .args(["-n", NICE])
            .arg(std::env::current_exe()?)
            .args(words)
            .env(BOUND.0, BOUND.1)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0)
            .spawn()
            .context("cannot start a second xtask")?;
        Ok(Self { child, log })
    }

    /// An error as soon as one of its stages has failed.
    pub(crate) fn look(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) if !status.success() => self.end(),
            _ => Ok(()),
        }
    }

    /// Waits for its end, and shows what it printed.
    pub(crate) fn end(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        println!("\n== beside the others");
        copy(&mut File::open(&self.log)?, &mut stdout())?;
        if !status.success() {
            bail!("a stage beside the others failed (see above): xtask ended with {status}");
        }
        Ok(())
    }
}

/// In the second `xtask`: ends it with all that it has started once the first one is gone.
pub(crate) fn end_with_the_first() {
    let first = parent_id();
    std::thread::spawn(move || {
        while parent_id() == first {
            std::thread::sleep(Duration::from_secs(1));
        }
        let group = format!("-{}", std::process::id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    });
}
