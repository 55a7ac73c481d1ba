// SPDX-License-Identifier: Apache-2.0
//! [`Jdk`]: a JDK of the host, and the trimmed image of it that fits an initramfs.
//!
//! jlink makes the image once per JDK and set of modules; a whole JDK would be 300 MB, java.base
//! alone is 44.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::Cache;
use crate::determinism::digest;
use crate::error::LabError;

/// What a Java command needs when nobody says otherwise: the language, logging, management, and
/// Unsafe.
pub const MODULES_DEFAULT: &str = "java.base,java.logging,java.management,jdk.unsupported";

/// A JDK that can trim itself.
pub(crate) struct Jdk {
    /// Its directory, without links.
    pub(crate) home: PathBuf,
}

impl Jdk {
    /// The JDK whose launcher this is, if it is one.
    pub(crate) fn of_launcher(launcher: &Path) -> Option<Jdk> {
        let real = launcher.canonicalize().ok()?;
        let home = real.parent()?.parent()?;
        let is_jdk = real.ends_with("bin/java")
            && home.join("bin/jlink").is_file()
            && home.join("jmods").is_dir();
        is_jdk.then(|| Jdk {
            home: home.to_owned(),
        })
    }

    /// The image with these modules, from the cache or made now.
    pub(crate) fn trim(&self, cache: &Cache, modules: &str) -> Result<PathBuf, LabError> {
        let release = self.home.join("release");
        let mut origin = fs::read(&release).map_err(LabError::io("read", &release))?;
        // The release file names the version, not the build: two builds of one version differ here.
        let base = self.home.join("jmods/java.base.jmod");
        let metadata = fs::metadata(&base).map_err(LabError::io("read", &base))?;
        origin.extend(format!("{} {} {modules}", self.home.display(), metadata.len()).bytes());
        cache.find_or_build("java", &digest(&origin), |made| self.link(modules, made))
    }

    fn link(&self, modules: &str, made: &Path) -> Result<(), LabError> {
        let jlink = self.home.join("bin/jlink");
        let output = Command::new(&jlink)
            .arg("--module-path")
            .arg(self.home.join("jmods"))
            .args(["--add-modules", modules])
            .args([
                "--strip-debug",
                "--no-header-files",
                "--no-man-pages",
                "--output",
            ])
            .arg(made)
            .output()
            .map_err(LabError::io("start", &jlink))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        Err(LabError::Jlink {
            modules: modules.to_owned(),
            reason: String::from_utf8_lossy(&said).trim().to_owned(),
        })
    }
}

/// The entries of `-cp`, `-classpath` and `--class-path`.
pub(crate) fn class_path(command: &[OsString]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (index, word) in command.iter().enumerate() {
        let list = match word.to_str() {
            Some("-cp" | "-classpath" | "--class-path") => command.get(index + 1).cloned(),
            Some(word) => word.strip_prefix("--class-path=").map(OsString::from),
            None => None,
        };
        found.extend(list.iter().flat_map(std::env::split_paths));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_paths_parse() {
        let command =
            ["java", "-cp", "a.jar:classes", "--class-path=b.jar", "Main"].map(OsString::from);
        assert_eq!(
            class_path(&command),
            ["a.jar", "classes", "b.jar"].map(PathBuf::from)
        );
        assert!(class_path(&["java", "-cp"].map(OsString::from)).is_empty());
    }

    #[test]
    fn only_a_jdk_is_a_jdk() {
        assert!(Jdk::of_launcher(Path::new("/bin/true")).is_none());
    }
}
