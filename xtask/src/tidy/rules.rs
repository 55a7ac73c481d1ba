// SPDX-License-Identifier: Apache-2.0
//! layers.toml, parsed.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// What layers.toml says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    /// Size limits of files and functions.
    pub(crate) limits: Limits,
    /// How documents read.
    pub(crate) prose: Prose,
    /// Every workspace member, by name.
    pub(crate) crates: BTreeMap<String, Room>,
    /// The rooms inside crates that have them, by the crate's name.
    #[serde(default)]
    pub(crate) rooms: BTreeMap<String, Rooms>,
    /// Files over `file_lines_max`, with the reason.
    #[serde(default)]
    pub(crate) long_files: BTreeMap<String, Exception>,
    /// Functions over `function_lines_max` as `path::function`, with the reason.
    #[serde(default)]
    pub(crate) long_functions: BTreeMap<String, Exception>,
}

/// Lines, counted with comments and blanks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) file_lines_warn: usize,
    pub(crate) file_lines_max: usize,
    pub(crate) function_lines_max: usize,
}

/// Of all documents together, but for `line_max`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prose {
    /// Characters of a line outside code and tables, in documents and comments.
    pub(crate) line_max: usize,
    /// A sentence above it is long.
    pub(crate) long_words: usize,
    pub(crate) mean_words_max: f64,
    pub(crate) long_percent_max: f64,
}

/// One crate's place in the house.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Room {
    /// The floor: edges go to a lower one, or to a neighbour named in `may`.
    pub(crate) layer: u8,
    /// Workspace crates it may use.
    #[serde(default)]
    pub(crate) may: Vec<String>,
    /// Workspace crates its tests may use as well.
    #[serde(default)]
    pub(crate) may_in_tests: Vec<String>,
    /// How many unsafe blocks, functions and impls it may hold; none means
    /// `#![forbid(unsafe_code)]`.
    #[serde(default)]
    pub(crate) unsafe_max: usize,
}

/// The rooms of one crate: a file imports from its own room and from those below.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rooms {
    /// Folders and files of `src`, the lowest first.
    pub(crate) from_the_ground: Vec<String>,
    /// Imports upwards that are not cut yet. One that is cut must be struck from here.
    #[serde(default)]
    pub(crate) upwards: Vec<Upward>,
}

/// An import of a file in a higher room; paths begin at `src`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upward {
    pub(crate) from: String,
    pub(crate) to: String,
    #[expect(
        dead_code,
        reason = "for the reader of layers.toml; required so that nobody leaves it out"
    )]
    pub(crate) reason: String,
}

/// A size that is over the limit on purpose: it may shrink, not grow.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exception {
    pub(crate) lines_max: usize,
    #[expect(
        dead_code,
        reason = "for the reader of layers.toml; required so that nobody leaves it out"
    )]
    pub(crate) reason: String,
}

impl Rules {
    pub(crate) fn read(path: &str) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
        toml::from_str(&text).with_context(|| format!("{path} does not parse"))
    }
}
