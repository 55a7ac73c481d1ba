// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask check`: formatting, the rules of the house, and lints.

use anyhow::Result;

use crate::stage::{Stages, cargo};
use crate::tidy;

pub(crate) fn run() -> Result<()> {
    let mut stages = Stages::new(None);
    quick(&mut stages)?;
    stages.run("lints", lints)?;
    stages.finish()
}

/// What takes seconds.
pub(crate) fn quick(stages: &mut Stages) -> Result<()> {
    stages.run("format", || cargo(["fmt", "--all", "--check"]))?;
    stages.run("tidy", tidy::run)
}

pub(crate) fn lints() -> Result<()> {
    let words = ["clippy", "--workspace", "--all-targets", "--locked"];
    cargo(words.into_iter().chain(["--", "-Dwarnings"]))
}
