// SPDX-License-Identifier: Apache-2.0
//! [`Java`]: both ends as Java programs, `takt.bench.CallLoad` of framework/bench on our own
//! machine; [`Pair`]: two that are joined.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::framework::{Framework, Front};
use crate::java;
use crate::jdk::Jdk;

/// What a guest has of the JDK.
pub(super) const MODULES: &str = lab::JAVA_MODULES_DEFAULT;
/// Two heaps, compiled code, the image.
pub(super) const MEMORY_MIB: u32 = 1536;
const PROGRAM: &str = "takt.bench.CallLoad";
/// A heap is in memory as a whole before the program begins.
const HEAP: &str = "-Xmx64m";
/// Of the run that makes the code for guests.
const CALLERS_PREPARED: &str = "8";
const CALLS_PREPARED: &str = "3000";

/// See the module.
pub(crate) struct Java {
    framework: Framework,
    /// Of our machine's library.
    machine: PathBuf,
    java: PathBuf,
    /// Compiled code that was made before, for guests.
    code: Option<PathBuf>,
}

impl Java {
    /// For this machine.
    pub(crate) fn find() -> Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        Ok(Self {
            framework: Framework::find(None)?,
            machine: java::machine_beside(&own)?,
            java: Jdk::find()?.home.join("bin/java"),
            code: None,
        })
    }

    /// In a guest, with the code that travelled there.
    pub(crate) fn made() -> Result<Self> {
        let found = Self::find()?;
        Ok(Self {
            code: Some(found.place()),
            ..found
        })
    }

    /// For guests: makes the code, by another `java` of the same classes.
    pub(super) fn prepare(java: &Path) -> Result<Self> {
        eprintln!("bench: makes Java's code");
        let made = Self {
            java: java.to_owned(),
            ..Self::made()?
        };
        let place = made.place();
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        for part in ["serve", "call"] {
            fs::create_dir_all(place.join(part))?;
        }
        let mut pair = made.start(&["rpc", CALLERS_PREPARED, CALLS_PREPARED])?;
        pair.line()?;
        pair.end()?;
        Ok(made)
    }

    /// Always the same: its path is among what a guest sees.
    fn place(&self) -> PathBuf {
        self.framework.folder("lab-code-calls")
    }

    /// Files that a guest needs.
    pub(super) fn travels(&self) -> Vec<OsString> {
        let of_framework = [
            "lab-code-calls",
            "classes",
            "realtime",
            "redirected",
            "android-lab.jar",
            "android-all.path",
            "lib",
        ];
        let mut files: Vec<OsString> = vec!["java".into()];
        files.extend(of_framework.map(|it| self.framework.folder(it).into()));
        files.push(self.framework.natives().into());
        files.push(self.machine.join("libjvm.so").into());
        files
    }

    /// The program in a part; `link` says how it finds the other.
    fn command(&self, part: &str, link: &str, socket: &Path) -> Result<Command> {
        let with = |start: &str, path: &Path| {
            let mut option = OsString::from(start);
            option.push(path);
            option
        };
        let mut command = Command::new(&self.java);
        command.arg(java::alternative(&self.machine));
        command.args(["-Xtakt:realtime", HEAP]);
        if let Some(code) = &self.code {
            // A guest's processor is another.
            command.arg("-Xtakt:portable-code");
            command.arg(with("-Xtakt:code-cache=", &code.join(part)));
        }
        command.arg(with(&format!("-Dtakt.binder.{link}="), socket));
        command.args(self.framework.options(Front::RealtimeInLab)?);
        command.arg(PROGRAM);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(command)
    }

    /// A server, and what calls it, told by `words` what to do.
    pub(crate) fn start(&self, words: &[&str]) -> Result<Pair> {
        let folder = tempfile::tempdir().context("cannot make a directory for a socket")?;
        let socket = folder.path().join("calls");
        let mut command = self.command("serve", "listen", &socket)?;
        let mut server = Program::start(command.arg("serve"))?;
        let ready = server.line()?;
        if ready != "ready" {
            bail!("{PROGRAM} says no ready: {ready}");
        }
        let mut command = self.command("call", "join", &socket)?;
        Ok(Pair {
            caller: Program::start(command.args(words))?,
            server,
            _folder: folder,
        })
    }
}

/// One of the two. Ends with this.
struct Program {
    child: Child,
    /// None: it is to end.
    commands: Option<ChildStdin>,
    says: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.spawn().context("cannot start java")?;
        let says = child.stdout.take().context("its output is piped")?;
        Ok(Self {
            commands: child.stdin.take(),
            says: BufReader::new(says).lines(),
            child,
        })
    }

    fn line(&mut self) -> Result<String> {
        let line = self.says.next();
        Ok(line.with_context(|| format!("{PROGRAM} ended too early; see above"))??)
    }

    fn end(&mut self) -> Result<()> {
        self.commands = None;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("{PROGRAM}: {status}");
        }
        Ok(())
    }
}

impl Drop for Program {
    /// Also after an error in the other.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two programs that are joined.
pub(crate) struct Pair {
    caller: Program,
    server: Program,
    _folder: TempDir,
}

impl Pair {
    /// What the caller says next.
    pub(crate) fn line(&mut self) -> Result<String> {
        self.caller.line()
    }

    /// Has the caller do something; gives what it says to that.
    pub(crate) fn ask(&mut self, command: &str) -> Result<String> {
        let mut commands = self.caller.commands.as_ref().context("it has not ended")?;
        // Where it has ended, what it says tells more.
        let _ = commands.write_all(command.as_bytes());
        let _ = commands.write_all(b"\n");
        self.line()
    }

    /// Both end by themselves.
    pub(crate) fn end(mut self) -> Result<()> {
        self.caller.end()?;
        self.server.end()
    }
}
