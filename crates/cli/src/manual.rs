// SPDX-License-Identifier: Apache-2.0
//! `takt completions` and `takt man`: what shells and `man` know of the command, made of its own
//! description.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap_complete::Shell;

/// Print what a shell needs to complete takt's arguments
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  takt completions bash > ~/.local/share/bash-completion/completions/takt"
)]
pub(crate) struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Write man pages, one for each command
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt man ~/.local/share/man/man1 && man takt-run")]
pub(crate) struct ManArgs {
    /// Where they go; it is made
    directory: PathBuf,
}

pub(crate) fn completions(args: &CompletionArgs, mut command: clap::Command) -> Result<ExitCode> {
    // To memory first: the generator ends the program if its writer fails.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "takt", &mut text);
    std::io::stdout().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs, command: clap::Command) -> Result<ExitCode> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .with_context(|| format!("cannot write man pages to {}", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}
