// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask test`: excerpts of at most 60 s each, fixed seeds, 30 minutes in all.

use anyhow::Result;

use crate::stage::{Stages, cargo, takt};

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
    stages.run("e2e", || {
        cargo(["test", "--package", "e2e", "--locked", "--quiet"])
    })?;
    stages.finish()
}
