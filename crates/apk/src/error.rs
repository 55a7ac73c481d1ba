// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a package, and where.

use core::fmt;

/// A fault with its place: the archive entry, and the offset in that entry's (inflated) bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Name of the entry; empty for the archive itself.
    pub entry: String,
    /// Offset in the entry, or in the archive.
    pub offset: u64,
    /// What is wrong there.
    pub fault: Fault,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The archive's own structure.
    #[error("not a readable zip archive: {0}")]
    Archive(String),
    /// The file does not begin with a local file header: something was put in front of the archive.
    #[error("the file begins with {0:#010x}, not with a zip entry: bytes were put in front of it")]
    Prefixed(u32),
    /// An entry that must be there.
    #[error("no such entry in the archive")]
    NoEntry,
    /// One name twice: two readers could see two programs.
    #[error("the name occurs twice in the archive")]
    DuplicateEntry,
    /// The local header and the central directory disagree.
    #[error("local header and central directory disagree about the {0}")]
    Disagreement(&'static str),
    /// Two entries share bytes.
    #[error("its bytes overlap those of '{0}'")]
    Overlap(String),
    /// A compression method other than stored and deflated.
    #[error("compression method {0} (stored and deflate are known)")]
    Method(u16),
    /// An encrypted entry.
    #[error("encrypted")]
    Encrypted,
    /// The entry does not inflate to what the directory says.
    #[error("does not unpack: {0}")]
    Unpack(String),
    /// Something is larger than we accept.
    #[error("{what}: {value} is over the limit of {limit}")]
    Limit {
        /// What was counted.
        what: &'static str,
        /// How much there is.
        value: u64,
        /// How much we take.
        limit: u64,
    },
    /// The bytes end inside the named item.
    #[error("ends inside the {0}")]
    Truncated(&'static str),
    /// The named item has a value that the format does not allow.
    #[error("{0}")]
    Malformed(String),
}

impl Error {
    pub(crate) fn new(entry: &str, offset: u64, fault: Fault) -> Self {
        Self {
            entry: entry.to_owned(),
            offset,
            fault,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = if self.entry.is_empty() {
            "archive"
        } else {
            &self.entry
        };
        write!(f, "{entry} at {:#x}: {}", self.offset, self.fault)
    }
}

impl std::error::Error for Error {}
