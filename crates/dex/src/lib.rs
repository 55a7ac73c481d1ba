// SPDX-License-Identifier: Apache-2.0
//! DEX files, versions 035 to 039: bytes in, values out.
//!
//! [`DexFile::parse`] verifies the structure of a whole file: header and checksum, map, every item
//! of every section, the order of the tables, and every reference. [`Method::check_code`] verifies
//! one method's instructions: registers, indices and targets. Hostile bytes give an [`Error`] that
//! names item, offset and fault. It takes time linear in the file (times the logarithm of its
//! items) and at most [`MEMORY_PER_BYTE_MAX`] bytes of memory per byte. What needs types (that a
//! register holds what an instruction reads) is left to `ir`, which verifies it for class files
//! alike.
//!
//! Neighbours: `apk` finds the files in a package, `classfile` knows modified UTF-8, `ir`
//! translates the methods.
#![forbid(unsafe_code)]

mod annotation;
mod class;
mod code;
mod cursor;
mod debug;
mod disassemble;
mod error;
mod file;
mod header;
mod identifier;
mod instruction;
mod opcode;
mod value;
mod verify;

pub use annotation::{Annotation, Directory, Visibility};
pub use class::{ClassData, ClassDef, Field, Method, access};
pub use code::{Code, Handlers, Try};
pub use debug::DebugInfo;
pub use disassemble::Listing;
pub use error::{Error, Fault};
pub use file::DexFile;
pub use identifier::{FieldId, MethodHandle, MethodHandleKind, MethodId, ProtoId, TypeList};
pub use instruction::{
    Arguments, DecodeError, Instruction, Operands, Payload, Unit, Units, decode,
};
pub use opcode::{Flow, Format, Opcode, Pool};
pub use value::{EncodedAnnotation, EncodedValue};

/// Working memory per byte of the file, at most; asserted by the mutation tests.
pub const MEMORY_PER_BYTE_MAX: usize = 160;
