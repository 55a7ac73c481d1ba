// SPDX-License-Identifier: Apache-2.0
//! Objects, locks and fields.

use dex::{Instruction, Opcode, Operands};

use super::super::outline::Key;
use super::super::state::Value;
use super::array::{KINDS, fits};
use super::{Result, Translator, descriptor, kind_of, value_of};
use crate::{MemoryKind, Op, Type};

impl<'a> Translator<'_, 'a> {
    pub(super) fn member(&mut self, it: &Instruction) -> Result<()> {
        let opcode = it.opcode as u8;
        match it.operands {
            Operands::A { a } => {
                let object = self.read(a, Type::Ref)?;
                self.emit(match it.opcode {
                    Opcode::MonitorEnter => Op::MonitorEnter { object },
                    _ => Op::MonitorExit { object },
                });
                Ok(())
            }
            Operands::Index { a, index } => match it.opcode {
                Opcode::CheckCast => self.check_cast(a, descriptor(self.file, index)),
                Opcode::NewInstance => self.new_instance(a, descriptor(self.file, index)),
                _ if opcode < 0x67 => self.get_static(KINDS[usize::from(opcode - 0x60)], a, index),
                _ => self.put_static(KINDS[usize::from(opcode - 0x67)], a, index),
            },
            Operands::AbIndex { a, b, index } => match it.opcode {
                Opcode::InstanceOf => self.instance_of(a, b, descriptor(self.file, index)),
                _ if opcode < 0x59 => {
                    self.get_field(KINDS[usize::from(opcode - 0x52)], a, b, index)
                }
                _ => self.put_field(KINDS[usize::from(opcode - 0x59)], a, b, index),
            },
            _ => Err("operands of another instruction".into()),
        }
    }

    fn check_cast(&mut self, register: u16, ty: &'a [u8]) -> Result<()> {
        let object = self.read(register, Type::Ref)?;
        let index = self.outline.class_index(ty)?;
        self.emit(Op::CheckCast { object, index });
        self.state.set(register.into(), Value::reference(ty));
        Ok(())
    }

    fn instance_of(&mut self, a: u16, b: u16, ty: &'a [u8]) -> Result<()> {
        let object = self.read(b, Type::Ref)?;
        let index = self.outline.class_index(ty)?;
        let dst = self.write_number(a, Type::Int);
        self.emit(Op::InstanceOf { dst, object, index });
        Ok(())
    }

    fn new_instance(&mut self, a: u16, ty: &'a [u8]) -> Result<()> {
        if ty[0] != b'L' {
            return Err("a new instance of a type that is no class".into());
        }
        let index = self.outline.class_index(ty)?;
        let dst = self.write_ref(a.into(), ty);
        self.emit(Op::New { dst, index });
        Ok(())
    }

    /// Kind and descriptor of a field that an instruction for `kind` may access.
    fn field(&self, index: u32, kind: MemoryKind) -> Result<(MemoryKind, &'a [u8])> {
        let ty = descriptor(self.file, self.file.field(index).kind);
        let own = kind_of(ty)?;
        if !fits(kind, own) {
            return Err("a field of another type than the instruction's".into());
        }
        Ok((own, ty))
    }

    fn get_static(&mut self, kind: MemoryKind, a: u16, field: u32) -> Result<()> {
        let (kind, ty) = self.field(field, kind)?;
        let index = self.outline.index(Key::Field(field))?;
        let value = value_of(ty)?;
        let dst = self.write(a.into(), value, kind.register_type());
        self.emit(Op::GetStatic { dst, index, kind });
        Ok(())
    }

    fn put_static(&mut self, kind: MemoryKind, a: u16, field: u32) -> Result<()> {
        let (kind, _) = self.field(field, kind)?;
        let index = self.outline.index(Key::Field(field))?;
        let src = self.read(a, kind.register_type())?;
        self.emit(Op::PutStatic { src, index, kind });
        Ok(())
    }

    fn get_field(&mut self, kind: MemoryKind, a: u16, b: u16, field: u32) -> Result<()> {
        let (kind, ty) = self.field(field, kind)?;
        let index = self.outline.index(Key::Field(field))?;
        let object = self.read(b, Type::Ref)?;
        let value = value_of(ty)?;
        let dst = self.write(a.into(), value, kind.register_type());
        self.emit(Op::GetField {
            dst,
            object,
            index,
            kind,
        });
        Ok(())
    }

    fn put_field(&mut self, kind: MemoryKind, a: u16, b: u16, field: u32) -> Result<()> {
        let (kind, _) = self.field(field, kind)?;
        let index = self.outline.index(Key::Field(field))?;
        let object = self.read(b, Type::Ref)?;
        let src = self.read(a, kind.register_type())?;
        self.emit(Op::PutField {
            object,
            src,
            index,
            kind,
        });
        Ok(())
    }
}
