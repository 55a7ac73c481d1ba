// SPDX-License-Identifier: Apache-2.0
//! AIDL: the language in which a service says what it can be asked.
//!
//! [`Document`] is one parsed file; [`Library`] is several files whose names are resolved and whose
//! declarations are checked; [`Library::rust`] writes Rust stubs, which call and serve by
//! `binder::stub`. Every fault is an [`Error`] with file, line and column. What AIDL has and this
//! does not is refused by its name ([`Problem::Unsupported`]).
#![forbid(unsafe_code)]

mod check;
mod error;
mod lexer;
mod model;
mod parser;
mod rust;

pub use check::Library;
pub use error::{Error, Problem, Span};
pub use model::{
    Base, Constant, Declaration, Direction, Document, EnumDeclaration, Enumerator, Field, Form,
    Interface, Kind, Literal, Method, Parameter, Parcelable, Primitive, Type, Value,
};
