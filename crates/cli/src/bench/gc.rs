// SPDX-License-Identifier: Apache-2.0
//! Experiments `gc-latency` and `gc-cost` (RTAndroid thesis, 5.4.2 to 5.4.4): what the collectors cost a periodic
//! real-time thread. The program `bench-gc`, beside this one, does the work; this starts it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// What does the collector cost a periodic real-time thread: rc against stop-the-world?
///
/// Starts `bench-gc`, which lies beside takt, with the arguments given; `takt bench gc -- --help` lists them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Arguments of bench-gc, such as --load none,acyclic,cyclic,mixed --runs 5 --out DIR
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

const PROGRAM: &str = "bench-gc";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let program = beside()?;
    let status = Command::new(&program)
        .args(&args.arguments)
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    // A program ended by a signal has no code of its own.
    Ok(ExitCode::from(
        status
            .code()
            .and_then(|it| u8::try_from(it).ok())
            .unwrap_or(crate::EXIT_FAILED),
    ))
}

fn beside() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find where takt lies")?;
    let program = own.with_file_name(PROGRAM);
    if !program.is_file() {
        bail!(
            "no {PROGRAM} beside {}: build it with `cargo build --release -p pause`",
            own.display()
        );
    }
    Ok(program)
}
