// SPDX-License-Identifier: Apache-2.0
//! [`State`]: what the registers of a DEX method hold at one place.
//!
//! DEX registers have no types, and neither have its constants: zero may be an
//! int, a float or null. So a register's content is the set of types at which it
//! may be read; where paths meet, it is what both sets have.

use crate::Type;
use crate::sparse::Sparse;

/// Every type, in the order of the bits of [`Value`].
const TYPES: [Type; 5] = [Type::Int, Type::Float, Type::Ref, Type::Long, Type::Double];

/// What is known of a reference. Only instructions for arrays ask: their operands do not say
/// whether the elements are ints or floats, longs or doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Refers<'a> {
    /// Null on every path.
    #[default]
    Null,
    /// Null or an array of this descriptor.
    Array(&'a [u8]),
    /// Anything.
    Any,
}

impl<'a> Refers<'a> {
    /// A reference of the type `descriptor`.
    pub(super) fn to(descriptor: &'a [u8]) -> Self {
        match descriptor {
            [b'[', ..] => Self::Array(descriptor),
            _ => Self::Any,
        }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (own, other) if own == other => own,
            (Self::Null, known) | (known, Self::Null) => known,
            _ => Self::Any,
        }
    }
}

/// The types at which a register may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Value<'a> {
    bits: u8,
    /// What is known of it, if it may be read as a reference.
    pub(super) refers: Refers<'a>,
}

/// The register holds the second half of what the one before it holds.
const HIGH: u8 = 1 << 5;
const WIDE: u8 = 0b11000;

fn bit(ty: Type) -> u8 {
    match ty {
        Type::Int => 1,
        Type::Float => 2,
        Type::Ref => 4,
        Type::Long => 8,
        Type::Double => 16,
    }
}

impl<'a> Value<'a> {
    pub(super) const UNUSABLE: Self = Self {
        bits: 0,
        refers: Refers::Null,
    };
    /// Zero: an int, a float or null.
    pub(super) const ZERO: Self = Self {
        bits: 0b111,
        refers: Refers::Null,
    };
    /// Any other narrow constant.
    pub(super) const NARROW: Self = Self {
        bits: 0b011,
        refers: Refers::Null,
    };
    /// A wide constant.
    pub(super) const WIDE: Self = Self {
        bits: WIDE,
        refers: Refers::Null,
    };

    pub(super) fn number(ty: Type) -> Self {
        Self {
            bits: bit(ty),
            refers: Refers::Null,
        }
    }

    /// A reference of the type `descriptor`.
    pub(super) fn reference(descriptor: &'a [u8]) -> Self {
        Self {
            bits: bit(Type::Ref),
            refers: Refers::to(descriptor),
        }
    }

    pub(super) fn is(self, ty: Type) -> bool {
        self.bits & bit(ty) != 0
    }

    /// What both have; nothing if that is this one.
    fn joined(&self, other: &Self) -> Option<Self> {
        let mut joined = Value {
            bits: self.bits & other.bits,
            refers: Refers::Null,
        };
        if joined.is(Type::Ref) {
            joined.refers = self.refers.join(other.refers);
        }
        (joined != *self).then_some(joined)
    }

    pub(super) fn is_wide(self) -> bool {
        self.bits & WIDE != 0
    }

    pub(super) fn types(self) -> impl Iterator<Item = Type> {
        TYPES.into_iter().filter(move |&ty| self.is(ty))
    }
}

/// All registers, and behind them those that only exist between instructions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State<'a> {
    values: Sparse<Value<'a>>,
}

/// Registers behind the method's own.
pub(super) const EXTRA: usize = 3;

impl<'a> State<'a> {
    pub(super) fn new(register_count: usize) -> Self {
        Self {
            values: Sparse::new(register_count + EXTRA),
        }
    }

    pub(super) fn get(&self, register: usize) -> Value<'a> {
        self.values.get(register).copied().unwrap_or_default()
    }

    /// Whether `register` may be read at `ty`.
    pub(super) fn has(&self, register: usize, ty: Type) -> bool {
        let value = self.get(register);
        value.is(ty) && (!value.is_wide() || self.get(register + 1).bits == HIGH)
    }

    pub(super) fn set(&mut self, register: usize, value: Value<'a>) {
        self.part(register);
        if value.is_wide() {
            self.part(register + 1);
            let high = Value {
                bits: HIGH,
                refers: Refers::Null,
            };
            self.values.set(register + 1, high);
        }
        if self.get(register) != value {
            self.values.set(register, value);
        }
    }

    /// What lies across `register` and a neighbour is lost.
    fn part(&mut self, register: usize) {
        let own = self.get(register);
        if own.bits == HIGH && self.get(register - 1).is_wide() {
            self.values.set(register - 1, Value::UNUSABLE);
        }
        if own.is_wide() && self.get(register + 1).bits == HIGH {
            self.values.set(register + 1, Value::UNUSABLE);
        }
        if own.bits == HIGH || own.is_wide() {
            self.values.set(register, Value::UNUSABLE);
        }
    }

    /// Keeps what both states have; says whether this one lost anything.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        self.values.join(&other.values, &Value::joined)
    }
}
