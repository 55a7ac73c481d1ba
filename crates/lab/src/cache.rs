// SPDX-License-Identifier: Apache-2.0
//! [`Cache`]: what is unpacked or built once: kernels, their vmlinux, trimmed Java images.
//!
//! Safe between processes: an entry is made under a private name and renamed into place, and its
//! name holds a digest of what it was made from, so a stale entry is never found rather than
//! repaired.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::LabError;

/// A directory: `$TAKT_CACHE`, else `$XDG_CACHE_HOME/takt`, else `~/.cache/takt`.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The user's cache, wherever the environment says it is.
    pub fn of_user() -> Result<Cache, LabError> {
        let from = |name: &str| {
            std::env::var_os(name)
                .filter(|it| !it.is_empty())
                .map(PathBuf::from)
        };
        let root = from("TAKT_CACHE")
            .or_else(|| from("XDG_CACHE_HOME").map(|it| it.join("takt")))
            .or_else(|| from("HOME").map(|it| it.join(".cache/takt")))
            .ok_or(LabError::NoCache)?;
        Ok(Cache { root })
    }

    /// A cache in a directory of the caller's choice.
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where `tools/setup` unpacks kernel packages.
    pub(crate) fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// Where derived things live: `kind` is what, `key` a digest of what it is made from.
    pub(crate) fn entry(&self, kind: &str, key: &str) -> PathBuf {
        self.root.join("lab").join(kind).join(key)
    }

    /// Finds the entry or has `build` make it under the private path that it is given.
    pub(crate) fn find_or_build(
        &self,
        kind: &str,
        key: &str,
        build: impl FnOnce(&Path) -> Result<(), LabError>,
    ) -> Result<PathBuf, LabError> {
        let place = self.entry(kind, key);
        if place.exists() {
            return Ok(place);
        }
        let parent = place
            .parent()
            .expect("an entry lies in its kind's directory");
        fs::create_dir_all(parent).map_err(LabError::io("create", parent))?;
        let private = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(parent)
            .map_err(LabError::io("write to", parent))?;
        let made = private.path().join("entry");
        build(&made)?;
        match fs::rename(&made, &place) {
            Ok(()) => Ok(place),
            // Another process was faster: its entry is made from the same things.
            Err(error) if place.exists() && is_collision(&error) => Ok(place),
            Err(error) => Err(LabError::io("rename into", &place)(error)),
        }
    }
}

fn is_collision(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_built_once() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path());
        let build = |made: &Path| fs::write(made, "first").map_err(LabError::io("write", made));
        let place = cache.find_or_build("kind", "key", build).unwrap();
        let again = cache
            .find_or_build("kind", "key", |_| panic!("built twice"))
            .unwrap();
        assert_eq!(place, again);
        assert_eq!(fs::read(&place).unwrap(), b"first");
    }

    #[test]
    fn the_loser_of_a_race_takes_the_winners_entry() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path());
        let make = |made: &Path, text: &str| {
            fs::create_dir(made).unwrap();
            fs::write(made.join("file"), text).unwrap();
        };
        let place = cache
            .find_or_build("kind", "key", |made| {
                make(&cache.entry("kind", "key"), "winner");
                make(made, "loser");
                Ok(())
            })
            .unwrap();
        assert_eq!(fs::read(place.join("file")).unwrap(), b"winner");
        let left: Vec<_> = fs::read_dir(place.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "the loser cleans up: {left:?}");
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path());
        let failed = cache.find_or_build("kind", "key", |_| Err(LabError::NoCache));
        assert!(failed.is_err());
        assert!(!cache.entry("kind", "key").exists());
    }
}
