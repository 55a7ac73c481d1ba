// SPDX-License-Identifier: Apache-2.0
//! Arithmetic to the letter of the language.

use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    condcodes::{FloatCC, IntCC},
    types::{F32, F64, I8, I16, I32, I64},
};
use ir::{BinaryOp, CompareOp, Condition, Op, Reg, Type, UnaryOp};

use crate::{
    Entry,
    lower::{Lowering, int_condition},
};

impl Lowering<'_, '_> {
    pub(crate) fn arithmetic(&mut self, op: &Op) {
        match *op {
            Op::Unary { op, dst, src } => {
                let src = self.get(src);
                let value = self.unary(op, src);
                self.set(dst, value);
            }
            Op::Binary { op, dst, lhs, rhs } => {
                let ty = self.type_of(dst);
                let is_safe_divisor = self.safe_divisors.contains(&rhs);
                let (lhs, rhs) = (self.get(lhs), self.get(rhs));
                let value = match ty {
                    // Neither a check nor a correction: the machine's division, or a
                    // multiplication.
                    _ if is_safe_divisor && op == BinaryOp::Div => self.b.ins().sdiv(lhs, rhs),
                    _ if is_safe_divisor && op == BinaryOp::Rem => self.b.ins().srem(lhs, rhs),
                    Type::Int | Type::Long => self.known_sum((op, ty), (lhs, rhs), |lowering| {
                        lowering.integer(op, lhs, rhs, ty)
                    }),
                    _ => self.float(op, lhs, rhs, ty),
                };
                self.set(dst, value);
            }
            Op::Compare { op, dst, lhs, rhs } => self.compare(op, dst, lhs, rhs),
            _ => unreachable!("arithmetic only"),
        }
    }

    fn unary(&mut self, op: UnaryOp, x: clif::Value) -> clif::Value {
        let ins = self.b.ins();
        match op {
            UnaryOp::IntNeg | UnaryOp::LongNeg => ins.ineg(x),
            UnaryOp::FloatNeg | UnaryOp::DoubleNeg => ins.fneg(x),
            UnaryOp::IntToByte => {
                let low = ins.ireduce(I8, x);
                self.b.ins().sextend(I32, low)
            }
            UnaryOp::IntToShort => {
                let low = ins.ireduce(I16, x);
                self.b.ins().sextend(I32, low)
            }
            UnaryOp::IntToChar => {
                let low = ins.ireduce(I16, x);
                self.b.ins().uextend(I32, low)
            }
            UnaryOp::IntToLong => ins.sextend(I64, x),
            UnaryOp::LongToInt => ins.ireduce(I32, x),
            UnaryOp::IntToFloat | UnaryOp::LongToFloat => ins.fcvt_from_sint(F32, x),
            UnaryOp::IntToDouble | UnaryOp::LongToDouble => ins.fcvt_from_sint(F64, x),
            // Saturating, and zero for not-a-number: as Java has it.
            UnaryOp::FloatToInt | UnaryOp::DoubleToInt => ins.fcvt_to_sint_sat(I32, x),
            UnaryOp::FloatToLong | UnaryOp::DoubleToLong => ins.fcvt_to_sint_sat(I64, x),
            UnaryOp::FloatToDouble => ins.fpromote(F64, x),
            UnaryOp::DoubleToFloat => ins.fdemote(F32, x),
        }
    }

    fn integer(
        &mut self,
        op: BinaryOp,
        lhs: clif::Value,
        rhs: clif::Value,
        ty: Type,
    ) -> clif::Value {
        match op {
            BinaryOp::Add => self.b.ins().iadd(lhs, rhs),
            BinaryOp::Sub => self.b.ins().isub(lhs, rhs),
            BinaryOp::Mul => self.b.ins().imul(lhs, rhs),
            BinaryOp::And => self.b.ins().band(lhs, rhs),
            BinaryOp::Or => self.b.ins().bor(lhs, rhs),
            BinaryOp::Xor => self.b.ins().bxor(lhs, rhs),
            // Cranelift masks the amount by the width, as Java does.
            BinaryOp::Shl => self.b.ins().ishl(lhs, rhs),
            BinaryOp::Shr => self.b.ins().sshr(lhs, rhs),
            BinaryOp::Ushr => self.b.ins().ushr(lhs, rhs),
            BinaryOp::Div | BinaryOp::Rem => self.divide(op, lhs, rhs, ty),
        }
    }

    /// The smallest value divided by -1 overflows on the machine, not in Java.
    fn divide(
        &mut self,
        op: BinaryOp,
        lhs: clif::Value,
        rhs: clif::Value,
        ty: Type,
    ) -> clif::Value {
        self.throw_if_zero(rhs);
        let machine = crate::lower::machine_type(ty);
        let is_minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, rhs, -1);
        let one = self.b.ins().iconst(machine, 1);
        let divisor = self.b.ins().select(is_minus_one, one, rhs);
        if op == BinaryOp::Div {
            let quotient = self.b.ins().sdiv(lhs, divisor);
            let negated = self.b.ins().ineg(lhs);
            self.b.ins().select(is_minus_one, negated, quotient)
        } else {
            // Anything modulo 1 is 0, which is right for -1 too.
            self.b.ins().srem(lhs, divisor)
        }
    }

    fn float(&mut self, op: BinaryOp, lhs: clif::Value, rhs: clif::Value, ty: Type) -> clif::Value {
        match op {
            BinaryOp::Add => self.b.ins().fadd(lhs, rhs),
            BinaryOp::Sub => self.b.ins().fsub(lhs, rhs),
            BinaryOp::Mul => self.b.ins().fmul(lhs, rhs),
            BinaryOp::Div => self.b.ins().fdiv(lhs, rhs),
            _ => {
                let entry = if ty == Type::Float {
                    Entry::RemFloat
                } else {
                    Entry::RemDouble
                };
                self.call_entry(entry, &[lhs, rhs])
                    .expect("a remainder has a value")
            }
        }
    }

    fn compare(&mut self, op: CompareOp, dst: Reg, lhs: Reg, rhs: Reg) {
        let (lhs, rhs) = (self.get(lhs), self.get(rhs));
        let (greater, less) = match op {
            CompareOp::Long => (
                self.b.ins().icmp(IntCC::SignedGreaterThan, lhs, rhs),
                self.b.ins().icmp(IntCC::SignedLessThan, lhs, rhs),
            ),
            CompareOp::NanLess => (
                self.b.ins().fcmp(FloatCC::GreaterThan, lhs, rhs),
                self.b.ins().fcmp(FloatCC::UnorderedOrLessThan, lhs, rhs),
            ),
            CompareOp::NanGreater => (
                self.b.ins().fcmp(FloatCC::UnorderedOrGreaterThan, lhs, rhs),
                self.b.ins().fcmp(FloatCC::LessThan, lhs, rhs),
            ),
        };
        let greater = self.b.ins().uextend(I32, greater);
        let less = self.b.ins().uextend(I32, less);
        let value = self.b.ins().isub(greater, less);
        self.set(dst, value);
        // A branch on the outcome compares again; nobody needs the outcome itself then.
        self.compared.insert(dst, (op, lhs, rhs));
    }

    /// Whether `src` compares to zero as `condition` says.
    pub(crate) fn zero_test(&mut self, condition: Condition, src: Reg) -> clif::Value {
        match self.compared.get(&src).copied() {
            Some((CompareOp::Long, lhs, rhs)) => {
                self.b.ins().icmp(int_condition(condition), lhs, rhs)
            }
            Some((op, lhs, rhs)) => {
                let test = float_condition(condition, op == CompareOp::NanGreater);
                self.b.ins().fcmp(test, lhs, rhs)
            }
            None => {
                let src = self.get(src);
                self.b.ins().icmp_imm_s(int_condition(condition), src, 0)
            }
        }
    }
}

/// What a comparison's outcome being `condition` zero says of its operands.
fn float_condition(condition: Condition, is_nan_greater: bool) -> FloatCC {
    match (condition, is_nan_greater) {
        (Condition::Equal, _) => FloatCC::Equal,
        (Condition::NotEqual, _) => FloatCC::NotEqual,
        (Condition::Less, false) => FloatCC::UnorderedOrLessThan,
        (Condition::Less, true) => FloatCC::LessThan,
        (Condition::GreaterEqual, false) => FloatCC::GreaterThanOrEqual,
        (Condition::GreaterEqual, true) => FloatCC::UnorderedOrGreaterThanOrEqual,
        (Condition::Greater, false) => FloatCC::GreaterThan,
        (Condition::Greater, true) => FloatCC::UnorderedOrGreaterThan,
        (Condition::LessEqual, false) => FloatCC::UnorderedOrLessThanOrEqual,
        (Condition::LessEqual, true) => FloatCC::LessThanOrEqual,
    }
}
