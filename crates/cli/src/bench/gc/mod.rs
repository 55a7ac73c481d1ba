// SPDX-License-Identifier: Apache-2.0
//! Experiments `gc-latency` and `gc-cost` (RTAndroid thesis, 5.4.2 to 5.4.4): what the collectors
//! cost a periodic real-time thread. On the heap alone the program `bench-gc`, beside this one,
//! does the work; with `--java` it is a Java program, on Takt and on other collectors ([`java`]).

mod args;
mod child;
pub(super) mod control;
mod cost;
mod figures;
mod java;
mod machine;
mod measured;
mod program;
mod serial;

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// What does the collector cost a periodic real-time thread?
///
/// Three programs, each with a `--help` of its own:
#[derive(clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "takt bench gc [OPTIONS]              rc against stop-the-world, on the heap alone\n       \
                      takt bench gc --java [OPTIONS]       the same in Java, beside HotSpot's collectors\n       \
                      takt bench gc --serial-gc [OPTIONS]  full pauses beside HotSpot's SerialGC",
    after_help = EXAMPLES
)]
pub(crate) struct Args {
    /// Options of one of the three: `takt bench gc --help` lists those of the first
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTIONS"
    )]
    arguments: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  takt bench gc --load none,acyclic,cyclic,mixed --runs 5 --out out/gc
  takt bench gc --java --machine rc,stw --seconds 10";

const JAVA: &str = "--java";
const SERIAL: &str = "--serial-gc";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.arguments.first().is_some_and(|it| it == JAVA) {
        return java::run(&args.arguments[1..]);
    }
    if args.arguments.first().is_some_and(|it| it == SERIAL) {
        return serial::run(&args.arguments[1..]);
    }
    if let Some(late) = args
        .arguments
        .iter()
        .find(|it| *it == JAVA || *it == SERIAL)
    {
        let late = late.display();
        bail!("{late} comes first: takt bench gc {late} ...");
    }
    if args.arguments.iter().any(|it| it == "--help" || it == "-h") {
        println!(
            "takt bench gc [OPTIONS]: rc against stop-the-world, on the heap alone: see below\n\
             takt bench gc {JAVA} [OPTIONS]: the same in Java, beside HotSpot's collectors; {JAVA} --help lists them\n\
             takt bench gc {SERIAL} [OPTIONS]: full pauses beside HotSpot's SerialGC; {SERIAL} --help lists them\n\n\
             {EXAMPLES}\n"
        );
    }
    let program = program::beside()?;
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
