// SPDX-License-Identifier: Apache-2.0
//! [`Jdk`]: the installed JDK whose class library and libraries Takt uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The release whose class library and native interface Takt speaks.
pub(crate) const JDK_RELEASE: &str = "17";

/// An installed JDK of that release.
#[derive(Debug)]
pub(crate) struct Jdk {
    /// Its directory, the one with `bin`, `lib` and `release`.
    pub(crate) home: PathBuf,
    /// As it names itself, such as 17.0.15.
    pub(crate) version: String,
}

impl Jdk {
    /// `$JAVA_HOME`, the `java` on the path, then /usr/lib/jvm; the first that is of the right
    /// release.
    pub(crate) fn find() -> Result<Self> {
        let mut others = BTreeSet::new();
        for home in candidates() {
            match version_of(&home) {
                Some(version) if version.split('.').next() == Some(JDK_RELEASE) => {
                    return Ok(Self { home, version });
                }
                Some(version) => {
                    others.insert(version);
                }
                None => {}
            }
        }
        let others: Vec<String> = others.into_iter().collect();
        match others.as_slice() {
            [] => bail!(
                "no JDK in $JAVA_HOME, on the path or in /usr/lib/jvm; Takt needs release {JDK_RELEASE}"
            ),
            _ => bail!(
                "only JDK {} found; Takt needs release {JDK_RELEASE}",
                others.join(", ")
            ),
        }
    }

    /// The latest one of this release or a later one, in the same places.
    pub(crate) fn find_later(least: u32) -> Option<Self> {
        let known = candidates().into_iter().filter_map(|home| {
            let version = version_of(&home)?;
            let release: u32 = version.split(['.', '+', '-']).next()?.parse().ok()?;
            (least <= release).then_some((release, Self { home, version }))
        });
        known.max_by_key(|it| it.0).map(|it| it.1)
    }
}

fn candidates() -> Vec<PathBuf> {
    let from_variable = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let from_path = std::env::split_paths(&path)
        .filter_map(|directory| directory.join("java").canonicalize().ok())
        .filter_map(|java| Some(java.parent()?.parent()?.to_owned()));
    let mut installed: Vec<PathBuf> = std::fs::read_dir("/usr/lib/jvm")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.path().canonicalize().ok())
        .collect();
    installed.sort();
    from_variable
        .into_iter()
        .chain(from_path)
        .chain(installed)
        .collect()
}

/// What `release` says, if this is a JDK's or a Java runtime's directory.
pub(crate) fn version_of(home: &Path) -> Option<String> {
    let text = std::fs::read_to_string(home.join("release")).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(value.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_file_names_the_version() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(version_of(home.path()), None);
        std::fs::write(
            home.path().join("release"),
            "A=\"1\"\nJAVA_VERSION=\"17.0.15\"\n",
        )
        .unwrap();
        assert_eq!(version_of(home.path()).as_deref(), Some("17.0.15"));
    }
}
