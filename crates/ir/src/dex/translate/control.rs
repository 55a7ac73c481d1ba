// SPDX-License-Identifier: Apache-2.0
//! Branches, switches, returns and throws.

use dex::{Instruction, Operands, Unit, decode};

use super::{Result, Translator};
use crate::{BlockId, Condition, Op, Type};

const CONDITIONS: [Condition; 6] = [
    Condition::Equal,
    Condition::NotEqual,
    Condition::Less,
    Condition::GreaterEqual,
    Condition::Greater,
    Condition::LessEqual,
];

impl Translator<'_, '_> {
    pub(super) fn control(&mut self, it: &Instruction) -> Result<()> {
        let opcode = it.opcode as u8;
        match it.operands {
            Operands::None => self.return_void(),
            Operands::A { a } if opcode == 0x27 => {
                let src = self.read(a, Type::Ref)?;
                self.emit(Op::Throw { src });
                Ok(())
            }
            Operands::A { a } => self.return_value(opcode, a),
            Operands::Branch { offset } => {
                let target = self.jump_target(i64::from(self.at) + i64::from(offset))?;
                self.emit(Op::Jump { target });
                Ok(())
            }
            Operands::BranchA { a, offset } if opcode < 0x32 => self.switch(a, offset),
            Operands::BranchA { a, offset } => {
                let condition = CONDITIONS[usize::from(opcode - 0x38)];
                let ty = self.compared(condition, &[a])?;
                let src = self.read(a, ty)?;
                let (then, otherwise) = self.ways(it, offset)?;
                self.emit(Op::BranchZero {
                    condition,
                    src,
                    then,
                    otherwise,
                });
                Ok(())
            }
            Operands::BranchAb { a, b, offset } => {
                let condition = CONDITIONS[usize::from(opcode - 0x32)];
                let ty = self.compared(condition, &[a, b])?;
                let (lhs, rhs) = (self.read(a, ty)?, self.read(b, ty)?);
                let (then, otherwise) = self.ways(it, offset)?;
                self.emit(Op::Branch {
                    condition,
                    lhs,
                    rhs,
                    then,
                    otherwise,
                });
                Ok(())
            }
            _ => Err("operands of another instruction".into()),
        }
    }

    /// Ints, or references that are compared for being the same.
    fn compared(&self, condition: Condition, registers: &[u16]) -> Result<Type> {
        let are = |ty| registers.iter().all(|&it| self.state.has(it.into(), ty));
        if are(Type::Int) {
            return Ok(Type::Int);
        }
        if are(Type::Ref) && matches!(condition, Condition::Equal | Condition::NotEqual) {
            return Ok(Type::Ref);
        }
        Err("a branch on registers that cannot be compared".into())
    }

    fn ways(&mut self, it: &Instruction, offset: i32) -> Result<(BlockId, BlockId)> {
        let then = self.jump_target(i64::from(self.at) + i64::from(offset))?;
        let next = self.at + it.opcode.format().units() as u32;
        Ok((then, self.jump_target(i64::from(next))?))
    }

    fn switch(&mut self, register: u16, offset: i32) -> Result<()> {
        let src = self.read(register, Type::Int)?;
        let at = i64::from(self.at) + i64::from(offset);
        let Ok(Unit::Payload(payload)) = decode(self.code.instructions, at as usize) else {
            return Err("a switch without its payload".into());
        };
        let mut cases = Vec::new();
        for (key, target) in payload.keys().zip(payload.targets()) {
            let target = self.jump_target(i64::from(self.at) + i64::from(target))?;
            cases.push((key, target));
        }
        let default = self.jump_target(i64::from(self.at) + 3)?;
        self.emit(Op::Switch {
            src,
            cases,
            default,
        });
        Ok(())
    }

    fn return_void(&mut self) -> Result<()> {
        if self.function.result.is_some() {
            return Err("return does not match the method's prototype".into());
        }
        self.emit(Op::Return { src: None });
        Ok(())
    }

    fn return_value(&mut self, opcode: u8, register: u16) -> Result<()> {
        let wrong = "return does not match the method's prototype";
        let ty = self.function.result.ok_or(wrong)?;
        let is_right = match opcode {
            0x0f => matches!(ty, Type::Int | Type::Float),
            0x10 => matches!(ty, Type::Long | Type::Double),
            _ => ty == Type::Ref,
        };
        if !is_right {
            return Err(wrong.into());
        }
        let src = self.read(register, ty)?;
        self.emit(Op::Return { src: Some(src) });
        Ok(())
    }
}
