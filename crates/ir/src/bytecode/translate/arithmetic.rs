// SPDX-License-Identifier: Apache-2.0
//! Arithmetic, conversions and comparisons.

use super::data::TYPES;
use super::{Result, Translator};
use crate::{BinaryOp, CompareOp, Op, Type, UnaryOp};

impl Translator<'_, '_> {
    pub(super) fn arithmetic(&mut self, opcode: u8) -> Result<()> {
        use BinaryOp as B;
        const FOUR: [BinaryOp; 5] = [B::Add, B::Sub, B::Mul, B::Div, B::Rem];
        match opcode {
            0x60..=0x73 => {
                let index = usize::from(opcode - 0x60);
                let ty = TYPES[index % 4];
                self.binary(FOUR[index / 4], ty, ty)
            }
            0x74..=0x77 => {
                const NEG: [UnaryOp; 4] = [
                    UnaryOp::IntNeg,
                    UnaryOp::LongNeg,
                    UnaryOp::FloatNeg,
                    UnaryOp::DoubleNeg,
                ];
                self.unary(NEG[usize::from(opcode - 0x74)])
            }
            0x78..=0x83 => {
                const BITS: [BinaryOp; 6] = [B::Shl, B::Shr, B::Ushr, B::And, B::Or, B::Xor];
                let index = usize::from(opcode - 0x78);
                let (op, ty) = (BITS[index / 2], TYPES[index % 2]);
                self.binary(op, ty, if index < 6 { Type::Int } else { ty })
            }
            0x85..=0x93 => {
                use UnaryOp as U;
                const CONVERSIONS: [UnaryOp; 15] = [
                    U::IntToLong,
                    U::IntToFloat,
                    U::IntToDouble,
                    U::LongToInt,
                    U::LongToFloat,
                    U::LongToDouble,
                    U::FloatToInt,
                    U::FloatToLong,
                    U::FloatToDouble,
                    U::DoubleToInt,
                    U::DoubleToLong,
                    U::DoubleToFloat,
                    U::IntToByte,
                    U::IntToChar,
                    U::IntToShort,
                ];
                self.unary(CONVERSIONS[usize::from(opcode - 0x85)])
            }
            0x94 => self.compare(CompareOp::Long, Type::Long),
            0x95 => self.compare(CompareOp::NanLess, Type::Float),
            0x96 => self.compare(CompareOp::NanGreater, Type::Float),
            0x97 => self.compare(CompareOp::NanLess, Type::Double),
            _ => self.compare(CompareOp::NanGreater, Type::Double),
        }
    }

    fn binary(&mut self, op: BinaryOp, ty: Type, right: Type) -> Result<()> {
        let rhs = self.pop(right)?;
        let lhs = self.pop(ty)?;
        let dst = self.push(ty)?;
        self.emit(Op::Binary { op, dst, lhs, rhs });
        Ok(())
    }

    fn unary(&mut self, op: UnaryOp) -> Result<()> {
        let (from, to) = op.types();
        let src = self.pop(from)?;
        let dst = self.push(to)?;
        self.emit(Op::Unary { op, dst, src });
        Ok(())
    }

    fn compare(&mut self, op: CompareOp, ty: Type) -> Result<()> {
        let rhs = self.pop(ty)?;
        let lhs = self.pop(ty)?;
        let dst = self.push(Type::Int)?;
        self.emit(Op::Compare { op, dst, lhs, rhs });
        Ok(())
    }
}
