// SPDX-License-Identifier: Apache-2.0
//! `takt admit`: can the periodic services of these packages meet their deadlines together here?

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr as _;

use admission::{Admitted, Machine, Policy, Refusal, Task, Throttle, Verdict, admit};
use anyhow::{Context, Result, anyhow};
use apk::{Apk, Component, Extension};
use serde::Serialize;

use crate::EXIT_FAILED;

/// What `javax.realtime` gives a thread without a priority of its own.
const PRIORITY: u8 = 50;

/// Can the real-time tasks of these packages meet their deadlines together?
///
/// A task is a service with RTDroid's `<periodic>`, which declares the runtime, period and deadline
/// of its releases. All of them run under SCHED_FIFO; each gets a processor and the longest time
/// that it can take there, or the set is refused with what makes up that time. Exit code: 0
/// admitted, 2 refused.
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
    #[arg(long, default_value_t = 100)]
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
    let machine = machine(args)?;
    let mut tasks = Vec::new();
    for file in &args.files {
        let bytes = crate::apk::read(file)?;
        let package = Apk::parse(&bytes).map_err(|it| anyhow!("{}: {it}", file.display()))?;
        tasks.extend(declared(&package).with_context(|| file.display().to_string())?);
    }
    let outcome = admit(&machine, &tasks);
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

/// This machine, with the share that its kernel leaves to real-time threads.
fn machine(args: &Args) -> Result<Machine> {
    let here = || std::thread::available_parallelism().map_or(1, |it| it.get() as u32);
    let kernel = |name: &str| {
        let path = Path::new("/proc/sys/kernel").join(name);
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let micros =
            i64::from_str(text.trim()).with_context(|| format!("{}: {text}", path.display()))?;
        // Without a bound the kernel says -1.
        Ok::<_, anyhow::Error>(u64::try_from(micros).ok().map(|it| it * 1000))
    };
    let throttle = kernel("sched_rt_runtime_us")?.zip(kernel("sched_rt_period_us")?);
    Ok(Machine {
        processors: args.processors.unwrap_or_else(here),
        wake_ns: u64::from(args.wake_us) * 1000,
        throttle: throttle.map(|(runtime_ns, period_ns)| Throttle {
            runtime_ns,
            period_ns,
        }),
    })
}

/// The periodic services that are switched on.
fn declared(package: &Apk<'_>) -> Result<Vec<Task>> {
    let components = &package.manifest.application.components;
    let is_on = |it: &&Component| it.is_enabled && it.kind == apk::ComponentKind::Service;
    let mut tasks = Vec::new();
    for component in components.iter().filter(is_on) {
        if let Some(periodic) = extension(component, "periodic") {
            tasks.push(task(component, periodic)?);
        }
    }
    Ok(tasks)
}

fn task(component: &Component, periodic: &Extension) -> Result<Task> {
    let name = &component.name;
    let time = |attribute: &str| {
        let Some(text) = value(periodic, attribute) else {
            return Ok(None);
        };
        let ns = nanos(text);
        ns.map(Some).with_context(|| {
            format!(
                "{name}: {attribute} {text} is no time: a whole number with us, ms or s behind it"
            )
        })
    };
    let needed = |attribute: &str| {
        time(attribute)?.with_context(|| format!("{name}: <periodic> declares no {attribute}"))
    };
    let period_ns = needed("period")?;
    let priority = match extension(component, "priority").and_then(|it| value(it, "priority")) {
        None => PRIORITY,
        Some(text) => text
            .parse()
            .with_context(|| format!("{name}: priority {text} is no number"))?,
    };
    Ok(Task {
        name: name.clone(),
        policy: Policy::Fifo {
            priority,
            processor: None,
        },
        runtime_ns: needed("runtime")?,
        deadline_ns: time("deadline")?.unwrap_or(period_ns),
        period_ns,
        blocking_ns: time("blocking")?.unwrap_or(0),
    })
}

fn extension<'a>(component: &'a Component, name: &str) -> Option<&'a Extension> {
    component.extensions.iter().find(|it| it.name == name)
}

fn value<'a>(extension: &'a Extension, name: &str) -> Option<&'a str> {
    let mut attributes = extension.attributes.iter();
    attributes.find_map(|(its, value)| (its == name).then_some(value.as_str()))
}

/// Of a whole number of at most nine digits with us, ms or s behind it, as in the manifest of a
/// periodic service.
fn nanos(text: &str) -> Option<u64> {
    let end = text.find(|it: char| !it.is_ascii_digit())?;
    let unit = match &text[end..] {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let digits = (1..=9).contains(&end).then_some(&text[..end])?;
    Some(digits.parse::<u64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::nanos;

    #[test]
    fn times_are_those_of_the_manifest() {
        assert_eq!(nanos("500us"), Some(500_000));
        assert_eq!(nanos("2ms"), Some(2_000_000));
        assert_eq!(nanos("999999999s"), Some(999_999_999_000_000_000));
        for text in [
            "",
            "2",
            "ms",
            "-2ms",
            "2 ms",
            "0.5ms",
            "1234567890us",
            "2min",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
