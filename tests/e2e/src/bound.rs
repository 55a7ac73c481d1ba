// SPDX-License-Identifier: Apache-2.0
//! Nothing that a test starts runs for ever: what hangs is ended, and the test fails with what it
//! said.
#![allow(
    clippy::disallowed_methods,
    reason = "a test's watch is no real-time thread"
)]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The longest that a command may take: ten times what the slowest needs on a busy machine.
const LONGEST: Duration = Duration::from_secs(600);
/// Seconds that long runs have instead; `cargo xtask soak` says so.
const LONGER: &str = "E2E_LONGEST_SECONDS";
/// How long a machine has to say what its threads do.
const LAST_WORDS: Duration = Duration::from_secs(5);

fn longest() -> Duration {
    let longer = std::env::var(LONGER).ok().and_then(|it| it.parse().ok());
    longer.map_or(LONGEST, Duration::from_secs)
}

/// As [`Command::output`], within ten minutes.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.stdin(Stdio::null()).process_group(0).spawn()?;
    let _guard = guard(child.id());
    child.wait_with_output()
}

/// Ends the process group of this number after ten minutes, unless the answer is dropped before:
/// by SIGQUIT, at which a Java machine says what its threads do, then by SIGKILL.
pub fn guard(group: u32) -> SyncSender<()> {
    let (ended, is_ended) = sync_channel::<()>(0);
    std::thread::spawn(move || {
        for (signal, after) in [("-QUIT", longest()), ("-KILL", LAST_WORDS)] {
            if is_ended.recv_timeout(after) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let group = format!("-{group}");
            // A group that has just ended is no fault.
            let _ = Command::new("kill").args([signal, "--", &group]).status();
        }
    });
    ended
}

/// Ends a child that leads a process group, with all of that group.
pub fn end_group(child: &mut Child) {
    let group = format!("-{}", child.id());
    // A group that has just ended is no fault, nor is a child that was waited for.
    let _ = Command::new("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
    let _ = child.wait();
}
