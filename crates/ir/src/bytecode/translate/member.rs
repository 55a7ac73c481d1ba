// SPDX-License-Identifier: Apache-2.0
//! Fields, calls, objects, arrays and locks.

use classfile::{FieldType, MethodDescriptor, access};

use super::super::instruction::Cursor;
use super::{Result, Translator, memory_kind};
use crate::{InvokeKind, MemoryKind, Op, Reg, Type};

/// The register type of a field descriptor.
pub(super) fn type_of_field(descriptor: &[u8]) -> Result<Type> {
    kind_of_field(descriptor).map(MemoryKind::register_type)
}

fn kind_of_field(descriptor: &[u8]) -> Result<MemoryKind> {
    let ty = FieldType::parse(descriptor).map_err(|error| error.to_string())?;
    memory_kind(&ty).ok_or_else(|| "void field".into())
}

/// Bytes that the format reserves behind a call.
fn expect_zero(reserved: u16) -> Result<()> {
    if reserved == 0 {
        Ok(())
    } else {
        Err("Reserved operand byte must be zero".into())
    }
}

impl<'a> Translator<'a, '_> {
    pub(super) fn member(&mut self, opcode: u8, cursor: &mut Cursor<'a>) -> Result<()> {
        match opcode {
            0xb2..=0xb5 => self.field(opcode, cursor),
            0xb6 => self.invoke(InvokeKind::Virtual, cursor).map(drop),
            0xb7 => self.invoke(InvokeKind::Special, cursor).map(drop),
            0xb8 => self.invoke(InvokeKind::Static, cursor).map(drop),
            0xb9 => {
                let words = self.invoke(InvokeKind::Interface, cursor)?;
                if usize::from(cursor.u8()?) != words {
                    return Err("Inconsistent args count operand in invokeinterface".into());
                }
                expect_zero(u16::from(cursor.u8()?))
            }
            0xba => self.invoke_dynamic(cursor),
            _ => self.object(opcode, cursor),
        }
    }

    fn field(&mut self, opcode: u8, cursor: &mut Cursor<'a>) -> Result<()> {
        let index = cursor.u16()?;
        let field = self
            .class
            .constants
            .member(index)
            .map_err(|error| error.to_string())?;
        let kind = kind_of_field(field.descriptor)?;
        let (ty, index) = (kind.register_type(), u32::from(index));
        match opcode {
            0xb2 => {
                let dst = self.push(ty)?;
                self.emit(Op::GetStatic { dst, index, kind });
            }
            0xb3 => {
                let src = self.pop(ty)?;
                self.emit(Op::PutStatic { src, index, kind });
            }
            0xb4 => {
                let object = self.pop(Type::Ref)?;
                let dst = self.push(ty)?;
                self.emit(Op::GetField {
                    dst,
                    object,
                    index,
                    kind,
                });
            }
            _ => {
                let src = self.pop(ty)?;
                let object = self.pop(Type::Ref)?;
                self.emit(Op::PutField {
                    object,
                    src,
                    index,
                    kind,
                });
            }
        }
        Ok(())
    }

    /// Pops the arguments and makes room for the result.
    fn signature(
        &mut self,
        descriptor: &[u8],
        has_receiver: bool,
    ) -> Result<(Vec<Reg>, Option<Reg>)> {
        let descriptor = MethodDescriptor::parse(descriptor).map_err(|error| error.to_string())?;
        let kinds: Vec<_> = descriptor
            .parameters
            .iter()
            .filter_map(memory_kind)
            .collect();
        let mut args = Vec::with_capacity(kinds.len() + 1);
        for kind in kinds.iter().rev() {
            args.push(self.pop(kind.register_type())?);
        }
        if has_receiver {
            args.push(self.pop(Type::Ref)?);
        }
        args.reverse();
        let dst = match memory_kind(&descriptor.result) {
            Some(kind) => Some(self.push(kind.register_type())?),
            None => None,
        };
        Ok((args, dst))
    }

    /// Gives the words that the arguments take, the receiver included.
    fn invoke(&mut self, kind: InvokeKind, cursor: &mut Cursor<'a>) -> Result<usize> {
        let index = cursor.u16()?;
        let method = self
            .class
            .constants
            .member(index)
            .map_err(|error| error.to_string())?;
        if method.name.starts_with(b"<")
            && (kind != InvokeKind::Special || method.name != b"<init>")
        {
            return Err("call of an initialiser".into());
        }
        let (args, dst) = self.signature(method.descriptor, kind != InvokeKind::Static)?;
        // The verifier takes any object for an interface.
        let is_interface = self.class.access & access::INTERFACE != 0;
        if is_interface && kind == InvokeKind::Special && method.name != b"<init>" {
            self.emit(Op::CheckReceiver {
                object: args[0],
                index: self.class.this_class.into(),
            });
        }
        self.emit(Op::Invoke {
            kind,
            dst,
            index: u32::from(index),
            args,
        });
        let parameters = MethodDescriptor::parse(method.descriptor).map_or(0, |it| it.words());
        Ok(parameters + usize::from(kind != InvokeKind::Static))
    }

    fn invoke_dynamic(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let index = cursor.u16()?;
        expect_zero(cursor.u16()?)?;
        let pool = &self.class.constants;
        let (_, _, descriptor) = pool.dynamic(index).map_err(|error| error.to_string())?;
        let (args, dst) = self.signature(descriptor, false)?;
        self.emit(Op::InvokeDynamic {
            dst,
            index: u32::from(index),
            args,
        });
        Ok(())
    }

    fn class_index(&self, cursor: &mut Cursor<'a>) -> Result<u32> {
        let index = cursor.u16()?;
        self.class
            .constants
            .class_name(index)
            .map_err(|error| error.to_string())?;
        Ok(u32::from(index))
    }

    fn object(&mut self, opcode: u8, cursor: &mut Cursor<'a>) -> Result<()> {
        let op = match opcode {
            0xbb => {
                let index = self.class_index(cursor)?;
                Op::New {
                    dst: self.push(Type::Ref)?,
                    index,
                }
            }
            0xbc => {
                let kind = MemoryKind::of_array_code(cursor.u8()?)
                    .ok_or("newarray of no primitive type")?;
                let length = self.pop(Type::Int)?;
                Op::NewPrimitiveArray {
                    length,
                    dst: self.push(Type::Ref)?,
                    kind,
                }
            }
            0xbd => {
                let index = self.class_index(cursor)?;
                let length = self.pop(Type::Int)?;
                Op::NewArray {
                    length,
                    dst: self.push(Type::Ref)?,
                    index,
                }
            }
            0xbe => {
                let array = self.pop(Type::Ref)?;
                Op::ArrayLength {
                    array,
                    dst: self.push(Type::Int)?,
                }
            }
            0xc0 => {
                let index = self.class_index(cursor)?;
                let object = self.pop(Type::Ref)?;
                self.push(Type::Ref)?;
                Op::CheckCast { object, index }
            }
            0xc1 => {
                let index = self.class_index(cursor)?;
                let object = self.pop(Type::Ref)?;
                Op::InstanceOf {
                    object,
                    dst: self.push(Type::Int)?,
                    index,
                }
            }
            0xc2 => Op::MonitorEnter {
                object: self.pop(Type::Ref)?,
            },
            0xc3 => Op::MonitorExit {
                object: self.pop(Type::Ref)?,
            },
            _ => self.multi_array(cursor)?,
        };
        self.emit(op);
        Ok(())
    }

    fn multi_array(&mut self, cursor: &mut Cursor<'a>) -> Result<Op> {
        let index = self.class_index(cursor)?;
        let count = cursor.u8()?;
        if count == 0 {
            return Err("multianewarray without dimensions".into());
        }
        let mut lengths = Vec::new();
        for _ in 0..count {
            lengths.push(self.pop(Type::Int)?);
        }
        lengths.reverse();
        let dst = self.push(Type::Ref)?;
        Ok(Op::NewMultiArray {
            dst,
            lengths,
            index,
        })
    }
}
