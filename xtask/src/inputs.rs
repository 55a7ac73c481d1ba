// SPDX-License-Identifier: Apache-2.0
//! What a folder was built from: whether it has to be built again.
//!
//! The inputs are named with size and time of their last change, as `make` looks at them; the list
//! lies in the folder and is written when everything else is.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const LIST: &str = "inputs.txt";

/// The inputs of a folder, as they are now.
pub(crate) struct Inputs {
    list: PathBuf,
    now: String,
    /// Locked as long as this lives: another `xtask` waits, and then finds the folder built.
    _alone: File,
}

impl Inputs {
    /// `inputs`: files, and folders with all that is below them.
    pub(crate) fn of(built: &Path, inputs: &[&Path]) -> Result<Self> {
        let alone = lock(&built.with_extension("lock"))?;
        let mut lines = Vec::new();
        for input in inputs {
            note(input, &mut lines).with_context(|| format!("cannot read {}", input.display()))?;
        }
        lines.sort();
        Ok(Self {
            list: built.join(LIST),
            now: lines.concat(),
            _alone: alone,
        })
    }

    /// Was the folder built from just these?
    pub(crate) fn are_built(&self) -> bool {
        std::fs::read_to_string(&self.list).is_ok_and(|it| it == self.now)
    }

    /// Before the folder changes: what is half built counts as nothing.
    pub(crate) fn begin(&self) -> Result<()> {
        match self.list.exists() {
            true => Ok(std::fs::remove_file(&self.list)?),
            false => Ok(()),
        }
    }

    pub(crate) fn end(&self) -> Result<()> {
        Ok(std::fs::write(&self.list, &self.now)?)
    }
}

fn lock(path: &Path) -> Result<File> {
    std::fs::create_dir_all(path.parent().context("a path in a folder")?)?;
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.lock()
        .with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

fn note(path: &Path, lines: &mut Vec<String>) -> Result<()> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            note(&entry?.path(), lines)?;
        }
        return Ok(());
    }
    lines.push(format!(
        "{} {} {}.{:09}\n",
        path.display(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_or_was_interrupted_is_built_again() {
        let folder = tempfile::tempdir().unwrap();
        let (source, built) = (folder.path().join("source"), folder.path().join("built"));
        std::fs::create_dir(&built).unwrap();
        std::fs::create_dir_all(source.join("deep")).unwrap();
        std::fs::write(source.join("deep/a"), "1").unwrap();
        let inputs = || Inputs::of(&built, &[&source]).unwrap();
        assert!(!inputs().are_built());
        inputs().end().unwrap();
        assert!(inputs().are_built());
        std::fs::write(source.join("deep/a"), "12").unwrap();
        assert!(!inputs().are_built());
        inputs().end().unwrap();
        std::fs::write(source.join("b"), "").unwrap();
        assert!(!inputs().are_built());
        inputs().end().unwrap();
        inputs().begin().unwrap();
        assert!(!inputs().are_built());
    }
}
