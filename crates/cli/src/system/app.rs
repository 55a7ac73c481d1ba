// SPDX-License-Identifier: Apache-2.0
//! `takt app`: what each child of `takt system` is first, before it becomes a Java machine.
//!
//! Its standard input is the server's socket, its standard output the description of what it is to
//! be, its standard error the log.

use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow};

use crate::framework::{Framework, Front};
use crate::java;
use crate::jdk::Jdk;

/// The main class of both.
const LAUNCHER: &str = "takt.server.Launcher";

/// An application's process; `takt system` starts it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server's process
    #[arg(long)]
    parent: u32,
    /// Become the process that others are copied from
    #[arg(long)]
    template: bool,
    /// Of its machine
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    java_option: Vec<String>,
    /// Where `cargo xtask framework` has put the Java side
    #[arg(long, value_name = "DIR")]
    framework: Option<PathBuf>,
}

/// Becomes the application's process; comes back only when that fails.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    // A server that is killed takes its applications with it.
    rt::process::die_with_parent(args.parent)
        .map_err(|it| anyhow!("takt system {} has ended: {it}", args.parent))?;
    // Open across `exec`, unlike what it is a copy of.
    let description = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    let description = format!("/proc/self/fd/{}", description.as_raw_fd());
    let framework = Framework::find(args.framework.as_deref())?;
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let java = Jdk::find()?.home.join("bin/java");
    let mut command = Command::new(&java);
    command
        .arg(java::alternative(&java::machine_beside(&own)?))
        .args(&args.java_option)
        .args(framework.options(Front::Hosted)?);
    if args.template {
        command.args(["-Xtakt:template", LAUNCHER, "--template"]);
        command.arg(framework.resources());
    } else {
        command.arg(LAUNCHER).arg(description);
    }
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start {}", java.display()))
}
