// SPDX-License-Identifier: Apache-2.0
//! [`Machine`]: the files that tell about a machine, below a root that tests can choose.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A machine's `/proc`, `/sys`, `/dev` and `/boot`.
pub(super) struct Machine {
    root: PathBuf,
}

impl Machine {
    pub(super) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Whether this is the machine we run on, so that what cannot be read may be tried.
    pub(super) fn is_here(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A small text file without the white space around it; `None` if it is not there or not for
    /// us.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path))
            .ok()
            .map(|text| text.trim().to_owned())
    }

    pub(super) fn read_number(&self, path: &str) -> Option<i64> {
        self.read(path)?.parse().ok()
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Writes to a file of the kernel's in one piece and closes it, which takes back what was asked
    /// there. Nothing is made or cut.
    pub(super) fn try_writing(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.read(true).write(true).open(self.path(path))?;
        file.write_all(bytes)
    }

    /// Whether a file may be opened for writing; nothing is written.
    pub(super) fn try_opening(&self, path: &str) -> std::io::Result<()> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).open(self.path(path)).map(drop)
    }

    /// Names in a directory, sorted; none if it is not there.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(path))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The kernel's build configuration, from wherever it is kept.
    pub(super) fn kernel_config(&self) -> Option<String> {
        let release = self.read("proc/sys/kernel/osrelease")?;
        if let Some(text) = self.read(&format!("boot/config-{release}")) {
            return Some(text);
        }
        let packed = std::fs::read(self.path("proc/config.gz")).ok()?;
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_string(&mut text)
            .ok()?;
        Some(text)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}
