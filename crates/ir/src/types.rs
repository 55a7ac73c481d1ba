// SPDX-License-Identifier: Apache-2.0
//! Types of registers and of memory.

/// The type of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// 32 bits; also boolean, byte, char and short.
    Int,
    /// 64 bits.
    Long,
    /// IEEE 754 single.
    Float,
    /// IEEE 754 double.
    Double,
    /// A reference or null.
    Ref,
}

/// How a value lies in a field or an array element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are Java's own")]
pub enum MemoryKind {
    Boolean,
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
    Ref,
}

impl MemoryKind {
    /// The kind that `newarray` has the number `code` for, as JNI's libraries do; none for
    /// references.
    pub fn of_array_code(code: u8) -> Option<Self> {
        Some(match code {
            4 => MemoryKind::Boolean,
            5 => MemoryKind::Char,
            6 => MemoryKind::Float,
            7 => MemoryKind::Double,
            8 => MemoryKind::Byte,
            9 => MemoryKind::Short,
            10 => MemoryKind::Int,
            11 => MemoryKind::Long,
            _ => return None,
        })
    }

    /// The type of a register that holds such a value.
    pub fn register_type(self) -> Type {
        match self {
            MemoryKind::Long => Type::Long,
            MemoryKind::Float => Type::Float,
            MemoryKind::Double => Type::Double,
            MemoryKind::Ref => Type::Ref,
            _ => Type::Int,
        }
    }

    /// Base-two logarithm of the size in bytes.
    pub fn size_log2(self) -> u8 {
        match self {
            MemoryKind::Boolean | MemoryKind::Byte => 0,
            MemoryKind::Char | MemoryKind::Short => 1,
            MemoryKind::Int | MemoryKind::Float | MemoryKind::Ref => 2,
            MemoryKind::Long | MemoryKind::Double => 3,
        }
    }
}
