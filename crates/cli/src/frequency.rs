// SPDX-License-Identifier: Apache-2.0
//! A process beside the one that may hold the frequency: where that is killed, it puts the limits
//! back. It has a session of its own, so what is typed at the terminal ends the holder alone.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use rt::frequency::{Cpufreq, FrequencyError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open, setsid};

const COMMAND: &str = "give-back-frequency";

/// The hidden command that this process runs.
#[derive(clap::Args)]
#[command(name = COMMAND)]
pub(crate) struct Args {
    /// Whom it waits for: its parent
    #[arg(long)]
    holder: i32,
}

/// Has a process of its own give back what this one, or what it becomes, holds at its end. Nobody
/// but root can hold the frequency, and only where there is cpufreq.
pub(crate) fn give_back_at_end() {
    if !rustix::process::geteuid().is_root() || !Cpufreq::default().is_there() {
        return;
    }
    let begun = std::env::current_exe().and_then(|own| {
        Command::new(own)
            .args([COMMAND, "--holder", &std::process::id().to_string()])
            .arg0("takt")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
    });
    if let Err(error) = begun {
        eprintln!("takt: nobody gives the frequency back if this program is killed: {error}");
    }
}

/// Waits for the end of its parent.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    // It fails only where this process leads a session already.
    let _ = setsid();
    let holder = Pid::from_raw(args.holder).context("no number of a process")?;
    let end = pidfd_open(holder, PidfdFlags::empty());
    // One that has ended already has given this process to another parent.
    if let (Ok(end), true) = (end, getppid() == Some(holder)) {
        let mut ends = [PollFd::new(&end, PollFlags::IN)];
        while poll(&mut ends, None) == Err(Errno::INTR) {}
    }
    match Cpufreq::default().put_back_left() {
        Ok(true) => eprintln!("takt: a killed program held the frequency: its limits are back"),
        // The next holder has put them back before it changed them.
        Ok(false) | Err(FrequencyError::Taken(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}
