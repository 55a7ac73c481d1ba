// SPDX-License-Identifier: Apache-2.0
//! Constants, local variables and the operand stack.

use classfile::Constant;

use super::super::frame::{Content, is_wide};
use super::super::instruction::{Cursor, RET};
use super::{Place, Result, Translator};
use crate::{BinaryOp, LoadedConstant, MemoryKind, Op, Reg, Type};

/// Types in the order in which opcodes come for them.
pub(super) const TYPES: [Type; 5] = [Type::Int, Type::Long, Type::Float, Type::Double, Type::Ref];

/// Element kinds in the order of array opcodes.
const ELEMENTS: [MemoryKind; 8] = [
    MemoryKind::Int,
    MemoryKind::Long,
    MemoryKind::Float,
    MemoryKind::Double,
    MemoryKind::Ref,
    MemoryKind::Byte,
    MemoryKind::Char,
    MemoryKind::Short,
];

/// What was taken off the stack to be put there again.
enum Taken {
    Value(Reg),
    Return(u16),
}

impl<'a> Translator<'a, '_> {
    pub(super) fn data(&mut self, opcode: u8, cursor: &mut Cursor<'a>) -> Result<()> {
        let within = |first: u8| usize::from(opcode - first);
        match opcode {
            0x00 => Ok(()),
            0x01..=0x14 => self.constant(opcode, cursor),
            0x15..=0x19 => {
                let local = usize::from(cursor.u8()?);
                self.load(local, TYPES[within(0x15)])
            }
            0x1a..=0x2d => self.load(within(0x1a) % 4, TYPES[within(0x1a) / 4]),
            0x2e..=0x35 => self.array_load(ELEMENTS[within(0x2e)]),
            0x36..=0x3a => {
                let local = usize::from(cursor.u8()?);
                self.store(local, TYPES[within(0x36)])
            }
            0x3b..=0x4e => self.store(within(0x3b) % 4, TYPES[within(0x3b) / 4]),
            0x4f..=0x56 => self.array_store(ELEMENTS[within(0x4f)]),
            0x57..=0x5f => self.shuffle(opcode),
            0x84 => {
                let (local, amount) = (usize::from(cursor.u8()?), i32::from(cursor.i8()?));
                self.increment(local, amount)
            }
            _ => self.wide(cursor),
        }
    }

    fn wide(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let opcode = cursor.u8()?;
        let local = usize::from(cursor.u16()?);
        match opcode {
            0x15..=0x19 => self.load(local, TYPES[usize::from(opcode - 0x15)]),
            0x36..=0x3a => self.store(local, TYPES[usize::from(opcode - 0x36)]),
            0x84 => {
                let amount = i32::from(cursor.i16()?);
                self.increment(local, amount)
            }
            RET => self.return_from_subroutine(local),
            _ => Err("wide before an instruction that has no wide form".into()),
        }
    }

    fn constant(&mut self, opcode: u8, cursor: &mut Cursor<'a>) -> Result<()> {
        let op = match opcode {
            0x01 => Op::Null {
                dst: self.push(Type::Ref)?,
            },
            0x02..=0x08 => Op::Int {
                dst: self.push(Type::Int)?,
                value: i32::from(opcode) - 3,
            },
            0x09 | 0x0a => Op::Long {
                dst: self.push(Type::Long)?,
                value: i64::from(opcode) - 9,
            },
            0x0b..=0x0d => {
                let bits = f32::from(opcode - 0x0b).to_bits();
                Op::Float {
                    dst: self.push(Type::Float)?,
                    bits,
                }
            }
            0x0e | 0x0f => {
                let bits = f64::from(opcode - 0x0e).to_bits();
                Op::Double {
                    dst: self.push(Type::Double)?,
                    bits,
                }
            }
            0x10 => Op::Int {
                dst: self.push(Type::Int)?,
                value: i32::from(cursor.i8()?),
            },
            0x11 => Op::Int {
                dst: self.push(Type::Int)?,
                value: i32::from(cursor.i16()?),
            },
            0x12 => {
                let index = u16::from(cursor.u8()?);
                return self.pool_constant(index, false);
            }
            _ => {
                let index = cursor.u16()?;
                return self.pool_constant(index, opcode == 0x14);
            }
        };
        self.emit(op);
        Ok(())
    }

    fn pool_constant(&mut self, index: u16, expects_wide: bool) -> Result<()> {
        let pool = &self.class.constants;
        let constant = pool.get(index).map_err(|error| error.to_string())?;
        let loaded = |constant| (Type::Ref, Some(constant));
        let (ty, load) = match constant {
            Constant::Integer(_) => (Type::Int, None),
            Constant::Float(_) => (Type::Float, None),
            Constant::Long(_) => (Type::Long, None),
            Constant::Double(_) => (Type::Double, None),
            Constant::String(_) => loaded(LoadedConstant::String),
            Constant::Class(_) => loaded(LoadedConstant::Class),
            Constant::MethodHandle(..) | Constant::MethodType(_) => {
                loaded(LoadedConstant::Computed)
            }
            Constant::Dynamic(..) => {
                let (_, _, descriptor) = pool.dynamic(index).map_err(|error| error.to_string())?;
                (
                    super::member::type_of_field(descriptor)?,
                    Some(LoadedConstant::Computed),
                )
            }
            _ => return Err("ldc of a constant that cannot be loaded".into()),
        };
        if is_wide(ty) != expects_wide {
            return Err("ldc of the wrong width".into());
        }
        let dst = self.push(ty)?;
        self.emit(match (constant, load) {
            (_, Some(constant)) => Op::Load {
                dst,
                constant,
                index: u32::from(index),
            },
            (Constant::Integer(value), _) => Op::Int { dst, value },
            (Constant::Long(value), _) => Op::Long { dst, value },
            (Constant::Float(bits), _) => Op::Float { dst, bits },
            (Constant::Double(bits), _) => Op::Double { dst, bits },
            _ => unreachable!("every other constant was refused above"),
        });
        Ok(())
    }

    fn load(&mut self, local: usize, ty: Type) -> Result<()> {
        self.frame.load(local, ty)?;
        let src = self.reg(Place::Local(local, ty));
        let dst = self.push(ty)?;
        self.emit(Op::Move { dst, src });
        Ok(())
    }

    fn store(&mut self, local: usize, ty: Type) -> Result<()> {
        if ty == Type::Ref && self.frame.store_return(local)? {
            return Ok(());
        }
        let src = self.pop(ty)?;
        self.frame.store(local, ty)?;
        let dst = self.reg(Place::Local(local, ty));
        self.emit(Op::Move { dst, src });
        // A block with subroutines ends here.
        if self.subroutines.is_some() {
            return Ok(());
        }
        self.flow_to_handlers()
    }

    fn increment(&mut self, local: usize, amount: i32) -> Result<()> {
        self.frame.load(local, Type::Int)?;
        let reg = self.reg(Place::Local(local, Type::Int));
        let by = self.function.register(Type::Int);
        self.emit(Op::Int {
            dst: by,
            value: amount,
        });
        self.emit(Op::Binary {
            op: BinaryOp::Add,
            dst: reg,
            lhs: reg,
            rhs: by,
        });
        Ok(())
    }

    fn array_load(&mut self, kind: MemoryKind) -> Result<()> {
        let element = self.pop(Type::Int)?;
        let array = self.pop(Type::Ref)?;
        let dst = self.push(kind.register_type())?;
        self.emit(Op::ArrayLoad {
            dst,
            array,
            element,
            kind,
        });
        Ok(())
    }

    fn array_store(&mut self, kind: MemoryKind) -> Result<()> {
        let src = self.pop(kind.register_type())?;
        let element = self.pop(Type::Int)?;
        let array = self.pop(Type::Ref)?;
        self.emit(Op::ArrayStore {
            array,
            element,
            src,
            kind,
        });
        Ok(())
    }

    fn shuffle(&mut self, opcode: u8) -> Result<()> {
        let copied = |words| (words, 0);
        let (top, below) = match opcode {
            0x57 | 0x58 => {
                self.pop_words(usize::from(opcode - 0x56))?;
                return Ok(());
            }
            0x59 => copied(1),
            0x5a => (1, 1),
            0x5b => (1, 2),
            0x5c => copied(2),
            0x5d => (2, 1),
            0x5e => (2, 2),
            _ => {
                let (first, second) = (self.pop_words(1)?, self.pop_words(1)?);
                self.push_copies(&first)?;
                return self.push_copies(&second);
            }
        };
        let top = self.pop_words(top)?;
        let below = if below == 0 {
            Vec::new()
        } else {
            self.pop_words(below)?
        };
        self.push_copies(&top)?;
        self.push_copies(&below)?;
        self.push_copies(&top)
    }

    /// Takes one or two words off the stack into fresh registers, bottom first.
    fn pop_words(&mut self, words: usize) -> Result<Vec<Taken>> {
        let mut taken = Vec::new();
        let mut left = words;
        while left > 0 {
            if let Some(Content::Return(address)) = self.frame.stack.last() {
                self.frame.stack.pop();
                taken.push(Taken::Return(address));
                left -= 1;
                continue;
            }
            let src = self.pop_any()?;
            let ty = self.function.type_of(src);
            let size = if is_wide(ty) { 2 } else { 1 };
            left = left
                .checked_sub(size)
                .ok_or("half of a long or double taken")?;
            let dst = self.function.register(ty);
            self.emit(Op::Move { dst, src });
            taken.push(Taken::Value(dst));
        }
        taken.reverse();
        Ok(taken)
    }

    fn push_copies(&mut self, all: &[Taken]) -> Result<()> {
        for taken in all {
            match *taken {
                Taken::Value(src) => {
                    let dst = self.push(self.function.type_of(src))?;
                    self.emit(Op::Move { dst, src });
                }
                Taken::Return(address) => self.push_content(Content::Return(address))?,
            }
        }
        Ok(())
    }
}
