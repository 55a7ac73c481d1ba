// SPDX-License-Identifier: Apache-2.0
//! Instructions and the payloads between them.
//!
//! [`decode`] reads one unit of code at a place; [`Units`] walks a whole method.

use crate::opcode::{Format, Opcode};

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub opcode: Opcode,
    /// With what.
    pub operands: Operands,
}

/// Registers, numbers, indices. Offsets are relative to the instruction, in code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a, b, c are the specification's own names")]
pub enum Operands {
    None,
    A {
        a: u16,
    },
    Ab {
        a: u16,
        b: u16,
    },
    Abc {
        a: u16,
        b: u16,
        c: u16,
    },
    Literal {
        a: u16,
        literal: i64,
    },
    AbLiteral {
        a: u16,
        b: u16,
        literal: i32,
    },
    Branch {
        offset: i32,
    },
    BranchA {
        a: u16,
        offset: i32,
    },
    BranchAb {
        a: u16,
        b: u16,
        offset: i32,
    },
    Index {
        a: u16,
        index: u32,
    },
    AbIndex {
        a: u16,
        b: u16,
        index: u32,
    },
    Call {
        arguments: Arguments,
        index: u32,
        proto: Option<u32>,
    },
}

/// The registers handed to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// Up to five, anywhere below v16.
    List {
        /// How many.
        count: u8,
        /// Which; those behind `count` mean nothing.
        registers: [u8; 5],
    },
    /// Consecutive ones.
    Range {
        /// The first.
        first: u16,
        /// How many.
        count: u8,
    },
}

impl Arguments {
    /// The registers in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        let this = *self;
        (0..this.count()).map(move |index| match this {
            Self::List { registers, .. } => u16::from(registers[usize::from(index)]),
            Self::Range { first, .. } => first.wrapping_add(u16::from(index)),
        })
    }

    /// How many registers; a long or double counts twice.
    pub fn count(&self) -> u8 {
        match self {
            Self::List { count, .. } | Self::Range { count, .. } => *count,
        }
    }
}

/// Data between instructions, reached by the offset of a switch or fill-array-data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Keys from `first_key` on; one target each.
    PackedSwitch {
        /// Key of the first target.
        first_key: i32,
        /// Little-endian 32-bit targets, relative to the switch.
        targets: &'a [u8],
    },
    /// Sorted keys, then as many targets.
    SparseSwitch {
        /// Little-endian 32-bit keys.
        keys: &'a [u8],
        /// Little-endian 32-bit targets, relative to the switch.
        targets: &'a [u8],
    },
    /// Elements of an array.
    ArrayData {
        /// Bytes per element.
        width: u16,
        /// The elements, little-endian.
        data: &'a [u8],
    },
}

impl Payload<'_> {
    /// Size in code units.
    pub fn units(&self) -> usize {
        match self {
            Self::PackedSwitch { targets, .. } => 4 + targets.len() / 2,
            Self::SparseSwitch { keys, targets } => 2 + (keys.len() + targets.len()) / 2,
            Self::ArrayData { data, .. } => 4 + data.len().div_ceil(2),
        }
    }

    /// The name that disassemblers give it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PackedSwitch { .. } => "packed-switch-data",
            Self::SparseSwitch { .. } => "sparse-switch-data",
            Self::ArrayData { .. } => "array-data",
        }
    }

    /// Switch targets, relative to the switch instruction; none for array data.
    pub fn targets(&self) -> impl Iterator<Item = i32> {
        let targets: &[u8] = match self {
            Self::PackedSwitch { targets, .. } | Self::SparseSwitch { targets, .. } => targets,
            Self::ArrayData { .. } => &[],
        };
        words(targets)
    }

    /// Switch keys; none for array data.
    pub fn keys(&self) -> impl Iterator<Item = i32> {
        let (first, count, keys): (i32, usize, &[u8]) = match self {
            Self::PackedSwitch { first_key, targets } => (*first_key, targets.len() / 4, &[]),
            Self::SparseSwitch { keys, .. } => (0, 0, keys),
            Self::ArrayData { .. } => (0, 0, &[]),
        };
        (0..count)
            .map(move |it| first.wrapping_add(it as i32))
            .chain(words(keys))
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = i32> {
    bytes
        .chunks_exact(4)
        .map(|it| i32::from_le_bytes([it[0], it[1], it[2], it[3]]))
}

/// What lies at one place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit<'a> {
    /// An instruction.
    Instruction(Instruction),
    /// A payload.
    Payload(Payload<'a>),
}

impl Unit<'_> {
    /// Size in code units.
    pub fn units(&self) -> usize {
        match self {
            Self::Instruction(it) => it.opcode.format().units(),
            Self::Payload(it) => it.units(),
        }
    }
}

/// What keeps code from being read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A number that is no operation.
    #[error("{0:#04x} is no operation")]
    Opcode(u8),
    /// The code ends inside an instruction.
    #[error("the code ends inside an instruction or payload")]
    Truncated,
    /// A call with more registers than its layout can name.
    #[error("a call with {0} registers in a layout for five")]
    Arguments(u8),
}

/// Reads what begins at code unit `pc` of `code` (little-endian 16-bit units).
pub fn decode(code: &[u8], pc: usize) -> Result<Unit<'_>, DecodeError> {
    let rest = pc
        .checked_mul(2)
        .and_then(|it| code.get(it..))
        .ok_or(DecodeError::Truncated)?;
    let first = unit(rest, 0)?;
    match first {
        0x0100 | 0x0200 | 0x0300 => payload(rest, first).map(Unit::Payload),
        _ => instruction(rest, first).map(Unit::Instruction),
    }
}

fn unit(code: &[u8], index: usize) -> Result<u16, DecodeError> {
    let bytes = code
        .get(index * 2..index * 2 + 2)
        .ok_or(DecodeError::Truncated)?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn payload(code: &[u8], ident: u16) -> Result<Payload<'_>, DecodeError> {
    let part = |from: usize, size: usize| {
        let end = from.checked_add(size).ok_or(DecodeError::Truncated)?;
        code.get(from..end).ok_or(DecodeError::Truncated)
    };
    let size = usize::from(unit(code, 1)?);
    let word = |index| -> Result<u32, DecodeError> {
        Ok(u32::from(unit(code, index)?) | (u32::from(unit(code, index + 1)?) << 16))
    };
    Ok(match ident {
        0x0100 => {
            let first_key = word(2)?.cast_signed();
            Payload::PackedSwitch {
                first_key,
                targets: part(8, size * 4)?,
            }
        }
        0x0200 => Payload::SparseSwitch {
            keys: part(4, size * 4)?,
            targets: part(4 + size * 4, size * 4)?,
        },
        _ => {
            let bytes = (word(2)? as usize)
                .checked_mul(size)
                .ok_or(DecodeError::Truncated)?;
            part(
                8,
                bytes
                    .checked_next_multiple_of(2)
                    .ok_or(DecodeError::Truncated)?,
            )?;
            Payload::ArrayData {
                width: size as u16,
                data: part(8, bytes)?,
            }
        }
    })
}

fn instruction(code: &[u8], first: u16) -> Result<Instruction, DecodeError> {
    let [low, high] = first.to_le_bytes();
    let opcode = Opcode::from_number(low).ok_or(DecodeError::Opcode(low))?;
    use Format as F;
    let operands = match opcode.format() {
        F::F10x | F::F11x | F::F12x | F::F22x | F::F32x | F::F23x => registers(code, opcode, high)?,
        F::F11n | F::F21s | F::F21h | F::F31i | F::F51l => literal(code, opcode, high)?,
        F::F22b | F::F22s => arithmetic(code, opcode, high)?,
        F::F10t | F::F20t | F::F30t | F::F21t | F::F31t | F::F22t => branch(code, opcode, high)?,
        F::F21c => Operands::Index {
            a: high.into(),
            index: unit(code, 1)?.into(),
        },
        F::F31c => Operands::Index {
            a: high.into(),
            index: word(code, 1)?,
        },
        F::F22c => Operands::AbIndex {
            a: low_half(high),
            b: high_half(high),
            index: unit(code, 1)?.into(),
        },
        F::F35c | F::F45cc | F::F3rc | F::F4rcc => call(code, opcode, high)?,
    };
    Ok(Instruction { opcode, operands })
}

fn low_half(byte: u8) -> u16 {
    u16::from(byte & 0xf)
}

fn high_half(byte: u8) -> u16 {
    u16::from(byte >> 4)
}

fn word(code: &[u8], index: usize) -> Result<u32, DecodeError> {
    Ok(u32::from(unit(code, index)?) | (u32::from(unit(code, index + 1)?) << 16))
}

fn signed(code: &[u8], index: usize) -> Result<i16, DecodeError> {
    unit(code, index).map(u16::cast_signed)
}

fn registers(code: &[u8], opcode: Opcode, high: u8) -> Result<Operands, DecodeError> {
    let a = u16::from(high);
    Ok(match opcode.format() {
        Format::F11x => Operands::A { a },
        Format::F12x => Operands::Ab {
            a: low_half(high),
            b: high_half(high),
        },
        Format::F22x => Operands::Ab {
            a,
            b: unit(code, 1)?,
        },
        Format::F32x => Operands::Ab {
            a: unit(code, 1)?,
            b: unit(code, 2)?,
        },
        Format::F23x => {
            let [b, c] = unit(code, 1)?.to_le_bytes();
            Operands::Abc {
                a,
                b: b.into(),
                c: c.into(),
            }
        }
        _ => Operands::None,
    })
}

fn literal(code: &[u8], opcode: Opcode, high: u8) -> Result<Operands, DecodeError> {
    let a = u16::from(high);
    Ok(match opcode.format() {
        Format::F11n => Operands::Literal {
            a: low_half(high),
            literal: i64::from(high.cast_signed() >> 4),
        },
        Format::F21s => Operands::Literal {
            a,
            literal: signed(code, 1)?.into(),
        },
        Format::F21h => {
            let shift = if opcode == Opcode::ConstHigh16 {
                16
            } else {
                48
            };
            Operands::Literal {
                a,
                literal: i64::from(signed(code, 1)?) << shift,
            }
        }
        Format::F31i => Operands::Literal {
            a,
            literal: word(code, 1)?.cast_signed().into(),
        },
        _ => {
            let value = u64::from(word(code, 1)?) | (u64::from(word(code, 3)?) << 32);
            Operands::Literal {
                a,
                literal: value.cast_signed(),
            }
        }
    })
}

fn arithmetic(code: &[u8], opcode: Opcode, high: u8) -> Result<Operands, DecodeError> {
    if opcode.format() == Format::F22s {
        let literal = signed(code, 1)?.into();
        return Ok(Operands::AbLiteral {
            a: low_half(high),
            b: high_half(high),
            literal,
        });
    }
    let [b, literal] = unit(code, 1)?.to_le_bytes();
    Ok(Operands::AbLiteral {
        a: high.into(),
        b: b.into(),
        literal: literal.cast_signed().into(),
    })
}

fn branch(code: &[u8], opcode: Opcode, high: u8) -> Result<Operands, DecodeError> {
    let a = u16::from(high);
    Ok(match opcode.format() {
        Format::F10t => Operands::Branch {
            offset: high.cast_signed().into(),
        },
        Format::F20t => Operands::Branch {
            offset: signed(code, 1)?.into(),
        },
        Format::F30t => Operands::Branch {
            offset: word(code, 1)?.cast_signed(),
        },
        Format::F21t => Operands::BranchA {
            a,
            offset: signed(code, 1)?.into(),
        },
        Format::F31t => Operands::BranchA {
            a,
            offset: word(code, 1)?.cast_signed(),
        },
        _ => {
            let offset = signed(code, 1)?.into();
            Operands::BranchAb {
                a: low_half(high),
                b: high_half(high),
                offset,
            }
        }
    })
}

fn call(code: &[u8], opcode: Opcode, high: u8) -> Result<Operands, DecodeError> {
    let index = u32::from(unit(code, 1)?);
    let third = unit(code, 2)?;
    let is_polymorphic = opcode.format().units() == 4;
    let proto = if is_polymorphic {
        Some(u32::from(unit(code, 3)?))
    } else {
        None
    };
    let arguments = match opcode.format() {
        Format::F35c | Format::F45cc => {
            let nibble = |shift: u32| ((third >> shift) & 0xf) as u8;
            let registers = [nibble(0), nibble(4), nibble(8), nibble(12), high & 0xf];
            let count = high >> 4;
            if count > 5 {
                return Err(DecodeError::Arguments(count));
            }
            Arguments::List { count, registers }
        }
        _ => Arguments::Range {
            first: third,
            count: high,
        },
    };
    Ok(Operands::Call {
        arguments,
        index,
        proto,
    })
}

/// Walks code from its first unit; ends at the end or behind the first error.
#[derive(Clone, Debug)]
pub struct Units<'a> {
    code: &'a [u8],
    pc: usize,
}

impl<'a> Units<'a> {
    /// From the start of `code`.
    pub fn new(code: &'a [u8]) -> Self {
        Self { code, pc: 0 }
    }
}

impl<'a> Iterator for Units<'a> {
    type Item = (usize, Result<Unit<'a>, DecodeError>);

    fn next(&mut self) -> Option<Self::Item> {
        let pc = self.pc;
        if pc * 2 >= self.code.len() {
            return None;
        }
        let unit = decode(self.code, pc);
        self.pc = unit.as_ref().map_or(self.code.len(), |it| pc + it.units());
        Some((pc, unit))
    }
}
