// SPDX-License-Identifier: Apache-2.0
//! [`Load`]: work beside a measurement, in a process of its own that ends with it.
//!
//! The kinds are those of the papers: processes that send each other messages ([`messages`], after
//! hackbench) and processes that take and give back memory ([`memory`]). A seed varies sizes and
//! pauses; the same seed does the same work.

mod memory;
mod messages;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

/// What runs beside a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Nothing.
    None,
    /// Groups of threads that send each other messages over sockets, as hackbench does.
    HackbenchLike,
    /// Threads that map, fill, copy and unmap memory.
    Memory,
}

impl Kind {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::HackbenchLike => "hackbench-like",
            Self::Memory => "memory",
        }
    }
}

/// The hidden command that a load's process runs.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(value_enum)]
    kind: Kind,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    parent: u32,
    /// One round of a load that repeats itself
    #[arg(long)]
    is_round: bool,
}

/// Says "ready" once the load runs, then runs until its parent ends.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    rt::process::die_with_parent(args.parent).context("the load has lost its parent")?;
    match args.kind {
        Kind::None => bail!("no load asked for"),
        Kind::HackbenchLike if args.is_round => messages::run_round(args.seed),
        Kind::HackbenchLike => messages::run(args.seed),
        Kind::Memory => memory::run(args.seed),
    }
}

/// A running load; ends when dropped.
pub(crate) struct Load(Option<Child>);

impl Load {
    /// Starts it and returns once it runs.
    pub(crate) fn start(kind: Kind, seed: u64) -> Result<Self> {
        if kind == Kind::None {
            return Ok(Self(None));
        }
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut child = Command::new(program)
            .args(["load", kind.name(), "--seed", &seed.to_string()])
            .args(["--parent", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the load's process")?;
        let mut line = String::new();
        let output = child
            .stdout
            .take()
            .context("the load's output was asked for")?;
        BufReader::new(output)
            .read_line(&mut line)
            .context("cannot hear from the load")?;
        let load = Self(Some(child));
        if line != "ready\n" {
            bail!("load '{}' did not start (see above)", kind.name());
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Both fail only if it has ended by itself, which is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
