// SPDX-License-Identifier: Apache-2.0
//! Types of generated programs, and what each program has of them: fields, classes, literals.

/// What is not an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Boolean,
    Byte,
    Short,
    Char,
    Int,
    Long,
    Float,
    Double,
    Text,
    Object,
    /// The class `A`, which others extend.
    Node,
    /// The interface `I`.
    Shape,
}

use Kind::{Boolean, Byte, Char, Double, Float, Int, Long, Node, Object, Shape, Short, Text};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) dims: u8,
}

pub(crate) const fn plain(kind: Kind) -> Type {
    Type { kind, dims: 0 }
}

pub(crate) const fn array(kind: Kind) -> Type {
    Type { kind, dims: 1 }
}

impl Type {
    pub(crate) fn is_integral(self) -> bool {
        self.dims == 0 && matches!(self.kind, Byte | Short | Char | Int | Long)
    }

    pub(crate) fn is_number(self) -> bool {
        self.is_integral() || (self.dims == 0 && matches!(self.kind, Float | Double))
    }

    pub(crate) fn element(self) -> Self {
        let dims = self.dims - 1;
        Self { dims, ..self }
    }

    pub(crate) fn array_of(self) -> Self {
        let dims = self.dims + 1;
        Self { dims, ..self }
    }

    pub(crate) fn name(self) -> String {
        format!("{}{}", self.kind.name(), "[]".repeat(self.dims.into()))
    }
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Boolean => "boolean",
            Byte => "byte",
            Short => "short",
            Char => "char",
            Int => "int",
            Long => "long",
            Float => "float",
            Double => "double",
            Text => "String",
            Object => "Object",
            Node => "A",
            Shape => "I",
        }
    }

    /// The class of a boxed one.
    pub(crate) fn boxed(self) -> &'static str {
        match self {
            Boolean => "Boolean",
            Byte => "Byte",
            Short => "Short",
            Char => "Character",
            Int => "Integer",
            Long => "Long",
            Float => "Float",
            Double => "Double",
            other => other.name(),
        }
    }
}

/// Fields of `A`; `s_` before the name makes them static ones of the program.
pub(crate) const FIELDS: [(&str, Type); 17] = [
    ("f", plain(Int)),
    ("e", plain(Int)),
    ("g", plain(Long)),
    ("h", plain(Float)),
    ("d", plain(Double)),
    ("b", plain(Byte)),
    ("s", plain(Short)),
    ("c", plain(Char)),
    ("z", plain(Boolean)),
    ("t", plain(Text)),
    ("o", plain(Object)),
    ("next", plain(Node)),
    ("ai", array(Int)),
    ("al", array(Long)),
    ("ao", array(Object)),
    ("v", plain(Int)),
    ("w", plain(Long)),
];

/// Those of them that are volatile.
pub(crate) const VOLATILE: [&str; 2] = ["v", "w"];

/// Arrays that are static fields alone, with what is in them at first.
pub(crate) const ARRAYS: [(&str, Type, &str); 12] = [
    (
        "s_ai",
        array(Int),
        "{3, -1, 4, 1 << 31, 5, -9, 2, 6, 0x7fffffff, 0}",
    ),
    ("s_al", array(Long), "{1L << 63, 7, -1, 1L << 32, 0, 31}"),
    ("s_ab", array(Byte), "{1, -128, 127, 0, -1, 64, 2, 9, 5}"),
    ("s_as", array(Short), "{-32768, 255, 3, 32767, -2}"),
    ("s_ac", array(Char), "{'a', 0, 0xffff, 'z', '9', ' '}"),
    (
        "s_af",
        array(Float),
        "{0f, -0f, 1.5f, Float.NaN, 1e30f, -2f}",
    ),
    (
        "s_ad",
        array(Double),
        "{0, -0.0, 0.1, Double.NaN, 1e300, -3}",
    ),
    ("s_az", array(Boolean), "{true, false, false, true}"),
    (
        "s_at",
        array(Text),
        "{\"\", \"one\", null, \"\\u00e4\\u20ac\", \"four\"}",
    ),
    (
        "s_ao",
        array(Object),
        "{1, \"two\", 3L, null, 'c', 2.5, new A(1), new int[2]}",
    ),
    ("s_an", array(Node), "{new A(0), null, new A(7)}"),
    (
        "s_aai",
        Type { kind: Int, dims: 2 },
        "{{1, 2, 3}, {}, {4, 5}, null, {6, 7, 8, 9}}",
    ),
];

/// Classes in the order in which programs begin to use them, what they extend, and whether they are
/// of the interface.
pub(crate) const CLASSES: [(&str, Option<&str>, bool); 8] = [
    ("A", None, false),
    ("B", Some("A"), true),
    ("C", Some("A"), true),
    ("D", Some("B"), true),
    ("E", Some("A"), false),
    ("F", None, true),
    ("G", None, true),
    ("H", Some("G"), true),
];

/// Types of variables, parameters and results, the likely ones more than once.
pub(crate) const TYPES: [Type; 26] = [
    plain(Int),
    plain(Int),
    plain(Int),
    plain(Int),
    plain(Long),
    plain(Long),
    plain(Long),
    plain(Boolean),
    plain(Byte),
    plain(Short),
    plain(Char),
    plain(Float),
    plain(Double),
    plain(Double),
    plain(Text),
    plain(Object),
    plain(Node),
    plain(Node),
    plain(Shape),
    array(Int),
    array(Int),
    array(Long),
    array(Byte),
    array(Double),
    array(Object),
    array(Char),
];

pub(crate) const INTS: [&str; 18] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "16",
    "31",
    "32",
    "33",
    "63",
    "127",
    "-128",
    "255",
    "65535",
    "0x7fffffff",
    "0x80000000",
    "1000003",
];
pub(crate) const LONGS: [&str; 12] = [
    "0L",
    "1L",
    "-1L",
    "5L",
    "63L",
    "0x7fffffffL",
    "0x80000000L",
    "0xffffffffL",
    "0x7fffffffffffffffL",
    "0x8000000000000000L",
    "-1000000007L",
    "0x123456789abcdefL",
];
pub(crate) const DOUBLES: [&str; 14] = [
    "0.0",
    "-0.0",
    "1.0",
    "-1.5",
    "0.1",
    "1e9",
    "3e9",
    "-1e19",
    "1e-320",
    "1e308",
    "Double.NaN",
    "Double.POSITIVE_INFINITY",
    "Double.NEGATIVE_INFINITY",
    "2147483648.5",
];
pub(crate) const FLOATS: [&str; 11] = [
    "0f",
    "-0f",
    "1f",
    "-2.5f",
    "0.1f",
    "1e10f",
    "1e-42f",
    "3e38f",
    "Float.NaN",
    "Float.POSITIVE_INFINITY",
    "16777217f",
];
pub(crate) const TEXTS: [&str; 7] = [
    "\"\"",
    "\"a\"",
    "\" bc \"",
    "\"-17\"",
    "\"\\u00df\\u4e2d\"",
    "\"Quick\"",
    "\"0123456789\"",
];
