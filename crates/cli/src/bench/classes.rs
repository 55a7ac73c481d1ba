// SPDX-License-Identifier: Apache-2.0
//! [`Classes`]: a benchmark's Java programs, compiled where they are measured.

use std::ffi::OsString;
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
        Self::compile_with(jdk, sources, &[])
    }

    /// The same, with options of javac.
    pub(super) fn compile_with(
        jdk: &Jdk,
        sources: &[(&str, &str)],
        options: &[OsString],
    ) -> Result<Self> {
        let directory = tempfile::tempdir().context("cannot make a directory for classes")?;
        Self::compile_to(jdk, sources, options, directory.path())?;
        Ok(Self(directory))
    }

    /// The same, with options of javac, at a place that stays. Names may have folders.
    pub(super) fn compile_to(
        jdk: &Jdk,
        sources: &[(&str, &str)],
        options: &[OsString],
        place: &Path,
    ) -> Result<()> {
        let written = tempfile::tempdir().context("cannot make a directory for sources")?;
        let mut javac = Command::new(jdk.home.join("bin/javac"));
        javac
            .current_dir(&written)
            .args(options)
            .arg("-d")
            .arg(place);
        for (name, source) in sources {
            let file = format!("{name}.java");
            let path = written.path().join(&file);
            let folder = path.parent().context("it lies in the directory")?;
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&path, source))
                .with_context(|| format!("cannot write {file}"))?;
            javac.arg(file);
        }
        output::of(&mut javac)?;
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}
