// SPDX-License-Identifier: Apache-2.0
//! [`Document`]: what one file declares, with the place of each name.

use crate::error::Span;

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What errors call it.
    pub file: String,
    /// `package`; empty without one.
    pub package: String,
    /// `import`, each a full name.
    pub imports: Vec<(Span, String)>,
    /// In their order.
    pub declarations: Vec<Declaration>,
}

/// What has a name that types use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Where the name stands.
    pub span: Span,
    /// With its package.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// Kinds of declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a node can be asked.
    Interface(Interface),
    /// Fields in an order.
    Parcelable(Parcelable),
    /// `parcelable Name;`: another language writes it.
    Foreign,
    /// Names for numbers.
    Enum(EnumDeclaration),
}

/// `interface`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// In the order of their codes, unless codes are given.
    pub methods: Vec<Method>,
    /// `const`.
    pub constants: Vec<Constant>,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Where the name stands.
    pub span: Span,
    /// As AIDL has it.
    pub name: String,
    /// The transaction's number: FIRST_CALL_TRANSACTION for the first.
    pub code: u32,
    /// Whether nobody waits; also because the interface says so.
    pub is_oneway: bool,
    /// None for `void`.
    pub result: Option<Type>,
    /// In their order.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Where the name stands.
    pub span: Span,
    /// As AIDL has it.
    pub name: String,
    /// Which way it travels.
    pub direction: Direction,
    /// What it is.
    pub of: Type,
}

/// Which way a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the service.
    In,
    /// From it.
    Out,
    /// Both.
    InOut,
}

/// `parcelable` with fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcelable {
    /// In the order in which they are written.
    pub fields: Vec<Field>,
    /// `const`.
    pub constants: Vec<Constant>,
}

/// A field of a parcelable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where the name stands.
    pub span: Span,
    /// As AIDL has it.
    pub name: String,
    /// What it is.
    pub of: Type,
    /// What it is where nobody says.
    pub default: Option<Literal>,
}

/// `enum`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumDeclaration {
    /// `@Backing`: byte, int or long.
    pub backing: Primitive,
    /// In their order.
    pub enumerators: Vec<Enumerator>,
}

/// A name for a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// Where the name stands.
    pub span: Span,
    /// As AIDL has it.
    pub name: String,
    /// One more than the one before, unless it is said.
    pub value: i64,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Where the name stands.
    pub span: Span,
    /// As AIDL has it.
    pub name: String,
    /// A primitive or String.
    pub of: Type,
    /// What it is.
    pub value: Literal,
}

/// A value as it is written down, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Where it begins.
    pub span: Span,
    /// Which.
    pub value: Value,
}

/// Values that can be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number; of a hexadecimal one the bits count.
    Integer {
        /// With its sign.
        value: i64,
        /// Whether it is hexadecimal.
        is_hex: bool,
    },
    /// A number with a fraction, as it is written.
    Real(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A character.
    Character(char),
    /// A text.
    Text(String),
    /// An enumerator: of an enum that has this name.
    Enumerator(String, String),
}

/// A type where it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Where it begins.
    pub span: Span,
    /// What it is made of.
    pub base: Base,
    /// How many.
    pub form: Form,
    /// `@nullable`: of arrays and lists the items too.
    pub is_nullable: bool,
}

/// How many of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One.
    Single,
    /// `T[]`.
    Array,
    /// `List<T>`.
    List,
}

/// What types are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A number, a truth, a character.
    Primitive(Primitive),
    /// A text.
    Text,
    /// `IBinder`.
    Binder,
    /// `ParcelFileDescriptor`.
    Fd,
    /// A declaration: in a [`crate::Library`] by its full name.
    Named(String),
}

/// Primitive types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names are AIDL's")]
pub enum Primitive {
    Boolean,
    Byte,
    Char,
    Int,
    Long,
    Float,
    Double,
}

impl Primitive {
    /// The one that AIDL calls so.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "boolean" => Self::Boolean,
            "byte" => Self::Byte,
            "char" => Self::Char,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            _ => return None,
        })
    }
}
