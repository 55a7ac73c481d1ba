// SPDX-License-Identifier: Apache-2.0
//! What makes a run repeatable and shows that it is: digests, what a seed changes, and the
//! comparison of two runs.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::LabError;
use crate::outcome::Outcome;
use crate::stream::Captured;

/// A seed moves the command's start by less than this: many timer ticks (4 ms) and release periods,
/// little run time.
const START_DELAY_US_MAX: u64 = 20_000;

/// Hexadecimal digits of a digest that are shown and used as a name: 64 bits.
const DIGITS: usize = 16;

/// A digest in the making.
#[derive(Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> String {
        let mut text = String::new();
        for byte in self.0.finalize() {
            text.push_str(&format!("{byte:02x}"));
        }
        text.truncate(DIGITS);
        text
    }
}

/// The digest of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.add(bytes);
    digest.finish()
}

/// How long after the guest's start-up the command starts: another phase against every timer for
/// another seed.
pub(crate) fn start_delay_us(seed: u64) -> u64 {
    // SplitMix64: neighbouring seeds give unrelated delays.
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % START_DELAY_US_MAX
}

/// Two runs of the same job, side by side.
#[derive(Debug)]
pub struct Comparison {
    /// The first run's end.
    pub first: Outcome,
    /// The second run's end.
    pub second: Outcome,
    /// Where they part, if they do.
    pub difference: Option<Difference>,
}

/// The first thing in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// They ended differently.
    ExitCode {
        /// First run.
        first: u8,
        /// Second run.
        second: u8,
    },
    /// A stream or a file differs.
    Bytes {
        /// `standard output`, `standard error` or the file's name.
        what: String,
        /// Line, from one.
        line: usize,
        /// Byte from the start, from zero.
        offset: usize,
        /// That line in the first run.
        first: String,
        /// That line in the second run.
        second: String,
    },
    /// A file that only one run left.
    OnlyOnce {
        /// Its name.
        file: String,
        /// `first` or `second`.
        run: &'static str,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Difference::ExitCode { first, second } => {
                write!(
                    out,
                    "exit code {first} in the first run, {second} in the second"
                )
            }
            Difference::Bytes {
                what,
                line,
                offset,
                first,
                second,
            } => write!(
                out,
                "{what}, line {line}, byte {offset}:\n  first run:  {first}\n  second run: {second}"
            ),
            Difference::OnlyOnce { file, run } => {
                write!(out, "file {file} came back from the {run} run only")
            }
        }
    }
}

/// One run's traces.
pub(crate) struct Traces<'a> {
    pub(crate) exit_code: u8,
    pub(crate) streams: &'a Captured,
    pub(crate) files: &'a Path,
}

/// Compares exit codes, streams and files, in this order.
pub(crate) fn compare(first: &Traces, second: &Traces) -> Result<Option<Difference>, LabError> {
    if first.exit_code != second.exit_code {
        return Ok(Some(Difference::ExitCode {
            first: first.exit_code,
            second: second.exit_code,
        }));
    }
    let streams = [
        (
            "standard output",
            &first.streams.stdout,
            &second.streams.stdout,
        ),
        (
            "standard error",
            &first.streams.stderr,
            &second.streams.stderr,
        ),
    ];
    for (what, one, other) in streams {
        if let Some(difference) = compare_bytes(what, one, other) {
            return Ok(Some(difference));
        }
    }
    compare_files(first.files, second.files)
}

fn compare_files(first: &Path, second: &Path) -> Result<Option<Difference>, LabError> {
    let (ours, theirs) = (names(first)?, names(second)?);
    if let Some(file) = ours.symmetric_difference(&theirs).next() {
        return Ok(Some(Difference::OnlyOnce {
            file: file.display().to_string(),
            run: if ours.contains(file) {
                "first"
            } else {
                "second"
            },
        }));
    }
    for name in &ours {
        let read = |root: &Path| {
            let path = root.join(name);
            fs::read(&path).map_err(LabError::io("read", &path))
        };
        let what = format!("file {}", name.display());
        if let Some(difference) = compare_bytes(&what, &read(first)?, &read(second)?) {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

fn names(root: &Path) -> Result<BTreeSet<PathBuf>, LabError> {
    fn walk(root: &Path, below: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), LabError> {
        let directory = root.join(below);
        for entry in fs::read_dir(&directory).map_err(LabError::io("read", &directory))? {
            let entry = entry.map_err(LabError::io("read", &directory))?;
            let name = below.join(entry.file_name());
            let kind = entry
                .file_type()
                .map_err(LabError::io("read", &directory))?;
            if kind.is_dir() {
                walk(root, &name, found)?;
            } else if kind.is_file() {
                found.insert(name);
            }
        }
        Ok(())
    }
    let mut found = BTreeSet::new();
    walk(root, Path::new(""), &mut found)?;
    Ok(found)
}

fn compare_bytes(what: &str, first: &[u8], second: &[u8]) -> Option<Difference> {
    if first == second {
        return None;
    }
    let offset = first
        .iter()
        .zip(second)
        .position(|(one, other)| one != other)
        .unwrap_or(first.len().min(second.len()));
    let line_start = first[..offset]
        .iter()
        .rposition(|it| *it == b'\n')
        .map_or(0, |it| it + 1);
    let line_of = |bytes: &[u8]| {
        let rest = &bytes[line_start..];
        let end = rest
            .iter()
            .position(|it| *it == b'\n')
            .unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end.min(200)]).into_owned()
    };
    Some(Difference::Bytes {
        what: what.to_owned(),
        line: first[..offset].iter().filter(|it| **it == b'\n').count() + 1,
        offset,
        first: line_of(first),
        second: line_of(second),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_differ(first: &str, second: &str) -> Option<(usize, usize, String, String)> {
        match compare_bytes("x", first.as_bytes(), second.as_bytes()) {
            Some(Difference::Bytes {
                line,
                offset,
                first,
                second,
                ..
            }) => Some((line, offset, first, second)),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(bytes_differ("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            bytes_differ("a\nbcd\ne", "a\nbxd\ne"),
            Some((2, 3, "bcd".to_owned(), "bxd".to_owned()))
        );
        assert_eq!(
            bytes_differ("a\n", "a\nmore"),
            Some((2, 2, String::new(), "more".to_owned()))
        );
        assert_eq!(
            bytes_differ("", "x"),
            Some((1, 0, String::new(), "x".to_owned()))
        );
    }

    #[test]
    fn files_are_compared_by_name_and_content() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let compare = || compare_files(first.path(), second.path()).unwrap();
        fs::create_dir(first.path().join("sub")).unwrap();
        fs::create_dir(second.path().join("sub")).unwrap();
        assert_eq!(compare(), None);
        fs::write(first.path().join("sub/a"), "1").unwrap();
        assert_eq!(
            compare(),
            Some(Difference::OnlyOnce {
                file: "sub/a".to_owned(),
                run: "first"
            })
        );
        fs::write(second.path().join("sub/a"), "2").unwrap();
        assert!(matches!(compare(), Some(Difference::Bytes { what, .. }) if what == "file sub/a"));
        fs::write(second.path().join("sub/a"), "1").unwrap();
        assert_eq!(compare(), None);
    }

    #[test]
    fn neighbouring_seeds_start_far_apart() {
        let delays: BTreeSet<u64> = (0..100).map(start_delay_us).collect();
        assert!(delays.len() > 95, "{delays:?}");
        assert!(delays.iter().all(|it| *it < START_DELAY_US_MAX));
    }
}
