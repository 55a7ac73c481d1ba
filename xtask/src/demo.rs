// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask demo`: what Takt does, in one command.

use std::process::Command;

use anyhow::Result;

use crate::stage::{command, takt};

/// Measures wake-up latency beside cyclictest; the table goes to the terminal, the pictures to out/demo.
pub(crate) fn run() -> Result<()> {
    let takt = takt()?;
    std::fs::create_dir_all("out/demo")?;
    command(
        Command::new(&takt)
            .args(["latency", "--duration", "10s", "--load", "hackbench-like"])
            .args(["--compare", "cyclictest", "--out", "out/demo"]),
    )
}
