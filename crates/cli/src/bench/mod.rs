// SPDX-License-Identifier: Apache-2.0
//! `takt bench`: the papers' experiments, one module each, their figures beside ours; Java's
//! throughput; an application's real-time threads.

mod alarms;
mod app;
mod audio;
mod calls;
mod classes;
mod control;
mod freq;
mod gc;
mod handler;
mod input;
mod intents;
mod ipc;
mod java;
mod mixed;
mod native;
mod oom;
mod panel;
mod prepared;
mod programs;
mod rpc;
mod scale;
mod sched;
mod shouts;
mod stall;
mod start;
mod steal;
mod superpages;
mod trees;
mod whole;
mod world;

use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context as _, Result};
use clap::Subcommand;

/// Repeat an experiment of the papers: their figures beside ours.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    Alarms(alarms::Args),
    App(app::Args),
    Audio(audio::Args),
    Freq(freq::Args),
    /// The application of `freq`
    #[command(hide = true)]
    FreqApp(freq::app::Args),
    /// The server of `freq`
    #[command(hide = true)]
    FreqServer(native::ServerArgs),
    Gc(gc::Args),
    Handler(handler::Args),
    Input(input::Args),
    Intents(intents::Args),
    IntentOrder(intents::order::Args),
    Ipc(ipc::Args),
    Java(java::Args),
    LocalIntents(intents::local::Args),
    Mixed(mixed::Args),
    Oom(oom::Args),
    /// A process of the experiment on memory
    #[command(hide = true)]
    OomApp(oom::app::Args),
    /// The server of the experiment on memory
    #[command(hide = true)]
    OomServer(native::ServerArgs),
    Panel(panel::Args),
    Programs(programs::Args),
    Rpc(rpc::Args),
    RpcScale(scale::Args),
    Sched(sched::Args),
    /// The process that `rpc` calls
    #[command(hide = true)]
    Served(calls::server::Args),
    /// A process of the experiments on broadcasts
    #[command(hide = true)]
    ShoutsApp(shouts::app::Args),
    /// The server of the experiments on broadcasts
    #[command(hide = true)]
    ShoutsServer(native::ServerArgs),
    Stall(stall::Args),
    Start(start::Args),
    Superpages(superpages::Args),
    Trees(trees::Args),
}

/// Says what was to be shown and was not; with `--check` that decides the exit code.
fn verdict(experiment: &str, faults: &[String], is_checked: bool) -> ExitCode {
    for fault in faults {
        eprintln!("bench {experiment}: {fault}");
    }
    match is_checked && !faults.is_empty() {
        true => ExitCode::from(2),
        false => ExitCode::SUCCESS,
    }
}

/// A value among `name=value` words that a load of framework/bench says.
fn word<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    line: &str,
    name: &str,
) -> Result<T> {
    let mut words = line.split_whitespace();
    let found = words.find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    let found = found.with_context(|| format!("the load says no {name}: {line}"))?;
    Ok(found.parse()?)
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.experiment {
        Experiment::Alarms(args) => alarms::run(args),
        Experiment::App(args) => app::run(args),
        Experiment::Audio(args) => audio::run(args),
        Experiment::Freq(args) => freq::run(args),
        Experiment::FreqApp(args) => freq::app::run(args),
        Experiment::FreqServer(args) => freq::server::run(args),
        Experiment::Gc(args) => gc::run(args),
        Experiment::Handler(args) => handler::run(args),
        Experiment::Input(args) => input::run(args),
        Experiment::Intents(args) => intents::run(args),
        Experiment::IntentOrder(args) => intents::order::run(args),
        Experiment::Ipc(args) => ipc::run(args),
        Experiment::Java(args) => java::run(args),
        Experiment::LocalIntents(args) => intents::local::run(args),
        Experiment::Mixed(args) => mixed::run(args),
        Experiment::Oom(args) => oom::run(args),
        Experiment::OomApp(args) => oom::app::run(args),
        Experiment::OomServer(args) => oom::server::run(args),
        Experiment::Panel(args) => panel::run(args),
        Experiment::Programs(args) => programs::run(args),
        Experiment::Rpc(args) => rpc::run(args),
        Experiment::RpcScale(args) => scale::run(args),
        Experiment::Sched(args) => sched::run(args),
        Experiment::Served(args) => calls::server::run(args),
        Experiment::ShoutsApp(args) => shouts::app::run(args),
        Experiment::ShoutsServer(args) => shouts::server::run(args),
        Experiment::Stall(args) => stall::run(args),
        Experiment::Start(args) => start::run(args),
        Experiment::Superpages(args) => superpages::run(args),
        Experiment::Trees(args) => trees::run(args),
    }
}
