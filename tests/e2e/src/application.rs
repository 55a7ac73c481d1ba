// SPDX-License-Identifier: Apache-2.0
//! [`Application`]: one that runs until it is told to end, and what it says meanwhile.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::bound;

/// For one line of the log, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An application that runs until it is told to end.
pub struct Application {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
    _guard: SyncSender<()>,
}

impl Application {
    /// Starts what a command says.
    pub fn start(command: &mut Command) -> Self {
        use std::os::unix::process::CommandExt as _;
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let command = command.stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("takt starts");
        let guard = bound::guard(child.id());
        let log = BufReader::new(child.stderr.take().expect("a pipe"));
        let (sender, lines) = sync_channel(4096);
        std::thread::Builder::new()
            .spawn(move || {
                log.lines()
                    .map_while(Result::ok)
                    .try_for_each(|it| sender.send(it))
            })
            .expect("a thread");
        Self {
            child,
            lines,
            seen: Vec::new(),
            _guard: guard,
        }
    }

    /// The number of its first process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with this text.
    pub fn await_line(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no {text:?} in {:#?}", self.seen));
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Ends it by SIGKILL, wherever it is; all that it has said.
    pub fn kill(mut self) -> Vec<String> {
        bound::end_group(&mut self.child);
        self.seen.extend(self.lines.iter());
        std::mem::take(&mut self.seen)
    }

    /// Presses Ctrl-C.
    pub fn interrupt(&self) {
        self.signal("-INT");
    }

    /// Sends a signal to its first process alone.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.expect("kill").success());
    }

    /// Its first process ends by SIGKILL; what that has started is left.
    pub fn kill_alone(mut self) {
        self.signal("-KILL");
        self.child.wait().expect("it ends");
    }

    /// Waits until it ends without a fault; all of its log.
    pub fn await_end(mut self) -> Vec<String> {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{:#?}", self.seen);
        std::mem::take(&mut self.seen)
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        bound::end_group(&mut self.child);
    }
}
