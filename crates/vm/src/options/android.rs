// SPDX-License-Identifier: Apache-2.0
//! Which class files are Android's own: those from the places that `takt.android.path` names.
//!
//! They were written for ART, so their code keeps references as ART does. A command that starts
//! the machine with AOSP's framework on the class path says so; a class does not tell by its name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

const PROPERTY: &str = "takt.android.path";

/// Whether a class that was read from `source`, a URL, is Android's own.
pub(crate) fn is_source(source: &[u8]) -> bool {
    static PLACES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let places = PLACES.get_or_init(|| {
        let properties = super::get().properties.iter();
        let path = properties.rev().find(|(name, _)| name == PROPERTY);
        path.map_or_else(Vec::new, |(_, path)| places_of(path))
    });
    !places.is_empty() && file_of(source).is_some_and(|file| places.contains(&file))
}

/// Whether AOSP's framework is there, over which applications call each other.
pub(crate) fn is_given(options: &super::Options) -> bool {
    options.properties.iter().any(|(name, _)| name == PROPERTY)
}

/// As the library has them in URLs: without links.
fn places_of(path: &str) -> Vec<PathBuf> {
    let places = path.split(':').filter(|it| !it.is_empty());
    let resolved = places.map(|it| std::fs::canonicalize(it).unwrap_or_else(|_| it.into()));
    resolved.collect()
}

/// The path in a URL of a file or directory.
fn file_of(source: &[u8]) -> Option<PathBuf> {
    let mut rest = source.strip_prefix(b"file:")?;
    let mut path = Vec::new();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|it| str::from_utf8(it).ok());
        let escaped = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
        match escaped.filter(|_| first == b'%') {
            Some(byte) => {
                path.push(byte);
                rest = &behind[2..];
            }
            None => {
                path.push(first);
                rest = behind;
            }
        }
    }
    Some(PathBuf::from(OsStr::from_bytes(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_place_on_the_path() {
        let places = places_of("/nowhere/a b:/nowhere/android.jar:");
        assert_eq!(places.len(), 2);
        let is_one =
            |source: &str| file_of(source.as_bytes()).is_some_and(|it| places.contains(&it));
        assert!(is_one("file:/nowhere/a%20b/"));
        assert!(is_one("file:/nowhere/android.jar"));
        assert!(!is_one("file:/nowhere/android.jar.txt"));
        assert!(!is_one("file:/nowhere/"));
        assert!(!is_one("jrt:/java.base"));
        assert!(!is_one("file:/nowhere/%zz"));
    }
}
