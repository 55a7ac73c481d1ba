// SPDX-License-Identifier: Apache-2.0
//! [`Error`]: what is wrong with a file, and where.

use std::fmt;

/// A place in a file; both count from one, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is larger than any interface is.
    #[error("more than {0} bytes")]
    TooLarge(usize),
    /// Another token was due.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What would have been right.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A comment, text or character without its end, or one of characters that have no place.
    #[error("{0}")]
    Malformed(&'static str),
    /// AIDL has it, this does not.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// No declaration has the name.
    #[error("nothing is called {0}")]
    Unknown(String),
    /// Two things have one name.
    #[error("{0} is declared already")]
    Twice(String),
    /// The parts are right, together they are not.
    #[error("{0}")]
    Wrong(String),
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// As the file was called.
    pub file: String,
    /// Where in it.
    pub span: Span,
    /// What.
    pub problem: Problem,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { line, column } = self.span;
        write!(f, "{}:{line}:{column}: {}", self.file, self.problem)
    }
}

/// A problem at its place, before the file's name is put to it.
pub(crate) type Fault = (Span, Problem);

pub(crate) fn unsupported<T>(span: Span, what: impl Into<String>) -> Result<T, Fault> {
    Err((span, Problem::Unsupported(what.into())))
}

pub(crate) fn wrong<T>(span: Span, what: impl Into<String>) -> Result<T, Fault> {
    Err((span, Problem::Wrong(what.into())))
}
