// SPDX-License-Identifier: Apache-2.0
//! Class files and the JDK's `lib/modules` image: bytes in, values out.
//!
//! [`ClassFile::parse`] reads one `.class` file; [`Jimage::parse`] reads the
//! module image. Both borrow their input, copy nothing they need not copy and
//! answer hostile bytes with an [`Error`]; [`ClassFile::check`] holds a file
//! against the rest of the format's rules. Neighbours: `ir` translates the
//! methods found here, `vm` links the classes.
//!
//! Own code and not a parser from the registry, because the machine needs what
//! those hide: constants by raw index (reflection hands them out), attributes
//! as raw bytes (annotations are parsed by the class library) and strings with
//! unpaired surrogates (java.base holds some).
#![forbid(unsafe_code)]

mod attribute;
mod check;
mod class_file;
mod constant;
mod descriptor;
mod error;
mod jimage;
mod member;
mod mutf8;
mod reader;

pub use attribute::{BootstrapMethod, EnclosingMethod, InnerClass, RecordComponent};
pub use class_file::{ClassFile, access};
pub use constant::{Constant, ConstantPool, MemberName, MethodHandleKind};
pub use descriptor::{FieldType, MethodDescriptor, Primitive};
pub use error::Error;
pub use jimage::Jimage;
pub use member::{Code, ExceptionEntry, Field, Method};
pub use mutf8::{from_utf16, to_string_lossy, to_utf16};
