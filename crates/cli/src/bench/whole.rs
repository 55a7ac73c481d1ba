// SPDX-License-Identifier: Apache-2.0
//! [`Whole`]: what a program took from its start to its end, all its threads together.

use std::fs::File;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use rt::clock::{Clock as _, Monotonic};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde::Serialize;

/// What the kernel counts a process's time in: 100 a second on every platform of Linux.
const TICK_MS: u64 = 10;

/// What a program took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Whole {
    /// The processor's time in the program.
    pub(super) user_ms: u64,
    /// The same in the kernel.
    pub(super) kernel_ms: u64,
    pub(super) wall_ms: u64,
}

impl Whole {
    /// The processor's time.
    pub(super) fn processor_ms(&self) -> u64 {
        self.user_ms + self.kernel_ms
    }
}

/// Runs a program to its end, and gives what it printed. The kernel tells what an ended process
/// used until somebody has asked how it ended.
pub(super) fn run(command: &mut Command) -> Result<(Whole, String)> {
    let [said, told] = [(), ()].map(|()| tempfile::NamedTempFile::new());
    let (said, told) = (said.context("no file")?, told.context("no file")?);
    command
        .stdin(Stdio::null())
        .stdout(File::create(said.path())?)
        .stderr(File::create(told.path())?);
    let begin_ns = Monotonic.now_ns();
    let mut child = command.spawn().context("it does not start")?;
    let pid = Pid::from_child(&child);
    waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )?;
    let wall_ms = (Monotonic.now_ns() - begin_ns) / 1_000_000;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let status = child.wait()?;
    let error = std::fs::read_to_string(told.path()).unwrap_or_default();
    ensure!(status.success(), "it ended with {status}: {}", error.trim());
    let [user, kernel] = ticks(&stat).context("the kernel says no times")?;
    let whole = Whole {
        user_ms: user * TICK_MS,
        kernel_ms: kernel * TICK_MS,
        wall_ms,
    };
    Ok((whole, std::fs::read_to_string(said.path())?))
}

/// Ticks in the program and in the kernel, of a process and of its children: fields 14 to 17.
fn ticks(stat: &str) -> Option<[u64; 2]> {
    let fields = stat.get(stat.rfind(')')? + 2..)?.split(' ').skip(11);
    let ticks: Option<Vec<u64>> = fields.take(4).map(|it| it.parse().ok()).collect();
    match ticks?[..] {
        [user, kernel, users, kernels] => Some([user + users, kernel + kernels]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_the_time_of_a_process() {
        let stat = "7 (a ) b) Z 1 7 7 0 -1 4 100 0 0 0 30 4 2 1 20 0 1 0 9";
        assert_eq!(ticks(stat), Some([32, 5]));
        assert_eq!(ticks("7 (x) Z 1"), None);
        let (whole, said) = run(Command::new("echo").arg("done")).unwrap();
        assert_eq!(said, "done\n");
        assert!(whole.processor_ms() < 1_000);
        let failed = run(Command::new("ls").arg("/nowhere")).unwrap_err();
        assert!(failed.to_string().contains("nowhere"), "{failed}");
    }
}
