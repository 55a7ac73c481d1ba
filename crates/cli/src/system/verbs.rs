// SPDX-License-Identifier: Apache-2.0
//! `takt install`, `uninstall`, `ps`, `logcat` and `dumpsys`: questions to `takt system`.
//!
//! Exit codes: 0 done, 1 the server refused, 2 there is no server or the command is wrong.

use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;

use ::system::protocol::Request;
use anyhow::Result;

use super::Endpoint;
use super::show::{Filter, Lines, Said, Table, Texts, ask, ask_with, priority};
use crate::run::Sealed;

/// Installs a package, or replaces an older one of the same signers
///
/// The package is verified as `takt run` does. What it asks for is granted. One whose real-time
/// tasks may miss a deadline, or have one of another package miss it, is refused with the analysis
/// that shows it, as `takt admit` has it. Exit code: 0 installed, 1 refused, 2 no server.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt install target/framework/apps/heartbeat.apk")]
pub(crate) struct InstallArgs {
    /// The package
    file: PathBuf,
    /// Install it even if its real-time tasks do not fit beside those that are installed, and say
    /// what that breaks
    #[arg(long)]
    force: bool,
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
    #[command(flatten)]
    wish: PsWish,
    #[command(flatten)]
    endpoint: Endpoint,
}

#[derive(clap::Args)]
pub(super) struct PsWish {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what applications say, in logcat's form, until Ctrl-C or the server's end
///
/// It begins with the last lines: the server keeps 512 of each process, also of some that have
/// ended.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt logcat -d --package org.example.heartbeat --priority W")]
pub(crate) struct LogcatArgs {
    #[command(flatten)]
    wish: LogcatWish,
    #[command(flatten)]
    endpoint: Endpoint,
}

#[derive(clap::Args)]
pub(super) struct LogcatWish {
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
}

/// Prints the server's state: packages, processes, tasks, services, links
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt dumpsys")]
pub(crate) struct DumpsysArgs {
    #[command(flatten)]
    endpoint: Endpoint,
}

impl PsWish {
    /// How processes are shown.
    pub(super) fn show(&self) -> Table {
        Table::new(self.json)
    }
}

impl LogcatWish {
    /// What the server is asked for.
    pub(super) fn request(&self) -> Request {
        Request::Logs {
            package: self.package.clone(),
            follow: !self.dump,
        }
    }

    /// Lines that are wanted.
    pub(super) fn filter(&self) -> Filter {
        let mut filter = Filter::of(self.pid, self.priority);
        for tag in &self.tag {
            filter.add(tag, 'V');
        }
        if !self.tag.is_empty() {
            filter.silence();
        }
        filter
    }

    /// How they are shown.
    pub(super) fn show(&self, filter: Filter) -> Lines {
        Lines::new(filter, self.json)
    }
}

/// The package travels as bytes in sealed memory: the server reads no file for us.
pub(crate) fn install(args: &InstallArgs) -> Result<ExitCode> {
    let bytes = crate::apk::read(&args.file)?;
    let sealed = Sealed::handed("package.apk", &bytes)?;
    let (request, file) = (
        Request::Install {
            is_forced: args.force,
        },
        Some(sealed.as_fd()),
    );
    let what = format!("{}: ", args.file.display());
    ask_with(&args.endpoint, &request, (file, &what), Said)
}

pub(crate) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    let package = args.package.clone();
    ask(&args.endpoint, &Request::Uninstall { package }, Said)
}

pub(crate) fn ps(args: &PsArgs) -> Result<ExitCode> {
    ask(&args.endpoint, &Request::Processes, args.wish.show())
}

pub(crate) fn logcat(args: &LogcatArgs) -> Result<ExitCode> {
    let show = args.wish.show(args.wish.filter());
    ask(&args.endpoint, &args.wish.request(), show)
}

pub(crate) fn dumpsys(args: &DumpsysArgs) -> Result<ExitCode> {
    ask(&args.endpoint, &Request::Dump, Texts)
}
