// SPDX-License-Identifier: Apache-2.0
//! Moves and constants.

use dex::{Instruction, Opcode, Operands};

use super::super::outline::Key;
use super::super::state::Value;
use super::{Result, Translator};
use crate::{LoadedConstant, MemoryKind, Op, Type};

impl<'a> Translator<'_, 'a> {
    pub(super) fn data(&mut self, it: &Instruction) -> Result<()> {
        match it.operands {
            Operands::Ab { a, b } => self.move_value(it.opcode as u8, a.into(), b.into()),
            Operands::A { a } => {
                let source = match it.opcode {
                    Opcode::MoveException => self.caught_place(),
                    _ => self.result_place(),
                };
                // As `move`, `move-wide` and `move-object`.
                let opcode = match it.opcode {
                    Opcode::MoveResult => 0x01,
                    Opcode::MoveResultWide => 0x04,
                    _ => 0x07,
                };
                self.move_value(opcode, a.into(), source)
            }
            Operands::Literal { a, literal } => {
                let is_wide = matches!(it.opcode as u8, 0x16..=0x19);
                self.number(a.into(), literal, is_wide);
                Ok(())
            }
            Operands::Index { a, index } => self.constant(it.opcode, a.into(), index),
            _ => Err("operands of another instruction".into()),
        }
    }

    fn move_value(&mut self, opcode: u8, to: usize, from: usize) -> Result<()> {
        let value = self.state.get(from);
        let wanted: &[Type] = match opcode {
            0x01..=0x03 => &[Type::Int, Type::Float],
            0x04..=0x06 => &[Type::Long, Type::Double],
            _ => &[Type::Ref],
        };
        if !wanted.iter().any(|&ty| self.state.has(from, ty)) {
            return Err(format!("v{from} holds none of {wanted:?}"));
        }
        for ty in value.types() {
            let (dst, src) = (self.reg(to, ty), self.reg(from, ty));
            self.emit(Op::Move { dst, src });
        }
        self.state.set(to, value);
        Ok(())
    }

    fn number(&mut self, to: usize, literal: i64, is_wide: bool) {
        if is_wide {
            self.state.set(to, Value::WIDE);
            let dst = self.reg(to, Type::Long);
            let value = literal;
            self.emit(Op::Long { dst, value });
            let dst = self.reg(to, Type::Double);
            let bits = literal as u64;
            self.emit(Op::Double { dst, bits });
        } else if literal == 0 {
            self.write_zero(to);
        } else {
            self.state.set(to, Value::NARROW);
            let dst = self.reg(to, Type::Int);
            let value = literal as i32;
            self.emit(Op::Int { dst, value });
            let dst = self.reg(to, Type::Float);
            let bits = literal as u32;
            self.emit(Op::Float { dst, bits });
        }
    }

    fn constant(&mut self, opcode: Opcode, to: usize, index: u32) -> Result<()> {
        let (constant, index, ty): (_, _, &[u8]) = match opcode {
            Opcode::ConstString | Opcode::ConstStringJumbo => (
                LoadedConstant::String,
                self.outline.index(Key::String(index))?,
                b"Ljava/lang/String;",
            ),
            Opcode::ConstMethodHandle => (
                LoadedConstant::Computed,
                self.outline.index(Key::Handle(index))?,
                b"Ljava/lang/invoke/MethodHandle;",
            ),
            Opcode::ConstMethodType => (
                LoadedConstant::Computed,
                self.outline.index(Key::Proto(index))?,
                b"Ljava/lang/invoke/MethodType;",
            ),
            _ => {
                let named = super::descriptor(self.file, index);
                let class: &[u8] = b"Ljava/lang/Class;";
                if let [code] = named {
                    let index = self.outline.index(Key::Primitive(*code))?;
                    let dst = self.write_ref(to, class);
                    let kind = MemoryKind::Ref;
                    self.emit(Op::GetStatic { dst, index, kind });
                    return Ok(());
                }
                let index = self.outline.class_index(named)?;
                (LoadedConstant::Class, index, class)
            }
        };
        let dst = self.write_ref(to, ty);
        self.emit(Op::Load {
            dst,
            constant,
            index,
        });
        Ok(())
    }
}
