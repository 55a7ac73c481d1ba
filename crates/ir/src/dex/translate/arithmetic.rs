// SPDX-License-Identifier: Apache-2.0
//! Arithmetic, conversions and comparisons.

use dex::{Instruction, Operands};

use super::{Result, Translator};
use crate::{BinaryOp, CompareOp, Op, Reg, Type, UnaryOp};

/// In the order of the opcodes; floats and doubles have the first five.
const BINARY: [BinaryOp; 11] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Ushr,
];

/// Operation and type of the `index`-th binary instruction.
fn binary_at(index: u8) -> (BinaryOp, Type) {
    let index = usize::from(index);
    match index {
        0..=10 => (BINARY[index], Type::Int),
        11..=21 => (BINARY[index - 11], Type::Long),
        22..=26 => (BINARY[index - 22], Type::Float),
        _ => (BINARY[index - 27], Type::Double),
    }
}

const CONVERSIONS: [UnaryOp; 15] = [
    UnaryOp::IntToLong,
    UnaryOp::IntToFloat,
    UnaryOp::IntToDouble,
    UnaryOp::LongToInt,
    UnaryOp::LongToFloat,
    UnaryOp::LongToDouble,
    UnaryOp::FloatToInt,
    UnaryOp::FloatToLong,
    UnaryOp::FloatToDouble,
    UnaryOp::DoubleToInt,
    UnaryOp::DoubleToLong,
    UnaryOp::DoubleToFloat,
    UnaryOp::IntToByte,
    UnaryOp::IntToChar,
    UnaryOp::IntToShort,
];

impl Translator<'_, '_> {
    pub(super) fn arithmetic(&mut self, it: &Instruction) -> Result<()> {
        let opcode = it.opcode as u8;
        match it.operands {
            Operands::Abc { a, b, c } if opcode < 0x90 => self.compare(opcode, a, b, c),
            Operands::Abc { a, b, c } => {
                let (op, ty) = binary_at(opcode - 0x90);
                self.binary(op, ty, a, b, c)
            }
            Operands::Ab { a, b } if opcode >= 0xb0 => {
                let (op, ty) = binary_at(opcode - 0xb0);
                self.binary(op, ty, a, a, b)
            }
            Operands::Ab { a, b } => self.unary(opcode, a, b),
            Operands::AbLiteral { a, b, literal } => {
                let first = if opcode < 0xd8 { 0xd0 } else { 0xd8 };
                self.with_literal(usize::from(opcode - first), a, b, literal)
            }
            _ => Err("operands of another instruction".into()),
        }
    }

    fn binary(&mut self, op: BinaryOp, ty: Type, a: u16, b: u16, c: u16) -> Result<()> {
        let is_shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Ushr);
        let lhs = self.read(b, ty)?;
        let rhs = self.read(c, if is_shift { Type::Int } else { ty })?;
        let dst = self.write_number(a, ty);
        self.emit(Op::Binary { op, dst, lhs, rhs });
        Ok(())
    }

    fn with_literal(&mut self, index: usize, a: u16, b: u16, literal: i32) -> Result<()> {
        let own = self.read(b, Type::Int)?;
        let literal = self.int(literal);
        // The second is the reverse subtraction.
        let (lhs, rhs): (Reg, Reg) = if index == 1 {
            (literal, own)
        } else {
            (own, literal)
        };
        let op = BINARY[index];
        let dst = self.write_number(a, Type::Int);
        self.emit(Op::Binary { op, dst, lhs, rhs });
        Ok(())
    }

    fn unary(&mut self, opcode: u8, a: u16, b: u16) -> Result<()> {
        let op = match opcode {
            0x7b => UnaryOp::IntNeg,
            0x7d => UnaryOp::LongNeg,
            0x7f => UnaryOp::FloatNeg,
            0x80 => UnaryOp::DoubleNeg,
            0x7c => return self.complement(a, b, Type::Int),
            0x7e => return self.complement(a, b, Type::Long),
            _ => CONVERSIONS[usize::from(opcode - 0x81)],
        };
        let (from, to) = op.types();
        let src = self.read(b, from)?;
        let dst = self.write_number(a, to);
        self.emit(Op::Unary { op, dst, src });
        Ok(())
    }

    fn complement(&mut self, a: u16, b: u16, ty: Type) -> Result<()> {
        let lhs = self.read(b, ty)?;
        let rhs = self.scratch(ty);
        self.emit(if ty == Type::Int {
            Op::Int {
                dst: rhs,
                value: -1,
            }
        } else {
            Op::Long {
                dst: rhs,
                value: -1,
            }
        });
        let dst = self.write_number(a, ty);
        let op = BinaryOp::Xor;
        self.emit(Op::Binary { op, dst, lhs, rhs });
        Ok(())
    }

    fn compare(&mut self, opcode: u8, a: u16, b: u16, c: u16) -> Result<()> {
        let (op, ty) = match opcode {
            0x2d => (CompareOp::NanLess, Type::Float),
            0x2e => (CompareOp::NanGreater, Type::Float),
            0x2f => (CompareOp::NanLess, Type::Double),
            0x30 => (CompareOp::NanGreater, Type::Double),
            _ => (CompareOp::Long, Type::Long),
        };
        let (lhs, rhs) = (self.read(b, ty)?, self.read(c, ty)?);
        let dst = self.write_number(a, Type::Int);
        self.emit(Op::Compare { op, dst, lhs, rhs });
        Ok(())
    }
}
