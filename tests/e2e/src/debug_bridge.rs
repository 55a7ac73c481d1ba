// SPDX-License-Identifier: Apache-2.0
//! [`Adb`]: Debian's `adb`, with a server and a home of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::SyncSender;

use rt::clock::{Clock as _, Monotonic};

use crate::{Run, bound};

/// Seconds for one command, on a busy machine.
const PATIENCE: &str = "300";
const BOUND_NS: u64 = 100_000_000_000;
const LOOK_NS: u64 = 20_000_000;

/// Both end with this value.
pub struct Adb {
    home: PathBuf,
    server: Child,
    _guard: SyncSender<()>,
}

impl Adb {
    /// Starts its server; `home` gets its key.
    pub fn begin(home: &Path) -> Self {
        let mut command = Self::command(home);
        command.args(["nodaemon", "server"]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let server = command.stderr(Stdio::null()).spawn();
        let server = server.expect("adb: run tools/setup");
        let guard = bound::guard(server.id());
        let adb = Self {
            home: home.to_owned(),
            server,
            _guard: guard,
        };
        let until = Monotonic.now_ns() + BOUND_NS;
        while UnixStream::connect(home.join("adb")).is_err() {
            assert!(Monotonic.now_ns() < until, "adb's server does not listen");
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
        adb
    }

    /// What came of a command.
    pub fn run(&self, words: &[&str]) -> Run {
        let mut command = Command::new("timeout");
        Run::of(self.own(command.arg(PATIENCE).arg("adb").args(words)))
    }

    /// What a command says that must go well.
    pub fn said(&self, words: &[&str]) -> String {
        let run = self.run(words);
        assert_eq!(run.code, 0, "{words:?}: {run:#?}");
        run.stdout
    }

    /// Waits until a command says something.
    pub fn await_said(&self, words: &[&str], text: &str) {
        let until = Monotonic.now_ns() + BOUND_NS;
        loop {
            let said = self.run(words).stdout;
            if said.contains(text) {
                return;
            }
            assert!(Monotonic.now_ns() < until, "no {text:?} in {said}");
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
    }

    /// Starts a command that goes on.
    pub fn follow(&self, words: &[&str]) -> Following {
        let mut command = Command::new("timeout");
        let command = self.own(command.arg(PATIENCE).arg("adb").args(words));
        let command = command.process_group(0).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("adb starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Following { child, lines }
    }

    fn command(home: &Path) -> Command {
        let mut command = Command::new("adb");
        Self::at(home, &mut command);
        command
    }

    fn own<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        Self::at(&self.home, command)
    }

    fn at<'a>(home: &Path, command: &'a mut Command) -> &'a mut Command {
        let socket = format!("localfilesystem:{}", home.join("adb").display());
        let foreign = [
            "ADB_VENDOR_KEYS",
            "ANDROID_ADB_SERVER_PORT",
            "ANDROID_SERIAL",
        ];
        for name in foreign {
            command.env_remove(name);
        }
        command.env("HOME", home).env("ADB_SERVER_SOCKET", socket)
    }
}

impl Drop for Adb {
    fn drop(&mut self) {
        bound::end_group(&mut self.server);
    }
}

/// A command that goes on until this value goes, or its time is over.
pub struct Following {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Following {
    /// Waits for a line with this text.
    pub fn await_line(&mut self, text: &str) {
        let mut seen = Vec::new();
        for line in self.lines.by_ref().lines().map_while(Result::ok) {
            if line.contains(text) {
                return;
            }
            seen.push(line);
        }
        panic!("no {text:?} in {seen:#?}");
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        bound::end_group(&mut self.child);
    }
}
