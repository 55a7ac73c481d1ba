// SPDX-License-Identifier: Apache-2.0
//! `takt bench`: the papers' experiments, one module each, their figures beside ours; Java's
//! throughput; an application's real-time threads.

mod app;
mod classes;
mod gc;
mod handler;
mod java;
mod sched;
mod stall;
mod steal;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Repeat an experiment of the papers: their figures beside ours.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    App(app::Args),
    Gc(gc::Args),
    Handler(handler::Args),
    Java(java::Args),
    Sched(sched::Args),
    Stall(stall::Args),
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.experiment {
        Experiment::App(args) => app::run(args),
        Experiment::Gc(args) => gc::run(args),
        Experiment::Handler(args) => handler::run(args),
        Experiment::Java(args) => java::run(args),
        Experiment::Sched(args) => sched::run(args),
        Experiment::Stall(args) => stall::run(args),
    }
}
