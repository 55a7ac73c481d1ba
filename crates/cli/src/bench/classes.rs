// SPDX-License-Identifier: Apache-2.0
//! [`Classes`]: a benchmark's Java programs, compiled where they are measured.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::jdk::Jdk;
use crate::output;

/// Compiled sources in a directory of their own, gone when dropped.
pub(super) struct Classes(TempDir);

impl Classes {
    /// Of sources by the names of their classes.
    pub(super) fn compile(jdk: &Jdk, sources: &[(&str, &str)]) -> Result<Self> {
        let directory = tempfile::tempdir().context("cannot make a directory for classes")?;
        let mut javac = Command::new(jdk.home.join("bin/javac"));
        javac.current_dir(&directory);
        for (name, source) in sources {
            let file = format!("{name}.java");
            std::fs::write(directory.path().join(&file), source)
                .with_context(|| format!("cannot write {file}"))?;
            javac.arg(file);
        }
        output::of(&mut javac)?;
        Ok(Self(directory))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}
