// SPDX-License-Identifier: Apache-2.0
//! `takt`: one command for everything a person does.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command talks to a person")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Android applications in real time on ordinary Linux.
#[derive(Parser)]
#[command(name = "takt", version, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Is this machine fit for real time?
    Doctor,
}

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Doctor => ExitCode::FAILURE,
    }
}
