// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask soak`: the long runs that `make test` only takes excerpts of.

use std::process::Command;

use anyhow::Result;

use crate::stage::{Stages, command, takt};

/// Runs the long stages whose name contains `only`, or all of them.
pub(crate) fn run(only: Option<String>) -> Result<()> {
    let takt = takt()?;
    std::fs::create_dir_all("out/soak")?;
    let mut stages = Stages::new(only);
    stages.run("latency", || {
        command(
            Command::new(&takt)
                .args(["latency", "--duration", "10m", "--load", "hackbench-like"])
                .args(["--out", "out/soak/latency"]),
        )
    })?;
    stages.finish()
}
