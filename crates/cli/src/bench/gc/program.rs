// SPDX-License-Identifier: Apache-2.0
//! The program `bench-gc`, which does the work on the heap alone.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

const NAME: &str = "bench-gc";

/// Where it lies: beside this one.
pub(super) fn beside() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find where takt lies")?;
    let program = own.with_file_name(NAME);
    if !program.is_file() {
        bail!(
            "no {NAME} beside {}: build it with `cargo build --release -p pause`",
            own.display()
        );
    }
    Ok(program)
}
