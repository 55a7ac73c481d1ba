// SPDX-License-Identifier: Apache-2.0
//! Branches, switches, returns and throws.

use super::super::frame::Content;
use super::super::instruction::{Cursor, RET};
use super::data::TYPES;
use super::{Result, Translator};
use crate::{Condition, Op, Type};

const CONDITIONS: [Condition; 6] = [
    Condition::Equal,
    Condition::NotEqual,
    Condition::Less,
    Condition::GreaterEqual,
    Condition::Greater,
    Condition::LessEqual,
];

impl<'a> Translator<'a, '_> {
    pub(super) fn control(&mut self, opcode: u8, cursor: &mut Cursor<'a>) -> Result<()> {
        match opcode {
            0x99..=0x9e => {
                self.branch_zero(CONDITIONS[usize::from(opcode - 0x99)], Type::Int, cursor)
            }
            0x9f..=0xa4 => self.branch(CONDITIONS[usize::from(opcode - 0x9f)], Type::Int, cursor),
            0xa5 | 0xa6 => self.branch(CONDITIONS[usize::from(opcode - 0xa5)], Type::Ref, cursor),
            0xa7 => {
                let target = i64::from(self.at) + i64::from(cursor.i16()?);
                self.jump(target)
            }
            0xc8 => {
                let target = i64::from(self.at) + i64::from(cursor.i32()?);
                self.jump(target)
            }
            0xaa | 0xab => self.switch(opcode, cursor),
            0xac..=0xb0 => self.return_value(TYPES[usize::from(opcode - 0xac)]),
            0xb1 => self.return_void(),
            0xbf => {
                let src = self.pop(Type::Ref)?;
                self.emit(Op::Throw { src });
                Ok(())
            }
            0xc6 | 0xc7 => {
                self.branch_zero(CONDITIONS[usize::from(opcode - 0xc6)], Type::Ref, cursor)
            }
            RET => {
                let local = usize::from(cursor.u8()?);
                self.return_from_subroutine(local)
            }
            _ => {
                let target = i64::from(self.at) + cursor.subroutine(opcode)?;
                let behind = u16::try_from(cursor.at).map_err(|_| "code is too long")?;
                self.push_content(Content::Return(behind))?;
                self.jump(target)
            }
        }
    }

    fn jump(&mut self, target: i64) -> Result<()> {
        let target = self.jump_target(target)?;
        self.emit(Op::Jump { target });
        Ok(())
    }

    pub(super) fn return_from_subroutine(&mut self, local: usize) -> Result<()> {
        let target = self.frame.take_return(local)?;
        self.jump(i64::from(target))
    }

    fn branch_zero(
        &mut self,
        condition: Condition,
        ty: Type,
        cursor: &mut Cursor<'a>,
    ) -> Result<()> {
        let src = self.pop(ty)?;
        let target = i64::from(self.at) + i64::from(cursor.i16()?);
        let then = self.jump_target(target)?;
        let otherwise = self.jump_target(cursor.at as i64)?;
        self.emit(Op::BranchZero {
            condition,
            src,
            then,
            otherwise,
        });
        Ok(())
    }

    fn branch(&mut self, condition: Condition, ty: Type, cursor: &mut Cursor<'a>) -> Result<()> {
        let rhs = self.pop(ty)?;
        let lhs = self.pop(ty)?;
        let target = i64::from(self.at) + i64::from(cursor.i16()?);
        let then = self.jump_target(target)?;
        let otherwise = self.jump_target(cursor.at as i64)?;
        self.emit(Op::Branch {
            condition,
            lhs,
            rhs,
            then,
            otherwise,
        });
        Ok(())
    }

    fn switch(&mut self, opcode: u8, cursor: &mut Cursor<'a>) -> Result<()> {
        let src = self.pop(Type::Int)?;
        let table = cursor.switch(opcode, self.at as usize)?;
        let mut cases = Vec::with_capacity(table.cases.len());
        for (key, target) in table.cases {
            cases.push((key, self.jump_target(target)?));
        }
        let default = self.jump_target(table.default)?;
        self.emit(Op::Switch {
            src,
            cases,
            default,
        });
        Ok(())
    }

    fn return_value(&mut self, ty: Type) -> Result<()> {
        if self.function.result != Some(ty) {
            return Err("return does not match the method's descriptor".into());
        }
        let src = self.pop(ty)?;
        match self.synchronized {
            Some(synchronized) => {
                let dst = synchronized
                    .result
                    .ok_or("return of a value from a void method")?;
                self.emit(Op::Move { dst, src });
                self.emit(Op::Jump {
                    target: synchronized.on_return,
                });
            }
            None => self.emit(Op::Return { src: Some(src) }),
        }
        Ok(())
    }

    fn return_void(&mut self) -> Result<()> {
        if self.function.result.is_some() {
            return Err("return does not match the method's descriptor".into());
        }
        match self.synchronized {
            Some(synchronized) => self.emit(Op::Jump {
                target: synchronized.on_return,
            }),
            None => self.emit(Op::Return { src: None }),
        }
        Ok(())
    }
}
