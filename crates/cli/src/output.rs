// SPDX-License-Identifier: Apache-2.0
//! What other programs print.

use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// Runs a program to its end; one that fails is an error with its status and what it said on
/// standard error.
pub(crate) fn of(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ended with {}: {}",
            program.display(),
            output.status,
            said.trim()
        );
    }
    Ok(output)
}

/// What it prints on standard output, as text; its standard error goes where [`of`] sends it: into
/// the error.
pub(crate) fn text(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&of(command)?.stdout).into_owned())
}
