// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with a class file.

use core::fmt;

/// A format error, named for what was being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes end inside the named item.
    Truncated(&'static str),
    /// The named item has a value that the format does not allow.
    Malformed(&'static str),
    /// The file can be read, but is none that the format allows: the reason.
    Illegal(String),
    /// A module's description, not a class.
    Module,
    /// The file's major version is not one that this crate reads.
    Version {
        /// The major version found.
        major: u16,
        /// The minor version found.
        minor: u16,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated(what) => write!(f, "Truncated class file: {what}"),
            Error::Malformed(what) => write!(f, "Malformed class file: {what}"),
            Error::Illegal(reason) => f.write_str(reason),
            Error::Module => f.write_str("not a class because access_flag ACC_MODULE is set"),
            Error::Version { major, minor } => {
                write!(f, "unsupported class file version {major}.{minor}")
            }
        }
    }
}

impl std::error::Error for Error {}
