// SPDX-License-Identifier: Apache-2.0
//! [`Confinement`]: a sandbox that is ready to be entered, once.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use crate::grants::Grants;
use crate::plan::Plan;
use crate::report::{Bound, Report};
use crate::spec::Spec;
use crate::step::Step;

/// What becomes of a bound that this kernel or user does not offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The report names it.
    Best,
    /// There is no sandbox, and nothing starts.
    Strict,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bounds are missing, and all were wanted.
    #[error("not offered here: {}", missing(.0))]
    Missing(Report),
    /// The rules for files could not be made.
    #[error("cannot make rules for files: {0}")]
    Rules(#[from] landlock::RulesetError),
    /// A pipe or a child could not be made, to try the sandbox in.
    #[error("cannot try the sandbox: {0}")]
    Trial(io::Error),
    /// What had worked in the trial failed.
    #[error("cannot enter the sandbox ({0}): {1}")]
    Enter(&'static str, io::Error),
    /// What came through a socket is no sandbox.
    #[error("what was sent is no sandbox")]
    Torn,
}

fn missing(report: &Report) -> String {
    let all: Vec<String> = report
        .missing()
        .map(|(bound, why)| format!("{bound} ({why})"))
        .collect();
    all.join("; ")
}

/// A sandbox for one process: it has what that process needs, and nobody else can enter it.
#[derive(Debug)]
pub struct Confinement {
    steps: Arc<Vec<Step>>,
    report: Report,
    grants: Option<Grants>,
}

/// A step that failed, as a child tells it: its number and what the kernel said.
const WORD: usize = 8;

impl Confinement {
    /// Makes all that entering needs, and tries it in a child that then ends: what the report says
    /// was seen to work. What did not is left out, or refused if `strictness` says so.
    pub fn prepare(spec: &Spec, strictness: Strictness) -> Result<Self, Error> {
        let Plan {
            steps,
            report,
            grants,
        } = Plan::of(spec)?;
        let steps = Arc::new(steps);
        let mut made = Self {
            steps,
            report,
            grants,
        };
        for (step, errno) in made.trial().map_err(Error::Trial)?.into_iter().rev() {
            let steps = Arc::get_mut(&mut made.steps).expect("the trial's child is gone");
            let step = steps.remove(step);
            for bound in step.bounds() {
                made.report.lose(*bound, &step.refusal(errno));
            }
        }
        // The trial's child asks nobody any more.
        drop(made.grants.as_ref().and_then(Grants::receive));
        let is_whole = made.report.missing().next().is_none();
        match strictness {
            Strictness::Strict if !is_whole => Err(Error::Missing(made.report)),
            _ => Ok(made),
        }
    }

    /// What holds.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Who grants real-time policies to the process, once; none if nobody is asked. The process's
    /// threads wait for [`Grants::keep`], and are told that there is no such call if this is
    /// dropped. A command whose grants nobody has taken does not start.
    pub fn take_grants(&mut self) -> Option<Grants> {
        self.grants
            .take()
            .filter(|_| self.report.holds(Bound::RealTime))
    }

    /// The command's process enters the sandbox before it becomes the command's program, be it by
    /// `spawn` or by `exec`. A step that fails fails the start.
    pub fn confine(mut self, command: &mut Command) {
        // What nobody has taken lets no process wait.
        self.grants = None;
        // SAFETY: the closure makes system calls alone, as `Step` promises: it takes no memory and
        // no lock, and frees nothing.
        unsafe {
            command.pre_exec(move || self.take().map_err(|(_, errno)| errno.into()));
        }
    }

    /// The calling process enters; it must have one thread. For a child that was forked and becomes
    /// no other program. Nothing of it can be taken back.
    pub fn enter(self) -> Result<(), Error> {
        self.take()
            .map_err(|(step, errno)| self.steps[step].failed(errno))
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    fn take(&self) -> Result<(), (usize, Errno)> {
        for (index, step) in self.steps.iter().enumerate() {
            step.take().map_err(|errno| (index, errno))?;
        }
        Ok(())
    }

    /// Which steps fail, in their order, by a child that takes all and ends without a program.
    fn trial(&self) -> io::Result<Vec<(usize, Errno)>> {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let mut child = Command::new("/");
        let steps = Arc::clone(&self.steps);
        let try_all = move |writer: &OwnedFd| -> io::Error {
            for (index, step) in steps.iter().enumerate() {
                if let Err(errno) = step.take() {
                    let mut word = [0; WORD];
                    word[..4].copy_from_slice(&(index as u32).to_ne_bytes());
                    word[4..].copy_from_slice(&errno.raw_os_error().to_ne_bytes());
                    // Ours is the only other end; a word that is lost shows as a failed start.
                    let _ = rustix::io::write(writer, &word);
                }
            }
            Errno::CANCELED.into()
        };
        // SAFETY: system calls alone, as in `confine`.
        unsafe {
            child.pre_exec(move || Err(try_all(&writer)));
        }
        match child.spawn() {
            Err(error) if error.raw_os_error() == Some(Errno::CANCELED.raw_os_error()) => {}
            Err(error) => return Err(error),
            Ok(_) => unreachable!("a folder is no program"),
        }
        // The command has the pipe's other end.
        drop(child);
        let mut failed = Vec::new();
        let mut word = [0; WORD];
        while rustix::io::read(&reader, &mut word)? == WORD {
            let number = |at: usize| [word[at], word[at + 1], word[at + 2], word[at + 3]];
            let step = u32::from_ne_bytes(number(0)) as usize;
            failed.push((
                step,
                Errno::from_raw_os_error(i32::from_ne_bytes(number(4))),
            ));
        }
        Ok(failed)
    }
}
