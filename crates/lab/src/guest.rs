// SPDX-License-Identifier: Apache-2.0
//! [`Guest`]: a running QEMU: started, followed, ended, and its end understood.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rt::clock::{Clock, Monotonic};
use rt::stop::StopFlag;

use crate::error::LabError;
use crate::job::{Job, Mode};
use crate::lab::on_path;
use crate::machine::Machine;
use crate::out;
use crate::stream::{Sink, Tail};

/// How often the streams are looked at: at once for a person, nothing for the host.
const STEP_NS: u64 = 20_000_000;

/// Lines of the guest's console that an error shows.
const CONSOLE_LINES_MAX: usize = 25;

/// The longest line of the control port: `FAIL` with a reason.
const CONTROL_LINE_BYTES_MAX: usize = 4096;

/// How the guest ended, when it ended in order.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) exit_code: u8,
    pub(crate) remarks: Vec<String>,
    pub(crate) out_count: usize,
}

/// A QEMU process with its files.
pub(crate) struct Guest<'a> {
    child: Child,
    machine: &'a Machine,
    errors: PathBuf,
}

impl<'a> Guest<'a> {
    /// Starts QEMU in a process group of its own: Ctrl-C reaches us, and we end the guest in order.
    pub(crate) fn start(
        qemu: &Path,
        machine: &'a Machine,
        directory: &Path,
    ) -> Result<Guest<'a>, LabError> {
        let errors = directory.join("qemu.err");
        let stderr = File::create(&errors).map_err(LabError::io("create", &errors))?;
        // An emulator whose lab was killed has nobody to write for: util-linux ends it with us.
        let mut command = match on_path("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "KILL", "--"]).arg(qemu);
                command
            }
            None => Command::new(qemu),
        };
        let child = command
            .args(&machine.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .process_group(0)
            .spawn()
            .map_err(LabError::io("start", qemu))?;
        Ok(Guest {
            child,
            machine,
            errors,
        })
    }

    /// Hands the streams on until QEMU ends, time runs out or somebody says stop.
    pub(crate) fn follow(
        &mut self,
        limit: Option<Duration>,
        stop: &StopFlag,
        sink: &mut dyn Sink,
    ) -> Result<(), LabError> {
        let ports = &self.machine.ports;
        let mut stdout = Tail::open(&ports.stdout).map_err(LabError::io("read", &ports.stdout))?;
        let mut stderr = Tail::open(&ports.stderr).map_err(LabError::io("read", &ports.stderr))?;
        let clock = Monotonic;
        let start_ns = clock.now_ns();
        loop {
            let is_over = self
                .child
                .try_wait()
                .map_err(LabError::io("wait for", Path::new("qemu")))?
                .is_some();
            let pumped = stdout
                .pump(|it| sink.stdout(it))
                .and_then(|()| stderr.pump(|it| sink.stderr(it)));
            match pumped {
                Ok(()) => {}
                // Nobody reads any more: as if interrupted, like every program in a pipe.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(LabError::Interrupted);
                }
                Err(error) => return Err(LabError::io("hand on", &ports.stdout)(error)),
            }
            if is_over {
                return Ok(());
            }
            if stop.is_set() {
                return Err(LabError::Interrupted);
            }
            let elapsed = Duration::from_nanos(clock.now_ns() - start_ns);
            if let Some(limit) = limit.filter(|it| elapsed >= *it) {
                return Err(LabError::TimedOut {
                    seconds: limit.as_secs(),
                });
            }
            clock.sleep_until(clock.now_ns() + STEP_NS);
        }
    }

    /// Ends QEMU if it still runs. After this no process of ours is left.
    pub(crate) fn end(&mut self) {
        // Errors mean that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Reads the control port: how the command ended and which files it left.
    pub(crate) fn understand(&mut self, job: &Job) -> Result<End, LabError> {
        let control = &self.machine.ports.control;
        let bytes = fs::read(control).map_err(LabError::io("read", control))?;
        let mut rest = bytes.as_slice();
        let mut exit_code = None;
        let mut out_count = 0;
        while let Some(line) = next_line(&mut rest) {
            if let Some(reason) = line.strip_prefix("FAIL ") {
                return Err(LabError::SetupFailed {
                    reason: reason.to_owned(),
                    console_end: self.console_end(),
                });
            } else if let Some(code) = line.strip_prefix("EXIT ") {
                exit_code = code.trim().parse::<u8>().ok();
            } else if line == "FILES" {
                let to = job
                    .out
                    .as_deref()
                    .ok_or_else(|| LabError::OutDamaged("not asked for".to_owned()))?;
                out_count = out::unpack(rest, to)?;
                break;
            }
        }
        let exit_code = exit_code.ok_or_else(|| self.died())?;
        if let (Mode::HostRoot, Some(out)) = (job.mode, &job.out) {
            out_count = out::count(out)?;
        }
        Ok(End {
            exit_code,
            remarks: self.remarks(),
            out_count,
        })
    }

    fn died(&mut self) -> LabError {
        let console = self.console();
        let console_end = self.console_end();
        if console.contains("Initramfs unpacking failed") {
            return LabError::SetupFailed {
                reason: "its memory does not hold the initramfs: raise --memory".to_owned(),
                console_end,
            };
        }
        if console.contains("Kernel panic") {
            return LabError::Panicked { console_end };
        }
        let mut words = String::new();
        if let Ok(mut file) = File::open(&self.errors) {
            // A message cut short is still a message.
            let _ = file.read_to_string(&mut words);
        }
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        LabError::GuestDied {
            qemu: format!("QEMU: {status} {}", words.trim()),
            console_end,
        }
    }

    fn remarks(&self) -> Vec<String> {
        let console = self.console();
        let killed = console
            .lines()
            .filter(|it| it.contains("Out of memory: Killed process"));
        let mut remarks: Vec<String> = killed
            .map(|it| format!("{}; raise --memory", it.trim()))
            .collect();
        if console.contains("Initramfs unpacking failed") {
            remarks.push(
                "the initramfs did not fit into memory: files are missing; raise --memory"
                    .to_owned(),
            );
        }
        remarks
    }

    fn console(&self) -> String {
        let bytes = fs::read(&self.machine.ports.console).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\r', "")
    }

    fn console_end(&self) -> String {
        let console = self.console();
        let lines: Vec<&str> = console.lines().filter(|it| !it.trim().is_empty()).collect();
        // A panic says why on its first line; the end of its back trace says nothing.
        let from = match lines.iter().position(|it| it.contains("Kernel panic")) {
            Some(panic) => panic.saturating_sub(CONSOLE_LINES_MAX / 2),
            None => lines.len().saturating_sub(CONSOLE_LINES_MAX),
        };
        let to = lines.len().min(from + CONSOLE_LINES_MAX);
        lines[from..to].join("\n")
    }
}

/// Takes a line off the front; `None` at the end or where no text is.
fn next_line(rest: &mut &[u8]) -> Option<String> {
    let end = rest
        .iter()
        .take(CONTROL_LINE_BYTES_MAX)
        .position(|it| *it == b'\n')?;
    let line = std::str::from_utf8(&rest[..end])
        .ok()?
        .trim_end_matches('\r')
        .to_owned();
    *rest = &rest[end + 1..];
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_off_the_front() {
        let mut rest: &[u8] = b"RUN\r\nEXIT 3\nFILES\n070701";
        let lines: Vec<String> = std::iter::from_fn(|| next_line(&mut rest)).collect();
        assert_eq!(lines, ["RUN", "EXIT 3", "FILES"]);
        assert_eq!(rest, b"070701");
    }
}
