// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask`: the checks of the house, its tests by stage, its demonstration and its long runs.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build tool talks to a person and is not real-time code"
)]

mod api;
mod apps;
mod beside;
mod check;
mod code;
mod demo;
mod examples;
mod fonts;
mod framework;
mod fuzz;
mod inputs;
mod jdk;
mod kernel;
mod peers;
mod programs;
mod sanitize;
mod screen;
mod soak;
mod stage;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    about = "Checks, tests and long runs of the workspace",
    max_term_width = 100
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Formatting, lints as errors, and `tidy`
    Check,
    /// Layers, sizes and unsafe code against layers.toml
    Tidy,
    /// What a submission must pass, `check` among it, with the time per stage
    Test {
        /// Only stages whose name contains this
        #[arg(long)]
        only: Option<String>,
        /// What a run of all starts beside itself
        #[arg(long, hide = true, conflicts_with = "only")]
        beside: bool,
    },
    /// The Java side and the applications into target/framework, for `takt run` and `takt bench
    /// handler`, and compiled code for all of it into target/release/code
    Framework,
    /// Measures what of Android's interface is there: framework/api and its section of
    /// docs/compatibility.md
    Api,
    /// Modules for the lab's kernels, into target/kernel: the extended Binder driver, and a virtual
    /// cpufreq driver
    Kernel,
    /// The main job on real input; results under out/demo
    Demo,
    /// The long runs; results under out/soak
    Soak {
        /// Only stages whose name contains this
        #[arg(long)]
        only: Option<String>,
    },
}

fn main() -> ExitCode {
    let Err(error) = run(Args::parse().command) else {
        return ExitCode::SUCCESS;
    };
    // Without a stack: the last line of a long log says what failed.
    eprintln!("xtask: {error:#}");
    ExitCode::FAILURE
}

fn run(command: Command) -> Result<()> {
    std::env::set_current_dir(workspace_root())?;
    match command {
        Command::Check => check::run(),
        Command::Tidy => tidy::run(),
        Command::Test { beside: true, .. } => test::beside(),
        Command::Test { only, .. } => test::run(only),
        Command::Framework => framework::build(),
        Command::Api => api::write(),
        Command::Kernel => kernel::build_all(),
        Command::Demo => demo::run(),
        Command::Soak { only } => soak::run(only),
    }
}

fn workspace_root() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
}
