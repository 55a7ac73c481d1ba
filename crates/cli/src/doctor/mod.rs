// SPDX-License-Identifier: Apache-2.0
//! `takt doctor`: is this machine fit for real time, and what would mend it?

mod checks;
mod finding;
mod machine;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use crate::doctor::finding::{Finding, State};
use crate::doctor::machine::Machine;

/// Is this machine fit for real time?
///
/// One line for each thing that decides it: its state, why it matters, and the command that mends
/// it. Nothing is changed. Exit code: 0 fit, 1 usable with remarks, 2 unfit.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt doctor")]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Read /proc, /sys and /dev below this directory instead (for tests of this command)
    #[arg(long, default_value = "/", hide = true)]
    root: PathBuf,
}

#[derive(Serialize)]
struct Json<'a> {
    program: &'static str,
    version: &'static str,
    state: State,
    findings: &'a [Finding],
}

/// Looks, prints, and answers by the exit code.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let findings = checks::all(&Machine::at(&args.root));
    let state = findings
        .iter()
        .map(|finding| finding.state)
        .max()
        .context("no check ran")?;
    if args.json {
        let json = Json {
            program: "takt doctor",
            version: env!("CARGO_PKG_VERSION"),
            state,
            findings: &findings,
        };
        println!("{}", serde_json::to_string_pretty(&json)?);
    } else {
        print(&findings, state);
    }
    Ok(ExitCode::from(state as u8))
}

fn print(findings: &[Finding], state: State) {
    let name_width = findings
        .iter()
        .map(|finding| finding.name.len())
        .max()
        .unwrap_or(0);
    for finding in findings {
        let style = style_of(finding.state);
        let label = finding.state.label();
        let Finding {
            name,
            found,
            why,
            mend,
            ..
        } = finding;
        match mend {
            Some(mend) => println!(
                "{style}{label:<6}{style:#} {name:<name_width$}  {found}: {why}. Mend: {mend}"
            ),
            None => println!("{style}{label:<6}{style:#} {name:<name_width$}  {found}: {why}"),
        }
    }
    let remarks = findings
        .iter()
        .filter(|finding| finding.state == State::Remark)
        .count();
    let verdict = match state {
        State::Fit => "this machine is fit for real time".to_owned(),
        State::Remark => format!("this machine is usable for real time, with {remarks} remarks"),
        State::Unfit => "this machine is unfit for real time as it is".to_owned(),
    };
    println!("\n{verdict}; `takt latency` measures how late it is");
}

/// Colours where a person looks, nothing in a pipe.
fn style_of(state: State) -> Style {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some() {
        return Style::new();
    }
    match state {
        State::Fit => AnsiColor::Green.on_default(),
        State::Remark => AnsiColor::Yellow.on_default(),
        State::Unfit => AnsiColor::Red.on_default().bold(),
    }
}
