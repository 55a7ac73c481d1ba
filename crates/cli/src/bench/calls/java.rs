// SPDX-License-Identifier: Apache-2.0
//! [`Java`]: a load of framework/bench on our own machine, here or in a guest; [`Pair`]: both ends
//! of calls, `takt.bench.CallLoad`, joined.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::framework::{Framework, Front, SUPPORT};
use crate::java;
use crate::jdk::Jdk;

/// What a guest has of the JDK.
pub(super) const MODULES: &str = lab::JAVA_MODULES_DEFAULT;
/// Two heaps, compiled code, the image.
pub(super) const MEMORY_MIB: u32 = 1536;
const PROGRAM: &str = "takt.bench.CallLoad";
/// Of its code for guests.
const PLACE: &str = "lab-code-calls";
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
    /// The folder of the framework for compiled code that was made before, for guests. Always the
    /// same: its path is among what a guest sees.
    place: &'static str,
    is_made: bool,
}

impl Java {
    /// For this machine; `place` is for guests.
    pub(crate) fn find(place: &'static str) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        Ok(Self {
            framework: Framework::find(None)?,
            machine: java::machine_beside(&own)?,
            java: Jdk::find()?.home.join("bin/java"),
            place,
            is_made: false,
        })
    }

    /// In a guest, with the code that travelled there.
    pub(crate) fn made(place: &'static str) -> Result<Self> {
        Ok(Self {
            is_made: true,
            ..Self::find(place)?
        })
    }

    /// For guests: with a folder for the code of each part, by another `java` of the same classes.
    pub(crate) fn emptied(java: &Path, place: &'static str, parts: &[&str]) -> Result<Self> {
        eprintln!("bench: makes Java's code");
        let made = Self {
            java: java.to_owned(),
            ..Self::made(place)?
        };
        let place = made.framework.folder(place);
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        for part in parts {
            fs::create_dir_all(place.join(part))?;
        }
        Ok(made)
    }

    /// Files that a guest needs.
    pub(super) fn travels(&self) -> Vec<OsString> {
        let of_framework = [
            self.place,
            "classes",
            "realtime",
            "redirected",
            SUPPORT,
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

    /// The machine with what a part needs, but for the program.
    pub(crate) fn machine(&self, part: &str, front: Front) -> Result<Command> {
        let mut command = Command::new(&self.java);
        command.arg(java::alternative(&self.machine));
        command.args(["-Xtakt:realtime", HEAP]);
        if self.is_made {
            // A guest's processor is another.
            command.arg("-Xtakt:portable-code");
            let code = self.framework.folder(self.place).join(part);
            command.arg(option("-Xtakt:code-cache=", &code));
        }
        command.args(self.framework.options(front)?);
        Ok(command)
    }
}

fn option(start: &str, path: &Path) -> OsString {
    let mut option = OsString::from(start);
    option.push(path);
    option
}

/// Both ends of calls.
pub(crate) struct Calls(Java);

impl Calls {
    /// For this machine.
    pub(crate) fn find() -> Result<Self> {
        Java::find(PLACE).map(Self)
    }

    /// In a guest.
    pub(crate) fn made() -> Result<Self> {
        Java::made(PLACE).map(Self)
    }

    /// For guests: makes the code.
    pub(crate) fn prepare(java: &Path) -> Result<Java> {
        let made = Self(Java::emptied(java, PLACE, &["serve", "call"])?);
        let mut pair = made.start(&["rpc", CALLERS_PREPARED, CALLS_PREPARED])?;
        pair.line()?;
        pair.end()?;
        Ok(made.0)
    }

    /// The program in a part; `link` says how it finds the other.
    fn command(&self, part: &str, link: &str, socket: &Path) -> Result<Command> {
        let mut command = self.0.machine(part, Front::RealtimeInLab)?;
        command.arg(option(&format!("-Dtakt.binder.{link}="), socket));
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
