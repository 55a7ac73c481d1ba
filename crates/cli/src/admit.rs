// SPDX-License-Identifier: Apache-2.0
//! `takt admit`: can the periodic services of these packages meet their deadlines together here?

use std::path::PathBuf;
use std::process::ExitCode;

use ::system::tasks;
use admission::{Admitted, Machine, Refusal, Verdict, admit};
use anyhow::{Error, Result, anyhow};
use apk::Apk;
use serde::Serialize;

use crate::EXIT_FAILED;

/// Can the real-time tasks of these packages meet their deadlines together?
///
/// A task is a service with RTDroid's `<periodic>`, which declares the runtime, period and deadline
/// of its releases, a looper with `<messages>` or a collector with `<collector>`. All of them run
/// under SCHED_FIFO; each gets a processor and the longest time that it can take there, or the set
/// is refused with what makes up that time. Exit code: 0 admitted, 2 refused.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt admit target/framework/apps/pulse.apk --processors 1")]
pub(crate) struct Args {
    /// The packages
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How many processors real-time tasks may use [default: all that this process may use]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    processors: Option<u32>,
    /// How late the machine itself starts a release, in µs (`takt latency`)
    #[arg(long, default_value_t = tasks::WAKE_US)]
    wake_us: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    program: &'static str,
    version: &'static str,
    processors: u32,
    wake_us: u32,
    state: &'static str,
    /// Why not, if it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    tasks: Vec<Row>,
}

/// A task's bound, in µs.
#[derive(Serialize)]
struct Row {
    task: String,
    processor: Option<u32>,
    response_us: f64,
    deadline_us: f64,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let processors = args.processors.unwrap_or_else(here);
    let machine = tasks::machine(processors, args.wake_us).map_err(Error::msg)?;
    let mut all = Vec::new();
    for file in &args.files {
        let bytes = crate::apk::read(file)?;
        let package = Apk::parse(&bytes).map_err(|it| anyhow!("{}: {it}", file.display()))?;
        let declared = tasks::declared(&package.manifest);
        all.extend(declared.map_err(|it| anyhow!("{}: {it}", file.display()))?);
    }
    let outcome = admit(&machine, &all);
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&json(args, &machine, &outcome))?
        );
    }
    Ok(match outcome {
        Ok(verdict) => {
            if !args.json {
                print(&verdict, &machine, &args.files);
            }
            ExitCode::SUCCESS
        }
        Err(refusal) => {
            eprintln!("takt: not admitted: {refusal}");
            ExitCode::from(EXIT_FAILED)
        }
    })
}

/// Processors that this process may use.
pub(crate) fn here() -> u32 {
    std::thread::available_parallelism().map_or(1, |it| it.get() as u32)
}

fn print(verdict: &Verdict, machine: &Machine, files: &[PathBuf]) {
    if verdict.tasks.is_empty() {
        println!("no periodic service in {} package(s)", files.len());
        return;
    }
    println!(
        "{} task(s) on {} processor(s), all in time:",
        verdict.tasks.len(),
        machine.processors
    );
    print!("{verdict}");
}

fn json(args: &Args, machine: &Machine, outcome: &Result<Verdict, Refusal>) -> Json {
    let tasks = outcome.as_ref().map_or(&[][..], |it| &it.tasks);
    let micros = |ns: u64| ns as f64 / 1000.0;
    let rows = tasks.iter().map(|it| match it {
        Admitted::Fifo(response) => Row {
            task: response.task.clone(),
            processor: response.processor,
            response_us: micros(response.response_ns),
            deadline_us: micros(response.deadline_ns),
        },
        Admitted::Deadline { task, deadline_ns } => Row {
            task: task.clone(),
            processor: None,
            response_us: micros(*deadline_ns),
            deadline_us: micros(*deadline_ns),
        },
    });
    Json {
        program: "takt admit",
        version: env!("CARGO_PKG_VERSION"),
        processors: machine.processors,
        wake_us: args.wake_us,
        state: if outcome.is_ok() {
            "admitted"
        } else {
            "refused"
        },
        fault: outcome.as_ref().err().map(Refusal::to_string),
        tasks: rows.collect(),
    }
}
