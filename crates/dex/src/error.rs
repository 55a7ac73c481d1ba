// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a DEX file, and where.

use core::fmt;

/// A fault with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Offset in the file.
    pub offset: usize,
    /// The kind of item that was read, by the specification's name.
    pub item: &'static str,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file does not begin with `dex\n`, a version and a zero.
    #[error("the magic word is {0:02x?}")]
    Magic([u8; 8]),
    /// A version that this crate does not read.
    #[error("version {0:03} (035, 037, 038 and 039 are known)")]
    Version(u16),
    /// The Adler-32 sum in the header is another.
    #[error("the header says {stored:#010x}, the bytes give {actual:#010x}: the file was changed")]
    Checksum {
        /// In the header.
        stored: u32,
        /// Of the bytes.
        actual: u32,
    },
    /// The bytes end inside the item.
    #[error("ends inside the {0}")]
    Truncated(&'static str),
    /// An index or offset beyond what there is.
    #[error("{what} {value:#x} is not below {limit:#x}")]
    Range {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The first value too large.
        limit: u64,
    },
    /// An offset that leads to no item of the expected kind.
    #[error("{what} {offset:#x} is not the start of a {target}")]
    Dangling {
        /// What refers.
        what: &'static str,
        /// Where to.
        offset: u32,
        /// What should be there.
        target: &'static str,
    },
    /// Items that are not in the order the format demands, or one twice.
    #[error("not in order: {0}")]
    Order(&'static str),
    /// Anything else that the format does not allow.
    #[error("{0}")]
    Malformed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}: {}", self.item, self.offset, self.fault)
    }
}

impl std::error::Error for Error {}
