// SPDX-License-Identifier: Apache-2.0
//! `takt install`, `uninstall`, `ps`, `logcat` and `dumpsys`: questions to `takt system`.
//!
//! Exit codes: 0 done, 1 the server refused, 2 there is no server or the command is wrong.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;

use ::system::Client;
use ::system::protocol::{Answer, LogLine, ProcessRow, Request, RunState};
use anyhow::Result;
use serde::Serialize;

use super::Endpoint;
use crate::run::Sealed;

/// The server said no.
const EXIT_REFUSED: u8 = 1;

/// Installs a package, or replaces an older one of the same signers
///
/// The package is verified as `takt run` does. What it asks for is granted. Exit code: 0 installed,
/// 1 refused, 2 no server.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt install target/framework/apps/heartbeat.apk")]
pub(crate) struct InstallArgs {
    /// The package
    file: PathBuf,
    #[command(flatten)]
    endpoint: Endpoint,
}

/// Ends a package and takes it away, with its data
///
/// Exit code: 0 gone, 1 refused, 2 no server.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt uninstall org.example.heartbeat")]
pub(crate) struct UninstallArgs {
    /// Its name
    package: String,
    #[command(flatten)]
    endpoint: Endpoint,
}

/// Lists the applications' processes, also those that failed and are held back
///
/// Columns: the process, its state, the kernel's number, failures in a row, seconds until it starts
/// again, resident memory, threads, those of them with a real-time policy, the priority up to which
/// these are granted, and whether its sandbox is whole. `--json` names each policy, and each bound
/// with what it holds by or why it does not.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt ps --json")]
pub(crate) struct PsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: Endpoint,
}

/// Prints what applications say, in logcat's form, until Ctrl-C or the server's end
///
/// It begins with the last lines: the server keeps 512 of each process, also of some that have
/// ended.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt logcat -d --package org.example.heartbeat --priority W")]
pub(crate) struct LogcatArgs {
    /// Print what there is, and end
    #[arg(short, long)]
    dump: bool,
    /// Of this package alone
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Of this process alone
    #[arg(long)]
    pid: Option<u32>,
    /// Of these tags alone
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// At least as urgent: V, D, I, W, E or F
    #[arg(long, default_value_t = 'V', value_parser = priority)]
    priority: char,
    /// Print JSON, a line each
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: Endpoint,
}

/// Prints the server's state: packages, processes, tasks, services, links
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt dumpsys")]
pub(crate) struct DumpsysArgs {
    #[command(flatten)]
    endpoint: Endpoint,
}

/// From the least urgent.
const PRIORITIES: &str = "VDIWEF";

fn priority(text: &str) -> Result<char, String> {
    match text.chars().next().filter(|it| PRIORITIES.contains(*it)) {
        Some(it) if text.len() == 1 => Ok(it),
        _ => Err(format!("one of {PRIORITIES} is wanted")),
    }
}

/// Asks, hands parts on, and says what came of it.
pub(super) fn ask(
    endpoint: &Endpoint,
    request: &Request,
    part: impl FnMut(Answer),
) -> Result<ExitCode> {
    let client = Client::connect(&endpoint.path()?)?;
    Ok(told(client.ask(request, None, part)?, true))
}

fn told(outcome: Result<String, String>, is_said: bool) -> ExitCode {
    match outcome {
        Ok(text) => {
            if is_said {
                println!("{text}");
            }
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("takt: refused: {text}");
            ExitCode::from(EXIT_REFUSED)
        }
    }
}

/// The package travels as bytes in sealed memory: the server reads no file for us.
pub(crate) fn install(args: &InstallArgs) -> Result<ExitCode> {
    let bytes = crate::apk::read(&args.file)?;
    let sealed = Sealed::handed("package.apk", &bytes)?;
    let client = Client::connect(&args.endpoint.path()?)?;
    let outcome = client.ask(&Request::Install, Some(sealed.as_fd()), |_| ())?;
    let outcome = outcome.map_err(|it| format!("{}: {it}", args.file.display()));
    Ok(told(outcome, true))
}

pub(crate) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    let package = args.package.clone();
    ask(&args.endpoint, &Request::Uninstall { package }, |_| ())
}

#[derive(Serialize)]
struct PsJson {
    program: &'static str,
    version: &'static str,
    processes: Vec<ProcessRow>,
}

pub(crate) fn ps(args: &PsArgs) -> Result<ExitCode> {
    let mut processes = Vec::new();
    let client = Client::connect(&args.endpoint.path()?)?;
    let outcome = client.ask(&Request::Processes, None, |it| {
        if let Answer::Process(row) = it {
            processes.push(row);
        }
    })?;
    if outcome.is_err() {
        return Ok(told(outcome, false));
    }
    if args.json {
        let json = PsJson {
            program: "takt ps",
            version: env!("CARGO_PKG_VERSION"),
            processes,
        };
        println!("{}", serde_json::to_string_pretty(&json)?);
    } else {
        println!(
            "{:<32} {:<9} {:>7} {:>6} {:>8} {:>9} {:>7} {:>9} {:>7} {:>8}",
            "PROCESS",
            "STATE",
            "PID",
            "FAULTS",
            "AGAIN",
            "KIB",
            "THREADS",
            "REAL-TIME",
            "GRANTED",
            "SANDBOX"
        );
        for it in &processes {
            println!("{}", line(it));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(it: &ProcessRow) -> String {
    let state = match it.state {
        RunState::Running => "running",
        RunState::Starting => "starting",
        RunState::HeldBack => "held-back",
    };
    let again = it.restart_in_ms.map(|it| format!("{}s", it.div_ceil(1000)));
    let missing = it
        .sandbox
        .as_ref()
        .map(|all| all.iter().filter(|it| !it.holds).count());
    let sandbox = match (it.pid, missing) {
        (None, _) => "-".to_owned(),
        (_, None) => "none".to_owned(),
        (_, Some(0)) => "whole".to_owned(),
        (_, Some(count)) => format!("lacks {count}"),
    };
    let number = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    format!(
        "{:<32} {:<9} {:>7} {:>6} {:>8} {:>9} {:>7} {:>9} {:>7} {:>8}",
        it.name,
        state,
        number(it.pid.map(u64::from)),
        it.faults,
        again.as_deref().unwrap_or("-"),
        number(it.memory_kib),
        number(it.threads.map(u64::from)),
        number(it.real_time_threads.map(u64::from)),
        number(it.real_time_max.map(u64::from)),
        sandbox
    )
}

pub(crate) fn logcat(args: &LogcatArgs) -> Result<ExitCode> {
    let tags: BTreeSet<&str> = args.tag.iter().map(String::as_str).collect();
    let least = PRIORITIES.find(args.priority);
    let is_wanted = |it: &LogLine| {
        args.pid.is_none_or(|pid| it.pid == pid)
            && (tags.is_empty() || tags.contains(it.tag.as_str()))
            && PRIORITIES.find(it.priority) >= least
    };
    let mut out = std::io::stdout().lock();
    let mut failed = None;
    let request = Request::Logs {
        package: args.package.clone(),
        follow: !args.dump,
    };
    let client = Client::connect(&args.endpoint.path()?)?;
    let outcome = client.ask(&request, None, |it| {
        let Answer::Line(line) = it else {
            return;
        };
        if is_wanted(&line) && failed.is_none() {
            let text = match args.json {
                true => serde_json::to_string(&line).unwrap_or_default(),
                false => line.text,
            };
            failed = writeln!(out, "{text}").err();
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    Ok(told(outcome, false))
}

pub(crate) fn dumpsys(args: &DumpsysArgs) -> Result<ExitCode> {
    let client = Client::connect(&args.endpoint.path()?)?;
    let outcome = client.ask(&Request::Dump, None, |it| {
        if let Answer::Text(text) = it {
            print!("{text}");
        }
    })?;
    Ok(told(outcome, false))
}
