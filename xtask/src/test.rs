// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask test`: excerpts of at most 60 s each, fixed seeds, 30 minutes in all.

use std::process::Command;

use anyhow::Result;

use crate::stage::{Stages, cargo, command, takt, target_dir};

/// Runs the stages whose name contains `only`, or all of them.
pub(crate) fn run(only: Option<String>) -> Result<()> {
    let mut stages = Stages::new(only);
    stages.run("build", || takt().map(drop))?;
    stages.run("unit", || {
        cargo([
            "test",
            "--workspace",
            "--exclude",
            "e2e",
            "--locked",
            "--quiet",
        ])
    })?;
    stages.run("loom", loom)?;
    stages.run("e2e", || {
        cargo(["test", "--package", "e2e", "--locked", "--quiet"])
    })?;
    stages.finish()
}

/// The locks' state machines under every interleaving, on a modelled kernel. Built apart: the flag changes `rt`.
fn loom() -> Result<()> {
    let target = target_dir()?.join("loom");
    command(
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "--package", "rt", "--lib", "--release", "--locked"])
            .args(["--quiet", "--target-dir"])
            .arg(target)
            .args(["--", "models::"])
            .env("RUSTFLAGS", "--cfg loom"),
    )
}
